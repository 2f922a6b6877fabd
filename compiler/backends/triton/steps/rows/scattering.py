"""Writes at positions that are only known at run time, with the same result in every run.

Updates of distinct positions, and integers that are added or compared, are written at once, the latter by atomic
operations. Otherwise the updates are sorted by their positions, which costs a sort, and each result combines its own
updates. Updates of one position then form a run, in their order. They are first combined within blocks of many
updates, so that a position with a million of them waits for a few hundred steps only. If there are few updates, no
position can have many: each result combines them one by one, as in NumPy.
"""

import math
from dataclasses import dataclass
from string import Template
from typing import Final

import numpy as np

from .....affine import Affine, flattened, unflattened
from .....dtypes import kind
from .....ir import Call, Shape
from .....params import flag_param, ints_param, text_param
from .....symbolic_size import SymbolicSize, is_known, is_none
from ...kernels.assumed import LONGEST, assumed, bound_of, pieces, power_of_two, unbounded
from ...kernels.blocks import POINTWISE
from ...kernels.kernel import TritonKernel
from ...kernels.numbers import Numbers
from ..places import Lines, broadcast_place, counting_block
from ..step_sizes import StepSizes
from ..step_writer import StepWriter
from .joining import joining_dtype, narrowed, widened
from .keys import Word
from .merging import Blocks, sorted_records
from .sorting import BLOCK

FEW: Final = 512
"""Up to this many updates are sorted in the same way, if there may be others in another call."""

_COPY = Template("""\
@triton.jit
def $name($parameters):
    place = tl.program_id(0)$wide * $block + tl.arange(0, $block)
    inside = place < $size
    tl.store(out_ptr + place, tl.load(x_ptr + place, mask=inside), mask=inside)
""")

_COPY_OF_MANY = Template("""\
@triton.jit
def $name($parameters):
    place = tl.program_id(0)$wide * $block + tl.arange(0, $block)
    if tl.program_id(0) < $whole_blocks:  # without a mask several numbers are copied at once
        tl.store(out_ptr + place, tl.load(x_ptr + place))
    else:
        inside = place < $size
        tl.store(out_ptr + place, tl.load(x_ptr + place, mask=inside), mask=inside)
""")

_AT_ONCE = Template("""\
@triton.jit
def $name($parameters):
    number = tl.program_id(0)$wide * $block + tl.arange(0, $block)
    inside = number < $size
$indices
    new = tl.load(x1_ptr + number, mask=inside)
    to = out0_ptr + $place
$write
""")

_KEYS = Template("""\
@triton.jit
def $name($parameters):
    number = tl.program_id(0)$wide * $block + tl.arange(0, $block)
    inside = number < $count
    within = inside
$indices
    tl.store(keys_ptr + number, tl.where(inside, $row, $rows).to(tl.uint32), mask=within)
""")

_INDEX = Template("""\
    index$i = tl.load(x${input}_ptr + $place$spread, mask=inside, other=0).to(tl.int64)
    inside = inside & (index$i >= 0) & (index$i < $length)""")

_BEGINS = Template("""\
@triton.jit
def $name($parameters):
    row = tl.program_id(0)$wide * $block + tl.arange(0, $block)
    low = tl.zeros_like(row)
    high = low + $count
    for _ in range($steps):
        middle = (low + high) // 2
        is_open = low < high
        earlier = (tl.load(records_ptr + middle, mask=is_open, other=0) >> 32).to(tl.int64) < row
        low = tl.where(is_open & earlier, middle + 1, low)
        high = tl.where(is_open & (earlier == 0), middle, high)
    tl.store(begins_ptr + row, low, mask=row <= $rows)
""")

_BY_PLACE = Template("""\
@triton.jit
def $name($parameters):
    place = tl.program_id(0)$wide * $block + tl.arange(0, $block)
    inside = place < $size
    row = tl.zeros_like(place) + $row
    total = tl.load(x0_ptr + place, mask=inside)$widened
    at = tl.load(begins_ptr + row, mask=inside, other=0)
    end = tl.load(begins_ptr + row + 1, mask=inside, other=0)
$joined
    tl.store(out0_ptr + place, total$narrowed, mask=inside)
""")

_LAST = Template("""\
    written = at < end
    update = tl.load(records_ptr + end - 1, mask=written, other=0).to(tl.uint32).to(tl.int64)
    total = tl.where(written, tl.load(x1_ptr + $update, mask=written)$widened, total)""")

_EACH = Template("""\
    while tl.max((at < end).to(tl.int32)) != 0:
        open = at < end
        update = tl.load(records_ptr + at, mask=open, other=0).to(tl.uint32).to(tl.int64)
        new = tl.load(x1_ptr + $update, mask=open)$widened
        total = tl.where(open, $join, total)
        at += 1""")

_RUNS = Template("""\
@triton.jit
def $name($parameters):
    program = tl.program_id(0)$wide
    number = $block * $updates + tl.arange(0, $updates)[:, None]
    column = $across + tl.arange(0, $columns)[None, :]
    inside = (number < $count) & (column < $width)
    record = tl.load(records_ptr + number + tl.zeros_like(column), mask=inside, other=0)
    update = record.to(tl.uint32).to(tl.int64)
    new = tl.load(x1_ptr + update * $factor + column, mask=inside)$widened
    _, run = tl.associative_scan(((record >> 32).to(tl.int32), new), 0, $join)
    tl.store(runs_ptr + number * $factor + column, run, mask=inside)
""")

_EACH_RUN = Template("""\
    while tl.max((at < end).to(tl.int32)) != 0:
        open = at < end
        update = tl.minimum((at // $updates + 1) * $updates, end) - 1
        new = tl.load(runs_ptr + $update, mask=open)
        total = tl.where(open, $join, total)
        at = tl.where(open, update + 1, at)""")

_JOINED: Final = {
    "add": "total + new",
    "multiply": "total * new",
    "minimum": "tm_smaller_of(total, new)",
    "maximum": "tm_larger_of(total, new)",
}
_JOINED_IN_RUNS: Final = {
    "add": "tm_sum_of_run",
    "multiply": "tm_product_of_run",
    "minimum": "tm_smaller_of_run",
    "maximum": "tm_larger_of_run",
}
_BOOLS_IN_RUNS: Final = {"add": "tm_larger_of_run", "multiply": "tm_smaller_of_run"}
_JOINED_BOOLS: Final = {"add": "total | new", "multiply": "total & new"}
_ATOMIC: Final = {"add": "tl.atomic_add", "minimum": "tl.atomic_min", "maximum": "tl.atomic_max"}


ONE_BY_ONE: Final = 256
"""A position combines this many updates one after another."""

RUNS: Final = 2048
"""Entries of updates that are combined at once."""

ACROSS: Final = 16
"""At most this many of them belong to one update."""


@dataclass(frozen=True, slots=True)
class _Scatter:
    """A call of ``scatter``: its shapes, and memory offsets."""

    call: Call
    axes: Shape
    mode: str

    @property
    def shape(self) -> Shape:
        return self.call.inputs[0].shape

    @property
    def rest(self) -> list[int]:
        return [axis for axis in range(len(self.shape)) if axis not in self.axes]

    @property
    def places(self) -> Shape:
        """The shape of the indices, broadcast together."""
        updates = self.call.inputs[1]
        return updates.shape[: updates.ndim - len(self.rest)]

    @property
    def table(self) -> Shape:
        """The lengths of the axes that are indexed."""
        return tuple(self.shape[axis] for axis in self.axes)

    @property
    def width(self) -> int:
        """The entries of an update."""
        return math.prod(self.shape[axis] for axis in self.rest)

    @property
    def indices(self) -> list[Affine]:
        return [counting_block(f"index{i}", dim) for i, dim in enumerate(self.table)]

    def loads(self, number: Affine, sizes: StepSizes) -> str:
        """Lines that read the indices of the updates with these numbers."""
        return "\n".join(
            _INDEX.substitute(
                i=i,
                input=i + 2,
                place=sizes.place(broadcast_place(index.shape, self.places, number)),
                length=sizes.text(dim),
                spread=" + tl.zeros_like(number)",
            )
            for i, (index, dim) in enumerate(zip(self.call.inputs[2:], self.table, strict=True))
        )

    def written(self, number: Affine) -> Affine:
        """The position of the entry of an update with this number."""
        width = 1 if is_none(self.width) else self.width
        behind = unflattened(number % width, tuple(self.shape[axis] for axis in self.rest))
        index = {
            **dict(zip(self.axes, self.indices, strict=True)),
            **dict(zip(self.rest, behind, strict=True)),
        }
        return flattened([index[axis] for axis in range(len(self.shape))], self.shape)


def scatter(call: Call, name: str) -> TritonKernel | None:
    """The kernel of a call of ``scatter``."""
    x, updates = call.inputs[:2]
    form = _Scatter(call, ints_param(call, "axes"), text_param(call, "mode"))
    if any(is_known(count >= LONGEST) for count in (math.prod(form.table), math.prod(form.places))):
        return None
    writer = StepWriter(call)
    is_atomic = form.mode in _ATOMIC and kind(x.dtype) in "iu" and x.dtype.itemsize >= 4
    if flag_param(call, "unique") or is_atomic or is_none(updates.type.size):
        _at_once(writer, name, form, is_atomic=is_atomic)
    else:
        _by_place(writer, name, form)
    return writer.kernel()


def _at_once(writer: StepWriter, name: str, form: _Scatter, *, is_atomic: bool) -> None:
    x, updates = form.call.inputs[:2]
    size, count = x.type.size, updates.type.size
    sizes = writer.sizes(size)
    texts = {"name": f"{name}_copy", "wide": sizes.wide, "block": POINTWISE, "size": sizes.text(size)}
    copy = _COPY
    if isinstance(size, SymbolicSize):
        copy, texts["whole_blocks"] = _COPY_OF_MANY, sizes.text(size // POINTWISE)
    writer.function(copy.substitute(texts, parameters=sizes.parameters("x_ptr, out_ptr")))
    buffers = (0, writer.output(0))
    writer.launch(f"{name}_copy", pieces(size, POINTWISE), 4, buffers, numbers=sizes.given)
    if is_none(count):
        return
    if is_atomic:
        write = f'    {_ATOMIC[form.mode]}(to, new, mask=inside, sem="relaxed")'
    elif form.mode == "set":
        write = "    tl.store(to, new, mask=inside)"
    else:
        write = f"    total = tl.load(to, mask=inside){widened(x.dtype)}\n"
        write += f"    new = new{widened(x.dtype)}\n" if widened(x.dtype) else ""
        write += f"    total = {_join(form)}\n    tl.store(to, total{narrowed(x.dtype)}, mask=inside)"
    number = counting_block("number", count)
    sizes = writer.sizes(count)
    texts = {
        "wide": sizes.wide,
        "block": POINTWISE,
        "size": sizes.text(count),
        "indices": form.loads(number // form.width, sizes),
        "place": sizes.place(form.written(number)),
    }
    parameters = sizes.parameters(writer.pointers)
    writer.function(_AT_ONCE.substitute(texts, name=name, parameters=parameters, write=write))
    writer.launch(name, pieces(count, POINTWISE), 4, writer.buffers, numbers=sizes.given)


def _by_place(writer: StepWriter, name: str, form: _Scatter) -> None:
    x = form.call.inputs[0]
    count, rows = math.prod(form.places), math.prod(form.table)
    most = bound_of(count, FEW, form.call.op, form.call.location)
    if assumed(rows < LONGEST) is None:
        raise unbounded(rows, form.call.op, form.call.location)
    keys = writer.memory(np.dtype(np.uint32), count)
    sizes = writer.sizes()
    texts = {
        "wide": "",
        "block": POINTWISE,
        "count": sizes.text(count),
        "rows": sizes.text(rows),
        "indices": form.loads(counting_block("number", count), sizes),
        "row": sizes.place(flattened(form.indices, form.table)),
    }
    parameters = sizes.parameters(f"{writer.pointers}, keys_ptr")
    writer.function(_KEYS.substitute(texts, name=f"{name}_keys", parameters=parameters))
    buffers = (*writer.buffers, keys)
    writer.launch(f"{name}_keys", pieces(count, POINTWISE), 4, buffers, numbers=sizes.given)
    blocks = Blocks(min(BLOCK, most), most)
    (records,) = sorted_records(writer, name, Lines(1, count, 1), [Word(keys, "{0}")], blocks)
    begins = writer.memory(np.dtype(np.int64), rows + 1)
    sizes = StepSizes(Numbers.of_step(form.call), is_far=True)
    texts = {
        "wide": sizes.wide,
        "block": POINTWISE,
        "count": sizes.text(count),
        "rows": sizes.text(rows),
        "steps": (most if isinstance(count, SymbolicSize) else count).bit_length(),
    }
    parameters = sizes.parameters("records_ptr, begins_ptr")
    writer.function(_BEGINS.substitute(texts, name=f"{name}_begins", parameters=parameters))
    buffers = (records, begins)
    writer.launch(f"{name}_begins", pieces(rows + 1, POINTWISE), 4, buffers, numbers=sizes.given)
    pointers, given, in_run = "x1_ptr, records_ptr, ", [1, records], 1
    if form.mode != "set" and not is_known(count <= ONE_BY_ONE):
        runs, in_run = _runs(writer, f"{name}_runs", form, records)
        pointers, given = "runs_ptr, ", [runs]
    index = unflattened(counting_block("place", x.type.size), form.shape)
    behind = flattened([index[axis] for axis in form.rest], tuple(form.shape[axis] for axis in form.rest))
    sizes = writer.sizes(x.type.size)
    update = "update" if is_known(form.width <= 1) else f"update * {sizes.factor(form.width)}"
    behind_text = sizes.place(behind)
    texts = {
        "update": update if behind_text == "0" else f"{update} + {behind_text}",
        "updates": in_run,
        "widened": widened(x.dtype),
        "wide": sizes.wide,
        "block": POINTWISE,
        "size": sizes.text(x.type.size),
        "row": sizes.place(flattened([index[axis] for axis in form.axes], form.table)),
        "narrowed": narrowed(x.dtype),
    }
    if form.mode == "set":
        joined = _LAST.substitute(texts)
    else:
        joined = (_EACH if in_run == 1 else _EACH_RUN).substitute(texts, join=_join(form))
    parameters = sizes.parameters(f"x0_ptr, {pointers}begins_ptr, out0_ptr")
    writer.function(_BY_PLACE.substitute(texts, name=name, joined=joined, parameters=parameters))
    buffers = (0, *given, begins, writer.output(0))
    writer.launch(name, pieces(x.type.size, POINTWISE), 4, buffers, numbers=sizes.given)


def _runs(writer: StepWriter, name: str, form: _Scatter, records: int) -> tuple[int, int]:
    """Add the function that combines updates of one position within blocks of sorted ones.

    Returns the buffer in which each of them is combined with those before it, and the size of a block.
    """
    dtype, count, width = form.call.inputs[1].dtype, math.prod(form.places), form.width
    columns = ACROSS if isinstance(width, SymbolicSize) else min(ACROSS, power_of_two(width))
    updates, across = RUNS // columns, pieces(width, columns)
    runs = writer.memory(joining_dtype(dtype), count * width)
    sizes = writer.sizes(count * width)
    is_one = is_known(across <= 1)
    texts = {
        "wide": sizes.wide,
        "block": "program" if is_one else f"program // {sizes.factor(across)}",
        "updates": updates,
        "across": "0" if is_one else f"program % {sizes.factor(across)} * {columns}",
        "columns": columns,
        "count": sizes.text(count),
        "width": sizes.text(width),
        "factor": sizes.factor(width),
        "widened": widened(dtype),
        "join": _join_in_runs(form),
    }
    parameters = sizes.parameters("x1_ptr, records_ptr, runs_ptr")
    writer.function(_RUNS.substitute(texts, name=name, parameters=parameters))
    writer.launch(name, pieces(count, updates) * across, 4, (1, records, runs), numbers=sizes.given)
    return runs, updates


def _join(form: _Scatter) -> str:
    bools = _JOINED_BOOLS if kind(form.call.inputs[0].dtype) == "b" else {}
    return {**_JOINED, **bools}[form.mode]


def _join_in_runs(form: _Scatter) -> str:
    bools = _BOOLS_IN_RUNS if kind(form.call.inputs[0].dtype) == "b" else {}
    return {**_JOINED_IN_RUNS, **bools}[form.mode]

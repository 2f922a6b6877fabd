"""The Triton functions of a kernel: which loops become programs of a grid, and which become blocks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....affine import Variable
from ....analysis.fusible_ops import PLACES, REDUCTIONS, is_elementwise
from ....dtypes import real_dtype
from ....ir import ArrayType, Call, Constant, Graph
from ....loops.lower import lower
from ....loops.nest import Block, Buffer, Local, Loop
from ....loops.walk import places, statements
from ....op import is_move, is_natural_power
from ....symbolic_size import SymbolicSize, is_known
from ...python.text import wrapped
from ..choice import RULES, Choice
from ..plan import Number
from ..types import has_type
from .assumed import assume_aligned, pieces
from .blocks import TILE, has_wide_masks, rows_of, tiled
from .complex_pairs import has_pairs, in_pairs, uses_pairs
from .constants import with_constants_as_inputs
from .definitions import definitions
from .expression import is_spelled
from .gathering import Gathering
from .numbers import TAKEN, Numbers
from .over_rows import OverRows, over_rows
from .splitting import parallel, split
from .stages import Stage, stages_of
from .writer import Writer


@dataclass(frozen=True, slots=True)
class Launch:
    """One function on a grid."""

    function: str
    programs: int
    warps: int
    buffers: tuple[int, ...]
    """Which of the kernel's buffers are its arguments."""
    stages: int = 3
    """The number of loop iterations for which it copies matrices ahead into shared memory."""
    elements: int = 0
    """The elements that a program computes at once; 0 if unspecified."""
    numbers: tuple[Number, ...] = ()
    """Its arguments after the buffers."""


@dataclass(frozen=True, slots=True)
class TritonKernel:
    """A kernel as Triton functions that run one after another."""

    functions: tuple[str, ...]
    """The text of each."""
    needs: frozenset[str]
    """The functions in `functions` that they call, see `definitions`."""
    launches: tuple[Launch, ...]
    buffers: tuple[ArrayType, ...]
    """Inputs, constants, outputs, and values that functions store for later ones."""
    outputs: int
    """How many of them are outputs."""
    constants: tuple[Constant, ...] = ()
    """The arrays that the functions read in addition to the inputs."""

    @property
    def text(self) -> str:
        """The functions, after the definitions that they call."""
        return "\n\n".join([*definitions(self.needs), *self.functions])


def can_compute(call: Call) -> bool:
    """Whether a kernel can hold a call: a loop nest of Triton computes it."""
    values = (*call.inputs, *call.outputs)
    if uses_pairs(values):
        return has_pairs(call) and all(has_type(real_dtype(value.dtype)) for value in values)
    if not all(has_type(value.dtype) for value in values):
        return False
    if is_elementwise(call):
        return is_spelled(call) and is_natural_power(call)
    return is_move(call) or call.op in REDUCTIONS or call.op in PLACES


def is_in_triton(graph: Graph) -> bool:
    """Whether Triton can compute the whole graph of a kernel."""
    values = (*graph.inputs, *graph.outputs, *(v for call in graph.calls for v in call.inputs))
    return all(map(can_compute, graph.calls)) and all(has_type(real_dtype(value.dtype)) for value in values)


def goes_over_rows_once(graph: Graph) -> bool:
    """Whether a kernel computes rows, accumulates over all of them, and does so in one pass."""
    graph, _ = _of_real_arrays(graph)
    halves = over_rows(graph)
    return halves is not None and halves.is_resident() and _in_one_pass(halves, "kernel") is not None


def triton_kernel(graph: Graph, name: str, choice: Choice = RULES) -> TritonKernel:
    """The Triton functions, named after `name`, that compute the outputs of a kernel's graph."""
    types = tuple(value.type for value in graph.outputs)
    real, constants = _of_real_arrays(graph)
    kernel = _kernel_of_arrays(real, name, choice)
    given = (*(value.type for value in (*graph.inputs, *constants)), *types)
    return replace(kernel, buffers=(*given, *kernel.buffers[len(given) :]), constants=constants)


def _of_real_arrays(graph: Graph) -> tuple[Graph, tuple[Constant, ...]]:
    """A graph whose arrays are all inputs with dtypes that Triton has; and which constants are among them."""
    graph, constants = with_constants_as_inputs(graph)
    values = (
        *graph.inputs,
        *graph.outputs,
        *(v for call in graph.calls for v in (*call.inputs, *call.outputs)),
    )
    return in_pairs(graph) if uses_pairs(values) else graph, constants


def _kernel_of_arrays(graph: Graph, name: str, choice: Choice) -> TritonKernel:
    """The functions of a graph whose arrays are all inputs."""
    halves = over_rows(graph)
    if halves is None:
        return _kernel_of_loops(graph, name, choice)
    rows = _in_one_pass(halves, f"{name}_rows", choice) if halves.is_resident() else None
    if rows is None:
        if not halves.has_sums_of_rows:
            return _kernel_of_loops(graph, name, choice)
        rows = _kernel_of_loops(halves.rows, f"{name}_rows", choice)
    first = len(graph.inputs) + len(halves.rows.outputs) - len(halves.gathered)
    parts = rows.buffers[first : first + len(halves.gathered)]
    return _joined(halves, rows, _kernel_of_loops(halves.rest(parts), f"{name}_rest", RULES))


def _kernel_of_loops(graph: Graph, name: str, choice: Choice) -> TritonKernel:
    """The functions of a graph's loops: each computes what needs nothing from the same or later ones."""
    numbers = Numbers.of(graph)
    nest = lower(graph, (*TAKEN, name, *numbers.names.values()), plain=True)
    body, parts = split(nest.body)
    stages = list(stages_of(body))
    kept = {local for stage in stages for local in stage.given}
    scratch = {
        local: Buffer(f"{local.name}_kept", local.dtype, 1) for local in sorted(kept, key=lambda x: x.name)
    }
    between = [*parts, *scratch.values()]
    buffers = [*nest.inputs, *nest.outputs, *between]
    functions = [
        _function(
            name if len(stages) == 1 else f"{name}_{number}",
            stage,
            buffers,
            scratch,
            choice,
            Numbers.of(graph),
        )
        for number, stage in enumerate(stages, start=1)
    ]
    return _kernel(functions, graph, [ArrayType(buffer.dtype, (buffer.size,)) for buffer in between])


def _in_one_pass(halves: OverRows, name: str, choice: Choice = RULES) -> TritonKernel | None:
    """The part over the rows as one function, whose programs store their sums; None if it is not one loop."""
    graph = halves.rows
    numbers = Numbers.of(graph)
    nest = lower(graph, (*TAKEN, name, *numbers.names.values()), plain=True, rows=halves.count)
    stages = list(stages_of(nest.body))
    if len(stages) != 1 or not stages[0].is_parallel:
        return None
    given = nest.outputs[len(nest.outputs) - len(halves.gathered) :]
    *ahead, loop = stages[0].body
    assert isinstance(loop, Loop)
    calls = dict(zip(given, halves.gathered, strict=True))
    gathering = Gathering.of(tuple(ahead), loop, halves.count, calls, choice)
    if gathering is None:
        return None
    parts = halves.parts(gathering.programs)
    left = {
        buffer: Buffer(buffer.name, type.dtype, type.size) for buffer, type in zip(given, parts, strict=True)
    }
    writer = gathering.written(left, numbers)
    buffers = [*nest.inputs, *(left.get(buffer, buffer) for buffer in nest.outputs)]
    function = _finished(name, writer, buffers, gathering.programs)
    kernel = _kernel([function], graph, [])
    first = len(kernel.buffers) - len(parts)
    return replace(kernel, buffers=(*kernel.buffers[:first], *parts))


def _joined(halves: OverRows, rows: TritonKernel, rest: TritonKernel) -> TritonKernel:
    """Both parts, one after the other: what the first stores for the second comes after the outputs."""
    graph, parts = halves.graph, len(halves.gathered)
    given, made = len(graph.inputs), len(graph.outputs)
    types = [value.type for value in (*graph.inputs, *graph.outputs)]
    early = [given + place for place, value in enumerate(graph.outputs) if value in halves.early]
    behind = [given + place for place, value in enumerate(graph.outputs) if value not in halves.early]
    shared = [len(types) + number for number in range(parts)]
    types += rows.buffers[given + len(early) :][:parts]
    launches: list[Launch] = []
    for kernel, own in (
        (rows, [*range(given), *early, *shared]),
        (rest, [*range(given), *shared, *behind]),
    ):
        scratch = kernel.buffers[len(own) :]
        own += range(len(types), len(types) + len(scratch))
        types += scratch
        launches += (replace(x, buffers=tuple(own[i] for i in x.buffers)) for x in kernel.launches)
    return TritonKernel(
        (*rows.functions, *rest.functions), rows.needs | rest.needs, tuple(launches), tuple(types), made
    )


# ---- functions -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Function:
    text: str
    launch: Launch
    needs: frozenset[str]


def _function(
    name: str,
    stage: Stage,
    buffers: Sequence[Buffer],
    scratch: dict[Local, Buffer],
    choice: Choice,
    numbers: Numbers,
) -> _Function:
    ahead: Block = ()
    variables: tuple[Variable, ...] = ()
    inner = stage.body
    if stage.is_parallel:
        *before, loop = stage.body
        assert isinstance(loop, Loop)
        ahead, (variables, inner) = tuple(before), parallel(loop)
    assume_aligned(place for statement in statements(stage.body) for place in places(statement))
    rows, column = rows_of(variables, inner, choice=choice), None
    if (tile := tiled(variables, inner)) is not None:
        rows = replace(rows, count=TILE, block=TILE)
        variables, column = tile

    def written(writer: Writer) -> int:
        for local in stage.given:
            writer.restore(local, scratch[local])
        tiles = writer.programs(variables, column)
        writer.statements(ahead)
        writer.statements(inner)
        for local in stage.kept:
            writer.keep(local, scratch[local])
        return tiles

    count = math.prod(variable.extent for variable in variables)
    writer = Writer(rows, numbers=numbers)
    if rows.block or is_known(count < rows.count) or has_wide_masks(count, inner):
        return _finished(name, writer, buffers, pieces(count, rows.count) * written(writer))
    # The mask of the last program would make all others load their numbers one by one.
    whole = numbers.text(count) if rows.count == 1 else f"{numbers.factor(count)} // {rows.count}"
    whole = whole if isinstance(count, SymbolicSize) else str(count // rows.count)
    for head, is_whole in ((f"if tl.program_id(0) < {whole}:", True), ("else:", False)):
        part = Writer(rows, is_whole, numbers, depth=2)
        written(part)
        writer.line(head)
        writer.lines += part.lines
        writer.buffers |= part.buffers
        writer.needs |= part.needs
    return _finished(name, writer, buffers, pieces(count, rows.count))


def _finished(name: str, writer: Writer, buffers: Sequence[Buffer], programs: int) -> _Function:
    used = tuple(i for i, buffer in enumerate(buffers) if buffer in writer.buffers)
    numbers = writer.numbers.taken(is_wide=writer.rows.is_far)
    arguments = [*(f"{buffers[i].name}_ptr" for i in used), *(argument for argument, _ in numbers)]
    head = wrapped(f"def {name}(", arguments, "):", indent=0)
    text = "\n".join(["@triton.jit", *head, *writer.lines, ""])
    given = tuple(number for _, number in numbers)
    launch = Launch(name, programs, writer.rows.warps, used, elements=writer.rows.elements, numbers=given)
    return _Function(text, launch, frozenset(writer.needs))


def _kernel(functions: Sequence[_Function], graph: Graph, scratch: Sequence[ArrayType]) -> TritonKernel:
    types = (*(value.type for value in (*graph.inputs, *graph.outputs)), *scratch)
    needs = frozenset[str]().union(*(function.needs for function in functions))
    return TritonKernel(
        tuple(function.text for function in functions),
        needs,
        tuple(function.launch for function in functions),
        types,
        len(graph.outputs),
    )

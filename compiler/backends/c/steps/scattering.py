"""Writes at positions that are only known at run time, in C: one after another in the order of the updates, as in
NumPy."""

import math
from string import Template

from ....dtypes import kind
from ....ir import Call
from ....memory_layout.strides import filled_strides
from ....params import ints_param, text_param
from ....symbolic_size import SymbolicSize, is_one
from ..function import CFunction, copying
from ..parameters import parameters
from ..sizes import factor_text, names_in_call
from ..types import element_type
from .offsets import broadcast_offset, offset_along

_SCATTER = Template("""\
static void $name($parameters, long threads)
{
    if (out0 != x0)
        memcpy(out0, x0, $nbytes);
    for (long place = 0; place < $places; place++) {
$reads
        if ($outside)
            continue;
$write
    }
}
""")

_ENTRY = Template("""\
        const $type new = x1[place];
        $type *old = out0 + $offset;
        *old = $joined;\
""")

_ROW = Template("""\
        const $type *update = x1 + place * $width;
        $type *to = out0 + $offset;
        for (long i = 0; i < $width; i++) {
            const $type new = update[i];
            $type *old = to + $entry;
            *old = $joined;
        }\
""")

_JOINED = {
    "set": "new",
    "add": "*old + new",
    "multiply": "*old * new",
    "minimum": "*old <= new ? *old : new",
    "maximum": "*old >= new ? *old : new",
}
_JOINED_BOOLS = {"add": "*old | new", "multiply": "*old & new"}
_JOINED_FLOATS = {
    "minimum": "*old <= new || *old != *old ? *old : new",  # NaN stays
    "maximum": "*old >= new || *old != *old ? *old : new",
}
_JOINED_COMPLEX = {  # without C's special handling of infinities
    "multiply": "__builtin_complex(creal{f}(*old) * creal{f}(new) - cimag{f}(*old) * cimag{f}(new), "
    "creal{f}(*old) * cimag{f}(new) + cimag{f}(*old) * creal{f}(new))"
}


def scatter(call: Call, name: str) -> CFunction | None:
    """The C function of a call of ``scatter``, which may write its result over its first input."""
    axes: tuple[int, ...] = ints_param(call, "axes")
    x, updates, *indices = call.inputs
    mode = text_param(call, "mode")
    if mode != "set" and x.dtype.name in ("float16", "bfloat16"):
        return None
    count = updates.ndim - (x.ndim - len(axes))
    places = updates.shape[:count]
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    width = math.prod(updates.shape[count:])
    reads = [
        f"        const {element_type(index.dtype)} index{i} = "
        f"x{i + 2}[{broadcast_offset(index.shape, places, 'place')}];"
        for i, index in enumerate(indices)
    ]
    # As an unsigned number, a negative index is outside as well.
    outside = [f"(uint64_t)index{i} >= {_unsigned(x.shape[axis])}" for i, axis in enumerate(axes)]
    strides = filled_strides(x.shape)
    offsets = [
        f"{'' if index.dtype.name == 'int64' else '(long)'}index{i}"
        + ("" if is_one(strides[axis]) else f" * {factor_text(strides[axis])}")
        for i, (axis, index) in enumerate(zip(axes, indices, strict=True))
    ]
    texts = {"type": element_type(x.dtype), "width": factor_text(width)}
    write = (_ENTRY if is_one(width) else _ROW).substitute(
        texts,
        offset=" + ".join(offsets) or "0",
        entry=offset_along(x.shape, rest, "i"),
        joined=joined(mode, kind(x.dtype), element_type(x.dtype)),
    )
    inputs, outputs = tuple(value.type for value in call.inputs), (x.type,)
    sizes = names_in_call(call)
    text = _SCATTER.substitute(
        texts,
        name=name,
        parameters=", ".join(
            parameters(inputs, outputs, aliased_inputs=range(len(inputs)), aliased_outputs=(0,), sizes=sizes)
        ),
        nbytes=factor_text(x.type.nbytes),
        places=factor_text(math.prod(places)),
        reads="\n".join(reads),
        outside=" || ".join(outside),
        write=write,
    )
    work = 1 + copying(x.type) + 2 * math.prod(places) + updates.type.size
    return CFunction(name, text, inputs, outputs, frozenset(), work, overwrites={0: 0}, sizes=sizes)


def _unsigned(size: int) -> str:
    return f"(uint64_t){factor_text(size)}" if isinstance(size, SymbolicSize) else f"{size}u"


def joined(mode: str, letter: str, type: str) -> str:
    forms = {"b": _JOINED_BOOLS, "f": _JOINED_FLOATS, "c": _JOINED_COMPLEX}.get(letter, {})
    text = forms.get(mode, _JOINED[mode])
    f = "f" if type.startswith("float") else ""
    return text.format(f=f)

"""Replacing parts of arrays in C: only the part is copied if the array may be overwritten."""

import math
from string import Template

from ....affine import same
from ....ir import Call, Value
from ....memory_layout.strides import filled_strides
from ....params import ints_param
from ....symbolic_size import is_none
from ..function import CFunction, copying
from ..parameters import parameters
from ..sizes import factor_text, names_in_call, size_text
from ..types import element_type
from .offsets import strided_offset

_UPDATE = Template("""\
static void $name($parameters, long threads)
{
    (void)threads;
    if (out0 != x0)
        memcpy(out0, x0, $nbytes);
$starts
    for (long row = 0; row < $rows; row++) {
        const $type *from = x1 + row * $width;
        $type *to = out0 + $first + $offset;
        for (long i = 0; i < $width; i++)
            to[$along] = from[i];
    }
}
""")


def update(call: Call, name: str) -> CFunction:
    """The C function of ``update_slice`` or ``dynamic_update_slice``, which may write over its first input."""
    x, part, *starts = call.inputs
    steps = ints_param(call, "step", (1,) * x.ndim)
    strides = filled_strides(x.shape)
    apart = [stride * step for stride, step in zip(strides, steps, strict=True)]
    first = (
        ints_param(call, "start") if "start" in call.params else [f"start{axis}" for axis in range(x.ndim)]
    )
    axes = list(zip(part.shape, apart, strict=True))
    inner = _inner_axes(axes)
    width = math.prod(part.shape[inner:])
    inputs, outputs = tuple(value.type for value in call.inputs), (x.type,)
    sizes = names_in_call(call)
    text = _UPDATE.substitute(
        name=name,
        parameters=", ".join(
            parameters(inputs, outputs, aliased_inputs=(0,), aliased_outputs=(0,), sizes=sizes)
        ),
        type=element_type(x.dtype),
        nbytes=factor_text(x.type.nbytes),
        starts="\n".join(
            f"    const long start{axis} = {_clamped(start, axis + 2, x.shape[axis] - part.shape[axis])};"
            for axis, start in enumerate(starts)
        ),
        rows=factor_text(math.prod(part.shape[:inner])),
        width=factor_text(width),
        first=" + ".join(
            f"{start if isinstance(start, str) else factor_text(start)} * {factor_text(stride)}"
            for start, stride in zip(first, strides, strict=True)
        )
        or "0",
        offset=strided_offset(axes[:inner], "row"),
        along=strided_offset(axes[inner:], "i"),
    )
    work = 1 + copying(x.type) + part.type.size
    return CFunction(name, text, inputs, outputs, frozenset(), work, overwrites={0: 0}, sizes=sizes)


def _inner_axes(axes: list[tuple[int, int]]) -> int:
    """The first of the last axes whose entries are equally spaced; axes are given as (length, stride)."""
    inner = len(axes) - 1
    while inner > 0 and same(axes[inner - 1][1], axes[inner][0] * axes[inner][1]):
        inner -= 1
    return max(inner, 0)


def _clamped(start: Value, place: int, most: int) -> str:
    """Where the part begins along an axis, moved so that it fits."""
    last = size_text(most)
    above = f"*x{place} > {last} ? {last} : *x{place}"
    if is_none(most):
        return "0"
    return above if start.dtype.kind == "u" else f"*x{place} < 0 ? 0 : {above}"

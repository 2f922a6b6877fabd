"""`source_axes`: how the axes of an operand relate to those of the moved result, from the index map of the op."""

from typing import NamedTuple

from ..affine import Variable, of
from ..ir import Call
from ..op import lookup
from ..symbolic_size import is_known


class SourceAxis(NamedTuple):
    """What the index along one axis of the operand depends on."""

    same: int | None
    """The axis of the result with the same index, if both are equally long."""
    uses: frozenset[int]
    """All axes of the result whose indices it depends on."""


def source_axes(call: Call) -> tuple[SourceAxis, ...] | None:
    """For each axis of the first operand, what its index depends on; None if the op has no index map.

    For ``transpose(x, axes=(1, 0))`` axis 0 of `x` is the same as axis 1 of the result. For ``reshape`` from [6] to
    [2, 3] the index along the only axis of `x` depends on both axes of the result, and is the same as neither.
    """
    index_map = lookup(call.op).index_map
    if index_map is None:
        return None
    source, shape = call.inputs[0].shape, call.outputs[0].shape
    variables = [Variable(f"i{axis}", 0, dim - 1) for axis, dim in enumerate(shape)]
    number = {variable: axis for axis, variable in enumerate(variables)}
    found: list[SourceAxis] = []
    for place, length in zip(
        index_map(tuple(map(of, variables)), source, shape, **call.params), source, strict=True
    ):
        uses = frozenset(number[variable] for variable in place.variables)
        same = next(iter(uses)) if len(uses) == 1 else None
        if same is not None and not (place == of(variables[same]) and is_known(length == shape[same])):
            same = None
        found.append(SourceAxis(same, uses))
    return tuple(found)

"""How the axes of operands relate to those of a moved result, from the index map or the cases of the op."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..affine import ZERO, Affine, Index, Variable, aligned, of
from ..ir import Call
from ..op import Condition, lookup
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
    variables = _variables(call)
    index = _mapped(call, variables)
    if index is None:
        return None
    source, shape = call.inputs[0].shape, call.outputs[0].shape
    number = {variable: axis for axis, variable in enumerate(variables)}
    found: list[SourceAxis] = []
    for place, length in zip(index, source, strict=True):
        uses = frozenset(number[variable] for variable in place.variables)
        same = next(iter(uses)) if len(uses) == 1 else None
        if same is not None and not (place == of(variables[same]) and is_known(length == shape[same])):
            same = None
        found.append(SourceAxis(same, uses))
    return tuple(found)


def is_repeated(call: Call) -> bool:
    """Whether the result is the first operand, repeated along axes like in broadcasting."""
    variables, source = _variables(call), call.inputs[0].shape
    index = _mapped(call, variables) if len(source) <= len(variables) else None
    return index is not None and index == aligned(tuple(map(of, variables)), source)


def is_reversed(call: Call) -> bool:
    """Whether the elements of the first operand are in reverse order along an axis."""
    index = _mapped(call, _variables(call))
    return index is not None and any(is_known(factor < 0) for place in index for _, factor in place.terms)


def axes_in_operands(call: Call, axis: int) -> tuple[int | None, ...] | None:
    """The axis of each operand along which its elements have the same index as those of the result along `axis`, or
    None if the whole operand may be needed. None if for some operand it is neither, or the call computes elements.

    For ``concatenate(x, y, axis=0)`` axis 1 of the result is axis 1 of both, and for axis 0 there is no answer.
    """
    variables = _variables(call)
    variable, length = variables[axis], call.outputs[0].shape[axis]
    found: dict[int, set[int | None]] = {}
    for conditions, (k, index) in _reads(call, variables):
        if any(variable in one.place.variables and one.truth is not True for one in conditions):
            return None
        using = [at for at, place in enumerate(index) if variable in place.variables]
        for at in using:
            if index[at] != of(variable) or not is_known(call.inputs[k].shape[at] == length):
                return None
        found.setdefault(k, set()).update(using or [None])
    if not found or any(len(axes) > 1 for axes in found.values()):
        return None
    return tuple(next(iter(found.get(k, {None}))) for k in range(len(call.inputs)))


def _variables(call: Call) -> list[Variable]:
    """The index of an element of the result."""
    return [Variable(f"i{axis}", 0, dim - 1) for axis, dim in enumerate(call.outputs[0].shape)]


def _mapped(call: Call, variables: Sequence[Variable]) -> Index | None:
    index_map = lookup(call.op).index_map
    if index_map is None:
        return None
    shape = call.outputs[0].shape
    return index_map(tuple(map(of, variables)), call.inputs[0].shape, shape, **call.params)


def _reads(
    call: Call, variables: Sequence[Variable]
) -> Iterator[tuple[Sequence[Condition], tuple[int, Index]]]:
    """The elements of operands that one element of the result may need, and under which conditions."""
    index = _mapped(call, variables)
    if index is not None:
        yield (), (0, index)
    cases = lookup(call.op).cases
    if cases is None:
        return
    indices: list[tuple[int, Index]] = []

    def read(k: int, at: Index, last: int) -> Affine:
        indices.append((k, at))
        return ZERO if is_known(last <= 0) else of(Variable(f"at{len(indices)}", 0, last))

    yield from cases(tuple(map(of, variables)), [value.shape for value in call.inputs], read, **call.params)
    for one in indices:
        yield (), one

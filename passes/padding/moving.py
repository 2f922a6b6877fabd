"""The rule of all ops that move entries. Their records say where the inputs hold each entry of the result."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...compiler.affine import Affine, Index, Variable, of, same
from ...compiler.builder import bind
from ...compiler.errors import ShapeError, UndecidedDimError
from ...compiler.free_sizes import sizes_in_param
from ...compiler.ir import Call, Param, Shape, Value
from ...compiler.op import Aliasing, Between, Condition, ElementCase, Multiple, lookup
from ...compiler.symbolic_size import is_known, same_shape
from ...compiler.value_ops import where
from .padded_lengths import CannotPadError, Inputs, PaddedLengths
from .positions import holding, taken


def moved(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    """The same call of padded arrays if it finds each valid entry, and otherwise a gather.

    ``transpose(x)`` stays as it is, and so does ``reshape(x, (n, 4))`` of an array of ``4*n``. For ``flip(x)`` the
    first entry is not the last of the padded array.
    """
    shape = call.outputs[0].shape
    variables = [Variable(f"i{axis}", 0, dim - 1) for axis, dim in enumerate(shape)]
    places = tuple(map(of, variables))
    cases = _cases(call, places, [x.shape for x in call.inputs], shape, call.params)
    params = _padded_params(lengths, call)
    if params is not None and _finds_the_same(lengths, call, inputs, params, variables, cases):
        made = bind(call.op, *inputs, **params)
        return made if _keeps_apart(lengths, call, variables, cases) else lengths.sheltered(made, shape)
    *others, (_, (last, at)) = cases
    made = taken(lengths, inputs[last], at, variables, shape)
    for conditions, (k, at) in reversed(others):
        holds = holding(lengths, conditions, variables, shape)
        made = where(holds, taken(lengths, inputs[k], at, variables, shape), made)
    return lengths.sheltered(made, shape)


def _cases(
    call: Call, index: Index, shapes: Sequence[Shape], shape: Shape, params: Mapping[str, Any]
) -> Sequence[ElementCase]:
    """The cases of the op: which entry of the inputs, of these shapes, is at an index of the result."""
    op = lookup(call.op)
    if op.index_map is not None:
        return [((), (0, op.index_map(index, shapes[0], shape, **params)))]
    if op.cases is None:
        raise CannotPadError
    return op.cases(index, shapes, _read, **params)


def _read(k: int, index: Index, last: int) -> Affine:
    raise CannotPadError  # an op that reads positions from an array has a rule of its own


# ---- the same call ---------------------------------------------------------------------------------


def _padded_params(lengths: PaddedLengths, call: Call) -> Mapping[str, Param] | None:
    """The parameters of the call that gives a padded result; None if they depend on the number of valid entries."""
    params = dict(call.params)
    name = lookup(call.op).shape_param
    for key, given in call.params.items():
        if not any(map(lengths.is_padded, sizes_in_param(given))):
            continue
        if key != name or not isinstance(given, tuple):
            return None
        params[key] = tuple(map(lengths.most_of, given))
    return params


def _finds_the_same(
    lengths: PaddedLengths,
    call: Call,
    inputs: Inputs,
    params: Mapping[str, Any],
    variables: Sequence[Variable],
    cases: Sequence[ElementCase],
) -> bool:
    """Whether the call of padded arrays finds each valid entry where the call of the graph does."""
    shape = lengths.padded(call.outputs[0].shape)
    longer = [Variable(f"i{axis}", 0, dim - 1) for axis, dim in enumerate(shape)]
    try:
        type: Any = lookup(call.op).type(*(value.type for value in inputs), **params)
        if not same_shape(type.shape, shape):
            return False
        found = _cases(call, tuple(map(of, longer)), [value.shape for value in inputs], shape, params)
    except (ShapeError, UndecidedDimError):
        return False

    def shorter(place: Affine) -> Affine:
        for long, short in zip(longer, variables, strict=True):
            place = place.at(long, of(short))
        return place

    return len(found) == len(cases) and all(
        k == other
        and tuple(map(shorter, at)) == there
        and len(conditions) == len(wanted)
        and all(_is_same(shorter(one.place), one, two) for one, two in zip(conditions, wanted, strict=True))
        for (conditions, (k, at)), (wanted, (other, there)) in zip(found, cases, strict=True)
    )


def _is_same(place: Affine, one: Condition, other: Condition) -> bool:
    """Whether two conditions are the same, with `place` instead of the place of the first."""
    if isinstance(one, Between) and isinstance(other, Between):
        return place == other.place and same(one.low, other.low) and same(one.high, other.high)
    if isinstance(one, Multiple) and isinstance(other, Multiple):
        return place == other.place and same(one.step, other.step)
    return False


def _keeps_apart(
    lengths: PaddedLengths, call: Call, variables: Sequence[Variable], cases: Sequence[ElementCase]
) -> bool:
    """Whether no padding of the result is a valid entry of an input.

    It is in ``broadcast_to(x, (n,))``, which repeats an entry, and after ``x[:n - 1]``, where the last one follows.
    """
    if lookup(call.op).aliasing >= Aliasing.WHOLE:
        return True  # each entry of the input is in one place, and valid entries stay valid
    shape = call.outputs[0].shape
    return all(
        any(_ends(place, variable, size, end) for place, end in _limits(call, case))
        for variable, size in zip(variables, shape, strict=True)
        if lengths.is_padded(size)
        for case in cases
    )


def _limits(call: Call, case: ElementCase) -> list[tuple[Affine, int]]:
    """Places, and their ends: from there on, an entry is padding, or belongs to another case."""
    conditions, (k, index) = case
    ends = [(one.place, one.high) for one in conditions if isinstance(one, Between)]
    return [*ends, *zip(index, call.inputs[k].shape, strict=True)]


def _ends(place: Affine, variable: Variable, size: int, end: int) -> bool:
    """Whether a place reaches its end once the variable is `size`."""
    step = place.factor(variable)
    if step is None or set(place.variables) != {variable} or not is_known(step >= 1):
        return False
    return is_known(place.constant + step * size >= end)

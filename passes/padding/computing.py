"""Rules for elementwise calls, reductions, cumulative sums, products and sorts."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ...compiler.builder import bind, bind_all
from ...compiler.dtypes import BOOL
from ...compiler.ir import Call, Value
from ...compiler.params import int_param, ints_param
from ...compiler.symbolic_size import is_one
from ...compiler.value_ops import broadcast_to, full, logical_not
from .neutral_elements import NEUTRAL, highest, lowest
from .padded_lengths import CannotPadError, Inputs, PaddedLengths, Rule, along


def elementwise(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    """The rule of all elementwise ops."""
    shape = call.outputs[0].shape
    operands: list[Value] = []
    for old, new in zip(call.inputs, inputs, strict=True):
        sizes = (*(1,) * (len(shape) - old.ndim), *old.shape)
        repeated = [lengths.is_padded(size) and is_one(own) for own, size in zip(sizes, shape, strict=True)]
        for axis, size in enumerate(shape):
            if new.ndim == len(shape) and not is_one(sizes[axis]):
                new = lengths.fitting(new, axis, lengths.most_of(size))
        operands.append(lengths.sheltered(new, shape) if any(repeated) else new)
    return bind(call.op, *operands, **call.params)


def _iota(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    return bind("iota", **{**call.params, "length": lengths.most_of(call.params["length"])})


def _size(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    return lengths.count(call.params["of"])


def _length(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    return full(lengths.padded(call.outputs[0].shape), 0, BOOL)


def _reduced(neutral: Callable[[Any], Any]) -> Rule:
    """The rule of a reduction: the padding is filled with a number that changes nothing."""

    def rule(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
        (x,) = call.inputs
        return bind(call.op, lengths.filled(inputs[0], x.shape, neutral(x.dtype)), **call.params)

    return rule


def _cumulated(neutral: Callable[[Any], Any]) -> Rule:
    reduced = _reduced(neutral)

    def rule(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
        if call.op == "cumlogsumexp" and call.params["reverse"]:
            raise CannotPadError  # its derivative divides by a function of nothing
        made: Value = reduced(lengths, call, inputs)
        return lengths.sheltered(made, call.outputs[0].shape)

    return rule


def _sorted(lengths: PaddedLengths, call: Call, inputs: Inputs) -> tuple[Value, ...]:
    """The padding stays after everything else, also after NaN."""
    shape, axis = call.outputs[0].shape, int_param(call, "axis")
    params = dict(call.params)
    if not lengths.is_padded(shape[axis]):
        return bind_all("sort", *inputs, **params)
    counting = lengths.counting(shape[axis])
    first = counting if params["descending"] else logical_not(counting)
    first = broadcast_to(along(first, axis, len(shape)), lengths.padded(shape))
    params["num_keys"] = int_param(call, "num_keys") + 1
    return bind_all("sort", first, *inputs, **params)[1:]


def _dot(lengths: PaddedLengths, call: Call, inputs: Inputs) -> Value:
    operands = []
    for old, new, name in zip(call.inputs, inputs, ("contract_x", "contract_y"), strict=True):
        is_summed = any(lengths.is_padded(old.shape[axis]) for axis in ints_param(call, name))
        if is_summed or lengths.is_differentiated:
            new = lengths.filled(new, old.shape, 0)
        operands.append(new)
    return lengths.sheltered(bind("dot", *operands, **call.params), call.outputs[0].shape)


_CUMULATED: Final = {
    "cumlogsumexp": lowest,
    "cummax": lowest,
    "cummin": highest,
    "cumprod": NEUTRAL["prod"],
    "cumsum": NEUTRAL["sum"],
}

RULES: Final[Mapping[str, Rule]] = {
    **{op: _reduced(neutral) for op, neutral in NEUTRAL.items()},
    **{op: _cumulated(neutral) for op, neutral in _CUMULATED.items()},
    "argmax": _reduced(lowest),
    "argmin": _reduced(highest),
    "dot": _dot,
    "iota": _iota,
    "length": _length,
    "size": _size,
    "sort": _sorted,
}

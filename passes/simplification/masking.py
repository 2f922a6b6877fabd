"""`masked`: a graph that computes with whole arrays and their masks instead of arrays of selected elements."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ...compiler.analysis.fusible_ops import REDUCTIONS, is_elementwise, reduced_axes
from ...compiler.analysis.source_axes import axes_in_operands
from ...compiler.analysis.tiling_axes import params_of_part
from ...compiler.builder import bind, bind_all
from ...compiler.dtypes import DType, is_inexact
from ...compiler.free_sizes import bound_size
from ...compiler.ir import Call, Constant, Graph, Param, Value
from ...compiler.op import is_move, lookup
from ...compiler.params import ints_param
from ...compiler.symbolic_size import is_known, is_one
from ...compiler.value_ops import add, broadcast_to, constant, moveaxis, reshape, where
from ..padding.neutral_elements import NEUTRAL
from ..rewrite import Rewriter


def masked(graph: Graph, sizes: set[str], *, is_differentiated: bool) -> Graph:
    """The graph with a mask instead of each selection whose length is among `sizes`, if it is not needed as an
    array."""
    return _Masker(graph, sizes, is_differentiated).run()


@dataclass(frozen=True)
class _Mask:
    """The mask bool[m] of a selection, which is computed again for each use, and the length of the selection."""

    value: Value = field(compare=False)
    length: Value


class _Masker(Rewriter):
    def __init__(self, graph: Graph, sizes: set[str], is_differentiated: bool) -> None:
        super().__init__(graph)
        self.sizes = sizes
        self.is_differentiated = is_differentiated
        self.mask: dict[Value, _Mask] = {}
        """Of the arrays along whose first axis elements are selected: what selects them."""
        self.mask_of_size: dict[str, _Mask] = {}
        """What selects as many elements as a size says, by its name."""
        self.whole: dict[Value, Value] = {}
        """Those of all elements, as far as they were needed."""
        self.count: dict[str, Value] = {}
        """How many elements there are, by the name of that size."""

    def nested(self, graph: Graph) -> Graph:
        return graph

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        if op == "size" and str(params["of"]) in self.count:
            return (self.count[str(params["of"])],)
        rule = _RULES.get(op)
        found = None if rule is None else rule(self, inputs, params)
        return None if found is None else (found,)

    def _remember(self, call: Call) -> None:
        super()._remember(call)
        size = bound_size(call)
        if size is not None and str(size) in self.sizes:
            self.count[str(size)] = call.inputs[0]
        mask = self._mask_of(call)
        if mask is not None:
            self.mask.update(dict.fromkeys(call.outputs, mask))

    def _mask_of(self, call: Call) -> _Mask | None:
        """What selects the elements of a result, if each is computed from one of others that it selects."""
        masks = [self.mask.get(value) for value in call.inputs]
        first = call.outputs[0] if call.outputs else None
        if call.op == "flatnonzero":
            binding = self.producer.get(call.inputs[1])
            size = None if binding is None else bound_size(binding)
            if size is None or str(size) not in self.sizes:
                return None
            self.mask_of_size[str(size)] = _Mask(*call.inputs)
            return self.mask_of_size[str(size)]
        if first is None or not first.ndim:
            return None
        if call.op == "gather":
            has_one = masks[0] is None and len(set(masks[1:])) == 1
            return masks[1] if has_one and all(place.ndim == 1 for place in call.inputs[1:]) else None
        if is_move(call):
            return self._mask_of_moved(call, masks)
        if call.op in REDUCTIONS:
            return masks[0] if 0 not in reduced_axes(call) else None
        differing = [value.ndim > 0 and not is_one(value.shape[0]) for value in call.inputs]
        known = {mask for mask, differs in zip(masks, differing, strict=True) if differs}
        has_one_rank = all(value.ndim in (0, first.ndim) for value in call.inputs)
        return known.pop() if is_elementwise(call) and len(known) == 1 and has_one_rank else None

    def _mask_of_moved(self, call: Call, masks: Sequence[_Mask | None]) -> _Mask | None:
        """What selects the rows of a result that are rows of operands, or each the same."""
        axes = axes_in_operands(call, 0)
        if (
            axes is None
            or any(axes)
            or any(mask for mask, axis in zip(masks, axes, strict=True) if axis is None)
        ):
            return None
        of_rows = {mask for mask, axis in zip(masks, axes, strict=True) if axis == 0}
        if of_rows:
            return of_rows.pop() if len(of_rows) == 1 else None
        is_repeated = lookup(call.op).shape_param is not None
        return self.mask_of_size.get(str(call.outputs[0].shape[0])) if is_repeated else None

    def whole_of(self, value: Value) -> Value:
        """The array from which the mask has selected the elements of `value`."""
        stack = [value]
        while stack:
            top = stack[-1]
            call = self.producer[top]
            missing = [one for one in call.inputs if one in self.mask and one not in self.whole]
            if top not in self.whole and missing and call.op != "flatnonzero":
                stack += missing
                continue
            stack.pop()
            if top not in self.whole:
                self.whole[top] = self._made_whole(call)
        return self.whole[value]

    def _made_whole(self, call: Call) -> Value:
        mask = self.mask[call.outputs[0]]
        if call.op == "flatnonzero":
            return bind("iota", length=mask.value.type.size, dtype=call.outputs[0].dtype)
        if call.op == "gather" and self.producer[call.inputs[1]].op == "flatnonzero":
            (axis,) = ints_param(call, "axes")
            made = moveaxis(call.inputs[0], axis, 0)
        else:
            inputs = [self.whole.get(value, value) for value in call.inputs]
            if is_elementwise(call):
                entering = [value not in self.mask for value in call.inputs]
                inputs = [
                    self._sheltered(value, mask, call.outputs[0].ndim) if enters else value
                    for value, enters in zip(inputs, entering, strict=True)
                ]
            params = params_of_part(call, 0, mask.value.type.size)
            (made,) = bind_all(call.op, *inputs, **params)
        enters = is_move(call) and any(value not in self.mask for value in call.inputs)
        return self._sheltered(made, mask, made.ndim) if enters else made

    def _sheltered(self, value: Value, mask: _Mask, ndim: int) -> Value:
        """What enters, with a number in place of what is not selected, where derivatives may be asked for later."""
        if not self.is_differentiated or not is_inexact(value.dtype) or isinstance(value, Constant):
            return value
        return where(reshape(mask.value, (*mask.value.shape, *(1,) * (ndim - 1))), value, 1)


def _beside(mask: Value, value: Value) -> Value:
    """The mask, aligned with the first axis of an array."""
    return broadcast_to(reshape(mask, (*mask.shape, *(1,) * (value.ndim - 1))), value.shape)


def _reduced(neutral: Callable[[DType], Any], op: str) -> Callable[..., Value | None]:
    """The rule of a reduction, in which a number that changes nothing stands for what is not selected."""

    def rule(masker: _Masker, inputs: Sequence[Value], params: Mapping[str, Any]) -> Value | None:
        mask = masker.mask.get(inputs[0])
        if mask is None or 0 not in params["axes"]:
            return None
        whole = masker.whole_of(inputs[0])
        fill = constant(np.asarray(neutral(whole.dtype)), whole.dtype)
        chosen = where(_beside(mask.value, whole), whole, broadcast_to(fill, whole.shape))
        return bind(op, chosen, **params)

    return rule


def _written(masker: _Masker, inputs: Sequence[Value], params: Mapping[str, Any]) -> Value | None:
    """The rule of a write of selected elements, or of the same for all, to the places at which they are selected."""
    x, updates, *places = inputs
    mask = masker.mask.get(places[0]) if len(places) == 1 and params["axes"] == (0,) else None
    is_own = mask is not None and masker.mask.get(updates) == mask and _are_positions(masker, places[0], x)
    if mask is None or not is_own or params["mode"] not in ("set", "add"):
        return None
    whole = masker.whole_of(updates)
    return where(_beside(mask.value, x), whole if params["mode"] == "set" else add(x, whole), x)


def _are_positions(masker: _Masker, places: Value, x: Value) -> bool:
    """Whether index arrays are where a mask holds, which a clip to the ends of the first axis of `x` leaves alone."""
    call = masker.producer[places]
    if call.op == "clip":
        low, high = (one.array.item() if isinstance(one, Constant) else None for one in call.inputs[1:])
        is_whole = low is not None and low <= 0 and high is not None and is_known(high >= x.shape[0] - 1)
        return is_whole and _are_positions(masker, call.inputs[0], x)
    return call.op == "flatnonzero"


_RULES: Final[Mapping[str, Callable[..., Value | None]]] = {
    "scatter": _written,
    **{op: _reduced(neutral, op) for op, neutral in NEUTRAL.items()},
}

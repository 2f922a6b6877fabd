"""The cotangents that have reached each value during transposition, and how two of them are added."""

from typing import Any

import numpy as np

from ...compiler.builder import Builder, bind
from ...compiler.errors import InternalError
from ...compiler.ir import Call, Constant, Value
from ...compiler.op import moved_inputs
from ...compiler.params import ints_param
from ...compiler.symbolic_size import same_shape
from ...compiler.value_ops import add


class Cotangents:
    """The sum of the cotangents of each value, recorded in `builder` as they arrive.

    The transpose of reading a part of an array is that part, surrounded by zeros. Two such arrays are not added as a
    whole: the part is added at its position, at the cost of the part.
    """

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._seen = 0
        self._producer: dict[Value, Call] = {}
        self._sum: dict[Value, Value] = {}

    def add(self, value: Value, cotangent: Value) -> None:
        """Add a cotangent of `value`."""
        if cotangent.type != value.type:
            raise InternalError(f"a transpose rule gives a cotangent {cotangent.type} for {value.type}")
        before = self._sum.get(value)
        self._sum[value] = cotangent if before is None else self._added(before, cotangent)

    def take(self, value: Value) -> Value | None:
        """The sum for `value`, which then starts again; None for nothing."""
        return self._sum.pop(value, None)

    def _added(self, x: Value, y: Value) -> Value:
        for call in self._builder.calls[self._seen :]:
            self._producer.update(dict.fromkeys(call.outputs, call))
        self._seen = len(self._builder.calls)
        for whole, part in ((x, y), (y, x)):
            total = self._part_added(whole, self._producer.get(part))
            if total is not None:
                return total
        return add(x, y)

    def _part_added(self, whole: Value, part: Call | None) -> Value | None:
        """``whole + part`` if that call has surrounded a part with zeros."""
        if part is None:
            return None
        match part.op:
            case "pad" if self._is_zero(part.inputs[1]):
                return self._padded_added(whole, part)
            case "scatter" if part.params["mode"] == "add" and self._is_zero(part.inputs[0]):
                return bind("scatter", whole, *part.inputs[1:], **part.params)
            case "dynamic_update_slice" if self._is_zero(part.inputs[0]):
                _, update, *starts = part.inputs
                before = bind("dynamic_slice", whole, *starts, sizes=update.shape)
                return bind("dynamic_update_slice", whole, add(before, update), *starts)
            case _:
                return None

    def _padded_added(self, whole: Value, part: Call) -> Value:
        inner = part.inputs[0]
        place = {
            "start": ints_param(part, "low"),
            "stop": tuple(
                dim - high for dim, high in zip(whole.shape, ints_param(part, "high"), strict=True)
            ),
            "step": tuple(gap + 1 for gap in ints_param(part, "interior")),
        }
        base = self._before_erasing(whole, inner, place)
        if base is not None:
            return bind("update_slice", base, inner, **place)
        return bind("update_slice", whole, add(bind("slice", whole, **place), inner), **place)

    def _before_erasing(self, value: Value, inner: Value, place: dict[str, Any]) -> Value | None:
        """The array before zeros were written to `place`, if that is how `value` was computed."""
        call = self._producer.get(value)
        if call is None or call.op != "update_slice" or not same_shape(call.inputs[1].shape, inner.shape):
            return None
        is_there = all(same_shape(ints_param(call, name), place[name]) for name in ("start", "step"))
        return call.inputs[0] if is_there and self._is_zero(call.inputs[1]) else None

    def _is_zero(self, value: Value) -> bool:
        call = self._producer.get(value)
        if call is not None and len(moved_inputs(call)) == 1:
            value = call.inputs[0]
        return isinstance(value, Constant) and not np.any(value.array)

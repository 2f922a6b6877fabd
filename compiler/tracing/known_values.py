"""`KnownValues`: records calls, and knows the values that follow from constants and from known inputs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..builder import Builder, not_recording
from ..dtypes import Array
from ..free_sizes import is_symbolic
from ..interpreter import run_call
from ..ir import Call, Constant, Value
from ..symbolic_size import SymbolicSize

Known = Callable[[], "Array | None"]
"""Gets the concrete value of an input, or None if it has none."""


class KnownValues(Builder):
    """A builder that can compute values while they are recorded."""

    def __init__(self) -> None:
        super().__init__()
        self._producer: dict[Value, Call] = {}
        self._known: dict[Value, Array | Known | None] = {}
        """For inputs, how to get their values; for others, the values found so far, None if there is none."""
        self._unknowable: set[Value] = set()
        """The values that depend on inputs with unknown values."""
        self._relied_on: set[Value] = set()
        """The inputs whose values were needed."""

    def append(self, call: Call) -> None:
        super().append(call)
        for output in call.outputs:
            self._producer[output] = call

    def producer(self, value: Value) -> Call | None:
        """The call that made `value`; None for inputs and constants."""
        return self._producer.get(value)

    def concrete(self, value: Value) -> "Array | None":
        """The value as an array, if it follows from constants and known inputs; otherwise None."""
        if isinstance(value, Constant):
            return value.array
        stack = [value]
        while stack:
            top = stack[-1]
            if top in self._known or isinstance(top, Constant):
                self._look_up(top)
                stack.pop()
                continue
            call = self._producer[top]
            missing = [v for v in call.inputs if not isinstance(v, Constant) and v not in self._known]
            if missing:
                stack += missing
                continue
            inputs = [self._look_up(v) for v in call.inputs]
            if any(x is None for x in inputs) or is_symbolic(call):
                self._known.update(dict.fromkeys(call.outputs))
            else:
                with not_recording(), np.errstate(all="ignore"):
                    self._known.update(
                        zip(call.outputs, map(np.asarray, run_call(call, inputs)), strict=True)
                    )
            stack.pop()
        return self._look_up(value)

    def shared_by_examples(self, value: Value) -> "Array | None":
        """`concrete`, also in a batch that is computed now, if all its examples have this value."""
        return self.concrete(value)

    def can_be_known(self, value: Value) -> bool:
        """Whether `at_these_sizes` finds a value, without a guard on the sizes."""
        return self.concrete(value) is not None or self._calls_to_know(value) is not None

    def _calls_to_know(self, value: Value) -> list[Call] | None:
        """The calls to compute for a value, in no order; None if an input of them is not known."""
        calls: dict[Call, None] = {}
        seen: set[Value] = set()
        stack = [value]
        while stack:
            top = stack.pop()
            if top in seen or self._is_known(top):
                continue
            seen.add(top)
            if top not in self._producer or top in self._unknowable or self._needs_length(top):
                self._unknowable.add(value)
                return None
            calls[self._producer[top]] = None
            stack += self._producer[top].inputs
        return list(calls)

    def _needs_length(self, value: Value) -> bool:
        """Whether a length that only the program finds out occurs in the computation of a value."""
        raise NotImplementedError

    def at_these_sizes(self, value: Value, because: str = "") -> "Array | None":
        """As `concrete`, but a value may also follow from symbolic sizes. The program is then for these sizes."""
        found = self.concrete(value)
        return self._computed_at_these_sizes(value, because) if found is None else found

    def _computed_at_these_sizes(self, value: Value, because: str) -> "Array | None":
        calls = self._calls_to_know(value)
        if calls is None:
            return None
        order = {call: number for number, call in enumerate(self.calls)}
        found: dict[Value, Array] = {}
        for call in sorted(calls, key=order.__getitem__):
            inputs = [found[v] if v in found else self._look_up(v) for v in call.inputs]
            fixed = replace(
                call, params={name: _fixed(param, because) for name, param in call.params.items()}
            )
            with not_recording(), np.errstate(all="ignore"):
                found.update(zip(call.outputs, map(np.asarray, run_call(fixed, inputs)), strict=True))
        return found[value]

    def _is_known(self, value: Value) -> bool:
        return isinstance(value, Constant) or (value in self._known and self._look_up(value) is not None)

    def depends_on_arguments(self, value: Value) -> bool:
        """Whether a value is computed from an input of this trace rather than only from constants."""
        seen: set[Value] = set()
        stack = [value]
        while stack:
            top = stack.pop()
            if isinstance(top, Constant) or top in seen:
                continue
            seen.add(top)
            if top not in self._producer:
                return True
            stack += self._producer[top].inputs
        return False

    def _look_up(self, value: Value) -> "Array | None":
        if isinstance(value, Constant):
            return value.array
        known = self._known[value]
        if callable(known):
            known = self._known[value] = known()
            if known is not None:
                self._relied_on.add(value)
        return known


def _fixed(param: Any, because: str) -> Any:
    """A parameter with the sizes of this call instead of symbolic sizes."""
    if isinstance(param, SymbolicSize):
        return param.whole(because)
    return tuple(_fixed(one, because) for one in param) if isinstance(param, tuple) else param

"""The values in the call that is being traced. A program may be made for these values; others need another program."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ..builder import bind_all, not_recording, recording
from ..callers.user_code import CONVERTS
from ..dtypes import Array
from ..free_sizes import bound_size, size_names
from ..interpreter import run_call
from ..ir import Call, Constant, Graph, Location, Param, Value
from ..op import PRINTS, RAISES, has_effect, lookup
from ..substitution import fixed_call
from .trace import Trace

MOST_ENTRIES: Final = 1024
"""The most entries of one array that a program is made for."""

_MOST_FOLLOWED: Final = 1000
"""The most values that a program may depend on if it follows the current call."""

ARGUMENTS: ContextVar[Sequence[Any] | None] = ContextVar("arguments", default=None)
"""The leaves of the arguments of the call that is being traced; None if no call is known."""

UNDONE: ContextVar[list[BaseException] | None] = ContextVar("undone", default=None)
"""The exceptions of the function that ended a trace, if Python does something before that the trace has not done, or
has undone. None if nobody runs the function itself then."""

FOLLOWS: ContextVar[bool] = ContextVar("follows", default=False)
"""Whether the program follows the current call: its tests, places and keys are known."""


def is_undone(error: Exception) -> bool:
    """Whether the function itself runs after this exception, and raises it again."""
    return any(one is error for one in UNDONE.get() or ())


@contextmanager
def in_call(leaves: Sequence[Any] | None) -> Generator[None]:
    """Within the block, these are the arguments of the call that is being traced; None if they are not known."""
    token = ARGUMENTS.set(leaves)
    try:
        yield
    finally:
        ARGUMENTS.reset(token)


@contextmanager
def following() -> Generator[None]:
    """Within the block, programs follow the current call."""
    token = FOLLOWS.set(True)
    try:
        yield
    finally:
        FOLLOWS.reset(token)


def value_in_call(trace: Trace, value: Value, sizes: Mapping[str, int]) -> Array | None:
    """A value in the call that is being traced, given the named sizes of its arguments; None if it is not known.

    It is not known for a value of one example of a batch, of an iteration of a loop, or of a branch that may not run.
    """
    found = trace.concrete(value)
    if found is not None:
        return found
    if value in trace.values_in_call:
        return trace.values_in_call[value]
    producer = trace.producer(value)
    if producer is None:
        found = _input_in_call(trace, value, sizes)
    else:
        found = _computed(trace, value, dict(sizes))
    if found is not None:
        trace.values_in_call[value] = found
    return found


def size_in_call(trace: Trace, name: str, sizes: Mapping[str, int]) -> int | None:
    """The size of this name in the call that is being traced."""
    while True:
        call = binding(trace, name)
        if call is not None:
            count = value_in_call(trace, call.inputs[0], sizes)
            return None if count is None else int(count)
        if trace.parent is None:
            return None
        trace = trace.parent


def binding(trace: Trace, name: str) -> Call | None:
    """The call of a trace that gives a length its value."""
    return next((call for call in trace.calls if str(bound_size(call)) == name), None)


def _input_in_call(trace: Trace, value: Value, sizes: Mapping[str, int]) -> Array | None:
    if value in trace.argument_values:
        return np.asarray(trace.argument_values[value], value.dtype)
    outside = trace.value_outside(value)
    if outside is not None:
        return value_in_call(*outside, sizes)
    behind = trace.captured_object(value) if value in trace.inputs else None
    return behind if isinstance(behind, np.ndarray) and not trace.may_not_run else None


def _computed(trace: Trace, value: Value, sizes: dict[str, int]) -> Array | None:
    """Evaluate the calls that it needs, in order."""
    found: dict[Value, Array] = {}
    for call in _needed_calls(trace, value, sizes):
        inputs: list[Array] = []
        for one in call.inputs:
            known = found.get(one)
            if known is None:
                known = value_in_call(trace, one, sizes)
            if known is None:
                return None
            inputs.append(known)
        for name in size_names(call) - sizes.keys() - {str(bound_size(call))}:
            length = size_in_call(trace, name, sizes)
            if length is None:
                return None
            sizes[name] = length
        try:
            with not_recording(), np.errstate(all="ignore"):
                outputs = run_call(fixed_call(_without_prints(call), sizes), inputs)
        except Exception:
            if trace.may_not_run and has_effect(call, RAISES):
                return None  # Python may take another branch, in which it does not raise the user's error
            raise
        found.update(zip(call.outputs, map(np.asarray, outputs), strict=True))
        if (size := bound_size(call)) is not None:
            sizes[str(size)] = outputs[0].shape[0]
    return found[value]


def _without_prints(call: Call) -> Call:
    """The call without the prints in its graphs: the program prints the lines when it runs."""
    if not has_effect(call, PRINTS):
        return call
    return replace(call, params={name: _silent(param) for name, param in call.params.items()})


def _silent(param: Param) -> Param:
    if isinstance(param, tuple):
        return tuple(map(_silent, param))
    if not isinstance(param, Graph):
        return param
    kept = [_without_prints(call) for call in param.calls if lookup(call.op).effect != PRINTS]
    return replace(param, calls=tuple(kept))


def _needed_calls(trace: Trace, value: Value, sizes: Mapping[str, int]) -> list[Call]:
    """The calls that compute a value and the lengths that it needs."""
    calls: dict[Call, None] = {}
    stack = [value]
    seen: set[Value] = set()
    while stack:
        top = stack.pop()
        call = None if top in seen or isinstance(top, Constant) else trace.producer(top)
        seen.add(top)
        if call is None or call in calls:
            continue
        calls[call] = None
        stack += call.inputs
        for name in size_names(call) - sizes.keys():
            length = binding(trace, name)
            if length is not None and length is not call:
                stack += length.outputs
    order = {call: number for number, call in enumerate(trace.calls)}
    return sorted(calls, key=order.__getitem__)


def guarded_value(trace: Trace, value: Value, what: str) -> Array | None:
    """A value in the call that is being traced, for which the program is then made; None if it is not known.

    Values that depend only on Python numbers among the arguments are left to the signature, which can hold these,
    unless the program follows the current call. Without conversion, values stay unknown.
    """
    if (
        not (trace.outermost().is_kept and CONVERTS.get())
        or value.type.size > MOST_ENTRIES
        or (FOLLOWS.get() and len(trace.outermost().expected) >= _MOST_FOLLOWED)
        or (not FOLLOWS.get() and trace.numbers_used_by(value))
    ):
        return None
    return _expected(trace, value, what)


def guarded_truth(trace: Trace, value: Value, what: str) -> bool | None:
    """Whether a condition holds in the call that is being traced, for which the program is then made; None if it is not
    known. It may depend on Python numbers: there are only two programs."""
    if not (trace.outermost().is_kept and CONVERTS.get()) or value.type.size != 1:
        return None
    found = _expected(trace, value, what)
    return None if found is None else bool(found)


def _expected(trace: Trace, value: Value, what: str) -> Array | None:
    found = value_in_call(trace, value, sizes_of_arguments())
    if found is not None and value not in trace.expected:
        trace.expected.add(value)
        expect(trace, value, found, what)
    return found


def is_followed(trace: Trace, value: Value) -> bool:
    """Whether the program can be made for this value, or for its truth, because it follows the current call."""
    return (
        FOLLOWS.get()
        and trace.outermost().is_kept
        and value_in_call(trace, value, sizes_of_arguments()) is not None
    )


def sizes_of_arguments() -> Mapping[str, int]:
    """The named sizes in the call that is being traced."""
    from ..shapes.dim import ANSWERS

    answers: Any = ANSWERS.get()
    return getattr(answers, "hints", {})


def record_in(owner: Trace, location: Location | None, op: str, *inputs: Value, **params: Param) -> None:
    """Record a call without outputs in an enclosing trace."""
    before = owner.location
    with recording(owner):
        owner.location = location
        bind_all(op, *inputs, **params)
        owner.location = before


def expect(trace: Trace, value: Value, found: Array, what: str) -> None:
    """Restrict the program to calls in which a value is the same as in the call that is being traced."""
    location = trace.where()
    owner, lifted = _lifted(trace, value)
    record_in(owner, location, "expect", lifted, Constant(found), what=what)


def _lifted(trace: Trace, value: Value) -> tuple[Trace, Value]:
    """A value in the outermost trace, where the calls that compute it are recorded again."""
    parent = trace.parent
    if parent is None:
        return trace, value
    env: dict[Value, Value] = {}

    def above(one: Value) -> Value:
        if isinstance(one, Constant) or one in env:
            return env.get(one, one)
        outside = trace.value_outside(one)
        if outside is not None:
            return outside[1]
        # An argument of a nested function may be known, such as a number of the signature.
        known = trace.concrete(one)
        return one if known is None else Constant(known)

    with recording(parent):
        before = parent.location
        for call in _needed_calls(trace, value, {}):
            parent.location = call.location
            outputs = parent.emit(call.op, tuple(map(above, call.inputs)), call.params)
            env.update(zip(call.outputs, outputs, strict=True))
        parent.location = before
    return _lifted(parent, above(value))

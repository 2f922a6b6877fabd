"""`detect_anomaly`: stop at the first operation that turns numbers into NaN."""

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, ContextDecorator, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ...compiler.dtypes import Array, is_inexact
from ...compiler.errors import AnomalyError
from ...compiler.interpreter import observing_calls
from ...compiler.ir import ArrayType, Call, Location
from ...compiler.op import lookup


@dataclass(frozen=True, slots=True)
class Finding:
    """An operation that turned finite numbers into NaN or infinity."""

    kind: str
    """``"NaN"`` or ``"inf"``."""
    op: str
    location: Location | None
    is_derivative: bool
    """Whether the operation computes the derivative of its line, not its value."""
    inputs: str
    """Its inputs where it happened first."""
    count: int
    """How many elements are affected, of `size`."""
    size: int
    index: tuple[int, ...]
    """The first of them."""
    examples: tuple[tuple[int, ...], ...]
    """Which examples of the batch, if the line is mapped: the first few."""

    @property
    def what(self) -> str:
        return "derivative" if self.is_derivative else "value"

    def __str__(self) -> str:
        place = f", first at {self.index}" if self.index else ""
        batch = f", for example {_shown(self.examples[0])} of the batch" if self.examples else ""
        return (
            f"{self.op}({self.inputs}) is {self.kind}: the {self.what} of this line, in {self.count} of {self.size} "
            f"elements{place}{batch}"
        )


_first_example: ContextVar[int] = ContextVar("tracemill_first_example", default=0)


@contextmanager
def part_of_batch(start: int) -> Generator[None]:
    """The examples of the outermost batch start at number `start`."""
    token = _first_example.set(start)
    try:
        yield
    finally:
        _first_example.reset(token)


_TESTS = {"NaN": np.isnan, "inf": np.isinf}
_SHOWN_EXAMPLES = 5


def finding(kind: str, call: Call, inputs: Sequence[Any], outputs: Sequence[Any]) -> Finding | None:
    """The anomaly of a call if an output has NaN (or infinity, by `kind`) and no input has; elementwise, no input at
    the same place."""
    is_elementwise = lookup(call.op).spelling is not None
    for output in outputs:
        bad = _where(kind, output)
        given = [there for there in (_where(kind, x) for x in inputs) if there is not None]
        if bad is not None and given:
            bad = bad & ~np.any(np.broadcast_arrays(bad, *given)[1:], axis=0) if is_elementwise else None
        if bad is None or not bad.any():
            continue
        places = np.argwhere(bad)
        index = tuple(map(int, places[0]))
        location = call.location
        batch = location.batch if location is not None else ()
        axes = [one.axis for one in batch]
        is_mapped = bool(batch) and all(bad.shape[one.axis : one.axis + 1] == (one.size,) for one in batch)
        examples = dict.fromkeys(_example(place[axes]) for place in places) if is_mapped else {}
        return Finding(
            kind,
            call.op,
            location,
            location is not None and location.is_derivative,
            ", ".join(_given(x, bad.shape, index if is_elementwise else None) for x in inputs),
            len(places),
            bad.size,
            index,
            tuple(examples)[:_SHOWN_EXAMPLES],
        )
    return None


def _example(place: Array) -> tuple[int, ...]:
    """The number of an example in the whole of each batch, where `place` is in the current part."""
    first, *others = map(int, place)
    return _first_example.get() + first, *others


def _where(kind: str, x: Any) -> Array | None:
    """Which elements are NaN or infinite; None if there are none."""
    array = np.asarray(x)
    if not is_inexact(array.dtype):
        return None
    bad: Array = np.asarray(_TESTS[kind](array))
    return bad if bad.any() else None


def _given(x: Any, shape: tuple[int, ...], index: tuple[int, ...] | None) -> str:
    """An input at the position of an output, for an elementwise op; otherwise its type."""
    array = np.asarray(x)
    if index is not None:
        return str(np.broadcast_to(array, shape)[index])
    return str(array) if not array.ndim else str(ArrayType(array.dtype, array.shape))


def _shown(example: tuple[int, ...]) -> str:
    return str(example[0] if len(example) == 1 else example)


class detect_anomaly(ContextDecorator):  # noqa: N801  (used as a word: ``with detect_anomaly():``)
    """Raise `AnomalyError` at the first operation whose value or derivative becomes NaN. A context manager.

    It checks everything that transforms compute, compiled functions, which are interpreted inside it, and variables.
    It does not see plain NumPy outside them. It is slow: use it to find an error, not all the time.

    >>> import numpy as np
    >>> from tracemill import vmap
    >>> with detect_anomaly():
    ...     vmap(np.log)(np.array([1.0, 2.0, -3.0]))
    Traceback (most recent call last):
    tracemill.compiler.errors.recording.AnomalyError: log(-3.0) is NaN: the value of this line, in 1 of 3 elements...
    """

    def __init__(self) -> None:
        self._entered: list[AbstractContextManager[None]] = []

    def __enter__(self) -> Self:
        context = observing_calls(_raise_at_nan)
        context.__enter__()
        self._entered.append(context)
        return self

    def __exit__(self, *exception: Any) -> None:
        self._entered.pop().__exit__(*exception)


def _raise_at_nan(call: Call, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    found = finding("NaN", call, inputs, outputs)
    if found is not None:
        raise AnomalyError(str(found), call.location)

"""Signal handlers that run while a function is traced are not part of that function."""

import signal
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest

import tracemill as tm


@tm.compile
def scaled(x: Any, by: float = 2.0) -> Any:
    return np.sin(x) * by


class Handler:
    """Handlers as functions, methods and partials, with any names of their parameters."""

    def __init__(self) -> None:
        self.results: list[Any] = []

    def method(self, number: int, frame: FrameType | None) -> None:
        self.results.append(scaled(np.arange(3.0)))

    def of_anything(self, *given: Any) -> None:
        self.results.append(scaled(np.arange(3.0)))

    def with_scale(self, scale: float, number: int, frame: FrameType | None) -> None:
        self.results.append(scaled(np.arange(3.0), scale))

    def tracing(self, number: int, frame: FrameType | None) -> None:
        """A function that is traced within the handler and calls a compiled function without traced arrays."""
        self.results.append(
            tm.compile(lambda x: scaled(np.arange(3.0)) + 0 * x, backend="numpy")(np.zeros(3))
        )


@pytest.fixture
def handler() -> Iterator[Handler]:
    before = signal.getsignal(signal.SIGUSR1)
    yield Handler()
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("kind", ["method", "of_anything", "with_scale", "tracing"])
def test_a_handler_calls_compiled_functions_while_another_is_traced(handler: Handler, kind: str) -> None:
    handle: Callable[..., None] = getattr(handler, kind)
    signal.signal(signal.SIGUSR1, partial(handle, 2.0) if kind == "with_scale" else handle)

    def interrupted(x: Any) -> Any:
        y = np.cos(x)
        signal.raise_signal(signal.SIGUSR1)
        return y + scaled(x)

    x = np.linspace(0.0, 1.0, 5)
    np.testing.assert_array_equal(tm.compile(interrupted, backend="numpy")(x), np.cos(x) + np.sin(x) * 2)
    (found,) = handler.results
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, np.sin(np.arange(3.0)) * 2)


def test_a_function_that_is_not_a_handler_takes_part_in_the_trace() -> None:
    table = np.arange(3.0)

    def outer(x: Any) -> Any:
        return scaled(table) + x

    compiled = tm.compile(outer, backend="numpy")
    np.testing.assert_array_equal(compiled(np.ones(3)), np.sin(table) * 2 + 1)
    table[:] = 1.0
    np.testing.assert_array_equal(compiled(np.ones(3)), np.sin(table) * 2 + 1)

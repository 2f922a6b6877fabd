"""NumPy's own generators that a function reaches: what they draw while it is traced would be the same at each run."""

import pickle
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from ..compiler.errors import RandomStateError
from ..compiler.program import describe
from ..compiler.tracing import location_at


@contextmanager
def refusing_draws(function: Callable[..., Any]) -> Generator[None]:
    """`RandomStateError` if the function has drawn from a generator of NumPy's that it, or one it calls, names."""
    is_loaded = (
        "numpy.random" in sys.modules
    )  # else there is no generator, and this is not the time to load them
    before = [(n, found, _state(found)) for n, found in _generators(function, set())] if is_loaded else []
    yield
    for name, found, state in before:
        if _state(found) != state:
            code = getattr(function, "__code__", None)
            raise RandomStateError(
                f"{describe(function)} drew from {name}, a generator of NumPy's, while being traced: the number would "
                "be frozen into the graph, the same each time that it runs. Draw from a generator of "
                "tracemill.random.default_rng, or outside, and pass the result as an argument",
                None if code is None else location_at(code.co_filename, code.co_firstlineno),
            )


def _state(generator: Any) -> bytes:
    if isinstance(generator, np.random.RandomState):
        return pickle.dumps(generator.get_state())
    return pickle.dumps(generator.bit_generator.state)


def _generators(function: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """The generators in the closure of a function and among the globals that it names, and those of its functions."""
    while isinstance(function, partial):
        function = function.func
    function = getattr(function, "__func__", function)
    if id(function) in seen:
        return
    seen.add(id(function))
    if hasattr(function, "__wrapped__"):
        yield from _generators(function.__wrapped__, seen)
    if not isinstance(function, FunctionType):
        return
    names = function.__code__.co_names
    named = [(name, function.__globals__[name]) for name in names if name in function.__globals__]
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    named += [(name, cell.cell_contents) for name, cell in cells if _is_filled(cell)]
    for name, value in named:
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            yield name, value
        elif isinstance(value, FunctionType):
            yield from _generators(value, seen)


def _is_filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:  # a name that is assigned later
        return False
    return True

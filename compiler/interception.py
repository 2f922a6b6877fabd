"""NumPy's constructors while a trace is active: ``np.zeros(4)`` inside a traced function is a traced array."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np

from .errors import RandomStateError
from .traced_array import located
from .tracing import current_trace, is_library, user_location

CONSTRUCTORS: dict[str, Callable[..., Any]] = {}
"""Name of a constructor in NumPy -> what it does in a traced function."""

_RANDOM_SAFE = {"default_rng", "Generator", "RandomState", "SeedSequence", "BitGenerator", "PCG64", "Philox"}
_lock = threading.Lock()
_active = 0
_originals: list[tuple[Any, str, Any]] = []


def intercepts(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as what ``np.name`` does in a traced function."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CONSTRUCTORS[name] = function
        return function

    return register


@contextmanager
def intercepted() -> Iterator[None]:
    """Let NumPy's constructors see traces. Threads that are not tracing get NumPy's own behaviour throughout."""
    global _active
    with _lock:
        _active += 1
        if _active == 1:
            _install()
    try:
        yield
    finally:
        with _lock:
            _active -= 1
            if _active == 0:
                _uninstall()


def _install() -> None:
    for name, traced in CONSTRUCTORS.items():
        _replace(np, name, _dispatching(getattr(np, name), traced))
    for name in np.random.__all__:
        function = getattr(np.random, name)
        if name not in _RANDOM_SAFE and callable(function) and not isinstance(function, type):
            _replace(np.random, name, _refusing(function, name))


def _replace(module: Any, name: str, function: Any) -> None:
    _originals.append((module, name, getattr(module, name)))
    setattr(module, name, function)


def _uninstall() -> None:
    while _originals:
        module, name, original = _originals.pop()
        setattr(module, name, original)


def _dispatching(original: Any, traced: Callable[..., Any]) -> Any:
    @wraps(original)
    def constructor(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is None or _called_by_a_library():
            return original(*args, **kwargs)
        return located(traced, *args, **kwargs)

    return constructor


def _called_by_a_library() -> bool:
    """NumPy, SciPy and Tracemill itself mean NumPy's own constructors."""
    return is_library(sys._getframe(2).f_code.co_filename)


def _refusing(original: Any, name: str) -> Any:
    @wraps(original)
    def draw(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is None or _called_by_a_library():
            return original(*args, **kwargs)
        raise RandomStateError(
            f"np.random.{name} was called while tracing: its number would be frozen into the graph. "
            "Draw outside and pass the result as an argument",
            user_location(),
        )

    return draw

"""`heapq` and `bisect` of traced numbers, context managers made by `contextlib`, and filters of `warnings`."""

import ast
import bisect
import contextlib
import heapq
import inspect
import warnings
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any, Final

from ...compiler.callers.user_code import user_location
from ...compiler.frontend.conversion import call_converted
from ...compiler.tracing.outside.system_calls import act_error
from ...compiler.tracing.trace import require_trace
from ..branching.one_of import is_one_of
from ..branching.python_numbers import is_unknown
from .methods import insert_at
from .orderings import in_order, place_among

_HEAPS: Final = ("heappush", "heappop", "heapify", "heapreplace", "heappushpop")


def library_meanings(callee: Callable[[Any], Any]) -> dict[Any, Callable[..., Any]]:
    """Maps functions of Python's library to those that converted code calls instead."""
    found: dict[Any, Callable[..., Any]] = {getattr(heapq, name): _of_heap(name) for name in _HEAPS}
    found |= {
        heapq.nlargest: _extreme(callee, reverse=True),
        heapq.nsmallest: _extreme(callee, reverse=False),
    }
    found |= {bisect.insort_left: _inserted("left"), bisect.insort_right: _inserted("right")}
    found |= {one: _filter(one) for one in (warnings.filterwarnings, warnings.simplefilter)}
    return found | {warnings.catch_warnings: _catch_warnings}


# ---- heapq and bisect ------------------------------------------------------------------------------------


@lru_cache(1)
def _python_heapq() -> ModuleType:
    """The Python version of `heapq`, because the C version does not know traced numbers."""
    tree = ast.parse(inspect.getsource(heapq))
    tree.body = [node for node in tree.body if not isinstance(node, ast.Try)]  # each imports a C function
    module = ModuleType("heapq")
    module.__file__ = heapq.__file__
    exec(compile(tree, heapq.__file__, "exec"), vars(module))
    return module


def _of_heap(name: str) -> Callable[..., Any]:
    own = getattr(heapq, name)

    def function(heap: list[Any], *item: Any) -> Any:
        if not any(map(_holds_unknown, (*heap, *item))):
            return own(heap, *item)
        return call_converted(getattr(_python_heapq(), name), heap, *item)

    return function


def _holds_unknown(x: Any) -> bool:
    return any(map(_holds_unknown, x)) if type(x) in (tuple, list) else is_unknown(x) or is_one_of(x)


def _extreme(callee: Callable[[Any], Any], *, reverse: bool) -> Callable[..., Any]:
    """``nlargest`` and ``nsmallest``, by sorting."""

    def function(n: int, entries: Any, key: Any = None) -> Any:
        return in_order(entries, None if key is None else callee(key), reverse=reverse)[: max(n, 0)]

    return function


def _inserted(side: Any) -> Callable[..., Any]:
    own = bisect.insort_left if side == "left" else bisect.insort_right

    def function(entries: Any, x: Any, *ends: Any, **more: Any) -> None:
        place = place_among(entries, x, side, ends or more)
        if place is None:
            own(entries, x, *ends, **more)
        else:
            insert_at(entries, place, x)

    return function


# ---- contextlib ------------------------------------------------------------------------------------------


MANAGER_MAKER: Final = contextlib.contextmanager(inspect.currentframe).__code__  # type: ignore[arg-type]
"""The code of the functions that ``@contextmanager`` makes."""


def managing(callee: Callable[[Any], Any], function: Any, *given: Any, **more: Any) -> Any:
    """Call such a function: the user's generator runs converted."""
    return contextlib.contextmanager(callee(function.__wrapped__))(*given, **more)


# ---- warnings --------------------------------------------------------------------------------------------


def _catch_warnings(*given: Any, **more: Any) -> Any:
    """``warnings.catch_warnings()``. A program does not warn as NumPy does, so what needs that runs uncompiled."""
    if more.get("record"):
        _refuse("records warnings")
    _refuse_errors(more.get("action"))
    return warnings.catch_warnings(*given, **more)


def _filter(own: Callable[..., None]) -> Callable[..., None]:
    def filtered(action: Any, *given: Any, **more: Any) -> None:
        _refuse_errors(action)
        own(action, *given, **more)

    return filtered


def _refuse_errors(action: Any) -> None:
    if action == "error":
        _refuse("makes errors of warnings")


def _refuse(what: str) -> None:
    trace = require_trace()
    if not trace.is_evaluating:
        raise act_error(trace, what, user_location())

"""`heapq` and `bisect` of traced numbers."""

import ast
import bisect
import heapq
import inspect
from collections.abc import Callable
from functools import lru_cache
from types import ModuleType
from typing import Any, Final

from ...compiler.frontend.conversion import call_converted
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
    return found


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

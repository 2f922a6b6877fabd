"""``x is y`` where each may be one of several objects, depending on values or on the iteration of a loop."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...compiler.callers.user_code import user_location
from ...compiler.errors import ConcretizationError
from ...compiler.tracing.trace import require_trace
from ...compiler.tracing.traced_memory import is_traced
from .containers import CONTAINERS
from .references import memory_of
from .stand_ins import CopiedContainer, stand_in_of, stand_ins, update_stand_ins


def is_same_object(x: Any, y: Any) -> Any:
    """``x is y``, where each may be a stand-in.

    Raises:
        SideEffectError: the program cannot tell.
    """
    update_stand_ins()
    found: Any = x is y
    if found:
        return found
    notes = [stand_in_of(one) for one in (x, y)]
    for own in notes:
        if isinstance(own, CopiedContainer):
            raise own.refusal()
    mine, theirs = (
        [(True, one)] if own is None else list(own.chosen()) for one, own in zip((x, y), notes, strict=True)
    )
    for test, one in mine:
        for other_test, other in theirs:
            if one is other:
                found = np.logical_or(found, np.logical_and(test, other_test))
            elif _may_be_same(one, other):
                raise ConcretizationError(
                    "`is` with a variable that may be one of several arrays or lists, depending on values: "
                    "set a number beside the array, and compare it",
                    user_location(),
                )
    return found


def _may_be_same(x: Any, y: Any) -> bool:
    """Whether two objects may be the same in some iterations of a loop, or for some values."""
    if not all(isinstance(one, CONTAINERS) or (is_traced(one) and one.ndim) for one in (x, y)):
        return False
    return _may_share(x, y) or _enters_loop(x) or _enters_loop(y)


def note_entered(given: Iterable[Any]) -> None:
    """Note the containers and arrays that replace those from before a staged loop within an iteration."""
    entered, running = stand_ins().entered, {id(trace) for trace in require_trace().enclosing()}
    for key, trace in list(entered.items()):
        if trace not in running:
            del entered[key]
    entered.update((id(one), id(require_trace())) for one in given)


def _enters_loop(x: Any) -> bool:
    trace = stand_ins().entered.get(id(x))
    return trace is not None and any(id(one) == trace for one in require_trace().enclosing())


def _may_share(x: Any, y: Any) -> bool:
    """Whether two arrays may be the same for some values."""
    if not (is_traced(x) and is_traced(y)):
        return False
    mine, theirs = ([*memory_of(one)] for one in (x, y))
    is_chosen = len(mine) > 1 or len(theirs) > 1
    return is_chosen and any(one is other for one in mine for other in theirs)

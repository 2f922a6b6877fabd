"""Rejection samplers: loops over attempts, which use the same part of the stream for any number of attempts."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...compiler.tracing.traced_memory import is_traced
from ..control_flow.while_loop import while_loop


def first_accepted(propose: Callable[[Any], tuple[Any, Any]]) -> Any:
    """For each element the first proposal that is not rejected: ``propose(attempt) -> (values, rejected)``.

    All elements are proposed again in each attempt, from numbers of that attempt only.
    """

    def again(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        attempt, values, rejected = state
        others, rejected_too = propose(attempt)
        return attempt + 1, np.where(rejected, others, values), rejected & rejected_too

    return repeat(again, lambda state: state[2], (1, *propose(0)))[1]


def repeat(step: Callable[[Any], Any], active: Callable[[Any], Any], state: Any) -> Any:
    """``step`` as long as any element is active: a plain loop on NumPy arrays, `while_loop` on traced ones."""
    if is_traced(active(state)):
        return while_loop(lambda state: np.any(active(state)), step, state)
    while np.any(active(state)):
        state = step(state)
    return state

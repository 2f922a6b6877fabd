"""`differentiated`: runs a function under a differentiating transform, operation by operation or in a trace."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeGuard

import numpy as np

from ...compiler.arguments.leaves import flatten_arguments
from ...compiler.builder import Builder, current_builder
from ...compiler.interpreter import are_calls_observed, is_idle
from ...compiler.tracing.foreign_memory import ForeignMemory
from ...compiler.tracing.traced_memory import is_traced
from ..batching.batched_trace import BatchedTrace
from ..eager.by_reference import is_by_reference
from ..eager.mapped_axes import mapped_axes
from ..eager.transform_log import is_seen
from ..evaluation.evaluated_array import EvaluatedArray, is_variable
from ..evaluation.evaluated_memory import MustTraceError
from ..evaluation.evaluating import Evaluating
from ..evaluation.forward_trace import MustKeepCallsError
from ..trees import flatten, structure
from .argnums import Chosen
from .batched_derivative import BatchedDerivative
from .evaluated_derivative import EvaluatedDerivative
from .forward_derivative import ForwardDerivative, ForwardJacobian
from .nested_derivative import NestedDerivative
from .taped_derivative import TapedDerivative
from .traced_derivative import TracedDerivative


def differentiated(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    chosen: Chosen,
    has_aux: bool,
    safe_where: bool = False,
    *,
    keeps: bool = False,
    by_sweep: bool = False,
) -> TracedDerivative | EvaluatedDerivative:
    """One call under a differentiating transform.

    It is evaluated, unless a function around it is traced or an argument is on a GPU. It `keeps` copies of arrays from
    outside if the derivative is computed later. Inside of a batch, it is evaluated only if it goes through nodes,
    `by_sweep`.
    """
    home = current_builder()
    if (home is None or _is_function(home)) and not are_calls_observed() and not is_seen():
        leaves, tree = flatten_arguments(args, kwargs, is_by_reference)
        if {*map(type, leaves)} == _ARRAYS or not any(
            _is_elsewhere(leaf, home) for leaf in leaves if home is not None or not is_variable(leaf)
        ):
            if home is not None:
                return NestedDerivative(home, function, leaves, tree, chosen, has_aux, safe_where)
            try:
                found = EvaluatedDerivative(function, leaves, tree, chosen, has_aux, safe_where, keeps=keeps)
            except MustTraceError:
                pass
            else:
                if found.taped is None:
                    return found
                return TapedDerivative(found.taped, leaves, tree, chosen, has_aux, safe_where)
    if by_sweep and isinstance(home, BatchedTrace) and not safe_where and _is_at_once(home):
        leaves, tree = flatten_arguments(args, kwargs, is_by_reference)
        if not any(isinstance(leaf, ForeignMemory) for leaf in leaves):
            return BatchedDerivative(home, function, leaves, tree, chosen, has_aux)
    return TracedDerivative(function, args, kwargs, chosen, has_aux, safe_where)


def forward(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    chosen: Chosen,
    has_aux: bool,
    tangents: tuple[Any, ...],
) -> ForwardDerivative | None:
    """One call whose tangents are computed with it; None if that is done later, or in a trace."""
    if not is_idle() or is_seen():
        return None
    leaves, tree = flatten_arguments(args, {}, is_by_reference)
    if {*map(type, leaves), *map(type, tangents)} != _ARRAYS and any(
        _is_elsewhere(leaf, None) for leaf in (*leaves, *flatten(tangents)[0])
    ):
        return None
    try:
        return ForwardDerivative(function, leaves, tree, chosen, has_aux, tangents, structure(args))
    except (MustTraceError, MustKeepCallsError):
        return None


def forward_in_all_directions(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    chosen: Chosen,
    has_aux: bool,
) -> ForwardJacobian | None:
    """The same for all unit directions; None also if there are many, whose tangents need much memory."""
    if not is_idle() or is_seen():
        return None
    leaves, tree = flatten_arguments(args, kwargs, is_by_reference)
    moving = [leaf for leaf, is_chosen in zip(leaves, chosen.leaves(tree), strict=True) if is_chosen]
    if any(_is_elsewhere(leaf, None) for leaf in leaves) or not 0 < sum(map(np.size, moving)) <= _MOST:
        return None
    with suppress(MustTraceError, MustKeepCallsError):
        return ForwardJacobian(function, leaves, tree, chosen, has_aux)
    return None


_ARRAYS: Final[Any] = frozenset({np.ndarray})
_MOST: Final = 1000
"""So many directions are computed at once."""


def _is_at_once(batch: BatchedTrace) -> bool:
    """Whether the derivatives of all examples can be computed as one: no call depends on several examples."""
    around = batch.base
    return (
        (around is None or _is_function(around))
        and not are_calls_observed()
        and not is_seen()
        and not any(axis.name for axis in mapped_axes())
    )


def _is_function(trace: "Builder | None") -> TypeGuard[Evaluating]:
    """Whether it is the trace of a function that is evaluated."""
    return isinstance(trace, Evaluating) and not trace.is_open_ended


def _is_elsewhere(leaf: Any, home: Evaluating | None) -> bool:
    """Whether a leaf is an array that NumPy does not compute with, or one that another trace records."""
    if type(leaf) is np.ndarray:
        return False
    if type(leaf) is EvaluatedArray:
        return not leaf.is_of(home)
    if is_traced(leaf) or isinstance(leaf, ForeignMemory):
        return True
    return isinstance(leaf, np.ndarray) and type(leaf) not in (np.ndarray, np.memmap)

"""A warning if a derivative is NaN because of a branch that a `where` does not choose."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ...compiler.callers.user_code import users_level
from ...compiler.errors import MaskedNaNWarning
from ...compiler.ir import Graph, called
from ...compiler.tracing.trace import current_trace


def warn_of_masked_nan(
    where: str, graph: Graph, found: Iterable[Any], again: Callable[[], Sequence[Any]]
) -> None:
    """Warn if a NaN in the results `found` is not in those of `again`, which computes them with ``safe_where=True``.

    It only reads the results, unless there is a NaN in them. Values of a trace cannot be read.
    """
    results = list(found)
    if current_trace() is not None or not any(map(has_nan, results)):
        return
    lines = list(dict.fromkeys(_choices(graph)))
    pairs = zip(results, again(), strict=True) if lines else ()
    if any(np.any(np.isnan(ours) & ~np.isnan(safe)) for ours, safe in pairs):
        warnings.warn(
            f"{where}: the derivative is NaN because of a branch that np.where, or a mask where=, does not choose, at "
            f"{' or at '.join(lines)}: 0 from there times an infinite slope. Pass safe_where=True to mask "
            "the slope instead",
            MaskedNaNWarning,
            stacklevel=users_level(),
        )


def has_nan(x: Any) -> bool:
    return bool(np.isnan(x).any())


def _choices(graph: Graph) -> Iterable[str]:
    """The lines of the `where` calls, also those in nested graphs."""
    for call in graph.calls:
        if call.op == "where" and call.location is not None:
            yield str(call.location)
        for nested in called((call,)):
            yield from _choices(nested)

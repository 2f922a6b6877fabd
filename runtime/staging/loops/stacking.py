"""Whether what each iteration of a loop makes can be rows of arrays: numbers, and arrays that nothing else sees."""

from collections.abc import Iterable
from typing import Any

from ....compiler.tracing.trace import Trace
from ....compiler.tracing.traced_memory import is_traced
from ...branching.variables import Held, has_memory, is_computed


def why_not_stacked(made: Held, trace: Trace, others: Iterable[Any]) -> str:
    """Why what an iteration makes, in its trace, cannot become rows of arrays; empty if it can.

    `others` are what the iteration begins with and what its variables hold when it ends.
    """
    known = [x for x in made.leaves if not is_computed(x)]
    if not made.arrays or not all(x is None or isinstance(x, str | bytes) for x in known):
        return "are not arrays or numbers"
    storages = {id(x._storage) for x in others if is_traced(x)}
    for x in filter(has_memory, made.arrays):
        if not is_traced(x) or x._storage.trace is not trace or x._views:
            return "share memory with other arrays"
        if x._storage.shared_with or x._storage.is_chosen:
            return "share memory with other arrays"
        if not x.layout.is_row_major:
            return "are not row-major"
        if id(x._storage) in storages:
            return "share memory with its variables or each other"
        storages.add(id(x._storage))
    return ""

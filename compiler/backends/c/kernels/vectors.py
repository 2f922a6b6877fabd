"""Which loops run on vectors: several iterations at once."""

from ....dtypes import real_dtype
from ....loops.nest import Begin, Choose, Let, Loop, Store
from ....loops.walk import accumulated, statements
from ....symbolic_size import SymbolicSize, is_known, typical
from .reductions import gathering

SHORT = 64
"""A short inner loop with fewer iterations than this runs on narrow vectors, if the widest would leave a remainder:
the remainder runs one by one and would take longer than everything else."""

LANES = 4
"""The iterations that a narrow vector computes at once."""


def may_be_short(loop: Loop) -> bool:
    """Whether a loop has few iterations for typical sizes and an unknown number otherwise."""
    extent = loop.variable.extent
    return isinstance(extent, SymbolicSize) and typical(extent) < SHORT


def widest_vector(loop: Loop) -> int:
    """The number of iterations that the widest vectors of processors compute at once."""
    inner = list(statements(loop.body))
    dtypes = [a.dtype for a in accumulated(loop.body)]
    dtypes += [s.local.dtype for s in inner if isinstance(s, Let | Choose)]
    dtypes += [s.buffer.dtype for s in inner if isinstance(s, Store)]
    return max(64 // max(real_dtype(dtype).itemsize for dtype in dtypes), 2 * LANES)


def runs_on_vectors(loop: Loop) -> bool:
    """Whether several iterations of a loop may run at once: none depends on another, except for sums and the like."""
    inner = list(statements(loop.body))
    if is_known(loop.variable.extent <= 2) or any(isinstance(s, Loop) and not s.is_unrolled for s in inner):
        return False
    if any(isinstance(s, Begin) and any(a.size is not None for a in s.accumulators) for s in inner):
        return False
    for accumulator in accumulated(loop.body):
        how = gathering(accumulator)
        if accumulator.size is None and (how.blocks or how).clause is None:
            return False
    return True

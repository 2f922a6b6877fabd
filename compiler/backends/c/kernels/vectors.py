"""Which loops run on vectors: several iterations at once."""

from typing import Final

from ....analysis.flops import is_transcendental
from ....dtypes import DType, is_complex, kind, real_dtype
from ....ir import Call
from ....loops.nest import Apply, Begin, Choose, Let, Loop, Store
from ....loops.walk import accumulated, expressions, statements
from ....symbolic_size import SymbolicSize, is_known, typical
from .reductions import gathering

SHORT = 64
"""A short inner loop with fewer iterations than this runs on narrow vectors, if the widest would leave a remainder:
the remainder runs one by one and would take longer than everything else."""

LANES = 4
"""The iterations that a narrow vector computes at once."""


LONG = 256
"""Loops with at least this many iterations may compute two vectors at once."""

_SMALLER: Final = {(8, 2): "uint32_t", (8, 4): "uint16_t", (4, 2): "uint16_t", (4, 4): "uint8_t"}
"""Integers of a half or a fourth of the size of an element."""

_SLOW: Final = frozenset({"divide", "reciprocal", "sqrt", "hypot"})
"""The arithmetic whose result arrives long after the next one could have been started."""

MANY: Final = 16
"""Processors overlap fewer calls of slow arithmetic than this by themselves."""


def smaller_type(loop: Loop) -> str | None:
    """An integer type for a loop whose steps wait for each other: mathematical functions, or many divisions; None for
    other loops.

    Compilers make vectors of as many elements as the smallest type in a loop allows. With a type of half the size, they
    compute two vectors of elements at once, and the steps of one fill the waiting times of the other: up to 1.3 times
    as fast. Divisions and square roots wait longer and need fewer registers: loops with many get four, and
    are up to 2.2 times as fast.
    """
    if any(a.op == "sum" and kind(a.dtype) == "f" for a in accumulated(loop.body)):
        return None  # it consists of short loops, at whose ends two vectors would be added
    applied = [one.call for s in statements(loop.body) for one in expressions(s) if isinstance(one, Apply)]
    if typical(loop.variable.extent) < LONG:
        return None
    size = max(real_dtype(dtype).itemsize for dtype in _dtypes(loop))
    if any(map(is_transcendental, applied)):
        return _SMALLER.get((size, 2))
    return _SMALLER.get((size, 4)) if sum(map(_is_slow, applied)) >= MANY else None


def _is_slow(call: Call) -> bool:
    return call.op in _SLOW or (call.op == "absolute" and is_complex(call.inputs[0].dtype))


def may_be_short(loop: Loop) -> bool:
    """Whether a loop has few iterations for typical sizes and an unknown number otherwise."""
    extent = loop.variable.extent
    return isinstance(extent, SymbolicSize) and typical(extent) < SHORT


def widest_vector(loop: Loop) -> int:
    """The number of iterations that the widest vectors of processors compute at once."""
    return max(64 // max(real_dtype(dtype).itemsize for dtype in _dtypes(loop)), 2 * LANES)


def _dtypes(loop: Loop) -> list[DType]:
    """Of the results of its statements."""
    inner = list(statements(loop.body))
    dtypes = [a.dtype for a in accumulated(loop.body)]
    dtypes += [s.local.dtype for s in inner if isinstance(s, Let | Choose)]
    return dtypes + [s.buffer.dtype for s in inner if isinstance(s, Store)]


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

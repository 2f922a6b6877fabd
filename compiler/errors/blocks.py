"""Errors of Dask arrays, and of functions that are applied to their blocks."""

from .tracemill_error import TracemillError


class BlockError(TracemillError, ValueError):
    """A Dask array cannot be split as asked, or a function does not fit its blocks.

    Programs for blocks are traced before any data exists, so the size of every block, and of every result, must be
    known from the chunks alone.

    >>> import numpy as np, tracemill as tm, dask.array as da
    >>> x, y = da.ones(6, chunks=3), da.ones(6, chunks=2)
    >>> tm.dask.map_blocks(np.hypot, x, y)
    Traceback (most recent call last):
    tracemill.compiler.errors.blocks.BlockError: map_blocks(hypot): args[1] has chunks (2, 2, 2) where args[0] has...

    Fix: the message has the expression to write, such as ``y.rechunk(...)`` or ``x.compute_chunk_sizes()``.
    """

    code = "E0901"

"""`map_overlap`: a function of blocks with some rows and columns of their neighbours, such as a stencil."""

from collections.abc import Callable
from typing import Any

from ...compiler.callers.function_names import describe
from ...compiler.errors import BlockError
from ..tracebacks import with_users_frames
from .block_arrays import map_blocks
from .block_function import check_array
from .packages import dask_array


@with_users_frames
def map_overlap(
    func: Callable[..., Any],
    /,
    *args: Any,
    depth: Any,
    boundary: Any = None,
    trim: bool = True,
    **kwargs: Any,
) -> Any:
    """Apply a function to each block and a margin of its neighbours, like `dask.array.map_overlap`, as a compiled
    program.

    Args:
        func: as of `map_blocks`: it returns an array of the shape of its block, of which the margin is then cut off.
        args: Dask arrays of one shape, and others, which each block receives whole.
        depth: how wide the margin is: an int for all axes, or a dict or tuple by axes.
        boundary: what the margin holds at the ends of the array, as of Dask: ``"periodic"``, ``"reflect"``,
            ``"nearest"``, a number, or None for no margin there; or a dict by axes.
        trim: cut the margin off. With False, `func` does.
        kwargs: arguments that each block receives whole.

    Raises:
        As `map_blocks`.

    >>> import numpy as np, tracemill as tm, dask.array as da
    >>> def mean_of_neighbours(u):
    ...     return (np.roll(u, 1) + np.roll(u, -1)) / 2
    >>> u = da.from_array(np.arange(6.0), chunks=2)
    >>> tm.dask.map_overlap(mean_of_neighbours, u, depth=1, boundary="periodic").compute()
    array([3., 1., 2., 3., 4., 2.])
    """
    where = f"map_overlap({describe(func)})"
    arrays = dask_array("map_overlap")
    split = [x for x in args if isinstance(x, arrays.Array)]
    if not split:
        raise BlockError(f"{where}: no argument is a Dask array: call the function itself")
    for number, x in enumerate(args):
        if isinstance(x, arrays.Array):
            check_array(where, x, f"args[{number}]")
            if x.chunks != split[0].chunks:
                raise BlockError(
                    f"{where}: args[{number}] is not split like the first array: args[{number}].rechunk(x.chunks)"
                )
    wide = [arrays.overlap.overlap(x, depth, boundary) if isinstance(x, arrays.Array) else x for x in args]
    found = map_blocks(func, *wide, **kwargs)
    if not trim:
        return found
    if found.chunks != next(x for x in wide if isinstance(x, arrays.Array)).chunks:
        raise BlockError(
            f"{where}: the function changes the shape of its block, so that the margin cannot be cut off: return an"
            " array of the same shape, or cut it off yourself and pass trim=False"
        )
    return arrays.overlap.trim_overlap(found, depth, boundary)

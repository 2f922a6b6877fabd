"""`reduction`: partial results of blocks of rows, combined in a tree."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ...compiler.errors import BlockError, TransformArgumentError
from ..int_options import positive_int
from ..tracebacks import with_users_frames
from .block_call import BlockCall
from .block_sizes import Index
from .packages import dask_array
from .parts import Parts, shown_types


@with_users_frames
def reduction(
    chunk: Callable[..., Any],
    /,
    *args: Any,
    combine: Callable[[Any, Any], Any] | None = None,
    aggregate: Callable[[Any], Any] | None = None,
    split_every: int = 8,
    **kwargs: Any,
) -> Any:
    """Combine the results of a function for each block of rows: sums, means, Gram matrices, gradients, Hessians.

    Args:
        chunk: a function of blocks of rows, compiled or not, or a transform. It returns a partial result: an array, or
            a pytree of them, of the same type for each block.
        args: Dask arrays, which are split along their first axes only; and others, which each block receives whole.
        combine: makes one partial result of two, and is associative. By default, they are added.
        aggregate: makes the result of the last partial one. By default, it is the result.
        split_every: how many partial results one task combines. The order depends on the number of blocks alone, so
            that the same chunks give the same bits on any number of workers.
        kwargs: arguments that each block receives whole.

    Returns:
        The result with lazy Dask arrays in it: ``dask.compute`` takes all of it.

    Raises:
        BlockError: (a ValueError) as of `map_blocks`; or an array is split along another axis; or partial results of
            different types.

    >>> import numpy as np, tracemill as tm, dask, dask.array as da
    >>> x = da.from_array(np.arange(12.0).reshape(6, 2), chunks=(4, 2))
    >>> def moments(x):
    ...     return {"n": x.shape[0], "sum": np.sum(x, axis=0)}
    >>> tm.dask.reduction(moments, x, aggregate=lambda all: all["sum"] / all["n"]).compute()
    array([5., 6.])
    """
    return reduced("reduction", chunk, args, kwargs, combine, aggregate, split_every)


def reduced(
    where: str,
    chunk: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    combine: Callable[[Any, Any], Any] | None = None,
    aggregate: Callable[[Any], Any] | None = None,
    split_every: int = 8,
    surely_whole: Iterable[int] = (),
) -> Any:
    """`reduction`, for others that are made of it."""
    arrays = dask_array(where)
    if positive_int(f"{where}: split_every", split_every, TransformArgumentError) < 2:
        raise TransformArgumentError(f"{where}: split_every must be at least 2, not {split_every}")
    indices = [
        _rows(where, number, x) if isinstance(x, arrays.Array) else None for number, x in enumerate(args)
    ]
    call = BlockCall(where, chunk, args, indices, kwargs, surely_whole=surely_whole)
    _check_rows(call)
    traced = call.traced(())
    parts = Parts.of(traced)
    if combine:
        combining = parts.program(where, combine, count=2)
        if combining.types != parts.types or combining.tree != parts.tree:
            raise BlockError(
                f"{call.where}: combine makes {shown_types(combining.types)} of two partial results, which are"
                f" {shown_types(parts.types)}: it must return what it takes"
            )
        parts = parts.combined(split_every, combining)
    else:
        parts = parts.combined(split_every)
    if aggregate:
        parts = parts.applied(parts.program(where, aggregate, count=1))
    return parts.result(arrays)


def _rows(where: str, number: int, x: Any) -> Index:
    """The index of an array of rows. Its other axes are its own."""
    if not x.ndim:
        raise BlockError(f"{where}: args[{number}] has no axes, and so no rows: pass it by keyword")
    return ("rows", *((number, axis) for axis in range(1, x.ndim)))


def _check_rows(call: BlockCall) -> None:
    for array in call.arrays:
        for axis, count in enumerate(array.numblocks[1:], 1):
            if count > 1:
                raise BlockError(
                    f"{call.where}: an array has {count} blocks along axis {axis}, and blocks must be of whole rows:"
                    f" x.rechunk({{{axis}: -1}})"
                )

"""`map_blocks` and `blockwise`: a function of blocks of Dask arrays, as one lazy Dask array."""

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from ...compiler.callers.function_names import describe
from ...compiler.errors import BlockError, TransformTypeError
from ..tracebacks import with_users_frames
from .block_call import BlockCall
from .block_sizes import Index
from .packages import dask_array


@with_users_frames
def map_blocks(
    func: Callable[..., Any],
    /,
    *args: Any,
    drop_axis: int | Sequence[int] = (),
    new_axis: int | Sequence[int] = (),
    **kwargs: Any,
) -> Any:
    """Apply a function to each block of Dask arrays, like `dask.array.map_blocks`, as a compiled program.

    The dtype and the chunks of the result are those that tracing finds: nothing is run on data, and no ``dtype=`` or
    ``chunks=`` is needed. Workers receive the program as data and compile it once per machine.

    Args:
        func: a function of NumPy arrays, what `compile` made of one, or a transform of one. It returns one array. It
            sees one block of each Dask array.
        args: Dask arrays, which are aligned at their last axes as NumPy broadcasts; and others, which each block
            receives whole: numbers, NumPy arrays, pytrees of them.
        drop_axis: axes that the result does not have. Blocks along them are joined first.
        new_axis: axes of the result that no argument has.
        kwargs: arguments that each block receives whole, also Dask arrays.

    Raises:
        BlockError: (a ValueError) arrays are not split alike, or have chunks of unknown sizes; a NumPy array could be
            meant to be split; the shape of the result depends on values; or it has other axes than announced.
        DTypeError: (a TypeError) an array holds Python objects.
        MissingPackageError: (an ImportError) Dask is not installed.

    >>> import numpy as np, tracemill as tm, dask.array as da
    >>> x = da.arange(6.0, chunks=4)
    >>> y = tm.dask.map_blocks(lambda x, scale: np.float32(scale) * x[::2], x, scale=3)
    >>> y.dtype, y.chunks, y.compute()
    (dtype('float64'), ((2, 1),), array([ 0.,  6., 12.]))
    """
    where = "map_blocks"
    arrays = dask_array(where)
    most = max((x.ndim for x in args if isinstance(x, arrays.Array)), default=0)
    dropped = _axes(where, "drop_axis", drop_axis, most)
    out: list[int] = [axis for axis in range(most) if axis not in dropped]
    new = [new_axis] if isinstance(new_axis, int) else list(new_axis)
    for place, axis in enumerate(sorted(_axes(where, "new_axis", new, len(out) + len(new), "result has"))):
        out.insert(axis, most + place)
    _refuse_block_parameters(where, func, kwargs)
    indices = [tuple(range(most - x.ndim, most)) if isinstance(x, arrays.Array) else None for x in args]
    return _one_array(BlockCall(where, func, args, indices, kwargs), tuple(out))


@with_users_frames
def blockwise(func: Callable[..., Any], out_ind: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Apply a function to blocks that share indices, like `dask.array.blockwise`, as a compiled program.

    Args:
        func: as of `map_blocks`.
        out_ind: an index of the result, such as ``"ij"``: a name for each axis.
        args: arrays and their indices, in turn: ``x, "ik", w, "kj"``. Axes with one name must be split alike. Blocks
            along axes that the result does not have are joined first. The index of what each block receives whole is
            None.
        kwargs: arguments that each block receives whole, also Dask arrays.

    Raises:
        As `map_blocks`.

    >>> import numpy as np, tracemill as tm, dask.array as da
    >>> x, y = da.ones((4, 3), chunks=2), da.ones((4, 3), chunks=2)
    >>> tm.dask.blockwise(lambda x, y: np.sum(x * y, axis=1), "i", x, "ij", y, "ij").compute()
    array([3., 3., 3., 3.])
    """
    if len(args) % 2:
        raise TransformTypeError(
            f"blockwise needs arrays and their indices in turn, as in x, 'ij', w, None, not {len(args)} values"
        )
    indices = [None if index is None else tuple(index) for index in args[1::2]]
    whole = [number for number, index in enumerate(indices) if index is None]
    call = BlockCall("blockwise", func, args[::2], indices, kwargs, surely_whole=whole)
    return _one_array(call, tuple(out_ind))


def _one_array(call: BlockCall, out: Index) -> Any:
    """The result of a function that returns one array, with this index."""
    traced = call.traced([letter for letter in call.sizes if letter not in out])
    return traced.array(out)


def _axes(
    where: str, name: str, axes: int | Sequence[int], ndim: int, holder: str = "arrays have"
) -> list[int]:
    """Axes counted from the front."""
    found = [axes] if isinstance(axes, int) else list(axes)
    for axis in found:
        if not -ndim <= axis < ndim:
            raise BlockError(f"{where}: {name} is {axis}, and the {holder} {ndim} axes")
    return [axis % ndim for axis in found]


def _refuse_block_parameters(where: str, func: Any, kwargs: dict[str, Any]) -> None:
    """`BlockError` if a function waits for what Dask passes by these names."""
    try:
        parameters = signature(func).parameters
    except (TypeError, ValueError):  # it is written in C
        return
    for name in ("block_id", "block_info"):
        if name in parameters and name not in kwargs:
            raise BlockError(
                f"{where}({describe(func)}): the function has a parameter {name}, which Dask passes, and one program"
                " serves all blocks: pass an array with a number for each block, or use dask.array.map_blocks"
            )

"""`vmap` over an axis of Dask arrays, and `jacobian` by blocks of columns."""

import operator
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from ...compiler.callers.function_names import describe
from ...compiler.errors import BlockError, TransformArgumentError
from ...compiler.nesting import shown
from ..batching.vmap import vmap as vmap_of_arrays
from ..derivatives.jvp_vjp import jvp
from ..tracebacks import with_users_frames
from .block_call import BlockCall
from .block_sizes import Index
from .packages import dask_array


@with_users_frames
def vmap(
    func: Callable[..., Any],
    in_dims: int | Sequence[int | None] = 0,
    out_dims: int = 0,
    randomness: str = "error",
) -> Callable[..., Any]:
    """`tracemill.vmap` over an axis of Dask arrays: each block is one batch.

    Args:
        func: a function of arrays for one example, which returns one array.
        in_dims: which axis of each argument is the batch: an int for all Dask arrays, or an entry per argument, where
            None means that the argument is given whole to each example.
        out_dims: where the batch axis goes in the result.
        randomness: as of `tracemill.vmap`, except ``"different"``, whose numbers would repeat in each block. To draw
            other numbers in each example, map over seeds, make a generator of each, and choose ``"same"``.

    Returns:
        A function of the batched arguments. The mapped ones are Dask arrays, which are split along the batch axis
        alone. It returns a lazy Dask array.

    Raises:
        BlockError: (when called; a ValueError) as of `map_blocks`; or an array is split along another axis.
        TransformArgumentError: (a ValueError) for another `randomness`; when called, if `in_dims` or `out_dims` do
            not fit the arguments or the result.

    >>> import numpy as np, tracemill as tm, dask.array as da
    >>> tm.dask.vmap(np.dot, in_dims=(0, None))(da.ones((5, 3), chunks=(2, 3)), np.ones(3)).compute()
    array([3., 3., 3., 3., 3.])
    """
    where = f"vmap({describe(func)})"
    if randomness not in ("error", "same"):
        raise TransformArgumentError(
            f"{where}: randomness must be 'error' or 'same', not {shown(randomness)}: 'different' would draw the same"
            " numbers in each block. Map over seeds, make tracemill.random.default_rng([1, seed]) of each, and choose"
            " 'same'"
        )

    @wraps(func)
    def mapped(*args: Any) -> Any:
        arrays = dask_array("vmap")
        dims = _dims(where, in_dims, args, arrays.Array)
        indices = [
            None if dim is None else _index(number, args[number], dim) for number, dim in enumerate(dims)
        ]
        batched = vmap_of_arrays(func, tuple(dims), out_dims, randomness)
        whole = [number for number, dim in enumerate(dims) if dim is None]
        call = BlockCall("vmap", batched, args, indices, {}, surely_whole=whole)
        for array, index in zip(call.arrays, call.indices, strict=True):
            for axis, letter in enumerate(index):
                if letter != BATCH and array.numblocks[axis] > 1:
                    raise BlockError(
                        f"{where}: an array has {array.numblocks[axis]} blocks along axis {axis}, and can only be split"
                        f" along the batch: x.rechunk({{{axis}: -1}})"
                    )
        traced = call.traced([letter for letter in call.sizes if letter != BATCH])
        ndim = len(traced.only_type.shape)
        out: list[Any] = [(-1, axis) for axis in range(ndim)]
        out[out_dims] = BATCH
        return traced.array(tuple(out))

    return mapped


BATCH = "batch"
"""The name of the axis of the batch."""


def _dims(where: str, in_dims: Any, args: Sequence[Any], dask_type: type) -> list[int | None]:
    """The batch axis of each argument."""
    if isinstance(in_dims, int):
        dims: list[int | None] = [in_dims if isinstance(x, dask_type) else None for x in args]
    else:
        dims = [None if dim is None else operator.index(dim) for dim in in_dims]
    if len(dims) != len(args):
        raise TransformArgumentError(
            f"{where}: in_dims has {len(dims)} entries, and the call has {len(args)} arguments"
        )
    for number, (dim, x) in enumerate(zip(dims, args, strict=True)):
        if dim is None:
            continue
        if not isinstance(x, dask_type):
            raise BlockError(
                f"{where}: args[{number}] is mapped, and is {type(x).__name__}: make it a Dask array,"
                " dask.array.from_array(x, chunks=...), or set its entry of in_dims to None"
            )
        ndim: int = x.ndim  # type: ignore[attr-defined]
        if not -ndim <= dim < ndim:
            raise TransformArgumentError(
                f"{where}: in_dims has {shown(dim)} for args[{number}], which has {ndim} axes"
            )
    return dims


def _index(number: int, x: Any, dim: int) -> Index:
    """The index of a mapped array. Its other axes are its own."""
    index: list[Any] = [(number, axis) for axis in range(x.ndim)]
    index[dim] = BATCH
    return tuple(index)


@with_users_frames
def jacobian(func: Callable[..., Any], *, chunks: int | str = "auto") -> Callable[..., Any]:
    """The Jacobian of a function of one array as a Dask array whose blocks are groups of columns.

    Each block is computed in forward mode, on its own, so that neither one worker nor the client ever holds all of it.

    Args:
        func: a function whose first argument is differentiated, an array, and which returns one array.
        chunks: how many columns a block has, as of `dask.array.arange`.

    Returns:
        A function of the same arguments, which are NumPy arrays and others. It returns a lazy Dask array of the shape
        of the result followed by that of the first argument.

    Raises:
        BlockError: (when called; a ValueError) as of `map_blocks`; or the first argument is no NumPy array of floats.

    >>> import numpy as np, tracemill as tm
    >>> tm.dask.jacobian(lambda x: np.cumsum(x**2), chunks=2)(np.arange(3.0)).compute()
    array([[0., 0., 0.],
           [0., 2., 0.],
           [0., 2., 4.]])
    """
    where = f"jacobian({describe(func)})"

    @wraps(func)
    def columns(x: Any, *args: Any) -> Any:
        arrays = dask_array("jacobian")
        if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
            raise BlockError(
                f"{where}: the first argument is {shown(x, 60)}, and must be a NumPy array of floats: np.asarray(x,"
                " np.float64), or x.compute() of a Dask array"
            )

        @wraps(func)
        def column(number: Any, x: Any, *args: Any) -> Any:
            tangent = np.where(np.arange(x.size) == number, 1.0, 0.0).astype(x.dtype).reshape(x.shape)
            return jvp(lambda x: func(x, *args), (x,), (tangent,))[1]

        numbers = arrays.arange(x.size, chunks=chunks)
        in_dims = (0, *(None for _ in range(1 + len(args))))
        found = vmap(column, in_dims, -1)(numbers, x, *args)
        return found if x.ndim == 1 else found.reshape((*found.shape[:-1], *x.shape))

    return columns

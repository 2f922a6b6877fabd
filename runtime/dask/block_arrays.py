"""`map_blocks` and `blockwise`: a function of blocks of Dask arrays, as one lazy Dask array."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...compiler.errors import BlockError, TransformTypeError
from ..tracebacks import with_users_frames
from .block_function import Block, BlockFunction
from .block_program import run_block
from .block_sizes import (
    Index,
    axis_sizes,
    block_shape,
    check_whole_array,
    combinations,
    result_chunks,
)
from .packages import dask_array, shared


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
    for place, axis in enumerate(sorted(_axes(where, "new_axis", new_axis, None))):
        out.insert(axis, most + place)
    pairs: list[Any] = []
    for x in args:
        pairs += [x, tuple(range(most))[most - x.ndim :] if isinstance(x, arrays.Array) else None]
    return _blockwise(where, func, tuple(out), pairs, kwargs)


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
    return _blockwise("blockwise", func, tuple(out_ind), args, kwargs)


def _blockwise(
    where: str, func: Callable[..., Any], out: Index, pairs: Sequence[Any], kwargs: dict[str, Any]
) -> Any:
    arrays = dask_array(where)
    args, indices = pairs[::2], [None if index is None else tuple(index) for index in pairs[1::2]]
    function = BlockFunction(
        where,
        func,
        [x if index is None else Block(x) for x, index in zip(args, indices, strict=True)],
        kwargs,
    )
    where = function.where
    split = [number for number, index in enumerate(indices) if index is not None]
    for number in split:
        if not isinstance(args[number], arrays.Array):
            raise BlockError(
                f"{where}: args[{number}] is {type(args[number]).__name__}, which has no blocks: make it a Dask array,"
                " dask.array.from_array(x, chunks=...), or give it the index None"
            )
    if not split:
        raise BlockError(f"{where}: no argument is a Dask array: call {function.name} itself")
    letters: list[Index] = [index for index in indices if index is not None]
    given, names = [args[number] for number in split], [f"args[{number}]" for number in split]
    sizes = axis_sizes(where, given, letters, names)
    for number, x in enumerate(args):
        check_whole_array(where, x, f"args[{number}]", sizes)
    joined = {letter: chunks if letter in out else (sum(chunks),) for letter, chunks in sizes.items()}
    sized = list(combinations(where, joined))
    shapes = [
        tuple(block_shape(x, index, one) for x, index in zip(given, letters, strict=True)) for one in sized
    ]
    program, types = function.program(shapes)
    if len(types[shapes[0]]) != 1:
        raise BlockError(
            f"{where}: the function returns {len(types[shapes[0]])} arrays, and one is needed: stack them, or use"
            " tracemill.dask.reduction"
        )
    pairs_of_types = [(one, types[shape][0]) for one, shape in zip(sized, shapes, strict=True)]
    chunks = result_chunks(where, out, joined, pairs_of_types)
    dtype = pairs_of_types[0][1].dtype
    blocks: list[Any] = [part for pair in zip(given, letters, strict=True) for part in pair]
    others = [part for whole in function.wholes for part in (whole, None)]
    made = arrays.blockwise(
        run_block,
        out,
        *(shared(program, f"program-of-{program.name}-{program.digest[:16]}"), None),
        *blocks,
        *others,
        new_axes={letter: chunks[axis] for axis, letter in enumerate(out) if letter not in sizes},
        concatenate=True,
        align_arrays=False,
        token=program.name,
        dtype=dtype,
        meta=np.empty((0,) * len(out), dtype),
    )
    return arrays.Array(made.dask, made.name, chunks, dtype=dtype, meta=made._meta)


def _axes(where: str, name: str, axes: int | Sequence[int], ndim: int | None) -> list[int]:
    found = [axes] if isinstance(axes, int) else list(axes)
    if ndim is None:
        return found
    for axis in found:
        if not -ndim <= axis < ndim:
            raise BlockError(f"{where}: {name} is {axis}, and the arrays have {ndim} axes")
    return [axis % ndim for axis in found]

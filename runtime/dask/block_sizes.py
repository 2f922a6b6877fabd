"""The sizes of blocks along the axes that Dask arrays share, and those of results."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

import numpy as np

from ...compiler.errors import BlockError
from ...compiler.ir import ArrayType, Shape
from .block_function import check_array

Index = tuple[Hashable, ...]
"""A name for each axis of an array, as in `dask.array.blockwise`. Axes of the same name are split alike."""
Sizes = Mapping[Hashable, tuple[int, ...]]
"""The sizes of the blocks along each axis, by its name."""

_MOST_PROGRAMS: Final = 64


def axis_sizes(where: str, arrays: Sequence[Any], indices: Sequence[Index], names: Sequence[str]) -> Sizes:
    """The sizes of blocks along the axes of arrays. An axis of length 1 is broadcast.

    Raises:
        BlockError: axes of one name are not split alike; or sizes are not known.
        DTypeError: an array holds Python objects.
    """
    sizes: dict[Hashable, tuple[int, ...]] = {}
    firsts: dict[Hashable, tuple[str, int]] = {}
    for array, index, name in zip(arrays, indices, names, strict=True):
        check_array(where, array, name)
        if len(index) != array.ndim:
            raise BlockError(
                f"{where}: {name} has {array.ndim} axes, and its index {''.join(map(str, index))!r} has {len(index)}"
            )
        for axis, (letter, chunks) in enumerate(zip(index, array.chunks, strict=True)):
            known = sizes.get(letter)
            if known is None or known == (1,):
                sizes[letter], firsts[letter] = chunks, (name, axis)
            elif chunks not in (known, (1,)):
                first, place = firsts[letter]
                raise BlockError(
                    f"{where}: {name} has chunks {_shown(chunks)} where {first} has {_shown(known)}: split both alike,"
                    f" {name}.rechunk({{{axis}: {first}.chunks[{place}]}})"
                    if sum(chunks) == sum(known)
                    else f"{where}: axis {axis} of {name} has {sum(chunks)} entries, and axis {place} of {first} has"
                    f" {sum(known)}: they do not broadcast"
                )
    return sizes


def check_whole_array(where: str, value: Any, name: str, sizes: Sizes) -> None:
    """Refuse a NumPy array that looks as if it were to be split as a Dask array is.

    Raises:
        BlockError: it has as many entries along an axis as a Dask array that has several blocks there.
    """
    if not isinstance(value, np.ndarray):
        return
    for chunks in sizes.values():
        if len(chunks) > 1 and sum(chunks) in value.shape:
            axis = value.shape.index(sum(chunks))
            raise BlockError(
                f"{where}: {name} is a NumPy array of {sum(chunks)} entries, as many as a Dask array has in"
                f" {len(chunks)} blocks: split it alike, dask.array.from_array({name},"
                f" chunks={{{axis}: {_shown(chunks)}}}), or pass it by keyword to give all of it to each block"
            )


def combinations(where: str, sizes: Sizes) -> Iterator[dict[Hashable, int]]:
    """Every combination of sizes that blocks may have.

    Raises:
        BlockError: there are too many to compile a program for each.
    """
    distinct = [tuple(dict.fromkeys(chunks)) for chunks in sizes.values()]
    count = int(np.prod([len(chunks) for chunks in distinct]))
    if count > _MOST_PROGRAMS:
        raise BlockError(
            f"{where}: blocks have {count} different shapes, and each needs a program: split the arrays evenly,"
            f" x.rechunk({max(max(chunks) for chunks in distinct)})"
        )
    for combination in product(*distinct):
        yield dict(zip(sizes, combination, strict=True))


def block_shape(array: Any, index: Index, sizes: Mapping[Hashable, int]) -> Shape:
    """The shape of the blocks of an array whose axes have these sizes."""
    return tuple(
        1 if chunks == (1,) else sizes[letter] for letter, chunks in zip(index, array.chunks, strict=True)
    )


def result_chunks(
    where: str, index: Index, sizes: Sizes, types: Sequence[tuple[Mapping[Hashable, int], ArrayType]]
) -> tuple[tuple[int, ...], ...]:
    """The chunks of a result, from its type for each combination of sizes.

    Raises:
        BlockError: it has other axes; or its size along one depends on the sizes along others.
    """
    found = types[0][1]
    if len(found.shape) != len(index):
        raise BlockError(
            f"{where}: the function returns {found} for a block, and {len(index)} axes were announced: say which"
            " axes it drops or adds, as in drop_axis=1 or new_axis=0"
        )
    chunks: list[tuple[int, ...]] = []
    for axis, letter in enumerate(index):
        by_size: dict[int, int] = {}
        for given, type in types:
            size = type.shape[axis]
            if by_size.setdefault(given.get(letter, 0), size) != size:
                raise BlockError(
                    f"{where}: axis {axis} of the result has {by_size[given.get(letter, 0)]} or {size} entries,"
                    " depending on other axes of the block: split the arrays evenly along these, x.rechunk(...)"
                )
        chunks.append(tuple(by_size[size] for size in sizes.get(letter, (0,))))
    return tuple(chunks)


def _shown(chunks: tuple[int, ...]) -> str:
    if len(chunks) <= 4:
        return str(chunks)
    return f"({chunks[0]}, {chunks[1]}, …, {chunks[-1]})"

"""`BlockCall`: a function with Dask arrays as arguments; and its lazy results, once it is traced."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...compiler.errors import BlockError
from ...compiler.ir import ArrayType
from .block_function import Block, BlockFunction
from .block_program import BlockProgram, run_block, run_blocks
from .block_sizes import (
    Index,
    Sizes,
    axis_sizes,
    block_shape,
    check_whole_array,
    combinations,
    result_chunks,
)
from .packages import dask_array, shared


class BlockCall:
    """A function of blocks: of those arguments that have an index. Others are given whole to each block.

    Raises:
        BlockError: no argument has an index, or one that has is no Dask array; arrays are not split alike, or have
            chunks of unknown sizes; or a NumPy array could be meant to be split.
        DTypeError: an array holds Python objects.
        MissingPackageError: Dask is not installed.
    """

    def __init__(
        self,
        where: str,
        func: Callable[..., Any],
        args: Sequence[Any],
        indices: Sequence[Index | None],
        kwargs: dict[str, Any],
        *,
        surely_whole: Iterable[int] = (),
    ) -> None:
        arrays = dask_array(where)
        given = [x if index is None else Block(x) for x, index in zip(args, indices, strict=True)]
        self.function = BlockFunction(where, func, given, kwargs)
        self.where = self.function.where
        split = [number for number, index in enumerate(indices) if index is not None]
        for number in split:
            if not isinstance(args[number], arrays.Array):
                raise BlockError(
                    f"{self.where}: args[{number}] is {type(args[number]).__name__}, which has no blocks: make it a"
                    " Dask array, dask.array.from_array(x, chunks=...), or give it the index None"
                )
        if not split:
            raise BlockError(f"{self.where}: no argument is a Dask array: call {self.function.name} itself")
        self.arrays = [args[number] for number in split]
        self.indices: list[Index] = [index for index in indices if index is not None]
        names = [f"args[{number}]" for number in split]
        self.sizes: Sizes = axis_sizes(self.where, self.arrays, self.indices, names)
        for number in {*range(len(args))} - {*surely_whole}:
            check_whole_array(self.where, args[number], f"args[{number}]", self.sizes)

    def traced(self, joined: Iterable[Hashable]) -> "TracedCall":
        """The program for all blocks, where those along these axes are joined first."""
        along = set(joined)
        sizes = {
            letter: (sum(chunks),) if letter in along else chunks for letter, chunks in self.sizes.items()
        }
        sized = list(combinations(self.where, sizes))
        shapes = [
            tuple(block_shape(x, index, one) for x, index in zip(self.arrays, self.indices, strict=True))
            for one in sized
        ]
        program, types = self.function.program(shapes)
        return TracedCall(
            self, sizes, program, [(one, types[shape]) for one, shape in zip(sized, shapes, strict=True)]
        )


@dataclass(frozen=True)
class TracedCall:
    """A call whose program is known, and with it the types of its results."""

    call: BlockCall
    sizes: Sizes
    program: BlockProgram
    types: Sequence[tuple[Mapping[Hashable, int], Sequence[ArrayType]]]
    """For each combination of sizes."""

    @cached_property
    def only_type(self) -> ArrayType:
        """That of the only result for the first block. Raises `BlockError` if there are others."""
        found = self.types[0][1]
        if len(found) != 1:
            raise BlockError(
                f"{self.call.where}: the function returns {len(found)} arrays, and one is needed: stack them, or use"
                " tracemill.dask.reduction"
            )
        return found[0]

    def array(self, out: Index) -> Any:
        """The only result, as a Dask array with this index.

        Raises:
            BlockError: there are several; it has other axes; or its size along one depends on the sizes along others.
        """
        dtype = self.only_type.dtype
        found = [(one, types[0]) for one, types in self.types]
        chunks = result_chunks(self.call.where, out, self.sizes, found)
        made = self.blocks(run_block, out, dtype, [chunk[0] if chunk else 0 for chunk in chunks])
        return dask_array(self.call.where).Array(made.dask, made.name, chunks, meta=made._meta)

    def blocks(self, run: Callable[..., Any], out: Index, dtype: Any, new_sizes: Sequence[int] = ()) -> Any:
        """What `run` returns for the blocks, as blocks with this index, whose sizes need not be right."""
        call = self.call
        number = {letter: n for n, letter in enumerate(dict.fromkeys((*call.sizes, *out)))}  # Dask sorts them
        inputs: list[Any] = []
        for array, index in zip(call.arrays, call.indices, strict=True):
            inputs += [array, tuple(number[letter] for letter in index)]
        has_joined = any(len(call.sizes[letter]) != len(chunks) for letter, chunks in self.sizes.items())
        program = self.program
        return dask_array(call.where).blockwise(
            run,
            tuple(number[letter] for letter in out),
            *(shared(program, f"program-of-{program.name}-{program.digest[:16]}"), None),
            *inputs,
            *(part for whole in call.function.wholes for part in (whole, None)),
            new_axes={
                number[letter]: size
                for letter, size in zip(out, new_sizes, strict=False)
                if letter not in call.sizes
            },
            concatenate=True if has_joined else None,
            align_arrays=False,
            token=program.name,
            dtype=dtype,
            meta=np.empty((0,) * len(out), dtype),
        )

    def tuples(self) -> Any:
        """All results for each block, as one tuple per block: an array of these, with all axes of the arguments."""
        return self.blocks(run_blocks, tuple(self.call.sizes), np.dtype(object))

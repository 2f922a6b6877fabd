"""`BlockFunction`: a function with arguments of which some are split into blocks, traced for the shapes of these."""

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, cast

import numpy as np
import optree

from ...compiler.arguments.leaves import flattened
from ...compiler.callers.function_names import describe, function_name
from ...compiler.dtypes import is_supported
from ...compiler.errors import BlockError, ConcretizationError, DTypeError, TransformTypeError
from ...compiler.frontend.program import ArrayOutput
from ...compiler.ir import ArrayType, Shape
from ...compiler.nesting import shown
from ...compiler.tracing.array_values import PYTHON_NUMBERS
from ..artifact.export import export
from ..bundle.contents import Settings
from ..bundle.writing import bundle_bytes
from ..compilation.compile import compile
from ..compilation.compiled_function import CompiledFunction
from ..variants.signature import ArraySpec
from .block_program import BlockProgram
from .packages import dask_array, passed_on, shared


@dataclass(frozen=True, slots=True)
class Block:
    """In place of an argument: a block of a Dask array. It is a leaf."""

    array: Any


class BlockFunction:
    """A function of blocks, and of other arguments, which are given whole to each block.

    It is traced without data. Its arrays and numbers are the arguments of the program; other values are fixed in it.
    """

    def __init__(self, where: str, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        if not callable(function):
            raise TransformTypeError(f"{where} needs a function, not {shown(function)}")
        self.where = f"{where}({describe(function)})"
        self.name = function_name(function)
        self._function = function if isinstance(function, CompiledFunction) else compile(function)
        self._leaves, self._tree = flattened((tuple(args), kwargs))
        arrays = dask_array(self.where)
        for leaf in self._leaves:
            if isinstance(leaf, arrays.Array):
                check_array(self.where, leaf, "a whole argument")
            elif hasattr(leaf, "__dask_graph__"):
                raise BlockError(
                    f"{self.where}: an argument is a {type(leaf).__name__} of Dask, whose type is not known: make it an"
                    " array, dask.array.from_delayed(x, shape, dtype), or compute it, x.compute()"
                )
        self._fixed = {number for number, leaf in enumerate(self._leaves) if not _is_data(leaf, arrays.Array)}
        self.results: Any = None
        """The structure of the results, once it has been traced."""

    @property
    def blocks(self) -> list[Any]:
        """The Dask arrays of which it takes blocks, in order."""
        return [leaf.array for leaf in self._leaves if isinstance(leaf, Block)]

    @cached_property
    def wholes(self) -> list[Any]:
        """The other arguments, each as one key of the task graph."""
        import dask.base

        keys: list[Any] = []
        for number in self._data:
            leaf = self._leaves[number]
            if isinstance(leaf, Block):
                continue
            if hasattr(leaf, "dask"):
                (one,) = leaf.rechunk(-1).to_delayed(optimize_graph=False).ravel()
                keys.append(passed_on(one, f"argument-of-{self.name}-{dask.base.tokenize(one.key)}"))
            elif type(leaf) in PYTHON_NUMBERS:
                keys.append(leaf)
            else:
                value = np.asarray(leaf)
                keys.append(shared(value, f"argument-of-{self.name}-{dask.base.tokenize(value)}"))
        return keys

    @property
    def _data(self) -> list[int]:
        """The places of the arguments of the program: first the blocks, then the others."""
        places = [number for number in range(len(self._leaves)) if number not in self._fixed]
        return sorted(places, key=lambda number: not isinstance(self._leaves[number], Block))

    def program(
        self, shapes: Iterable[tuple[Shape, ...]]
    ) -> tuple[BlockProgram, dict[tuple[Shape, ...], list[ArrayType]]]:
        """The program for all of these shapes of blocks, and the types of its results for each.

        Raises:
            BlockError: a size of a result depends on values, or the function updates an argument.
        """
        bundles: dict[tuple[Shape, ...], bytes] = {}
        types: dict[tuple[Shape, ...], list[ArrayType]] = {}
        for given in shapes:
            types[given], bundle = self._traced(given)
            others = [leaf for leaf in self._in_program() if not isinstance(leaf, Block)]
            bundles[(*given, *map(np.shape, others))] = bundle
        digest = hashlib.sha256(b"".join(bundles.values())).hexdigest()
        return BlockProgram(self.name, bundles, self._function._options.backend, digest), types

    def _in_program(self) -> list[Any]:
        return [self._leaves[number] for number in self._data]

    def _traced(self, shapes: tuple[Shape, ...]) -> tuple[list[ArrayType], bytes]:
        """The types of the results for blocks of these shapes, and the bundle of the program."""
        while True:
            places = self._data
            ints = {number for number in places if type(self._leaves[number]) is int}
            specs = [
                _spec(leaf, shape)
                for leaf, shape in zip_longest(map(self._leaves.__getitem__, places), shapes)
            ]
            try:
                artifact = export(self._flat(places), *specs)
            except ConcretizationError:
                if not ints:
                    raise
            else:
                outputs = [output.type for output in artifact.program.graph.outputs]
                unknown = [type for type in outputs if not all(isinstance(size, int) for size in type.shape)]
                if not (unknown and ints):
                    break
            self._fixed |= ints  # they may be sizes or axes
        program = artifact.program
        if program.mutated:
            raise BlockError(
                f"{self.where}: the function updates its argument {artifact.paths[program.mutated[0][0]]} in place, and"
                " Dask may need that block again: write to a copy, x = x.copy()"
            )
        if unknown:
            raise BlockError(
                f"{self.where}: the shape of a result, {unknown[0]}, depends on values, so that its chunks are not"
                " known: return an array of a fixed size, such as np.where(keep, x, 0), or use dask.array.map_blocks"
            )
        results = [
            outputs[leaf.index] if isinstance(leaf, ArrayOutput) else self._type_of_constant(leaf.value)
            for leaf in program.out_leaves
        ]
        return results, bundle_bytes(replace(artifact, settings=Settings(artifact.settings.fast_math)))

    def _type_of_constant(self, value: Any) -> ArrayType:
        """The type of a result that does not depend on the arguments."""
        if not isinstance(value, PYTHON_NUMBERS):
            raise BlockError(
                f"{self.where}: the function returns {shown(value)} for a block, which is no array or number:"
                " return arrays"
            )
        return ArrayType(np.asarray(value).dtype, ())

    def _flat(self, data: Sequence[int]) -> Callable[..., Any]:
        """The function of the leaves of its arguments, which returns the leaves of its result."""

        def flat(*given: Any) -> tuple[Any, ...]:
            leaves = list(self._leaves)
            for number, leaf in zip(data, given, strict=True):
                leaves[number] = leaf
            args, kwargs = optree.tree_unflatten(self._tree, leaves)
            found, self.results = flattened(self._function(*args, **kwargs))
            return tuple(found)

        flat.__name__ = self.name
        return flat


def _is_data(leaf: Any, dask_type: type) -> bool:
    """Whether a leaf is an argument of the program, and no setting."""
    if isinstance(leaf, bool):
        return False
    return isinstance(leaf, Block | np.ndarray | np.generic | int | float | complex | dask_type)


def _spec(leaf: Any, shape: Shape | None) -> Any:
    """What the program takes for a leaf: a number is an example."""
    if isinstance(leaf, Block):
        return ArraySpec(leaf.array.dtype, cast("Shape", shape))
    if type(leaf) in PYTHON_NUMBERS:
        return leaf
    return ArraySpec(leaf.dtype, tuple(map(int, leaf.shape)))


def check_array(where: str, array: Any, name: str) -> None:
    """Refuse a Dask array whose types or sizes cannot be those of a program.

    Raises:
        BlockError: its chunks are not known, or its blocks are not NumPy arrays.
        DTypeError: it holds Python objects.
    """
    if not is_supported(array.dtype.newbyteorder("=")):
        held = "Python objects" if array.dtype.hasobject else array.dtype.name
        raise DTypeError(
            f"{where}: {name} holds {held}, for which there are no programs: convert it, x.astype(np.float64)"
        )
    if any(math.isnan(size) for chunks in array.chunks for size in chunks):
        raise BlockError(
            f"{where}: {name} has chunks of unknown sizes: compute them first, x.compute_chunk_sizes()"
        )
    if type(array._meta) is not np.ndarray and not isinstance(array._meta, np.generic | np.memmap):
        raise BlockError(
            f"{where}: the blocks of {name} are {type(array._meta).__name__}, not NumPy arrays: convert them,"
            " x.map_blocks(np.asarray)"
        )

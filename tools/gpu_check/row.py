"""`Row`: a function of the comparison, its arrays, the exact results, and the minimum work of any program."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from ...compiler.dtypes import dtype_named
from ...runtime.batching.vmap import vmap
from ...runtime.derivatives.grad import grad
from ...runtime.derivatives.jvp_vjp import vjp

Array: TypeAlias = np.ndarray[Any, Any]
Arrays: TypeAlias = tuple[Array, ...]
Task = Literal["value", "gradient", "gradient per sample"]
Unit = Literal["f32", "f64", "tf32", "bf16"]

_RANDOM: Final = 1 << 22
"""At most this many random numbers are drawn for an array; a larger one repeats them."""
LEADING: Final = 64
"""Rows of a result that are compared by default."""


@dataclass(frozen=True, slots=True)
class Input:
    """An argument: its shape and dtype, and its contents."""

    shape: tuple[int, ...]
    dtype: str = "f32"
    scale: float = 1.0
    """Normal numbers times this; or positive ones, uniform between half of it and one and a half times it."""
    positive: bool = False
    below: int = 0
    """Integers below this."""

    def array(self, rng: np.random.Generator) -> Array:
        count = min(prod(self.shape), _RANDOM)
        if self.below:
            numbers: Array = rng.integers(self.below, size=count)
        elif self.positive:
            numbers = self.scale * rng.uniform(0.5, 1.5, count)
        else:
            numbers = self.scale * rng.standard_normal(count, np.float32)
        return np.resize(numbers.astype(dtype_named(self.dtype)), self.shape)

    def empty(self) -> Array:
        """An array of that type without memory, for tracing."""
        return np.broadcast_to(np.zeros((), dtype_named(self.dtype)), self.shape)

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * dtype_named(self.dtype).itemsize


@dataclass(frozen=True, slots=True)
class Row:
    """One function on arrays of one size."""

    name: str
    about: str
    function: Callable[..., Any]
    """A function of a namespace and the arrays."""
    inputs: Callable[[int], tuple[Input, ...]]
    """The arguments for a size. The last one of a gradient is the cotangent."""
    size: int
    small: int
    """A size at which every row takes moments, for a quick check."""
    written: Callable[[int], int]
    """The bytes of the results for a size."""
    work: Callable[[int], float] | None = None
    """The minimum number of operations, if these are the limit; otherwise bytes are."""
    unit: Unit = "f32"
    """The unit that computes these."""
    task: Task = "value"
    argnums: tuple[int, ...] = (0,)
    """The arguments with respect to which gradients are computed."""
    mapped: tuple[int, ...] = ()
    """The arguments that hold one example per row, for gradients per sample."""
    cut: tuple[int, ...] = (0,)
    """The arguments whose first rows are enough to compute the first rows of the results."""
    leading: int = LEADING
    exactly: Callable[..., list[Array]] | None = None
    """Corners of the results in double precision, from the arrays; by default the first rows, by NumPy."""

    def arrays(self, size: int) -> Arrays:
        rng = np.random.default_rng(len(self.name))
        return tuple(input.array(rng) for input in self.inputs(size))

    def expected(self, arrays: Arrays) -> list[Array]:
        """Corners of the results, computed by NumPy in double precision."""
        if self.exactly is not None:
            return self.exactly(*arrays)
        exact = [as_exact(x[: self.leading] if n in self.cut else x) for n, x in enumerate(arrays)]
        return list(map(np.asarray, as_tuple(self.plain()(*exact))))

    def plain(self) -> Callable[..., Any]:
        """The function of arrays in NumPy, with its gradient or batch if the row has one."""

        def value(*arrays: Any) -> Any:
            return self.function(np, *arrays)

        def gradient(*arrays: Any) -> Any:
            *primals, cotangent = arrays
            found = vjp(value, *primals)[1](cotangent)
            return tuple(found[number] for number in self.argnums)

        match self.task:
            case "value":
                return value
            case "gradient":
                return gradient
            case "gradient per sample":
                dims = tuple(
                    0 if number in self.mapped else None for number in range(len(self.inputs(self.small)))
                )
                return vmap(grad(value, self.argnums), in_dims=dims)

    def bytes_moved(self, size: int) -> int:
        """The bytes of arguments and results, each once."""
        return sum(input.nbytes for input in self.inputs(size)) + self.written(size)


def as_exact(array: Array) -> Array:
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def as_tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)

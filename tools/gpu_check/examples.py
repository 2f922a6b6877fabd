"""Small functions that cover all kinds of kernels and steps; their results on a GPU are compared with NumPy's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...compiler.dtypes import dtype_name, dtype_named, is_inexact
from ...compiler.nn.attention import attention
from ...compiler.nn.convolution import conv
from ...compiler.nn.losses import cross_entropy
from ...compiler.numpy_surface.indexing.top_k import top_k
from ...runtime.batching.vmap import vmap
from ...runtime.compilation.compile import compile
from ...runtime.control_flow.cond import cond
from ...runtime.control_flow.scan import scan
from ...runtime.control_flow.while_loop import while_loop
from ...runtime.derivatives.grad import grad
from ...runtime.random import default_rng
from ..bench.suite import workloads
from .row import Array, as_tuple

_TOLERANCES: Final = {"bf16": 2e-2, "f16": 2e-3, "f32": 2e-5, "f64": 1e-12}
"""Relative to the largest element: sums may be computed in any order."""


@dataclass(frozen=True, slots=True)
class Example:
    """A function, and the types of its arguments, such as ``f32 3 4``."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[str, ...]

    def arrays(self) -> list[Array]:
        """Random numbers between −2 and 2; integers from 0 to 6."""
        rng = np.random.default_rng(0)
        return [_array(rng, text) for text in self.arguments]

    def difference(self) -> str:
        """How the GPU's results differ from NumPy's; empty if they do not."""
        found = as_tuple(compile(self.function, backend="triton")(*self.arrays()))
        expected = as_tuple(self.function(*self.arrays()))
        for number, (x, y) in enumerate(zip(found, expected, strict=True)):
            if problem := _difference(np.asarray(x), np.asarray(y)):
                return problem if len(found) == 1 else f"result {number}: {problem}"
        return ""


def _array(rng: np.random.Generator, text: str) -> Array:
    name, *lengths = text.split()
    dtype, shape = dtype_named(name), tuple(map(int, lengths))
    if is_inexact(dtype):
        numbers: Array = rng.uniform(-2, 2, shape)
        if dtype.kind == "c":
            numbers = numbers + 1j * rng.uniform(-2, 2, shape)
        return numbers.astype(dtype)
    return rng.integers(2 if dtype.kind == "b" else 7, size=shape).astype(dtype)


def _difference(found: Array, expected: Array) -> str:
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"{found.dtype}{list(found.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if not is_inexact(expected.dtype):
        wrong = int(np.sum(found != expected))
        return f"{wrong} of {expected.size} elements differ" if wrong else ""
    if np.any(np.isnan(found) != np.isnan(expected)):
        return "NaN in other places"
    scale = float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected)))
    with np.errstate(invalid="ignore"):
        errors = np.where(found == expected, 0.0, np.abs(found - expected))
    apart = float(np.max(errors, initial=0.0, where=~np.isnan(expected)))
    tolerance = _TOLERANCES[dtype_name(expected.real.dtype)]
    return "" if apart <= tolerance * scale else f"differs by {apart:.1e}, where the largest is {scale:.1e}"


# ---- functions ---------------------------------------------------------------------------------------------


def _floor_and_remainder(x: Any, y: Any) -> Any:
    return x // (y + 1), x % (y + 1), x << (y & 3), ~x ^ y


def _unusual(x: Any) -> Any:
    zero = x * 0
    return np.maximum(x / zero, 1), np.fmax(zero / zero, x), np.sign(-zero), 1 / -zero


def _special(x: Any) -> Any:
    return np.exp2(x), np.log1p(x * x), np.arctan2(x, 1 + x), np.cbrt(x), np.sinh(x), np.floor(x)


def _stencil(x: Any) -> Any:
    new = x.copy()
    new[1:-1, 1:-1] += 0.1 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4 * x[1:-1, 1:-1])
    return new


def _softmax(x: Any) -> Any:
    return workloads.softmax(np, x)


def _layer_norm_loss(x: Any, scale: Any, shift: Any) -> Any:
    return np.sum(workloads.layer_norm(np, x, scale, shift) ** 3)


def _network(w1: Any, w2: Any, x: Any) -> Any:
    return np.sum(np.tanh(np.tanh(x @ w1) @ w2) ** 2)


def _sorted(x: Any) -> Any:
    return np.sort(x, axis=-1), np.argsort(x, axis=-1, stable=True)


def _filled(x: Any, places: Any) -> Any:
    bins = np.zeros(7, x.dtype)
    np.add.at(bins, places, x)
    return bins


def _decay(x: Any, rows: Any) -> Any:
    return scan(lambda carry, row: (0.5 * carry + row, np.sum(carry)), x, rows)


def _halved(x: Any) -> Any:
    return while_loop(lambda x: np.sum(x * x) > 1, lambda x: x / 2, x)


def _chosen(x: Any) -> Any:
    return cond(x[0] > 0, np.sin, np.cos, x)


def _drawn(x: Any) -> Any:
    rng = default_rng(7)
    return x + rng.normal(size=x.shape), rng.integers(0, 1000, size=5)


def _solved(a: Any, b: Any) -> Any:
    """There is no kernel for it: NumPy computes it on the host."""
    return np.linalg.solve(a @ a.T + np.eye(len(a)), b)


EXAMPLES: Final[tuple[Example, ...]] = (
    Example(
        "elementwise", lambda x, y: np.tanh(x * y + 0.5) - np.sqrt(x * x), ("f32 1000003", "f32 1000003")
    ),
    Example(
        "elementwise, in double precision", lambda x, y: np.exp(-x * x) / (1 + y * y), ("f64 40007",) * 2
    ),
    Example("elementwise, bf16", lambda x, y: x * y - x, ("bf16 4097", "bf16 4097")),
    Example("elementwise, f16", lambda x, y: np.abs(x) + y * x, ("f16 4097", "f16 4097")),
    Example("elementwise, integers", _floor_and_remainder, ("i32 5000", "i32 5000")),
    Example("elementwise, 64-bit integers", _floor_and_remainder, ("i64 777", "i64 777")),
    Example("elementwise, booleans", lambda x, y: np.where(x & ~y, x, y ^ True), ("bool 999", "bool 999")),
    Example("NaN, infinities, −0", _unusual, ("f32 100",)),
    Example("special functions", _special, ("f32 10000",)),
    Example("special functions, f64", _special, ("f64 1000",)),
    Example("complex numbers", lambda x, y: (x * np.conj(y), np.abs(x), np.exp(x)), ("c64 300", "c64 300")),
    Example("broadcast and transpose", lambda x, y: x.T * y + y[:, :1], ("f32 70 33", "f32 33 70")),
    Example("slices and reversal", lambda x: x[::-2, 3:] + x[0, :-3], ("f32 65 41",)),
    Example("stencil", _stencil, ("f64 67 131",)),
    Example("gather", lambda table, words: np.mean(table[words], axis=0), ("f32 7 513", "i64 1000")),
    Example("sum of everything", lambda x: np.sum(x * x), ("f32 1000003",)),
    Example("sums of rows", lambda x: (np.mean(x, axis=1), np.var(x, axis=1)), ("f32 300 4099",)),
    Example("sums of columns", lambda x: np.sum(np.exp(x), axis=0), ("f32 4099 300",)),
    Example("extremes and their places", lambda x: (x.max(1), np.argmin(x, axis=0)), ("f32 129 1025",)),
    Example("softmax", _softmax, ("f32 100 8192",)),
    Example("softmax of short rows", _softmax, ("f64 5000 13",)),
    Example(
        "layer norm, backward", grad(_layer_norm_loss, (0, 1, 2)), ("f64 64 1024", "f64 1024", "f64 1024")
    ),
    Example(
        "pairwise distances", lambda x, y: np.min(np.sum((x[:, None] - y) ** 2, -1), 1), ("f32 300 3",) * 2
    ),
    Example("matrix product", lambda x, y: x @ y, ("f32 300 257", "f32 257 129")),
    Example("matrix product, f64", lambda x, y: np.tanh(x.T @ y), ("f64 130 70", "f64 130 50")),
    Example("matrix product, bf16", lambda x, y: (x @ y).astype(x.dtype), ("bf16 256 512", "bf16 512 256")),
    Example("matrix product, batches", np.matmul, ("f32 50 17 33", "f32 50 33 9")),
    Example("network, backward", grad(_network, (0, 1)), ("f64 30 40", "f64 40 10", "f64 20 30")),
    Example(
        "gradients per sample",
        vmap(grad(lambda w, x: np.sum(np.tanh(w @ x) ** 2)), in_dims=(None, 0)),
        ("f32 20 30", "f32 100 30"),
    ),
    Example("convolution", conv, ("f32 2 3 20 20", "f32 4 3 3 3")),
    Example("attention", attention, ("f32 4 130 32", "f32 4 70 32", "f32 4 70 32")),
    Example(
        "cross entropy, backward",
        lambda x, labels: grad(lambda x: cross_entropy(x, labels))(x),
        ("f32 100 1000", "i64 100"),
    ),
    Example("running sum", lambda x: np.cumsum(x, axis=-1), ("f64 5 100003",)),
    Example("running maximum", np.maximum.accumulate, ("f32 5000",)),
    Example("sorting", _sorted, ("f32 20 1000",)),
    Example("largest", lambda x: top_k(x, 5), ("f32 20 1000",)),
    Example("scattered sums", _filled, ("f32 10000", "i64 10000")),
    Example("random numbers", _drawn, ("f64 1000",)),
    Example("loop of known length", _decay, ("f64 33", "f64 20 33")),
    Example("loop with a condition", _halved, ("f64 50",)),
    Example("choice", _chosen, ("f64 50",)),
    Example("on the host: linear system", _solved, ("f64 20 20", "f64 20")),
)

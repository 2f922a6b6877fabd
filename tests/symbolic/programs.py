"""Functions on arrays of any size, by name: what tracing, passes and every printer must do once for all sizes.

Each is traced with the sizes `OBSERVED`, and its graph must then hold for those of `OTHERS` that its guards allow.
"""
# ruff: noqa: PLW0108  (a lambda names its arguments)

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

import tracemill as tm
from tracemill.compiler.dtypes import Array, dtype_named
from tracemill.compiler.ir import ArrayType
from tracemill.compiler.shapes.reading import read_dim

OBSERVED = {"B": 5, "N": 8, "M": 3, "K": 4}
OTHERS = (
    {"B": 2, "N": 2, "M": 2, "K": 2},
    {"B": 8, "N": 3, "M": 5, "K": 7},
    {"B": 3, "N": 16, "M": 9, "K": 2},
    {"B": 4, "N": 5, "M": 6, "K": 12},
)
SMALL = (
    {"B": 1, "N": 1, "M": 1, "K": 1},
    {"B": 0, "N": 3, "M": 2, "K": 2},
    {"B": 3, "N": 0, "M": 0, "K": 2},
)
"""Sizes that programs need not be for, which dims of 2 or more leave out."""


@dataclass(frozen=True)
class SymbolicProgram:
    """A function, and for which arrays it is traced."""

    function: Callable[..., Any]
    arguments: tuple[str, ...]
    """Types of its arguments: ``f32[B, 2*N + 1]``."""
    guards: str = "True"
    """What tracing may assume of the sizes; nothing else, and nothing less."""
    rtol: float = 0.0
    """The tolerance of the graph against NumPy, as for arrays of known sizes."""

    def types(self, least: int = 2) -> list[ArrayType]:
        """Those of the arguments, with symbolic sizes that are `least` or more."""
        sizes = {name: tm.Dim(name, min=least) for name in OBSERVED}
        return [_type(text, sizes) for text in self.arguments]

    def arrays(self, sizes: Mapping[str, int]) -> list[Array]:
        """Arguments for these sizes, always the same."""
        rng = np.random.default_rng(crc32(repr((self.arguments, sorted(sizes.items()))).encode()))
        return [_drawn(rng, type, sizes) for type in self.types()]


def _type(text: str, sizes: dict[str, Any]) -> ArrayType:
    name, _, dims = text.removesuffix("]").partition("[")
    shape: Any = tuple(read_dim(dim, sizes) for dim in dims.split(",") if dim)
    return ArrayType(dtype_named(name), shape)


def _drawn(rng: np.random.Generator, type: ArrayType, sizes: Mapping[str, int]) -> Array:
    dims: tuple[Any, ...] = type.shape
    shape = tuple(dim if isinstance(dim, int) else dim.at(sizes) for dim in dims)
    if type.dtype.kind == "b":
        return rng.random(shape) < 0.5
    if type.dtype.kind in "iu":
        return rng.integers(0 if type.dtype.kind == "u" else -2, 2, shape).astype(type.dtype)
    numbers: Array = rng.standard_normal(shape)
    if type.dtype.kind == "c":
        numbers = numbers + 1j * rng.standard_normal(shape)
    return numbers.astype(type.dtype)


WEIGHTS = np.arange(12.0).reshape(3, 4) - 5


def x_length(x: Any) -> Any:
    return x.shape[0]


def standardized(x: Any) -> Any:
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-5)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return softmax(scores) @ v


def causal_attention(q: Any, k: Any, v: Any) -> Any:
    n = q.shape[0]
    scores = q @ k.T / np.sqrt(8)
    scores = np.where(np.tril(np.ones((n, n), bool)), scores, -1e9)
    return softmax(scores) @ v


def smoothed(x: Any) -> Any:
    y = x.copy()
    y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
    return y


def smoothed_in_place(x: Any) -> Any:
    x[1:-1] += x[:-2] * 0.5
    return x.sum()


def heat_step(u: Any) -> Any:
    out = np.zeros_like(u)
    out[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    return u + 0.1 * out


def first_row_written(x: Any) -> Any:
    z = np.zeros((x.shape[0] + 1, x.shape[1]), x.dtype)
    z[0, 1:] = x[0, 1:]
    z[1:] = x
    z[-1] = 2.0
    return z


def column_added(x: Any) -> Any:
    y = x.copy()
    y[:, 0] += 1
    y[:, -1] *= 2
    return y


def diagonal_written(x: Any) -> Any:
    y = x.copy()
    y[np.diag_indices(len(x))] = 0
    y[np.diag_indices_from(x)] += 1
    return y


def filled_diagonal(x: Any) -> Any:
    y = x @ x.T
    i = np.arange(x.shape[0])
    y[i, i] = 0
    return y


def reversed_write(x: Any) -> Any:
    y = np.empty_like(x)
    y[::-1] = x
    return y


def written_through_views(x: Any) -> Any:
    y = x.copy()
    row = y[1]
    row[:-1] = row[1:]
    y.T[0] = 5
    y.reshape(-1)[0] = -1
    return y


def normalized_rows(x: Any) -> Any:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def pairwise_distances(x: Any, y: Any) -> Any:
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(axis=-1)


def one_hot(labels: Any) -> Any:
    return np.eye(5)[np.abs(labels)]


def cross_entropy(x: Any, labels: Any) -> Any:
    logp = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
    return -logp[np.arange(x.shape[0]), labels].mean()


def mlp(x: Any, w1: Any, b1: Any, w2: Any) -> Any:
    h = np.maximum(x @ w1 + b1, 0)
    return h @ w2 / x.shape[0]


def with_out(x: Any) -> Any:
    out = np.empty((x.shape[0], x.shape[1]))
    np.multiply(x, 2, out=out)
    np.add(out[1:], x[:-1], out=out[1:])
    return out


def moving_average(x: Any) -> Any:
    sums = np.cumsum(x)
    sums[3:] = sums[3:] - sums[:-3]
    return sums[2:] / 3


def layer_norm(x: Any, gain: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return gain * centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-6)


def covariance(x: Any) -> Any:
    centred = x - x.mean(axis=0)
    return centred.T @ centred / (x.shape[0] - 1)


def positions_added(x: Any) -> Any:
    angles = np.arange(x.shape[0])[:, None] / 100 ** (np.arange(x.shape[1]) / x.shape[1])
    return x + np.sin(angles)


def heads_split(x: Any) -> Any:
    batch, length, width = x.shape
    return x.reshape(batch, length, 2, width // 2).transpose(0, 2, 1, 3)


def patches(x: Any) -> Any:
    batch, size = x.shape
    return x.reshape(batch, size // 2, 2).mean(axis=-1)


def strided(x: Any) -> Any:
    return x[::2], x[1::2], x[::3], x[::-2]


def max_pool(x: Any) -> Any:
    n = x.shape[0] // 2 * 2
    return np.maximum(x[:n:2], x[1:n:2])


P = SymbolicProgram
V, X = ("f64[N]",), ("f64[B, N]",)

ARITHMETIC: dict[str, SymbolicProgram] = {
    "divided-by-length": P(lambda x: x / x.shape[0], ("f32[B, 3]",)),
    "times-length": P(lambda x: x * x.shape[1], X),
    "length-times": P(lambda x: x.shape[1] * x, ("f32[B, N]",)),
    "integers-times-length": P(lambda x: x * x.shape[0] + x.shape[0], ("i32[B]",), "B <= 2147483647"),
    "bools-plus-length": P(lambda x: x + x.shape[0], ("bool[B]",)),
    "half-the-length": P(lambda x: x * (x.shape[0] / 2), ("f32[B]",)),
    "reciprocal-of-length": P(lambda x: (1.0 / x.shape[0]) * x, ("f32[B]",)),
    "length-to-a-power": P(lambda x: x * x.shape[0] ** 2 + x.shape[0] ** 0.5, X),
    "root-of-length": P(lambda x: x / np.sqrt(x.shape[-1]), ("f32[B, N]",)),
    "root-by-math": P(lambda x: x / math.sqrt(x.shape[-1]), ("f32[B, N]",)),
    "roots-by-math": P(
        lambda x: x * math.sqrt(2 / (len(x) + x.shape[1])) + math.log(len(x) + 1, 3), X, rtol=1e-15
    ),
    "blocks-by-math": P(
        lambda x: np.zeros(
            (math.ceil(len(x) / 3), math.floor(len(x) * 0.5), math.ceil(len(x)), round(len(x)))
        ),
        V,
    ),
    "scalar-asked": P(lambda x: x * (2 if np.isscalar(len(x)) else 3), V),
    "shapes-broadcast": P(lambda x, y: np.zeros(np.broadcast_shapes(x.shape, y.shape, 1)), (*X, *V)),
    "log-of-length": P(lambda x: x - np.log(x.shape[0]), ("f64[B]",)),
    "float-times-length": P(lambda x: x + 0.5 * x.shape[0] - x.shape[0] * 1.5, ("f32[B]",)),
    "length-minus": P(lambda x: x.shape[0] - x, ("f64[B]",)),
    "length-over": P(lambda x: x.shape[0] / (x * x + 1), ("f32[B]",)),
    "length-compared": P(lambda x: (x.shape[0] > x, x == x.shape[0], x <= x.shape[0]), ("i64[B]",)),
    "length-as-array": P(lambda x: np.asarray(x.shape[0]) + x, ("i32[B]",)),
    "lengths-as-array": P(lambda x: np.array(x.shape), X),
    "lengths-and-numbers-as-array": P(lambda x: np.array([x.shape[0], 2.5, 1]) * 2, X),
    "length-as-dtype": P(lambda x: np.asarray(x.shape[0], np.float32) * x, ("f32[B]",)),
    "lengths-multiplied": P(lambda x: x / (x.shape[0] * x.shape[1]), X),
    "lengths-divided": P(lambda x: x * (x.shape[0] / x.shape[1]), ("f32[B, N]",)),
    "lengths-remainder": P(lambda x: x + x.shape[0] % 4 + x.shape[1] // 3, ("f32[B, N]",)),
    "size": P(lambda x: x.sum() / x.size, ("f32[B, N]",)),
    "size-of": P(lambda x: x.sum() / np.size(x) + np.size(x, 0), X),
    "len": P(lambda x: x.sum() / len(x), X),
    "length-as-an-int": P(lambda x: x + _of_an_int(x.shape[0]), ("f64[B]",), rtol=1e-15),
    "length-rounded": P(
        lambda x: [x[: round(len(x) * part)] for part in (1 / 2, 1 / 4, 5 / 8, 3)], ("f64[B]",)
    ),
    "nbytes": P(lambda x: x * x.nbytes, ("f32[B]",)),
    "shape-of": P(lambda x: x * np.shape(x)[1], X),
    "product-of-shape": P(lambda x: x.reshape(np.prod(x.shape)), X),
    "math-product-of-shape": P(lambda x: x.reshape(np.size(x) // x.shape[0], -1), X),
    "maximum-of-lengths": P(lambda x: x * np.maximum(x.shape[0], x.shape[1]), X),
    "round-of-length": P(lambda x: x * np.floor(x.shape[0] / 2), X),
    "clip-at-length": P(lambda x: np.clip(x, 0, x.shape[0]), ("f32[B]",)),
    "where-length": P(lambda x: np.where(x > 0, x, x.shape[0]), ("f32[B]",)),
    "full-of-length": P(lambda x: np.full((2, x.shape[0]), x.shape[0]), ("f32[B]",)),
    "negative-length": P(lambda x: x * -x.shape[0] + abs(x.shape[0]) + (+x.shape[0]), ("f32[B]",)),
    "integers-plus-negative-length": P(lambda x: x + (1 - x.shape[0]), ("i64[B]",)),
    "length-written": P(lambda x: np.add(x, x.shape[0], out=x), ("f32[B]",)),
    "shape-returned": P(lambda x: x.shape, X),
    "truth-returned": P(lambda x: (x.shape[0] > 1, x.shape[0] == 1), X),
    "comparison-chosen": P(lambda x: x * 2 if x.shape[0] > 4 else x, X, "B >= 5"),
    "comparison-with-float": P(lambda x: x if x.shape[0] > 4.5 else -x, X, "B >= 5"),
    "largest-length": P(lambda x: x * np.max(x.shape), X),
    "power-of-length": P(lambda x: 2.0 ** -x.shape[0] * x, V),
    "length-in-a-list": P(lambda x: np.stack([x, x * 0 + x.shape[0]]), V),
    "lengths-summed": P(lambda x: np.sum(x.shape) + x, X),
    "closure": P(lambda x: x @ WEIGHTS + WEIGHTS[0] / x.shape[0], ("f64[B, 3]",)),
    "complex": P(lambda z: np.abs(z) / z.shape[0] + z.real * z.imag, ("c128[B]",)),
    "half-precision": P(lambda x: x * x.shape[0] + x.shape[0], ("f16[B]",)),
    "bitwise": P(lambda i: (i << 1) + (i & 3) + i % x_length(i), ("i64[B]",)),
    "length-returned": P(lambda x: (x.shape[0] / 4, x + 1), ("f32[B]",)),
}

STATISTICS: dict[str, SymbolicProgram] = {
    "mean": P(lambda x: x.mean(), ("f32[B, N]",)),
    "mean-of-rows": P(lambda x: np.mean(x, axis=0), X),
    "mean-of-integers": P(lambda x: np.mean(x, axis=1, keepdims=True), ("i32[B, N]",)),
    "variance": P(lambda x: x.var(), X),
    "variance-with-correction": P(lambda x: np.var(x, axis=0, ddof=1), X),
    "deviation": P(lambda x: np.std(x, axis=-1, keepdims=True), ("f32[B, N]",)),
    "average": P(lambda x: np.average(x, axis=0), X),
    "weighted-average": P(lambda x, w: np.average(x, axis=0, weights=w), ("f64[B, N]", "f64[B]")),
    "nanmean": P(lambda x: np.nanmean(x, axis=0), X),
    "nansum": P(lambda x: np.nansum(x, axis=0), X),
    "median": P(lambda x: np.median(x, axis=0), ("f64[2*B + 1, N]",)),
    "standardized": P(standardized, X),
    "layer-norm": P(layer_norm, ("f32[B, N]", "f32[N]")),
    "covariance": P(covariance, X),
    "cov": P(lambda x: np.cov(x), X),
    "corrcoef": P(lambda x: np.corrcoef(x), X),
    "sum": P(lambda x: (x.sum(), x.sum(axis=0), x.sum(axis=(0, 1), keepdims=True)), X),
    "product": P(lambda x: np.prod(x, axis=1), X),
    "extremes": P(lambda x: (x.max(), x.min(axis=0), np.ptp(x, axis=1)), X),
    "any-and-all": P(lambda x: ((x > 0).any(axis=0), (x > 0).all()), X),
    "count-nonzero": P(lambda x: np.count_nonzero(x > 0, axis=1), X),
    "norm": P(lambda x: np.linalg.norm(x), ("f32[B, N]",)),
    "normalized-rows": P(normalized_rows, X),
    "softmax": P(softmax, ("f32[B, N]",)),
    "logsumexp": P(lambda x: np.logaddexp.reduce(x, axis=1), X, rtol=1e-14),
    "accumulated-bits": P(lambda i: np.bitwise_or.reduce(i, axis=0), ("i64[B, N]",), "B >= 5 and B <= 8"),
    "length-of-one": P(
        lambda x: (np.hypot.reduce(x), np.gcd.reduce(x.astype(int))), V, "N >= 5 and N <= 8", 1e-14
    ),
    "running-hypotenuse": P(lambda x: np.hypot.accumulate(x, axis=1), X, "N >= 5 and N <= 8", 1e-14),
    "quantile": P(lambda x: np.quantile(x, 0.5, axis=0), ("f64[2*B + 1, N]",)),
}

SHAPES: dict[str, SymbolicProgram] = {
    "columns-stacked": P(lambda x: np.stack([x[:, i] * i for i in range(3)]), ("f64[B, 3]",)),
    "rows-walked": P(lambda x: sum(row * row for row in x), ("f64[3, N]",)),
    "halves-swapped": P(lambda x: np.concatenate([x[len(x) // 2 :], x[: len(x) // 2]]), V),
    "transposed-flat": P(lambda x: x.T.reshape(-1), X),
    "column-major": P(lambda x: (x.reshape(-1, order="F"), x.ravel("F"), x.flatten()), X),
    "many-new-axes": P(lambda x: x[..., None] * x[:, None, :, None].sum(axis=2), X),
    "blocks": P(lambda x: np.block([[x, x], [x * 0, x]]), X),
    "depth-stacked": P(lambda x: np.dstack([x, x]), X),
    "rows-and-columns-joined": P(lambda x: (np.r_[x[0], 0.0], np.c_[x, x]), X),
    "inserted": P(lambda x: np.insert(x, 1, 0.0), V),
    "inserted-where-sizes-say": P(
        lambda x: (
            np.insert(x, len(x), 1.0),
            np.insert(x, len(x) // 2, [2.0, 3.0]),
            np.delete(x, len(x) // 2),
        ),
        ("f64[B]",),
    ),
    "inserted-in-places": P(
        lambda x: (np.insert(x, [2, 0, 2], [1.0, 2.0, 3.0]), np.insert(x, slice(0, 3, 2), 4.0)),
        ("f64[B]",),
        "B >= 3",
    ),
    "inserted-in-one-place": P(lambda x: np.insert(x, [1], x[:2], axis=0), X),
    "deleted": P(lambda x: np.delete(x, 0, axis=0), X),
    "deleted-many": P(lambda x: np.delete(x, [2, 0, 2]), ("f64[B]",), "B >= 3"),
    "deleted-slice": P(lambda x: np.delete(x, slice(3), axis=1), X, "N >= 3"),
    "deleted-slice-beyond": P(lambda x: np.delete(x, slice(4, 10)), ("f64[B]",), "B == 5"),
    "deleted-from-the-back": P(lambda x: np.delete(x, [0, -1]), ("f64[B]",), "B == 5"),
    "array-split": P(lambda x: np.array_split(x, 2), V),
    "windows": P(lambda x: np.lib.stride_tricks.sliding_window_view(x, 2).sum(axis=-1), V),
    "flattened": P(lambda x: x.reshape(-1), X),
    "ravel": P(lambda x: np.ravel(x), ("f64[B, 3, N]",)),
    "reshape-batch": P(lambda x: x.reshape(x.shape[0], -1), ("f64[B, 3, 4]",)),
    "reshape-merged": P(lambda x: x.reshape(-1, x.shape[-1]), ("f64[B, 3, N]",)),
    "reshape-split": P(lambda x: x.reshape(x.shape[0], 3, -1), ("f64[B, 3*N]",)),
    "reshape-split-guarded": P(lambda x: x.reshape(x.shape[0], 2, -1), X, "N % 2 == 0"),
    "reshape-like": P(lambda x, y: x.reshape(y.shape), ("f64[B*N]", "f64[B, N]")),
    "heads": P(heads_split, ("f64[B, N, 2*K]",)),
    "patches": P(patches, ("f32[B, 2*N]",)),
    "transposed": P(lambda x: (x.T, x.transpose(1, 0), np.swapaxes(x, 0, 1)), X),
    "moved-axes": P(lambda x: np.moveaxis(x, 0, -1), ("f64[B, N, 3]",)),
    "new-axes": P(lambda x: x[:, None] * x[None, :], V),
    "expanded": P(lambda x: np.expand_dims(x, (0, 2)), X),
    "squeezed": P(lambda x: np.squeeze(x), ("f64[B, 1, N]",)),
    "broadcast": P(lambda x, y: x + y, ("f64[B, N]", "f64[N]")),
    "broadcast-columns": P(lambda x, y: x * y, ("f64[B, N]", "f64[B, 1]")),
    "broadcast-to": P(lambda x: np.broadcast_to(x, (3, *x.shape)), X),
    "broadcast-guarded": P(lambda x, y: x + y, ("f64[B]", "f64[M + 2]"), "B == M + 2"),
    "broadcast-arrays": P(lambda x, y: np.broadcast_arrays(x, y), ("f64[B, 1]", "f64[N]")),
    "concatenated": P(lambda x, y: np.concatenate([x, y]), ("f64[B, N]", "f64[M, N]")),
    "concatenated-with-itself": P(lambda x: np.concatenate([x, x * 2, x], axis=1), X),
    "stacked": P(lambda x: np.stack([x, x + 1], axis=1), X),
    "stacked-rows": P(lambda x: (np.vstack([x, x]), np.hstack([x, x]), np.column_stack([x, x])), X),
    "appended": P(lambda x: np.append(x, 1.0), V),
    "tiled": P(lambda x: np.tile(x, (2, 3)), X),
    "tiled-by-length": P(lambda x: np.tile(x, (x.shape[0], 1)), V),
    "repeated": P(lambda x: np.repeat(x, 3, axis=0), X),
    "repeated-flat": P(lambda x: np.repeat(x, 2), X),
    "repeated-by-length": P(lambda x: np.repeat(x, x.shape[1], axis=0), X),
    "split": P(lambda x: np.split(x, 2, axis=1), ("f64[B, 2*N]",)),
    "split-guarded": P(lambda x: np.split(x, 2, axis=1), X, "N % 2 == 0"),
    "split-of-a-split": P(
        lambda x: np.split(np.split(x, 2)[1], 4), ("f64[N]",), "N % 2 == 0 and (N // 2) % 4 == 0"
    ),
    "empty-slices": P(
        lambda x: (x[4:2], x[-2:-5], x[-1:0], x[1:4:-1], x[-3:-2:-1], x[len(x) : len(x)]), ("f64[B]",)
    ),
    "split-in-places": P(lambda x: np.split(x, [1, x.shape[0] // 2], axis=0), ("f64[2*B, N]",)),
    "split-into-three": P(lambda x: np.split(x, 3), ("f64[3*B]",)),
    "rolled": P(lambda x: np.roll(x, 1, axis=0), X),
    "rolled-back": P(lambda x: np.roll(x, -2, axis=1) + np.roll(x, 2, axis=1), X),
    "rolled-flat": P(lambda x: np.roll(x, 1), X),
    "rolled-by-half": P(lambda x: np.roll(x, x.shape[0] // 2, axis=0), X),
    "flipped": P(lambda x: (np.flip(x), np.fliplr(x), np.flipud(x), x[::-1]), X),
    "rotated": P(lambda x: np.rot90(x), X),
    "padded": P(lambda x: np.pad(x, 1), X),
    "padded-unevenly": P(lambda x: np.pad(x, ((0, 2), (1, 0)), constant_values=3.0), X),
    "padded-at-the-edge": P(lambda x: np.pad(x, ((1, 1), (2, 2)), mode="edge"), X),
    "padded-by-length": P(lambda x: np.pad(x, (0, x.shape[0])), V),
    "unsqueezed-batch": P(lambda x: np.atleast_2d(x), V),
}

INDEXING: dict[str, SymbolicProgram] = {
    "middle": P(lambda x: x[len(x) // 2] + x[len(x) - 1], X),
    "taken-in-the-middle": P(lambda x: np.take(x, len(x) // 2, axis=0), X),
    "unravelled": P(lambda x: np.unravel_index(np.argmax(x), x.shape), X),
    "ravelled": P(lambda x: np.ravel_multi_index((np.arange(2), np.arange(2)), x.shape), X),
    "product-of-indices": P(lambda x: x[np.ix_(np.array([0, 1]), np.arange(x.shape[1]))], X),
    "upper-triangle-taken": P(lambda x: x[np.triu_indices(x.shape[0])], ("f64[B, B]",)),
    "triangles-of-pairs": P(
        lambda x: tuple(
            np.stack(f(len(x), k)) for k in (-2, 0, 1) for f in (np.triu_indices, np.tril_indices)
        ),
        V,
    ),
    "triangle-of-a-matrix": P(lambda x: x[np.tril_indices_from(x, -1)], ("f64[N, N]",)),
    "triangle-of-pairs": P(lambda x: np.tril_indices_from(x), X, "B == 5 and N == 8"),
    "diagonal-written": P(diagonal_written, ("f64[B, B]",)),
    "flat-written": P(lambda x: _flat_written(x.copy()), X),
    "put": P(lambda x: np.put(x, [0, 2], 9.0), X),
    "copied-to": P(lambda x: np.copyto(x, x[::-1].copy()), X),
    "mask-put": P(lambda x: np.putmask(x, x > 0, 0.0), X),
    "sorted-in-place": P(lambda x: x.sort(axis=0), X),
    "filled": P(lambda x: x.fill(2.0), X),
    "broadcast-in-place": P(lambda x, y: _added(x, y), ("f64[B, N]", "f64[N]")),
    "scalar-in-place": P(lambda x: _added(x, x.shape[0]), ("f32[B]",)),
    "view-of-a-view": P(lambda x: _written(x[1:], (slice(None, None, 2), 0), 5.0), X),
    "at-dim": P(lambda x: _written(x.copy(), x.shape[0] // 2, 0.0), X),
    "first": P(lambda x: x[0], X),
    "last": P(lambda x: x[-1], X),
    "last-column": P(lambda x: x[:, -1], X),
    "an-element": P(lambda x: x[-1, 0] + x[1, -2], X),
    "without-first": P(lambda x: x[1:], X),
    "without-last": P(lambda x: x[:-1], X),
    "inner": P(lambda x: x[1:-1], X),
    "reversed": P(lambda x: x[::-1], X),
    "reversed-columns": P(lambda x: x[:, ::-1], X),
    "upper-half": P(lambda x: x[x.shape[0] // 2 :], X),
    "lower-half": P(lambda x: x[: x.shape[0] // 2], X),
    "up-to-length": P(lambda x, y: x[: y.shape[0]], ("f64[B + N]", "f64[B]")),
    "up-to-length-guarded": P(lambda x, y: x[: y.shape[0]], ("f64[N]", "f64[B]"), "B <= N"),
    "last-few": P(lambda x: x[-2:], X),
    "first-few": P(lambda x: x[:2], X),
    "first-few-guarded": P(lambda x: x[:3], X, "B >= 3"),
    "strided": P(strided, V),
    "from-an-offset": P(lambda x: x[1::2, 1:], X),
    "even-and-odd": P(lambda x: x[0::2] - x[1::2], ("f64[2*B, N]",)),
    "max-pool": P(max_pool, V),
    "taken": P(lambda x: x[np.array([1, 0, 1])], X),
    "taken-by-array": P(lambda x, i: x[i], ("f64[B, N]", "i64[M]")),
    "taken-along-columns": P(lambda x, i: x[:, i], ("f64[B, N]", "i64[M]")),
    "take": P(lambda x, i: np.take(x, i, axis=1), ("f64[B, N]", "i64[M]")),
    "take-clipped": P(lambda x, i: np.take(x, i, mode="clip"), ("f64[N]", "i64[M]")),
    "take-along-axis": P(lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1), X),
    "paired": P(lambda x: x[np.arange(x.shape[0]), np.arange(x.shape[0])], ("f64[B, B]",)),
    "paired-with-integer": P(lambda x, i: x[i, 0], ("f64[B, N]", "i64[M]")),
    "one-hot": P(one_hot, ("i64[B]",)),
    "cross-entropy": P(cross_entropy, ("f64[B, 3]", "i64[B]")),
    "masked-write": P(lambda x: _written(x.copy(), x > 0, 0.0), X),
    "element-written": P(lambda x: _written(x.copy(), (0, -1), 7.0), X),
    "row-written": P(lambda x: _written(x.copy(), 1, x[0]), X),
    "rows-written-by-array": P(lambda x, i: _written(x.copy(), i, 1.0), ("f64[B, N]", "i64[M]")),
    "added-at": P(lambda x, i: _added_at(x.copy(), i), ("f64[B, N]", "i64[M]")),
    "first-row-written": P(first_row_written, X),
    "column-added": P(column_added, X),
    "filled-diagonal": P(filled_diagonal, X),
    "reversed-write": P(reversed_write, X),
    "written-through-views": P(written_through_views, X),
    "smoothed": P(smoothed, X),
    "smoothed-in-place": P(smoothed_in_place, V),
    "heat-step": P(heat_step, X),
    "moving-average": P(moving_average, V, "N >= 3"),
    "with-out": P(with_out, X),
    "compressed-by-known": P(lambda x: x[:, [True, False, True]], ("f64[B, 3]",)),
}


def _written(x: Any, index: Any, new: Any) -> Any:
    x[index] = new
    return x


def _of_an_int(n: Any) -> Any:
    """What an int has and does besides arithmetic."""
    parts = n.real + n.imag + n.numerator * n.denominator + n.conjugate() - n.as_integer_ratio()[0]
    bits = (n & -4) + (n | 2) * 3 + (n ^ 4) * 5 + (n & 7)
    return parts + bits + pow(n, 3, 5) + divmod(n, 2)[1] + abs(-n) + n**-2


def _flat_written(x: Any) -> Any:
    x.flat[0] = 1.0
    return x


def _added(x: Any, y: Any) -> Any:
    x += y
    return x * 2


def _added_at(x: Any, index: Any) -> Any:
    np.add.at(x, index, 1)
    return x


CREATION: dict[str, SymbolicProgram] = {
    "arange": P(lambda x: x + np.arange(x.shape[0]), V),
    "arange-from": P(lambda x: x + np.arange(1, x.shape[0] + 1), V),
    "arange-by-step": P(lambda x: np.arange(0, x.shape[0], 2), V),
    "arange-of-floats": P(lambda x: x + np.arange(x.shape[0], dtype=np.float32), ("f32[N]",)),
    "arange-backwards": P(lambda x: x + np.arange(x.shape[0])[::-1], V),
    "zeros": P(lambda x: np.zeros((x.shape[0], 3)), V),
    "ones": P(lambda x: np.ones(x.shape) + x, X),
    "full": P(lambda x: np.full((x.shape[0], 3), 2.5, np.float32), V),
    "zeros-like": P(lambda x: np.zeros_like(x) + np.ones_like(x, shape=(x.shape[1],)), X),
    "zeros-of-integers": P(lambda x: np.zeros(len(x), int) + np.ones(len(x), bool), V),
    "like-a-row": P(lambda x: np.ones_like(x[0]) * np.full_like(x, 2), X),
    "arange-of-halves": P(lambda x: np.arange(x.shape[0] // 2) * 2.0, V),
    "arange-down": P(lambda x: np.arange(x.shape[0] - 1, -1, -1) + x, V),
    "frequencies": P(lambda x: np.fft.fftfreq(x.shape[0]) * x, V, rtol=1e-15),
    "real-frequencies": P(lambda x: np.fft.rfftfreq(len(x), 0.5 / len(x)), V, rtol=1e-15),
    "eye": P(lambda x: np.eye(x.shape[0]) * x, V),
    "eye-with-offset": P(lambda x: np.eye(x.shape[0], x.shape[1], k=1), X),
    "identity": P(lambda x: x @ x.T + np.identity(x.shape[0]), X),
    "linspace": P(lambda x: np.linspace(0, 1, x.shape[0]) * x, V),
    "linspace-without-end": P(lambda x: np.linspace(0.0, 2.0, x.shape[0], endpoint=False) + x, V),
    "meshgrid": P(lambda x, y: np.meshgrid(x, y), ("f64[B]", "f64[N]")),
    "meshgrid-of-positions": P(lambda x: np.meshgrid(np.arange(x.shape[0]), np.arange(x.shape[1])), X),
    "indices": P(lambda x: np.indices(x.shape), X),
    "tri": P(lambda x: np.tri(x.shape[0]) * x, V),
    "lower-triangle": P(lambda x: np.tril(x), X),
    "upper-triangle": P(lambda x: np.triu(x, 1), X),
    "causal-mask": P(lambda x: np.where(np.tri(x.shape[0], dtype=bool), x[:, None], -np.inf), V),
    "diagonal-matrix": P(lambda x: np.diag(x), V),
    "diagonal": P(lambda x: (np.diag(x), np.diagonal(x)), ("f64[B, B]",)),
    "trace": P(lambda x: np.trace(x), ("f64[B, B]",)),
    "fill-diagonal": P(lambda x: _filled(x @ x.T), X),
    "vander": P(lambda x: np.vander(x, 3), V),
    "windows-of-length": P(
        lambda x: (x * np.hanning(len(x)), np.hamming(len(x)), np.bartlett(len(x)), np.blackman(len(x) + 1)),
        V,
        rtol=1e-14,
    ),
    "kaiser": P(lambda x: x * np.kaiser(x.shape[0], 14.0), V, rtol=1e-12),
    "grids": P(
        lambda x: np.add(*np.ogrid[: x.shape[0], 1 : x.shape[1] + 1]) + np.mgrid[0 : len(x), 0:9:2][1, 0, 2],
        X,
    ),
    "ranges-of-floats": P(
        lambda x: (
            np.arange(0, len(x), 0.5),
            np.arange(len(x), 1.5, -0.25),
            np.arange(2.5, len(x)),
            np.arange(len(x), 0.0),
        ),
        V,
    ),
    "joined-range": P(lambda x: np.r_[0 : len(x), 5.0], V),
    "positions-added": P(positions_added, X, rtol=1e-14),
    "fromfunction": P(lambda x: np.fromfunction(lambda i, j: i * 2 + j, x.shape) + x, X),
}


def _filled(x: Any) -> Any:
    np.fill_diagonal(x, 3.0)
    return x


PRODUCTS: dict[str, SymbolicProgram] = {
    "matmul": P(lambda x, y: x @ y, ("f64[B, N]", "f64[N, M]")),
    "matmul-of-vector": P(lambda v, x: v @ x, ("f64[B]", "f64[B, N]")),
    "multi-dot": P(lambda x: np.linalg.multi_dot([x, x.T, x]), X, rtol=1e-12),
    "outer-difference": P(lambda x: np.subtract.outer(x, x), V),
    "einsum-of-rows": P(lambda x: (np.einsum("ij->i", x), np.einsum("bi,bi->b", x, x)), X, rtol=1e-13),
    "einsum-transposed": P(lambda x: np.einsum("ij->ji", x), X),
    "row-norms": P(lambda x: np.linalg.norm(x, ord=1, axis=1), X),
    "cholesky": P(lambda x: np.linalg.cholesky(x @ x.mT + 3 * np.eye(3)), ("f64[B, 3, 3]",), rtol=1e-12),
    "qr": P(lambda x: np.abs(np.linalg.qr(x)[1]), ("f64[B, 3, 3]",), rtol=1e-12),
    "singular-values": P(lambda x: np.linalg.svd(x, compute_uv=False), ("f64[B, 3, 3]",), rtol=1e-12),
    "eigenvalues": P(lambda x: np.linalg.eigvalsh(x + x.mT), ("f64[B, 3, 3]",), rtol=1e-12),
    "matrix-power": P(lambda x: np.linalg.matrix_power(x @ x.T, 2), X, rtol=1e-12),
    "matmul-by-weights": P(lambda x, w: x @ w, ("f32[B, 4]", "f32[4, 3]")),
    "matmul-by-vector": P(lambda x, v: x @ v, ("f64[B, N]", "f64[N]")),
    "batched-matmul": P(lambda x, y: x @ y, ("f64[B, N, 3]", "f64[B, 3, N]")),
    "broadcast-matmul": P(lambda x, y: x @ y, ("f64[B, 2, N]", "f64[N, 3]"), rtol=1e-13),
    "dot": P(lambda x, y: np.dot(x, y), ("f64[N]", "f64[N]")),
    "dot-of-matrices": P(lambda x: x.dot(x.T), X),
    "tensordot": P(lambda x, y: np.tensordot(x, y, axes=1), ("f64[B, N]", "f64[N, 3]")),
    "tensordot-of-axes": P(lambda x, y: np.tensordot(x, y, ([0, 1], [1, 0])), ("f64[B, N]", "f64[N, B]")),
    "outer": P(lambda x, y: np.outer(x, y), ("f64[B]", "f64[N]")),
    "inner": P(lambda x, y: np.inner(x, y), ("f64[B, N]", "f64[M, N]")),
    "vdot": P(lambda x: np.vdot(x, x), X),
    "einsum": P(lambda x, y: np.einsum("bn,nm->bm", x, y), ("f64[B, N]", "f64[N, M]"), rtol=1e-13),
    "einsum-of-heads": P(
        lambda q, k: np.einsum("bhid,bhjd->bhij", q, k), ("f64[B, 2, N, 3]", "f64[B, 2, M, 3]"), rtol=1e-13
    ),
    "einsum-trace": P(lambda x: np.einsum("ii->", x), ("f64[B, B]",), rtol=1e-13),
    "einsum-three": P(lambda x, y: np.einsum("bi,bj,ij->b", x, x, y), ("f64[B, 3]", "f64[3, 3]"), rtol=1e-14),
    "kron": P(lambda x: np.kron(x, np.ones((2, 1))), X),
    "mlp": P(mlp, ("f32[B, 4]", "f32[4, N]", "f32[N]", "f32[N, 2]")),
    "attention": P(attention, ("f64[B, N, 4]", "f64[B, N, 4]", "f64[B, N, 4]")),
    "cross-attention": P(attention, ("f64[B, N, K]", "f64[B, M, K]", "f64[B, M, 3]")),
    "causal-attention": P(causal_attention, ("f64[N, 8]", "f64[N, 8]", "f64[N, 8]")),
    "pairwise-distances": P(pairwise_distances, ("f64[B, K]", "f64[N, K]")),
    "cross": P(lambda x, y: np.cross(x, y), ("f64[B, 3]", "f64[B, 3]")),
    "convolved-with-any": P(
        lambda x, k: tuple(np.convolve(x, k, mode) for mode in ("full", "same", "valid")),
        ("f64[N + M]", "f64[M]"),
        rtol=1e-12,
    ),
    "correlated": P(lambda x, k: np.correlate(x, k, "same"), ("f64[N]", "c128[B]"), "B <= N", 1e-12),
    "convolved": P(lambda x: np.convolve(x, [1.0, 2.0], mode="valid"), V, rtol=1e-14),
    "solved": P(lambda x, y: np.linalg.solve(x, y), ("f64[B, 3, 3]", "f64[B, 3, 1]"), rtol=1e-12),
    "inverted": P(lambda x: np.linalg.inv(x @ x.T + 3 * np.eye(x.shape[0])), X, rtol=1e-12),
    "determinants": P(lambda x: np.linalg.det(x), ("f64[B, 3, 3]",), rtol=1e-12),
}

ORDER: dict[str, SymbolicProgram] = {
    "cumsum": P(lambda x: np.cumsum(x, axis=0), X),
    "reduced": P(lambda x: (np.add.reduce(x), np.maximum.reduce(x, axis=1)), X),
    "accumulated": P(lambda x: np.multiply.accumulate(x, axis=1), X),
    "lexsorted": P(lambda x: np.lexsort((x[0], x[1])), X),
    "argpartitioned": P(lambda x: np.sort(np.argpartition(x, 1)), V),
    "differences-with-first": P(lambda x: np.diff(x, prepend=0.0), V),
    "gradients": P(lambda x: np.gradient(x), ("f64[B + 1, N + 1]",)),
    "same-arrays": P(lambda x: (np.array_equal(x, x), np.allclose(x, x + 1e-12)), X),
    "polynomial": P(lambda x: np.polyval([1.0, 2.0, 3.0], x), V),
    "nan-extremes": P(lambda x: (np.nanmax(x, axis=0), np.nanargmax(x, axis=1)), X),
    "percentiles": P(lambda x: np.percentile(x, [10, 50, 90], axis=0), X, rtol=1e-14),
    "median-of-rows": P(lambda x: np.median(x, axis=1), X),
    "cumsum-flat": P(lambda x: np.cumsum(x), X),
    "cumprod": P(lambda x: np.cumprod(x, axis=1), X),
    "running-maximum": P(lambda x: np.maximum.accumulate(x, axis=0), X),
    "sorted": P(lambda x: np.sort(x, axis=0), X),
    "sorted-flat": P(lambda x: np.sort(x, axis=None), X),
    "argsorted": P(lambda x: np.argsort(x, axis=1), X),
    "argmax": P(lambda x: np.argmax(x, axis=1), X),
    "argmin-flat": P(lambda x: np.argmin(x), X),
    "ranks": P(lambda x: np.argsort(np.argsort(x)), V),
    "searchsorted": P(lambda x, y: np.searchsorted(np.sort(x), y), ("f64[N]", "f64[B]"), "N <= 255"),
    "counted": P(lambda i: _added_at(np.zeros(3, int), np.abs(i)), ("i64[B]",)),
    "digitized": P(lambda x: np.digitize(x, [-1.0, 0.0, 1.0]), X),
    "histogram": P(lambda x: np.histogram(x, bins=4, range=(-2, 2))[0], V),
    "interpolated": P(lambda x, y: np.interp(x, np.linspace(-1, 1, 5), np.arange(5.0)), ("f64[N]", "f64[B]")),
    "differences": P(lambda x: np.diff(x, axis=0), X),
    "second-differences": P(lambda x: np.diff(x, 2), ("f64[B, N + 2]",)),
    "gradient": P(lambda x: np.gradient(x), ("f64[N + 1]",)),
    "trapezoid": P(lambda x: np.trapezoid(x), V),
    "where": P(lambda x: np.where(x > 0, x, -x), X),
    "clipped": P(lambda x: np.clip(x, -0.5, 0.5), X),
    "partitioned": P(lambda x: np.partition(x, 1)[..., :1], X),
    "isin": P(lambda x, y: np.isin(x, y), ("i64[B, N]", "i64[M]"), "M <= 255"),
    "nonzero-of-size": P(lambda x: tm.numpy.nonzero(x > 0, size=3), X),
    "unique-of-size": P(lambda x: tm.numpy.unique(x, size=3), ("i64[B]",)),
    "fft": P(lambda x: np.fft.fft(x), X, rtol=1e-12),
    "rfft": P(lambda x: np.fft.rfft(x, axis=0), X, rtol=1e-12),
    "ifft": P(lambda x: np.fft.ifft(np.fft.fft(x)).real, V, rtol=1e-12),
    "unwrapped": P(lambda x: np.unwrap(x), X, rtol=1e-14),
}

PROGRAMS: dict[str, SymbolicProgram] = {
    f"{chapter}:{name}": program
    for chapter, programs in {
        "arithmetic": ARITHMETIC,
        "statistics": STATISTICS,
        "shapes": SHAPES,
        "indexing": INDEXING,
        "creation": CREATION,
        "products": PRODUCTS,
        "order": ORDER,
    }.items()
    for name, program in programs.items()
}

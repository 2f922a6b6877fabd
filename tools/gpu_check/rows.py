"""The rows of the comparison."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...runtime.derivatives.jvp_vjp import vjp
from . import workloads
from .row import LEADING, Array, Input, Row, as_exact

# ---- what is exact where the first rows do not tell ------------------------------------------------------------

_CORNER = 16


def _norm_gradients(x: Array, scale: Array, shift: Array, cotangent: Array) -> list[Array]:
    """The first rows of the gradient by x, and the first columns of those by scale and shift."""
    rows = [as_exact(a) for a in (x[:LEADING], scale, shift, cotangent[:LEADING])]
    _, pull = vjp(lambda *arrays: workloads.layer_norm(np, *arrays), *rows[:3])
    total = np.zeros((2, _CORNER))
    for start in range(0, len(x), 1024):
        part, weights = (as_exact(a[start : start + 1024]) for a in (x, cotangent))
        centred = part - part.mean(axis=1, keepdims=True)
        normed = (centred / np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + 1e-5))[:, :_CORNER]
        total += np.sum(weights[:, :_CORNER] * normed, axis=0), np.sum(weights[:, :_CORNER], axis=0)
    return [pull(rows[3])[0], *total]


def _mlp_gradients(x: Array, w1: Array, w2: Array, cotangent: Array) -> list[Array]:
    """A corner of the gradients by both matrices: a few hidden units, for all examples."""
    units = slice(0, _CORNER)
    x, w1, w2, weights = as_exact(x), as_exact(w1[:, units]), as_exact(w2[units]), as_exact(cotangent)
    _, pull = vjp(lambda w1, w2: workloads.gelu_mlp(np, x, w1, w2), w1, w2)
    dw1, dw2 = pull(weights)
    return [dw1, dw2]


def _bins(places: Array, values: Array) -> list[Array]:
    return [np.bincount(places, values, len(values) // 64)]


def _columns(x: Array) -> list[Array]:
    return [np.asarray(np.sum(x, axis=0, dtype=np.float64))]


def _transposed(x: Array, y: Array) -> list[Array]:
    return [as_exact(x[:, :LEADING].T) + as_exact(y[:LEADING])]


# ---- the rows --------------------------------------------------------------------------------------------------


def _rows_of(columns: int, dtype: str) -> Callable[[int], tuple[Input, ...]]:
    return lambda n: (Input((n, columns), dtype),)


def _norm(n: int) -> tuple[Input, ...]:
    return Input((n, 4096), "bf16"), Input((4096,), "bf16"), Input((4096,), "bf16")


def _mlp(n: int) -> tuple[Input, ...]:
    width = n // 4
    return (
        Input((n, width), "bf16"),
        Input((width, n), "bf16", scale=width**-0.5),
        Input((n, width), "bf16", scale=n**-0.5),
    )


def _network(n: int) -> tuple[Input, ...]:
    units = n // 8
    return (
        Input((784, units), scale=784**-0.5),
        Input((units, 10), scale=units**-0.5),
        Input((n, 784)),
        Input((n, 10)),
    )


def _square(dtype: str) -> Callable[[int], tuple[Input, ...]]:
    return lambda n: (Input((n, n), dtype), Input((n, n), dtype, scale=n**-0.5))


def _options(dtype: str) -> Callable[[int], tuple[Input, ...]]:
    return lambda n: tuple(Input((n,), dtype, scale=scale, positive=True) for scale in (100.0, 100.0, 1.0))


_NORM = Row(
    "layer_norm bf16",
    "rows of bf16[32768, 4096]",
    workloads.layer_norm,
    _norm,
    size=32768,
    small=2,
    written=lambda n: n * 4096 * 2,
)
_MLP = Row(
    "gelu_mlp bf16",
    "bf16[16384, 4096] through 16384 units",
    workloads.gelu_mlp,
    _mlp,
    size=16384,
    small=32,
    written=lambda n: n * n // 2,
    work=lambda n: n**3,
    unit="bf16",
)

_ALL: tuple[Row, ...] = (
    Row(
        "softmax f32",
        "rows of f32[16384, 8192]",
        workloads.softmax,
        _rows_of(8192, "f32"),
        size=16384,
        small=4,
        written=lambda n: n * 8192 * 4,
    ),
    Row(
        "softmax bf16",
        "rows of bf16[8192, 32768]",
        workloads.softmax,
        _rows_of(32768, "bf16"),
        size=8192,
        small=2,
        written=lambda n: n * 32768 * 2,
    ),
    _NORM,
    replace(
        _NORM,
        name="layer_norm bf16, backward",
        inputs=lambda n: (*_norm(n), Input((n, 4096), "bf16")),
        task="gradient",
        argnums=(0, 1, 2),
        exactly=_norm_gradients,
    ),
    Row(
        "chain f32",
        "ten operations on 2**28 pairs",
        workloads.chain,
        lambda n: (Input((n,)), Input((n,))),
        size=1 << 28,
        small=2048,
        written=lambda n: 4 * n,
        cut=(0, 1),
        leading=1 << 20,
    ),
    Row(
        "matmul_gelu bf16",
        "8192 x 8192 x 8192 with bias and GELU",
        workloads.matmul_gelu,
        lambda n: (*_square("bf16")(n), Input((n,), "bf16")),
        size=8192,
        small=32,
        written=lambda n: 2 * n * n,
        work=lambda n: 2.0 * n**3,
        unit="bf16",
    ),
    Row(
        "matmul bf16",
        "8192 x 8192 x 8192",
        workloads.matmul,
        _square("bf16"),
        size=8192,
        small=32,
        written=lambda n: 2 * n * n,
        work=lambda n: 2.0 * n**3,
        unit="bf16",
    ),
    _MLP,
    replace(
        _MLP,
        name="gelu_mlp bf16, backward",
        inputs=lambda n: (*_mlp(n), Input((n, n // 4), "bf16")),
        written=lambda n: n * n,
        work=lambda n: 2.5 * n**3,
        task="gradient",
        argnums=(1, 2),
        exactly=_mlp_gradients,
    ),
    Row(
        "attention bf16",
        "128 heads of 4096 x 128",
        workloads.attention,
        lambda n: (Input((n, 32 * n, 128), "bf16"),) * 3,
        size=128,
        small=2,
        written=lambda n: n * 32 * n * 128 * 2,
        work=lambda n: 4.0 * n * (32 * n) ** 2 * 128,
        unit="bf16",
        cut=(0, 1, 2),
        leading=1,
    ),
    Row(
        "gradients per sample f32",
        "4096 times 784 x 512 x 10",
        workloads.network_loss,
        _network,
        size=4096,
        small=16,
        written=lambda n: 4 * n * (n // 8) * (784 + 10),
        task="gradient per sample",
        argnums=(0, 1),
        mapped=(2, 3),
        cut=(2, 3),
        leading=4,
    ),
    Row(
        "cumsum f32",
        "of 2**28 numbers",
        workloads.running_sum,
        lambda n: (Input((n,), positive=True),),
        size=1 << 28,
        small=2048,
        written=lambda n: 4 * n,
        leading=1 << 22,
    ),
    Row(
        "cumsum f32, rows",
        "of f32[64, 4194304] along rows",
        workloads.running_sum,
        lambda n: (Input((64, n), positive=True),),
        size=1 << 22,
        small=2048,
        written=lambda n: 256 * n,
        leading=2,
    ),
    Row(
        "scatter_add f32",
        "2**26 numbers into 2**20 bins",
        workloads.scatter_add,
        lambda n: (Input((n,), "i64", below=n // 64), Input((n,), positive=True)),
        size=1 << 26,
        small=2048,
        written=lambda n: n // 16,
        exactly=_bins,
    ),
    Row(
        "small matmuls f32",
        "131072 of 32 x 32 x 32",
        workloads.matmul,
        lambda n: (Input((n, 32, 32)), Input((n, 32, 32))),
        size=131072,
        small=16,
        written=lambda n: 4096 * n,
        cut=(0, 1),
    ),
    Row(
        "black_scholes f32",
        "prices of 2**27 calls",
        workloads.black_scholes,
        _options("f32"),
        size=1 << 27,
        small=2048,
        written=lambda n: 4 * n,
        cut=(0, 1, 2),
        leading=1 << 20,
    ),
    Row(
        "black_scholes f64",
        "prices of 2**26 calls",
        workloads.black_scholes,
        _options("f64"),
        size=1 << 26,
        small=2048,
        written=lambda n: 8 * n,
        cut=(0, 1, 2),
        leading=1 << 20,
    ),
    Row(
        "n_body f32",
        "65536 bodies on each other",
        workloads.pulls,
        lambda n: (Input((n, 3)), Input((n, 3)), Input((n,), positive=True)),
        size=65536,
        small=32,
        written=lambda n: 12 * n,
        work=lambda n: 19.0 * n * n,
    ),
    Row(
        "sum over rows f32",
        "f32[65536, 4096] along rows",
        workloads.sum_of_rows,
        _rows_of(4096, "f32"),
        size=65536,
        small=4,
        written=lambda n: 4 * n,
    ),
    Row(
        "sum over columns f32",
        "f32[65536, 4096] along columns",
        workloads.sum_of_columns,
        _rows_of(4096, "f32"),
        size=65536,
        small=16,
        written=lambda n: 4 * 4096,
        exactly=_columns,
    ),
    Row(
        "add transposed f32",
        "x.T + y of 16384 x 16384",
        workloads.add_transposed,
        lambda n: (Input((n, n)), Input((n, n))),
        size=16384,
        small=32,
        written=lambda n: 4 * n * n,
        exactly=_transposed,
    ),
    Row(
        "matmul f32",
        "4096 x 4096 x 4096, exact products",
        workloads.matmul,
        _square("f32"),
        size=4096,
        small=32,
        written=lambda n: 4 * n * n,
        work=lambda n: 2.0 * n**3,
    ),
    Row(
        "matmul f64",
        "4096 x 4096 x 4096",
        workloads.matmul,
        _square("f64"),
        size=4096,
        small=16,
        written=lambda n: 8 * n * n,
        work=lambda n: 2.0 * n**3,
        unit="f64",
    ),
    Row(
        "small layers f32",
        "fifty of 64 x 64",
        workloads.layers,
        lambda n: (Input((n, 64)), Input((64, 64), scale=0.1)),
        size=64,
        small=16,
        written=lambda n: 256 * n,
    ),
)

ROWS: dict[str, Row] = {row.name: row for row in _ALL}
"""All rows by name, the most informative first."""

"""Rows of kinds that `rows` does not have, to see whether what holds there holds elsewhere."""

from collections.abc import Callable

import numpy as np

from . import more_workloads as workloads
from .rows import (
    ELEMENTWISE,
    LOOPS,
    PAIRWISE,
    PER_SAMPLE,
    PRODUCTS,
    REDUCTIONS,
    ROWS,
    Arrays,
    Row,
    normal,
    with_backward,
)


def _coordinates(rng: np.random.Generator, size: int) -> Arrays:
    latitudes, longitudes = rng.uniform(-1.4, 1.4, (2, size)), rng.uniform(-3.1, 3.1, (2, size))
    return latitudes[0], longitudes[0], latitudes[1], longitudes[1]


def _moments(rng: np.random.Generator, size: int) -> Arrays:
    weights, mean, square, gradient = rng.normal(size=(4, size)).astype("f4")
    return weights, mean, square * square, gradient


def _signed(features: int, dtype: str) -> Callable[..., Arrays]:
    """Weights, examples, and a sign for each."""

    def arrays(rng: np.random.Generator, size: int) -> Arrays:
        signs = rng.choice([-1.0, 1.0], size)
        parts = 0.1 * rng.normal(size=features), rng.normal(size=(size, features)), signs
        return tuple(part.astype(dtype) for part in parts)

    return arrays


def _words(rng: np.random.Generator, size: int) -> Arrays:
    return rng.normal(size=(10_000, 128)).astype("f4"), rng.integers(10_000, size=(size, 16))


def _bits(rng: np.random.Generator, size: int) -> Arrays:
    return (rng.integers(2**62, size=size),)


def _uniform(rng: np.random.Generator, size: int) -> Arrays:
    return (rng.uniform(0.1, 0.9, size),)


def _plane(rng: np.random.Generator, size: int) -> Arrays:
    return (rng.uniform(-1.5, 1.5, (size, size)) + 1j * rng.uniform(-1.5, 1.5, (size, size)),)


_ONCE: tuple[Row, ...] = (
    Row(
        "silu_gate",
        ELEMENTWISE,
        workloads.silu_gate,
        normal(lambda n: (n,), lambda n: (n,), dtype="f4"),
        size=2_000_000,
        small=100,
        about="x · sigmoid(x) · y of 2 M f32",
        argnums=(0, 1),
    ),
    Row(
        "haversine",
        ELEMENTWISE,
        workloads.haversine,
        _coordinates,
        size=1_000_000,
        small=100,
        about="1 M distances on a sphere, f64",
        also_backward=False,
    ),
    Row(
        "adam",
        ELEMENTWISE,
        workloads.adam,
        _moments,
        size=1_000_000,
        small=100,
        about="a step on 1 M weights, f32",
        also_backward=False,
    ),
    Row(
        "huber",
        ELEMENTWISE,
        workloads.huber,
        normal(lambda n: (n,), lambda n: (n,), dtype="f4"),
        size=2_000_000,
        small=100,
        about="mean loss of 2 M f32",
    ),
    Row(
        "binary_cross_entropy",
        ELEMENTWISE,
        workloads.binary_cross_entropy,
        normal(lambda n: (n,), lambda n: (n,), dtype="f4"),
        size=2_000_000,
        small=100,
        about="mean loss of 2 M f32",
    ),
    Row(
        "mix_bits",
        ELEMENTWISE,
        workloads.mix_bits,
        _bits,
        size=1_000_000,
        small=100,
        about="the end of a hash function, 1 M i64",
        also_backward=False,
    ),
    Row(
        "log_sum_exp",
        REDUCTIONS,
        workloads.log_sum_exp,
        normal(lambda n: (n, 512), dtype="f8"),
        size=2048,
        small=3,
        about="rows of f64[2048, 512]",
    ),
    Row(
        "rms_norm",
        REDUCTIONS,
        workloads.rms_norm,
        normal(lambda n: (n, 1024), lambda n: (1024,), dtype="f4"),
        size=4096,
        small=3,
        about="rows of f32[4096, 1024]",
        argnums=(0, 1),
    ),
    Row(
        "group_norm",
        REDUCTIONS,
        workloads.group_norm,
        normal(lambda n: (n, 64, 16, 16), dtype="f4"),
        size=128,
        small=2,
        about="32 groups of f32[128, 64, 16, 16]",
    ),
    Row(
        "moving_average",
        REDUCTIONS,
        workloads.moving_average,
        normal(lambda n: (n, 4096), dtype="f8"),
        size=512,
        small=2,
        about="rows of f64[512, 4096]",
        also_backward=False,
    ),
    Row(
        "cosine_similarity",
        REDUCTIONS,
        workloads.cosine_similarity,
        normal(lambda n: (n, 256), lambda n: (n, 256), dtype="f4"),
        size=8192,
        small=3,
        about="rows of two f32[8192, 256]",
        also_backward=False,
    ),
    Row(
        "min_max",
        REDUCTIONS,
        workloads.min_max,
        normal(lambda n: (n, 100), dtype="f8"),
        size=20_000,
        small=5,
        about="columns of f64[20000, 100]",
        also_backward=False,
    ),
    Row(
        "norm",
        REDUCTIONS,
        workloads.norm,
        normal(lambda n: (n,), dtype="f8"),
        size=2_000_000,
        small=100,
        about="2 M f64",
        also_backward=False,
    ),
    Row(
        "best_class",
        REDUCTIONS,
        workloads.best_class,
        normal(lambda n: (n, 1000), dtype="f4"),
        size=4096,
        small=3,
        about="largest of each row, f32[4096, 1000]",
        also_backward=False,
    ),
    Row(
        "symmetric_part",
        REDUCTIONS,
        workloads.symmetric_part,
        normal(lambda n: (n, n), dtype="f4"),
        size=2048,
        small=5,
        about="half of x + its transpose, f32[2048, 2048]",
        also_backward=False,
    ),
    Row(
        "distances",
        PAIRWISE,
        workloads.distances,
        normal(lambda n: (n, 3), dtype="f8"),
        size=1000,
        small=7,
        about="a matrix of distances, 1000 points f64[3]",
    ),
    Row(
        "lennard_jones",
        PAIRWISE,
        workloads.lennard_jones,
        normal(lambda n: (n, 3), dtype="f8"),
        size=1500,
        small=7,
        about="energy of 1500 particles, f64",
    ),
    Row(
        "density",
        PAIRWISE,
        workloads.density,
        normal(lambda n: (n,), lambda n: (64,), dtype="f4"),
        size=100_000,
        small=7,
        about="100000 samples f32 at 64 points",
        also_backward=False,
    ),
    Row(
        "logistic",
        PRODUCTS,
        workloads.logistic_loss,
        _signed(100, "f8"),
        size=20_000,
        small=5,
        about="value and gradient, 20000 × 100, f64",
        task="value and gradient",
        also_backward=False,
    ),
    Row(
        "products",
        PRODUCTS,
        workloads.products,
        normal(lambda n: (n, 8, 8), lambda n: (n, 8, 8), dtype="f4"),
        size=4096,
        small=3,
        about="4096 of 8 × 8, f32",
        argnums=(0, 1),
    ),
    Row(
        "dense",
        PRODUCTS,
        workloads.dense,
        normal(lambda n: (n, 1024), lambda n: (1024, 1024), lambda n: (1024,), dtype="f4"),
        size=64,
        small=3,
        about="a layer, 64 × 1024 × 1024, f32",
        argnums=(0, 1, 2),
    ),
    Row(
        "quadratic_forms",
        PRODUCTS,
        workloads.quadratic_forms,
        normal(lambda n: (n, 128), lambda n: (128, 128), dtype="f8"),
        size=4096,
        small=3,
        about="4096 of 128 f64",
        also_backward=False,
    ),
    Row(
        "correlations",
        PRODUCTS,
        workloads.correlations,
        normal(lambda n: (n, 64), dtype="f8"),
        size=5000,
        small=5,
        about="of 64 columns, f64[5000, 64]",
        also_backward=False,
    ),
    Row(
        "per_sample_logistic",
        PER_SAMPLE,
        workloads.example_loss,
        _signed(256, "f4"),
        size=4096,
        small=3,
        about="4096 gradients of 256 f32",
        task="gradient per sample",
        mapped=(1, 2),
        also_backward=False,
    ),
    Row(
        "convolution",
        LOOPS,
        workloads.convolution,
        normal(lambda n: (n, 4102), lambda n: (7,), dtype="f4"),
        size=256,
        small=3,
        about="7 weights on rows of f32[256, 4102]",
        argnums=(0, 1),
    ),
    Row(
        "embedding",
        LOOPS,
        workloads.embedding,
        _words,
        size=4096,
        small=3,
        about="mean of 16 of 10000 vectors f32[128], 4096 times",
    ),
    Row(
        "logistic_hessian",
        LOOPS,
        workloads.logistic_loss,
        _signed(30, "f8"),
        size=2000,
        small=5,
        about="30 weights, 2000 examples, f64",
        task="hessian",
        also_backward=False,
    ),
    Row(
        "logistic_map",
        LOOPS,
        workloads.logistic_map,
        _uniform,
        size=10_000,
        small=5,
        about="200 steps in a Python loop, f64[10000]",
        repeat=200,
        also_backward=False,
    ),
    Row(
        "julia",
        LOOPS,
        workloads.julia,
        _plane,
        size=256,
        small=4,
        about="50 steps in a Python loop, c128[256, 256]",
        repeat=50,
        also_backward=False,
    ),
    Row(
        "lorenz",
        LOOPS,
        workloads.lorenz_step,
        normal(lambda n: (3, n), dtype="f8"),
        size=1000,
        small=4,
        about="100 Runge-Kutta steps in a Python loop, 1000 states f64",
        repeat=100,
    ),
)

MORE_ROWS: dict[str, Row] = with_backward(_ONCE)
"""Rows by name, backward ones after their forward ones."""

ALL_ROWS: dict[str, Row] = ROWS | MORE_ROWS

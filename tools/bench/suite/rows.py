"""The rows of the suite: which functions on which arrays, what is computed, and the goals."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from . import workloads

Task = Literal["value", "backward", "value and gradient", "gradient per sample", "hessian"]
"""What is computed: ``backward`` is the gradient of the sum of results times a fixed cotangent."""

Arrays = tuple[np.ndarray[Any, Any], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Rows with one goal: how many times faster than the fastest peer, per backend."""

    name: str
    aims: dict[str, float]
    busy_aims: dict[str, float]
    """The goals on a machine whose cores are busy."""


ELEMENTWISE = Group("elementwise, transcendental", {"c": 3.0, "numpy": 1.0}, {"c": 3.0})
REDUCTIONS = Group("reductions, softmax, norms", {"c": 1.1, "numpy": 0.4}, {"c": 3.0})
PAIRWISE = Group("broadcast, then reduce", {"c": 10.0, "numpy": 1.0}, {"c": 3.0})
PRODUCTS = Group("matrix products", {"c": 1.0, "numpy": 1.0}, {"c": 1.2})
PER_SAMPLE = Group("gradients per sample", {"c": 1.5, "numpy": 1.0}, {"c": 3.0})
LOOPS = Group("loops and Hessians", {"c": 1.0, "numpy": 1.0}, {"c": 3.0})
GROUPS = {group.name: group for group in (ELEMENTWISE, REDUCTIONS, PAIRWISE, PRODUCTS, PER_SAMPLE, LOOPS)}


@dataclass(frozen=True, slots=True)
class Row:
    """One function on arrays of one size, and what is computed."""

    name: str
    group: Group
    function: Callable[..., Any]
    """A function of a namespace and the arrays."""
    arrays: Callable[[np.random.Generator, int], Arrays]
    """The arguments for a size."""
    size: int
    small: int
    """A size at which every row takes milliseconds, for tests."""
    about: str
    task: Task = "value"
    argnums: tuple[int, ...] = (0,)
    """The arguments with respect to which gradients are computed."""
    mapped: tuple[int, ...] = ()
    """The arguments that hold one example per row, for gradients per sample."""
    repeat: int = 1
    """How often the function is applied to its own result."""
    also_backward: bool = True

    def arguments(self, size: int) -> Arrays:
        return self.arrays(np.random.default_rng(0), size)

    @property
    def has_numpy(self) -> bool:
        """Whether plain NumPy can compute it: it has no derivatives."""
        return self.task == "value"


def normal(*shapes: Callable[[int], tuple[int, ...]], dtype: str) -> Callable[..., Arrays]:
    """Normal arrays, each of a shape that depends on the size."""

    def arrays(rng: np.random.Generator, size: int) -> Arrays:
        return tuple(rng.normal(size=shape(size)).astype(dtype) for shape in shapes)

    return arrays


def _options(rng: np.random.Generator, size: int) -> Arrays:
    return rng.uniform(50, 150, size), rng.uniform(50, 150, size), rng.uniform(0.1, 2.0, size)


def _bodies(rng: np.random.Generator, size: int) -> Arrays:
    return rng.normal(size=(size, 3)), rng.uniform(0.5, 1.5, size)


def _labelled(rng: np.random.Generator, size: int) -> Arrays:
    logits = rng.normal(size=(size, 1000)).astype("f4")
    return logits, np.arange(size), rng.integers(1000, size=size)


def _network(rng: np.random.Generator, size: int) -> Arrays:
    """Weights, biases, images and targets: `size` images of 784 pixels, as many hidden units, ten classes."""
    shapes = ((784, size), (size,), (size, 10), (10,), (size, 784))
    parameters = [0.05 * rng.normal(size=shape) for shape in shapes]
    targets = np.eye(10)[rng.integers(10, size=size)]
    return tuple(array.astype("f4") for array in (*parameters, targets))


ONCE: tuple[Row, ...] = (
    Row(
        "gelu",
        ELEMENTWISE,
        workloads.gelu,
        normal(lambda n: (n,), dtype="f4"),
        size=4_000_000,
        small=100,
        about="tanh-GELU of 4 M f32",
    ),
    Row(
        "black_scholes",
        ELEMENTWISE,
        workloads.black_scholes,
        _options,
        size=4_000_000,
        small=100,
        about="prices of 4 M calls, f64",
    ),
    Row(
        "layer_norm",
        REDUCTIONS,
        workloads.layer_norm,
        normal(lambda n: (n, 1024), lambda n: (1024,), lambda n: (1024,), dtype="f4"),
        size=4096,
        small=3,
        about="rows of f32[4096, 1024]",
    ),
    Row(
        "softmax",
        REDUCTIONS,
        workloads.softmax,
        normal(lambda n: (n, 1024), dtype="f4"),
        size=4096,
        small=3,
        about="rows of f32[4096, 1024]",
    ),
    Row(
        "column_statistics",
        REDUCTIONS,
        workloads.column_statistics,
        normal(lambda n: (n, 1024), lambda n: (1024,), lambda n: (1024,), dtype="f4"),
        size=4096,
        small=5,
        about="columns of f32[4096, 1024]",
    ),
    Row(
        "cross_entropy",
        REDUCTIONS,
        workloads.cross_entropy,
        _labelled,
        size=4096,
        small=3,
        about="log-softmax and labels, f32[4096, 1000]",
    ),
    Row(
        "n_body",
        PAIRWISE,
        workloads.n_body,
        _bodies,
        size=3000,
        small=7,
        about="gravity of 3000 bodies, f64",
    ),
    Row(
        "kernel_sums",
        PAIRWISE,
        workloads.kernel_sums,
        normal(lambda n: (n, 16), lambda n: (n, 16), dtype="f4"),
        size=2000,
        small=7,
        about="exp(-distance), 2000 × 2000 points f32[16]",
    ),
    Row(
        "nearest",
        PAIRWISE,
        workloads.nearest,
        normal(lambda n: (n, 16), lambda n: (n, 16), dtype="f4"),
        size=2000,
        small=7,
        about="smallest distance, 2000 × 2000 points f32[16]",
    ),
    Row(
        "attention",
        PAIRWISE,
        workloads.attention,
        normal(*3 * [lambda n: (8, n, 64)], dtype="f4"),
        size=512,
        small=5,
        about="8 heads, 512 × 64, f32",
    ),
    Row(
        "mlp",
        PRODUCTS,
        workloads.mlp_loss,
        _network,
        size=512,
        small=5,
        about="value and gradient, 512 × 784 × 512 × 10, f32",
        task="value and gradient",
        argnums=(0, 1, 2, 3),
        also_backward=False,
    ),
    Row(
        "per_sample",
        PER_SAMPLE,
        workloads.layer_loss,
        normal(lambda n: (64, 64), lambda n: (64,), lambda n: (n, 64), lambda n: (n, 64), dtype="f8"),
        size=2048,
        small=3,
        about="2048 gradients of 64 × 64 + 64 f64",
        task="gradient per sample",
        argnums=(0, 1),
        mapped=(2, 3),
        also_backward=False,
    ),
    Row(
        "hessian",
        LOOPS,
        workloads.rosenbrock,
        normal(lambda n: (n,), dtype="f8"),
        size=200,
        small=5,
        about="of Rosenbrock's function of 200 f64",
        task="hessian",
        also_backward=False,
    ),
    Row(
        "stencil",
        LOOPS,
        workloads.heat_step,
        normal(lambda n: (n, n), dtype="f8"),
        size=256,
        small=4,
        about="1000 steps in a Python loop, f64[256, 256]",
        repeat=1000,
    ),
)

BACKWARD: str = ", backward"


def with_backward(once: Iterable[Row]) -> dict[str, Row]:
    """Rows by name, backward ones after their forward ones."""
    return {
        row.name: row
        for forward in once
        for row in (forward, replace(forward, name=forward.name + BACKWARD, task="backward"))
        if row is forward or forward.also_backward
    }


ROWS: dict[str, Row] = with_backward(ONCE)

CALLS: dict[str, Row] = {
    row.name: row
    for row in (
        Row(
            name,
            ELEMENTWISE,
            function,
            normal(*count * [lambda n: (n,)], dtype="f4"),
            size=16,
            small=2,
            about="f32[16]",
        )
        for name, function, count in (
            ("1 array", workloads.add_one, 1),
            ("2 arrays", workloads.add_two, 2),
            ("4 arrays", workloads.add_four, 4),
        )
    )
}
"""Functions that cost little more than their call."""

"""Signs of zero are NumPy's: bounds of `clip`, sums of products with one term, means of medians, quantiles."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from numpy_surface.differential import run_traced

Array = np.ndarray[Any, Any]

ZEROS = np.array([-0.0, 0.0, -0.0, 1.0])
BOUNDS: list[Any] = [
    None,
    0.0,
    -0.0,
    np.zeros(4),
    -np.zeros(4),
    np.zeros(1),
    -np.zeros((4, 1)),
    -1.0,
    np.ones(4),
]


def assert_same(got: Any, expected: Any) -> None:
    """Values and signs. NaN equals NaN."""
    got, expected = (np.ascontiguousarray(x).view(np.asarray(x).real.dtype) for x in (got, expected))
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_clip_takes_the_zero_that_numpy_takes(dtype: type) -> None:
    x: Array = ZEROS.astype(dtype)
    for low in BOUNDS[:-1]:
        for high in [*BOUNDS[:-2], np.ones(4)]:
            if low is None and high is None:
                continue
            low, high = (b.astype(dtype) if isinstance(b, np.ndarray) else b for b in (low, high))
            assert_same(
                run_traced(lambda x, low=low, high=high: np.clip(x, low, high), x), np.clip(x, low, high)
            )


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_clip_takes_the_same_zero_when_compiled(backend: str) -> None:
    def clipped(x: Array, low: Array, high: Array) -> list[Array]:
        bounds = [
            (low, high),
            (low, None),
            (None, high),
            (0.0, high),
            (low[0], high[0]),
            (0.0, None),
            (None, -0.0),
        ]
        return [np.clip(x, *pair) for pair in bounds]

    for arrays in ((ZEROS, np.zeros(4), np.ones(4)), (ZEROS, -np.zeros(4), np.zeros(4))):
        for got, expected in zip(
            tm.compile(clipped, backend=backend)(*arrays), clipped(*arrays), strict=True
        ):
            assert_same(got, expected)


def test_clip_of_one_number_takes_the_zero_that_numpy_takes() -> None:
    """NumPy's loop depends on how many axes the operands have."""
    shapes: tuple[tuple[int, ...], ...] = ((), (1,), (1, 1))
    for shape, of_low, of_high in itertools.product(shapes, repeat=3):
        x, low, high = np.full(shape, -0.0), np.zeros(of_low), np.ones(of_high)
        assert_same(run_traced(np.clip, x, low, high), np.clip(x, low, high))


def test_on_a_bound_the_derivative_of_clip_is_one() -> None:
    for low, high in ((0.0, None), (None, 0.0), (np.zeros(3), np.ones(3)), (0.0, 1.0)):
        gradient = tm.grad(lambda x, low=low, high=high: np.clip(x, low, high).sum())(np.zeros(3))
        np.testing.assert_array_equal(gradient, np.ones(3))


def random_sum(rng: random.Random) -> tuple[str, list[Array]]:
    """Subscripts of up to three operands with axes of length 1 to 3, and operands full of zeros."""
    lengths = {label: rng.choice([1, 2, 3]) for label in "ijkl"}
    terms = [
        "".join(rng.sample("ijkl", rng.choice([0, 1, 2, 2, 3]))) for _ in range(rng.choice([1, 2, 2, 3]))
    ]
    used = sorted(set("".join(terms)))
    output = "".join(rng.sample(used, rng.randint(0, len(used))))
    dtype = rng.choice([np.float32, np.float64, np.complex128])
    values = np.random.default_rng(rng.randrange(10**6))
    operands = [
        np.where(values.random([lengths[label] for label in term]) < 0.7, -0.0, 1.0).astype(dtype)
        for term in terms
    ]
    return f"{','.join(terms)}->{output}", operands


@pytest.mark.parametrize("optimize", [False, True])
def test_sums_of_one_product_have_the_sign_that_numpy_gives(optimize: bool) -> None:
    rng = random.Random(20)
    for _ in range(60):
        subscripts, operands = random_sum(rng)

        def summed(*operands: Array, subscripts: str = subscripts) -> Any:
            return np.einsum(subscripts, *operands, optimize=optimize)

        assert_same(run_traced(summed, *operands), summed(*operands))


FUNCTIONS: dict[str, Callable[[Array], Any]] = {
    "dot": lambda x: np.dot(x, np.ones_like(x)),
    "inner": lambda x: np.inner(x, np.ones_like(x)),
    "vdot": lambda x: np.vdot(x, np.ones_like(x)),
    "matmul": lambda x: x[:, None] @ np.ones((1, 2), x.dtype),
    "tensordot": lambda x: np.tensordot(x, np.ones(2, x.dtype), 0),
    "multi_dot": lambda x: np.linalg.multi_dot([x[None], x[:, None], x[None]]),
    "convolve": lambda x: np.convolve(x, np.ones(2, x.dtype)),
    "median": np.median,
    "nanmedian": np.nanmedian,
    "percentile": lambda x: np.percentile(x, [0, 40, 100]),
    "nanpercentile": lambda x: np.nanpercentile(x, [0, 40, 100]),
    "hazen": lambda x: np.quantile(x, 0.25, method="hazen"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_result_that_is_zero_has_the_sign_that_numpy_gives(name: str) -> None:
    function = FUNCTIONS[name]
    for dtype in (np.float16, np.float32, np.float64):
        for entries in ([-0.0], [-0.0, -0.0], [-0.0, 0.0, -0.0], [1.0, -0.0], [-0.0] * 9):
            x = np.array(entries, dtype)
            assert_same(run_traced(function, x), function(x))


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_compiled_results_have_the_same_signs(backend: str) -> None:
    def all_of(x: Array) -> list[Any]:
        return [function(x) for function in FUNCTIONS.values()]

    for x in (np.array([-0.0]), np.array([-0.0, -0.0])):
        for got, expected in zip(tm.compile(all_of, backend=backend)(x), all_of(x), strict=True):
            assert_same(got, expected)

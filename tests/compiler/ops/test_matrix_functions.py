"""`tracemill.linalg` against SciPy: values of NumPy and traced arrays alike, derivatives, batches, errors."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from threadpoolctl import threadpool_limits

import tracemill as tm
from samples.linalg.matrix_domains import MATRICES

DTYPES = ("float32", "float64", "complex64", "complex128")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """SciPy's threads would wait for each other, computing, longer than they work on matrices as small as these."""
    with threadpool_limits(1):
        yield


def drawn(domain: str, *shape: int, dtype: str = "float64") -> Any:
    return MATRICES[domain](np.random.default_rng(3), np.dtype(dtype), shape)


def tolerance(dtype: str) -> float:
    return 1e-4 if dtype in ("float32", "complex64") else 1e-11


def both(function: Callable[..., Any], *args: Any) -> list[Any]:
    """What it gives at once, and compiled."""
    return [function(*args), tm.compile(function)(*args)]


# ---- expm --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1e-9, 0.1, 1.0, 20.0])
def test_the_exponential_is_scipys(dtype: str, size: float) -> None:
    x = (size * drawn("diagonalizable", 2, 4, 4, dtype=dtype) / 4).astype(dtype)
    expected = np.stack([scipy.linalg.expm(each.astype(np.result_type(dtype, np.float64))) for each in x])
    for result in both(tm.linalg.expm, x):
        assert result.dtype == np.dtype(dtype)
        error = np.max(np.abs(result - expected)) / np.max(np.abs(expected))
        assert error < tolerance(dtype)


def test_the_exponential_of_integers_of_nothing_and_of_what_is_not_finite() -> None:
    np.testing.assert_allclose(tm.linalg.expm(np.array([[0, 1], [0, 0]])), [[1, 1], [0, 1]], atol=1e-15)
    assert tm.linalg.expm(np.zeros((0, 2, 2))).shape == (0, 2, 2)
    assert tm.linalg.expm(np.zeros((0, 0))).shape == (0, 0)
    assert np.isnan(tm.linalg.expm(np.full((2, 2), np.inf))).all()
    stack = np.stack([np.eye(2), np.full((2, 2), np.nan)])
    np.testing.assert_allclose(tm.linalg.expm(stack)[0], np.e * np.eye(2))


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_the_derivative_of_the_exponential_is_frechets_for_tangents_of_any_size(
    dtype: str, size: float
) -> None:
    x, direction = drawn("diagonalizable", 3, 3, dtype=dtype), drawn("full_rank", 3, 3, dtype=dtype)
    expected = scipy.linalg.expm_frechet(x, direction, compute_expm=False)
    _, tangent = tm.jvp(tm.linalg.expm, (x,), (size * direction,))
    np.testing.assert_allclose(tangent / size, expected, 1e-11, 1e-11)


def test_the_jacobian_of_the_exponential_is_scipys_in_both_modes() -> None:
    x = drawn("diagonalizable", 3, 3)
    columns = [scipy.linalg.expm_frechet(x, one.reshape(3, 3), compute_expm=False) for one in np.eye(9)]
    expected = np.stack(columns, axis=-1).reshape(3, 3, 3, 3)
    for jacobian in (
        tm.jacfwd(tm.linalg.expm),
        tm.jacrev(tm.linalg.expm),
        tm.compile(tm.jacrev(tm.linalg.expm)),
    ):
        np.testing.assert_allclose(jacobian(x), expected, 1e-11, 1e-11)


def test_the_third_derivative_of_the_exponential_of_a_number() -> None:
    def exponential(t: Any) -> Any:
        return tm.linalg.expm(np.reshape(t, (1, 1)))[0, 0]

    np.testing.assert_allclose(tm.grad(tm.grad(tm.grad(exponential)))(1.5), np.exp(1.5))


# ---- lu ----------------------------------------------------------------------------------------------


@pytest.mark.sampled(every=7)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 3, 4), (1, 1), (0, 0), (130, 130)])
def test_the_factors_are_scipys(dtype: str, shape: tuple[int, ...]) -> None:
    x = drawn("full_rank", *shape, dtype=dtype)
    expected = scipy.linalg.lu(x)
    near = 100 * tolerance(dtype)
    for factors in both(tm.linalg.lu, x):
        assert [part.dtype for part in factors] == [np.real(x).dtype, x.dtype, x.dtype]
        for ours, theirs in zip(factors, expected, strict=True):
            assert ours.shape == theirs.shape
            np.testing.assert_allclose(ours, theirs, near, near)
    for p, lower, upper in both(lambda x: tm.linalg.lu(x, p_indices=True), x):
        np.testing.assert_allclose(np.take_along_axis(lower, p[..., None], -2) @ upper, x, near, near)
    for lower, upper in both(lambda x: tm.linalg.lu(x, permute_l=True), x):
        np.testing.assert_allclose(lower @ upper, x, near, near)


def test_a_column_of_zeros_has_factors_too() -> None:
    x = np.array([[0.0, 1.0, 2.0], [0.0, 0.0, 1.0], [0.0, 4.0, 1.0]])
    p, lower, upper = tm.linalg.lu(x)
    np.testing.assert_array_equal(p @ lower @ upper, x)


# ---- triangular systems ------------------------------------------------------------------------------


@pytest.mark.sampled(slow=5)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("trans", [0, 1, 2, "N", "T", "C"])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("unit_diagonal", [False, True])
def test_a_triangular_solution_is_scipys(dtype: str, trans: Any, lower: bool, unit_diagonal: bool) -> None:
    a, b = drawn("triangles", 4, 4, dtype=dtype), drawn("full_rank", 4, 2, dtype=dtype)
    options = {"trans": trans, "lower": lower, "unit_diagonal": unit_diagonal}
    for sides in (b, b[:, 0]):
        expected = scipy.linalg.solve_triangular(a, sides, **options)
        for result in both(lambda a, sides: tm.linalg.solve_triangular(a, sides, **options), a, sides):
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, tolerance(dtype), tolerance(dtype))


@pytest.mark.parametrize("lower", [False, True])
def test_a_large_triangle_is_solved_block_by_block_as_exactly_as_by_scipy(lower: bool) -> None:
    rng = np.random.default_rng(0)
    a = rng.uniform(-1, 1, (200, 200)) / 200 + np.eye(200)
    b = rng.standard_normal((200, 3))
    triangle = np.tril(a) if lower else np.triu(a)
    x = tm.linalg.solve_triangular(a, b, lower=lower)
    np.testing.assert_allclose(triangle @ x, b, 1e-13, 1e-13)


@pytest.mark.parametrize(
    ("a", "b"), [((3, 3), (5, 3, 2)), ((5, 3, 3), (3, 2)), ((5, 1, 3, 3), (4, 3, 2)), ((5, 3, 3), (3,))]
)
def test_leading_axes_broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    matrices, sides = drawn("triangles", *a), np.cos(np.arange(np.prod(b))).reshape(b)
    expected = np.linalg.solve(np.tril(matrices), sides)
    for result in both(lambda a, b: tm.linalg.solve_triangular(a, b, lower=True), matrices, sides):
        np.testing.assert_allclose(result, expected, 1e-12, 1e-12)


def test_many_right_hand_sides_of_one_matrix_are_solved_by_one_call_of_one_matrix() -> None:
    a, b = drawn("full_rank", 3, 3), np.ones((7, 3))
    batched = tm.compile(tm.vmap(np.linalg.solve, in_dims=(None, 0)))
    (call,) = [call for call in batched.lower(a, b).graph.calls if call.op == "solve"]
    assert [v.shape for v in call.inputs] == [(3, 3), (3, 7)]
    np.testing.assert_allclose(batched(a, b), np.linalg.solve(a, b.T).T, 1e-13)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_cholesky_factor_solves_its_equations(lower: bool, dtype: str) -> None:
    x, b = drawn("positive_definite", 3, 3, dtype=dtype), drawn("full_rank", 3, 2, dtype=dtype)

    def solved(x: Any, b: Any) -> Any:
        return tm.linalg.cho_solve((np.linalg.cholesky(x, upper=not lower), lower), b)

    for result in both(solved, x, b):
        np.testing.assert_allclose(result, np.linalg.solve(x, b), 1e-12, 1e-12)
    gradients = tm.grad(lambda x, b: np.sum(np.abs(solved(x, b)) ** 2), argnums=(0, 1))
    _, by_solve = tm.vjp(np.linalg.solve, x, b)
    dx, db = by_solve(2 * np.linalg.solve(x, b))
    ours = gradients(x, b)
    np.testing.assert_allclose(ours[1], db, 1e-9, 1e-9)
    # One triangle of a Hermitian matrix is read: it has the derivatives of both.
    triangle = np.tril if lower else np.triu
    whole = dx + np.conj(dx.T)
    np.testing.assert_allclose(
        ours[0], triangle(np.where(np.eye(3, dtype=bool), np.real(dx), whole)), 1e-9, 1e-9
    )


# ---- misuse ------------------------------------------------------------------------------------------


def test_a_zero_on_the_diagonal_of_a_triangle_is_numpys_error() -> None:
    for run in (tm.linalg.solve_triangular, tm.compile(tm.linalg.solve_triangular)):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            run(np.array([[1.0, 2.0], [0.0, 0.0]]), np.ones(2))


def test_misuse_is_refused() -> None:
    x = np.eye(2)
    for run in (lambda f: f, tm.compile):
        with pytest.raises(tm.errors.MatrixShapeError, match="must be square"):
            run(tm.linalg.expm)(np.ones((2, 3)))
        with pytest.raises(tm.errors.MatrixShapeError, match="two axes are needed"):
            run(tm.linalg.lu)(np.ones(3))
        with pytest.raises(tm.errors.MatrixShapeError, match="is not a matrix"):
            run(tm.linalg.solve_triangular)(np.ones(3), np.ones(3))
        with pytest.raises(tm.errors.MatrixShapeError, match="do not have the rows"):
            run(tm.linalg.solve_triangular)(x, np.ones(3))
        with pytest.raises(tm.errors.MatrixShapeError, match="leading axes do not broadcast"):
            run(tm.linalg.solve_triangular)(np.ones((2, 2, 2)), np.ones((3, 2, 1)))
        with pytest.raises(tm.errors.DTypeError, match="LAPACK has"):
            run(tm.linalg.expm)(x.astype(np.float16))
        with pytest.raises(tm.errors.ArgumentValueError, match="trans must be"):
            run(lambda a: tm.linalg.solve_triangular(a, a, trans="H"))(x)

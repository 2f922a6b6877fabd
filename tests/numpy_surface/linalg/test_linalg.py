"""`numpy.linalg`: every use as in NumPy, interpreted and compiled; derivatives, batches, and misuse refused."""
# ruff: noqa: PLW0108  (the lambdas look functions up while tracing, or name their arrays)

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from numpy_surface.differential import assert_same, check, check_both_raise, run_numpy
from samples.grouping import Case, in_groups, quick_first
from samples.numpy_linalg import ARRAYS, USES, Use, arguments_of
from tracemill.compiler.errors import ArgumentTypeError, ArgumentValueError

CASES = [
    Case(name, f"{name}-{number}", (use,)) for name, uses in USES.items() for number, use in enumerate(uses)
]


def tolerance(arrays: list[Any]) -> float:
    return 1e-4 if any(x.dtype.name in ("float32", "complex64") for x in arrays) else 1e-10


@in_groups(CASES)
def test_this_use_does_what_numpy_does(use: Use) -> None:
    arrays = arguments_of(use)
    check(use, *arrays, rtol=tolerance(arrays), atol=tolerance(arrays))


@in_groups(quick_first(CASES, slow=2))
def test_this_use_does_the_same_compiled(use: Use) -> None:
    arrays = arguments_of(use)
    expected = run_numpy(use, *arrays)
    assert_same(expected, tm.compile(use)(*arrays), rtol=tolerance(arrays), atol=tolerance(arrays))


@pytest.mark.sampled(every=7, slow=2)
@in_groups(CASES)
def test_this_use_does_the_same_for_each_example_of_a_batch(use: Use) -> None:
    """A batch of equal examples, so that each use stays within its domain."""
    arrays = arguments_of(use)
    expected = run_numpy(use, *arrays)
    batched = tm.vmap(use)(*[np.stack([x, x]) for x in arrays])
    for i in range(2):
        assert_same(
            optree.tree_map(np.asarray, expected),
            optree.tree_map(lambda x, i=i: np.asarray(x[i]), batched),
            rtol=tolerance(arrays),
            atol=tolerance(arrays),
        )


# ---- derivatives -------------------------------------------------------------------------------------


def spectral_function(x: Any) -> Any:
    """exp of the Hermitian matrix: V exp(λ) Vᴴ, which no phase of a vector changes."""
    values, vectors = np.linalg.eigh(x)
    return (vectors * np.exp(values)[..., None, :]) @ np.conjugate(np.swapaxes(vectors, -1, -2))


def polar_factor(x: Any) -> Any:
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return u @ vh


def squared(x: Any) -> Any:
    """V λ² V⁻¹ of a general matrix."""
    values, vectors = np.linalg.eig(x)
    return (vectors * values[..., None, :] ** 2) @ np.linalg.inv(vectors)


DERIVATIVES: dict[str, tuple[Callable[..., Any], str]] = {
    "cholesky of the lower triangle": (np.linalg.cholesky, "p"),
    "upper cholesky": (lambda x: np.linalg.cholesky(x, upper=True), "p"),
    "complex cholesky": (np.linalg.cholesky, "zp"),
    "solve": (np.linalg.solve, "a sides"),
    "solve for a vector": (np.linalg.solve, "a b"),
    "solve, broadcast": (lambda a, b: np.linalg.solve(a, b), "a more"),
    "complex solve": (np.linalg.solve, "z z"),
    "inv": (np.linalg.inv, "stack"),
    "det": (np.linalg.det, "stack"),
    "slogdet": (lambda x: tuple(np.linalg.slogdet(x)), "z"),
    "qr": (lambda x: tuple(np.linalg.qr(x)), "tall"),
    "wide qr": (lambda x: tuple(np.linalg.qr(x)), "wide"),
    "r of qr": (lambda x: np.linalg.qr(x, mode="r"), "tall"),
    "complex qr": (lambda x: tuple(np.linalg.qr(x)), "z"),
    "eigh": (spectral_function, "h"),
    "complex eigh": (spectral_function, "zp"),
    "eigenvalues of the upper triangle": (lambda x: np.linalg.eigvalsh(x, "U"), "h"),
    "svd": (polar_factor, "tall"),
    "wide svd": (polar_factor, "wide"),
    "complex svd": (polar_factor, "z"),
    "svdvals": (np.linalg.svdvals, "wide"),
    "svd of a Hermitian matrix": (lambda x: np.linalg.svd(x, hermitian=True).S, "h"),
    "eigvals": (np.linalg.eigvals, "a"),
    "eig": (lambda x: tuple(np.linalg.eig(x)), "stack"),
    "function of a general matrix": (squared, "a"),
    "complex eig": (lambda x: tuple(np.linalg.eig(x)), "z"),
    "pinv": (np.linalg.pinv, "tall"),
    "wide pinv": (np.linalg.pinv, "wide"),
    "complex pinv": (np.linalg.pinv, "z"),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b)[:2], "tall four"),
    "tensorinv": (
        lambda x: np.linalg.tensorinv(np.reshape(x, (2, 2, 4)) + np.eye(4).reshape(2, 2, 4)),
        "wide4",
    ),
    "cond": (lambda x: np.linalg.cond(x), "stack"),
    "cond in another norm": (lambda x: np.linalg.cond(x, "fro"), "a"),
    "largest singular value": (lambda x: np.linalg.norm(x, 2), "tall"),
    "nuclear norm": (lambda x: np.linalg.norm(x, "nuc"), "tall"),
    "negative power": (lambda x: np.linalg.matrix_power(x, -2), "a"),
    "roots": (np.roots, "four"),
    "polyfit": (lambda y: np.polyfit(np.arange(4.0), y, 2), "four"),
    "polyfit of places": (lambda x: np.polyfit(x, np.arange(4.0), 1), "four"),
}
STEP = 1e-4


def moved_by(arrays: list[Any], directions: list[Any], distance: float) -> list[Any]:
    return [x + distance * d for x, d in zip(arrays, directions, strict=True)]


def differences(function: Callable[..., Any], arrays: list[Any], directions: list[Any]) -> list[Any]:
    """Central differences of fourth order of the leaves of what NumPy returns."""
    near, far = (
        [optree.tree_leaves(function(*moved_by(arrays, directions, sign * distance))) for sign in (1, -1)]
        for distance in (STEP, 2 * STEP)
    )
    return [
        (8 * (a - b) - (c - d)) / (12 * STEP)
        for a, b, c, d in zip(near[0], near[1], far[0], far[1], strict=True)
    ]


def random_like(arrays: list[Any], seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    drawn = [rng.standard_normal(np.shape(x)) for x in arrays]
    return [
        d + 1j * rng.standard_normal(np.shape(x)) if np.iscomplexobj(x) else d
        for d, x in zip(drawn, arrays, strict=True)
    ]


def inputs(names: str) -> list[Any]:
    arrays = {**ARRAYS, "wide4": np.linspace(-0.3, 0.4, 16).reshape(4, 4) ** 2}
    return [arrays[name].copy() for name in names.split()]


def assert_near(actual: list[Any], expected: list[Any]) -> None:
    for ours, theirs in zip(actual, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, 1e-6, 1e-6)


each_derivative = pytest.mark.parametrize(("function", "names"), DERIVATIVES.values(), ids=DERIVATIVES)


@each_derivative
def test_the_jvp_is_the_rate_of_change_of_numpys_function(function: Callable[..., Any], names: str) -> None:
    arrays = inputs(names)
    directions = random_like(arrays, 1)
    _, tangents = tm.jvp(function, tuple(arrays), tuple(directions))
    assert_near(optree.tree_leaves(tangents), differences(function, arrays, directions))


@pytest.mark.sampled(every=8, slow=2)
@each_derivative
def test_the_vjp_pairs_with_the_jvp(function: Callable[..., Any], names: str) -> None:
    arrays = inputs(names)
    directions = random_like(arrays, 1)
    out, tangents = tm.jvp(function, tuple(arrays), tuple(directions))
    leaves, tree = optree.tree_flatten(out)
    cotangents = random_like(leaves, 2)
    back = tm.vjp(function, *arrays)[1](optree.tree_unflatten(tree, cotangents))

    def pairing(left: Any, right: Any) -> float:
        return sum(float(np.real(np.sum(np.conj(a) * b))) for a, b in zip(left, right, strict=True))

    np.testing.assert_allclose(
        pairing(cotangents, optree.tree_leaves(tangents)), pairing(back, directions), 1e-9
    )


def total(function: Callable[..., Any]) -> Callable[..., Any]:
    """A number made of everything that the function returns."""

    def number(*arrays: Any) -> Any:
        leaves: list[Any] = optree.tree_leaves(function(*arrays))
        return sum(np.sum(np.real(x) * np.cos(np.imag(x)) + np.real(x) ** 2) for x in leaves)

    return number


@pytest.mark.slow
@each_derivative
def test_the_second_derivative_is_the_rate_of_change_of_the_gradient(
    function: Callable[..., Any], names: str
) -> None:
    arrays = inputs(names)
    gradient = tm.grad(total(function), argnums=tuple(range(len(arrays))))
    directions = random_like(arrays, 3)
    _, second = tm.jvp(gradient, tuple(arrays), tuple(directions))
    assert_near(optree.tree_leaves(second), differences(gradient, arrays, directions))


@pytest.mark.sampled("cond in another norm", slow=2)
@each_derivative
def test_the_gradient_is_the_same_compiled_and_in_a_batch(function: Callable[..., Any], names: str) -> None:
    arrays = inputs(names)
    gradient = tm.grad(total(function), argnums=tuple(range(len(arrays))))
    expected = gradient(*arrays)
    assert_near(list(tm.compile(gradient)(*arrays)), list(expected))
    for batched in (
        tm.vmap(gradient)(*[np.stack([x, x]) for x in arrays]),
        tm.compile(tm.vmap(gradient))(*[np.stack([x, x]) for x in arrays]),
    ):
        assert_near([x[1] for x in batched], list(expected))


# ---- where derivatives are finite although singular values are equal, or zero -------------------------


def test_inverses_have_derivatives_where_singular_values_are_equal() -> None:
    eye, direction = np.eye(3), np.arange(9.0).reshape(3, 3)
    for function in (
        np.linalg.inv,
        np.linalg.pinv,
        lambda x: np.linalg.solve(x, eye),
        lambda x: np.linalg.lstsq(x, eye)[0],
    ):
        _, tangent = tm.jvp(function, (eye,), (direction,))
        np.testing.assert_allclose(tangent, -direction, atol=1e-14)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_the_gradient_of_a_determinant_is_the_matrix_of_cofactors_at_any_rank(rank: int) -> None:
    rng = np.random.default_rng(rank)
    x = rng.integers(-3, 4, (4, rank)) @ rng.integers(-3, 4, (rank, 4)) + 0.0
    minors = [[np.delete(np.delete(x, i, 0), j, 1) for j in range(4)] for i in range(4)]
    signs = (-1.0) ** np.add.outer(np.arange(4), np.arange(4))
    np.testing.assert_allclose(tm.grad(np.linalg.det)(x), signs * np.linalg.det(minors), atol=1e-10)


@pytest.mark.parametrize("rank", [0, 1, 2])
@pytest.mark.parametrize("size", [2, 3])
def test_small_determinants_have_second_derivatives_at_any_rank(size: int, rank: int) -> None:
    rng = np.random.default_rng(rank)
    x = rng.integers(-3, 4, (size, rank)) @ rng.integers(-3, 4, (rank, size)) + 0.0
    direction = rng.standard_normal((size, size))
    gradient = tm.grad(np.linalg.det)
    _, second = tm.jvp(gradient, (x,), (direction,))
    assert_near([second], differences(gradient, [x], [direction]))


def test_eigenvectors_have_derivatives_where_all_entries_are_equally_large() -> None:
    """A circulant matrix: any entry may be the one that LAPACK makes real. V λ V⁻¹ gives the matrix back."""
    x = np.array([[1.0, 2.0, 4.0], [4.0, 1.0, 2.0], [2.0, 4.0, 1.0]])

    def rebuilt(x: Any) -> Any:
        values, vectors = np.linalg.eig(x)
        return np.real((vectors * values) @ np.linalg.inv(vectors))

    direction = np.arange(9.0).reshape(3, 3)
    np.testing.assert_allclose(tm.jvp(rebuilt, (x,), (direction,))[1], direction, atol=1e-12)


def test_the_gradient_of_the_norms_at_zero_is_zero() -> None:
    orders: list[Any] = [None, "fro"]
    for order in orders:
        np.testing.assert_array_equal(tm.grad(lambda x, o=order: np.linalg.norm(x, o))(np.zeros((2, 2))), 0)


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4)])
def test_the_nuclear_norm_has_two_derivatives_where_singular_values_are_equal(shape: tuple[int, int]) -> None:
    """At the identity, the norm of 1 + t E is Re tr E at first, and |E − Eᵀ|² / 8 + |outside|² / 2 at second order."""

    def norm(t: Any, direction: Any) -> Any:
        return np.linalg.norm(np.eye(*shape) + t * direction, "nuc")

    direction = np.sin(np.arange(12.0))[: shape[0] * shape[1]].reshape(shape)
    np.testing.assert_allclose(tm.grad(norm)(0.0, direction), np.trace(direction))
    square, rest = direction[:3, :3], (direction[3:], direction[:, 3:])
    second = np.sum((square - square.T) ** 2) / 4 + sum(np.sum(part**2) for part in rest)
    np.testing.assert_allclose(tm.grad(tm.grad(norm))(0.0, direction), second)


def test_the_nuclear_norm_of_zero_has_the_smallest_subgradient() -> None:
    np.testing.assert_array_equal(tm.grad(lambda x: np.linalg.norm(x, "nuc"))(np.zeros((3, 2))), 0)


# ---- errors ------------------------------------------------------------------------------------------


UNKNOWN: Any = "M"
NUMBER: Any = 1


@pytest.mark.parametrize(
    "misuse",
    [
        lambda tall: np.linalg.inv(tall),
        lambda b: np.linalg.inv(b),
        lambda b: np.linalg.cholesky(b),
        lambda tall: np.linalg.det(tall),
        lambda b: np.linalg.qr(b),
        lambda a: np.linalg.qr(a, mode=UNKNOWN),
        lambda b: np.linalg.svd(b),
        lambda tall: np.linalg.eigh(tall),
        lambda a: np.linalg.eigh(a, UNKNOWN),
        lambda tall: np.linalg.eig(tall),
        lambda a, four: np.linalg.solve(a, four),
        lambda stack: np.linalg.solve(stack, np.ones((3, 3, 1))),
        lambda a, four: np.linalg.lstsq(a, four),
        lambda stack, b: np.linalg.lstsq(stack, b),
        lambda a, b: np.linalg.tensorsolve(a[:2], b),
        lambda a: np.linalg.tensorinv(a, ind=0),
        lambda nothing: np.linalg.cond(nothing),
        lambda a: np.linalg.pinv(a, 0.1, rtol=0.2),
        lambda a: np.linalg.matrix_rank(a, 0.1, rtol=0.2),
        lambda a: np.linalg.inv(a.astype(np.float16)),
        lambda a: np.linalg.norm(a, 3),
        lambda a: np.linalg.norm(a, axis=UNKNOWN),
        lambda four: np.polyfit(four, four, 1, w=np.ones(3)),
        lambda four: np.polyfit(four, four, 1, w=np.ones((4, 4))),
    ],
)
def test_what_numpy_refuses_is_refused(misuse: Use) -> None:
    check_both_raise(misuse, *arguments_of(misuse))


def test_an_axis_that_is_not_an_integer_is_named_with_the_users_line() -> None:
    with pytest.raises(ArgumentTypeError, match=r"axis must be an integer, not str: 'M'(\n|.)*test_linalg"):
        tm.compile(lambda x: np.linalg.norm(x, axis=UNKNOWN))(ARRAYS["a"])


def test_the_triangle_to_read_is_lower_or_upper() -> None:
    with pytest.raises(ArgumentValueError, match="UPLO argument must be 'L' or 'U'"):
        tm.compile(lambda x: np.linalg.eigh(x, UNKNOWN))(ARRAYS["a"])
    with pytest.raises(ArgumentValueError, match="UPLO argument must be 'L' or 'U'"):
        tm.compile(lambda x: np.linalg.eigvalsh(x, NUMBER))(ARRAYS["a"])


def test_lists_of_traced_numbers_are_matrices() -> None:
    """Also for the products, which NumPy has as ufuncs."""
    check(lambda b: np.linalg.matmul([[b[0], 1.0]], [[2.0], [b[1]]]), ARRAYS["b"])
    check(lambda b: np.linalg.vecdot([b[0], 1.0], [2.0, b[1]]), ARRAYS["b"])
    check(lambda b: np.linalg.solve([[b[0], 1.0], [0.0, b[1]]], [b[2], 1.0]), ARRAYS["b"])


def test_a_matrix_of_a_wrong_shape_is_numpys_error_with_the_users_line() -> None:
    with pytest.raises(
        np.linalg.LinAlgError, match=r"inv of f64\[4, 2\]: the last two axes.*(\n|.)*test_linalg"
    ):
        tm.compile(lambda x: np.linalg.inv(x))(ARRAYS["tall"])


FAILING: dict[str, tuple[Callable[..., Any], Any]] = {
    "inv": (np.linalg.inv, np.ones((2, 2))),
    "solve": (lambda x: np.linalg.solve(x, np.ones(2)), np.zeros((2, 2))),
    "cholesky": (np.linalg.cholesky, -np.eye(2)),
    "eig": (np.linalg.eig, np.full((2, 2), np.nan)),
    "svd": (np.linalg.svd, np.full((2, 2), np.nan)),
}


@pytest.mark.parametrize(("function", "x"), FAILING.values(), ids=FAILING)
def test_what_fails_in_numpy_fails_with_the_same_error(function: Callable[..., Any], x: Any) -> None:
    with pytest.raises(np.linalg.LinAlgError) as expected:
        function(x)
    message = str(expected.value)
    stack = np.stack([np.eye(2), x])

    def loss(x: Any) -> Any:
        return np.sum(np.real(optree.tree_leaves(function(x))[0]))

    compiled, batched = tm.compile(function), tm.vmap(function)
    for fails, argument in (
        (compiled, x),
        (batched, stack),
        (tm.compile(batched), stack),
        (tm.grad(loss), x),
    ):
        with pytest.raises(np.linalg.LinAlgError, match=message):
            fails(argument)


def test_the_logarithm_of_a_determinant_has_no_gradient_where_it_is_infinite() -> None:
    assert tm.compile(np.linalg.slogdet)(np.ones((2, 2))).logabsdet == -np.inf
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        tm.grad(lambda x: np.linalg.slogdet(x).logabsdet)(np.ones((2, 2)))


@pytest.mark.parametrize(
    "function",
    [lambda x: np.linalg.svd(x)[0], lambda x: np.linalg.qr(x, mode="complete")[0]],
    ids=["svd", "qr"],
)
def test_vectors_that_are_any_basis_have_no_derivative(function: Callable[[Any], Any]) -> None:
    with pytest.raises(
        tm.errors.NotDifferentiableError, match=r"has no derivative(\n|.)*Use (\n|.)*test_linalg"
    ):
        tm.jacfwd(function)(ARRAYS["tall"])


def test_where_eigenvalues_are_known_they_have_numpys_dtype_and_elsewhere_they_are_complex() -> None:
    x = np.array([[2.0, 1.0], [0.5, 3.0]])
    values, tangents = tm.jvp(np.linalg.eigvals, (x,), (np.eye(2),))
    assert values.dtype == tangents.dtype == np.linalg.eigvals(x).dtype
    np.testing.assert_allclose(tangents, [1, 1], atol=1e-14)
    assert tm.compile(np.linalg.eigvals)(x).dtype == np.complex128


def test_roots_are_real_where_all_are_known_to_be() -> None:
    x = np.array([1.0, -3.0, 2.0])
    roots, moved = tm.jvp(np.roots, (x,), (np.array([0.0, 0.0, 1.0]),))
    assert roots.dtype == moved.dtype == np.roots(x).dtype == np.float64
    np.testing.assert_allclose(roots * moved * 2 - 3 * moved, [-1, -1], atol=1e-14)
    assert tm.jvp(np.roots, (x + 2,), (x,))[0].dtype == np.roots(x + 2).dtype == np.complex128


def test_residuals_are_nan_where_the_rank_turns_out_not_to_be_full() -> None:
    residuals = tm.compile(lambda a, b: np.linalg.lstsq(a, b)[1])(ARRAYS["deficient"], np.ones(4))
    assert np.isnan(residuals).tolist() == [True]

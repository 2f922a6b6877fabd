"""Sparse Jacobians and Hessians, Hessian diagonals and Laplacians: equal to the dense ones, from few products."""

import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse

import tracemill as tm
from tracemill.compiler.errors import (
    MissingPackageError,
    NonScalarOutputError,
    ShapeError,
    TransformTypeError,
)

X = np.random.default_rng(0).normal(size=8)


def rosenbrock(x: Any) -> Any:
    """Its Hessian is tridiagonal."""
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def heat(u: Any, k: Any = 1.0) -> Any:
    """A step of the heat equation with a nonlinear source: a band of three."""
    inner = u[2:] - 2 * u[1:-1] + u[:-2]
    return np.pad(k * inner + u[1:-1] ** 3, 1)


def arrow(x: Any) -> Any:
    """Each entry meets the first one: a full first row and column, else a diagonal."""
    return x[0] * np.sum(np.sin(x[1:])) + np.sum(x**4)


def graph_size(u: Any) -> Any:
    return np.sum(np.cos(u[:, 1:] * u[:, :-1])) + np.sum((u[1:] - u[:-1]) ** 4)


def products(f: Callable[..., Any], *args: Any) -> int:
    """How many directions a call sends through a derivative."""
    sizes: list[int] = []
    chunks = sys.modules["tracemill.runtime.batching.chunk_size"]
    run = chunks.Chunking.run

    def counted(self: Any, where: str, mapped: Any, inputs: Any, **options: Any) -> Any:
        sizes.append(mapped.size)
        return run(self, where, mapped, inputs, **options)

    with patch.object(chunks.Chunking, "run", counted):
        f(*args)
    return sum(sizes)


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_a_sparse_jacobian_is_the_dense_one(mode: str, dtype: Any, chunk_size: Any) -> None:
    x = X.astype(dtype)
    got = tm.jacobian(heat, mode=mode, sparse=True, chunk_size=chunk_size)(x, dtype(0.5))
    assert isinstance(got, scipy.sparse.csr_array)
    assert got.dtype == dtype
    assert got.nnz == 18
    np.testing.assert_allclose(got.toarray(), tm.jacobian(heat)(x, dtype(0.5)), rtol=1e-6)


def test_the_mode_with_fewer_colours_is_taken() -> None:
    one_row = lambda x: np.concatenate([x**2, np.sum(x, keepdims=True)])  # noqa: E731
    assert products(tm.jacobian(one_row, sparse=True), X) == 2  # rows: the full one, and all others
    assert products(tm.jacobian(one_row, mode="forward", sparse=True), X) == 8
    one_column = lambda x: x * x[0]  # noqa: E731
    assert products(tm.jacobian(one_column, sparse=True), X) == 2
    assert products(tm.jacobian(one_column, mode="reverse", sparse=True), X) == 8
    for f in (one_row, one_column):
        np.testing.assert_allclose(tm.jacobian(f, sparse=True)(X).toarray(), tm.jacobian(f)(X))


def test_sparse_jacobians_of_trees_are_trees_of_matrices() -> None:
    def f(p: Any, y: Any) -> Any:
        return {"a": p["w"][:, None] * y, "b": (p["s"] * p["w"], "aux")[0]}, "aux"

    p, y = {"w": X[:3], "s": 2.0}, X[:4].astype(np.float32)
    dense, _ = tm.jacobian(f, (1, 0), has_aux=True)(p, y)
    sparse, aux = tm.jacobian(f, (1, 0), has_aux=True, sparse=True)(p, y)
    assert aux == "aux"
    for name, size in (("a", 12), ("b", 3)):
        by_y, by_p = sparse[name]
        np.testing.assert_allclose(by_y.toarray(), dense[name][0].reshape(size, 4), rtol=1e-6)
        np.testing.assert_allclose(by_p["w"].toarray(), dense[name][1]["w"].reshape(size, 3))
        np.testing.assert_allclose(by_p["s"].toarray(), dense[name][1]["s"].reshape(size, 1))


def test_sparse_jacobians_of_complex_and_empty_functions() -> None:
    z = X * 1j + 1
    got = tm.jacobian(lambda z: z[1:] * z[:-1], sparse=True, holomorphic=True, mode="reverse")(z)
    np.testing.assert_allclose(got.toarray(), tm.jacobian(lambda z: z[1:] * z[:-1], holomorphic=True)(z))
    assert tm.jacobian(lambda x: x[:0], sparse=True)(X).shape == (0, 8)
    assert tm.jacobian(lambda x: np.ones(3), sparse=True)(X).nnz == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "x", "most"),
    [
        (rosenbrock, X, 3),
        (arrow, X, 2),
        (lambda x: np.sum(x**3), X, 1),
        (graph_size, X.reshape(2, 4), 6),
        (lambda x: np.sum(x) ** 2, X, 8),
        (np.sum, X, 0),
    ],
    ids=["tridiagonal", "arrow", "diagonal", "grid", "dense", "zero"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sparse_hessian_is_the_dense_one(f: Callable[..., Any], x: Any, most: int, dtype: Any) -> None:
    x = x.astype(dtype)
    got = tm.hessian(f, sparse=True)(x)
    assert isinstance(got, scipy.sparse.csr_array)
    assert got.dtype == dtype
    dense = tm.hessian(f)(x).reshape(x.size, x.size)
    tolerance = 1e-9 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(got.toarray(), dense, rtol=tolerance, atol=tolerance)
    assert products(tm.hessian(f, sparse=True), x) <= max(most, 1)
    np.testing.assert_allclose(tm.hessian_diag(f)(x).ravel(), np.diag(dense), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(tm.laplacian(f)(x), np.trace(dense), rtol=tolerance, atol=tolerance)
    assert tm.hessian_diag(f)(x).dtype == tm.laplacian(f)(x).dtype == dtype


@pytest.mark.slow
def test_a_tridiagonal_hessian_of_a_hundred_thousand_costs_a_few_products() -> None:
    x = np.random.default_rng(0).normal(size=100_000)
    hessian = tm.hessian(rosenbrock, sparse=True)
    assert products(hessian, x) <= 5
    got = hessian(x)
    assert got.shape == (100_000, 100_000)
    assert got.nnz == 299_998
    direction = np.cos(x)
    np.testing.assert_allclose(got @ direction, tm.hvp(rosenbrock, (x,), (direction,)), rtol=1e-9, atol=1e-6)
    assert products(tm.laplacian(rosenbrock), x) == 2
    np.testing.assert_allclose(tm.laplacian(rosenbrock)(x), got.trace())


def test_hessians_of_several_arguments_are_trees_of_matrices() -> None:
    def f(x: Any, y: Any, *, scale: Any = 1.0) -> Any:
        return np.sum(x[:3] ** 2 * y) * scale**2 + np.sum(x**3), "aux"

    y = X[:3] + 1
    dense, _ = tm.hessian(f, (1, 0), has_aux=True, argnames="scale")(X, y, scale=2.0)
    sparse, aux = tm.hessian(f, (1, 0), has_aux=True, argnames="scale", sparse=True)(X, y, scale=2.0)
    assert aux == "aux"
    (dense_by_number, dense_by_name), (by_number, by_name) = dense, sparse
    for i, size in ((0, 3), (1, 8)):
        for j, other in ((0, 3), (1, 8)):
            np.testing.assert_allclose(
                by_number[i][0][j].toarray(), dense_by_number[i][0][j].reshape(size, other)
            )
    np.testing.assert_allclose(by_name["scale"][1]["scale"].toarray(), [[dense_by_name["scale"][1]["scale"]]])
    diagonal, aux = tm.hessian_diag(f, (1, 0), has_aux=True)(X, y, scale=2.0)
    np.testing.assert_allclose(diagonal[0], np.zeros(3))
    np.testing.assert_allclose(diagonal[1], np.diag(tm.hessian(lambda x: f(x, y, scale=2.0)[0])(X)))
    total, aux = tm.laplacian(f, (0, 1), has_aux=True)(X, y, scale=2.0)
    np.testing.assert_allclose(total, np.sum(diagonal[0]) + np.sum(diagonal[1]))
    assert aux == "aux"


# ---- diagonals under transforms --------------------------------------------------------------------------


def test_a_laplacian_is_compiled_mapped_and_differentiated() -> None:
    def u(x: Any) -> Any:
        return np.sin(x[0]) * np.exp(x[1]) + np.sum(x**4)

    points = X.reshape(4, 2)
    expected = 12 * np.sum(points**2, axis=1)  # the first term is harmonic
    np.testing.assert_allclose(tm.vmap(tm.laplacian(u))(points), expected)
    np.testing.assert_allclose(tm.compile(tm.vmap(tm.laplacian(u)))(points), expected)
    np.testing.assert_allclose(tm.grad(tm.laplacian(u))(points[0]), 24 * points[0])
    np.testing.assert_allclose(tm.compile(tm.hessian_diag(rosenbrock))(X), tm.hessian_diag(rosenbrock)(X))


@pytest.mark.parametrize("options", [{"chunk_size": 1}, {"chunk_size": 3}, {"memory_limit": "1MB"}])
def test_a_laplacian_runs_in_chunks(options: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.tanh(np.outer(x, x))) ** 2

    expected = np.diag(tm.hessian(f)(X))
    np.testing.assert_allclose(tm.laplacian(f, **options)(X), np.sum(expected))
    np.testing.assert_allclose(tm.hessian_diag(f, **options)(X), expected)


# ---- sparsity --------------------------------------------------------------------------------------------


def test_a_sparsity_is_found_once_and_used_again() -> None:
    found = tm.sparsity(heat)(X)
    assert isinstance(found, tm.Sparsity)
    assert found.shape == (8, 8)
    with patch(
        "tracemill.runtime.derivatives.jacobians.coloured_derivatives.sparsity", side_effect=AssertionError
    ):
        for x in (X, X + 1):
            np.testing.assert_allclose(tm.jacobian(heat, sparse=found)(x).toarray(), tm.jacobian(heat)(x))
    of_gradient = tm.sparsity(tm.grad(rosenbrock))(X)
    got = tm.hessian(rosenbrock, sparse=of_gradient)(X + 1)
    np.testing.assert_allclose(got.toarray(), tm.hessian(rosenbrock)(X + 1))


def test_zeros_at_the_point_are_not_zeros_of_the_pattern() -> None:
    found = tm.sparsity(lambda x: x[1:] * x[:-1])(np.zeros(4))
    assert found.pattern.nnz == 6
    np.testing.assert_array_equal(
        tm.jacobian(lambda x: x[1:] * x[:-1], sparse=found)(np.ones(4)).data, np.ones(6)
    )


# ---- misuse ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f", [tm.jacobian(heat, sparse=True), tm.hessian(rosenbrock, sparse=True), tm.sparsity(heat)]
)
def test_scipy_matrices_cannot_be_traced(f: Callable[..., Any]) -> None:
    with pytest.raises(TransformTypeError, match="cannot be part of a trace"):
        tm.compile(f)(X)
    with pytest.raises(TransformTypeError, match="cannot be part of a trace"):
        tm.vmap(f)(X[None])


@pytest.mark.parametrize(
    "f", [tm.jacobian(heat, sparse=True), tm.hessian(rosenbrock, sparse=True), tm.sparsity(heat)]
)
def test_without_scipy_the_error_says_so(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(
        MissingPackageError,
        match=r"\((heat|rosenbrock)\) needs SciPy, which is not installed: pip install scipy",
    ):
        f(X)
    assert issubclass(MissingPackageError, ImportError)


def test_without_scipy_a_diagonal_takes_a_product_per_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = tm.hessian_diag(rosenbrock)(X)
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    np.testing.assert_allclose(tm.hessian_diag(rosenbrock)(X), expected)
    assert products(tm.laplacian(rosenbrock), X) == 8


def test_misuse_is_named() -> None:
    with pytest.raises(
        TransformTypeError, match=r"jacobian\(heat\): sparse must be a bool or a Sparsity, not str"
    ):
        tm.jacobian(heat, sparse="csr")  # type: ignore[arg-type]
    with pytest.raises(
        ShapeError, match=r"the sparsity is that of a Jacobian of shape \(8, 8\), this one has"
    ):
        tm.jacobian(heat, sparse=tm.sparsity(heat)(X))(X[:5])
    with pytest.raises(NonScalarOutputError, match="one number"):
        tm.hessian(heat, sparse=True)(X)
    with pytest.raises(NonScalarOutputError, match="one number"):
        tm.laplacian(heat)(X)

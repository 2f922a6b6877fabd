"""Answers for `programs.linear_algebra`."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from scipy.linalg import expm

from programs.checks.outcomes import Outcome


def lu_solve(got: Outcome, A: Any, b: Any) -> None:
    is_singular = np.linalg.matrix_rank(A) < len(A)
    assert_allclose(got.result, np.full(len(b), np.nan) if is_singular else np.linalg.solve(A, b), rtol=1e-9)


def determinant(got: Outcome, A: Any) -> None:
    assert_allclose(got.result, np.linalg.det(A), atol=1e-12)


def cholesky(got: Outcome, A: Any) -> None:
    L, is_definite = got.result
    assert is_definite == (np.linalg.eigvalsh(A).min() > 0)
    if is_definite:
        assert_allclose(L, np.linalg.cholesky(A), atol=1e-12)


def gram_schmidt(got: Outcome, A: Any, tol: float) -> None:
    Q, R, rank = got.result
    kept = np.diag(R) > 0
    assert_allclose(Q.T @ Q, np.diag(kept.astype(float)), atol=1e-12)
    assert np.array_equal(R, np.triu(R))
    assert np.all(np.linalg.norm(A - Q @ R, axis=0) < np.where(kept, 1e-12, tol))
    assert rank == kept.sum()
    if tol < 1e-6:
        assert rank == np.linalg.matrix_rank(A)


def jacobi_eigenvalues(got: Outcome, A: Any, tol: float) -> None:
    assert_allclose(got.result, np.linalg.eigvalsh(A), atol=1e-9)


def gauss_seidel(got: Outcome, A: Any, b: Any, tol: float, max_sweeps: int) -> None:
    x, sweeps = got.result
    assert_allclose(x, np.linalg.solve(A, b), atol=10 * tol if sweeps < max_sweeps else 0.01)


def conjugate_gradients(got: Outcome, A: Any, b: Any, tol: float = 1e-10) -> None:
    if np.linalg.eigvalsh(A).min() < 0:
        assert isinstance(got.raised, np.linalg.LinAlgError)
    else:
        assert_allclose(got.result, np.linalg.solve(A, b), atol=tol)


def power_iteration(got: Outcome, A: Any, tol: float) -> None:
    value, vector = got.result
    values, vectors = np.linalg.eigh(A)
    largest = vectors[:, -1]
    assert_allclose(value, values[-1])
    assert_allclose(vector, largest * np.sign(largest[np.argmax(np.abs(largest))]), atol=1e-9)


def thomas(got: Outcome, lower: Any, diag: Any, upper: Any, rhs: Any) -> None:
    if len(lower) != len(upper):
        assert isinstance(got.raised, AssertionError)
        return
    A = np.diag(lower, -1) + np.diag(diag) + np.diag(upper, 1)
    assert_allclose(got.result, np.linalg.solve(A, rhs))


def matrix_exponential(got: Outcome, A: Any) -> None:
    assert_allclose(got.result, expm(A), rtol=1e-9, atol=1e-9)

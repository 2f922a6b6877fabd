# mypy: ignore-errors
# pyright: basic
"""Linear algebra written out in loops."""

import numpy as np


def lu_solve(A, b):
    """Solve A x = b by elimination with row exchanges; returns NaNs if A is singular."""
    A = A.astype(float)
    x = b.astype(float)
    n = len(x)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        if A[p, k] == 0:
            return np.full(n, np.nan)
        if p != k:
            A[[k, p]] = A[[p, k]]
            x[k], x[p] = x[p], x[k]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            A[i, k:] -= factor * A[k, k:]
            x[i] -= factor * x[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= A[i, j] * x[j]
        x[i] /= A[i, i]
    return x


def determinant(A):
    """By elimination; 0 as soon as a column has no pivot."""
    M = A.copy()
    n = M.shape[0]
    det = 1.0
    for k in range(n):
        p = k + np.argmax(np.abs(M[k:, k]))
        if abs(M[p, k]) < 1e-14:
            return 0.0
        if p != k:
            row = M[k].copy()
            M[k] = M[p]
            M[p] = row
            det = -det
        det *= M[k, k]
        M[k + 1 :, k:] -= np.outer(M[k + 1 :, k] / M[k, k], M[k, k:])
    return det


def cholesky(A):
    """The lower factor; the second result says whether A was positive definite."""
    n = A.shape[0]
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                if s <= 0:
                    return L, False
                L[i, i] = np.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    return L, True


def gram_schmidt(A, tol):
    """Q and R by the modified Gram–Schmidt method; dependent columns become zero. Returns the rank, too."""
    n = A.shape[1]
    Q = A.copy()
    R = np.zeros((n, n), A.dtype)
    rank = 0
    for j in range(n):
        for i in range(j):
            R[i, j] = Q[:, i] @ Q[:, j]
            Q[:, j] -= R[i, j] * Q[:, i]
        norm = np.sqrt(np.sum(Q[:, j] ** 2))
        if norm < tol:
            Q[:, j] = 0
            continue
        R[j, j] = norm
        Q[:, j] /= norm
        rank += 1
    return Q, R, rank


def jacobi_eigenvalues(A, tol):
    """The eigenvalues of a symmetric matrix, in order, by Jacobi rotations of the largest entries."""
    A = A.copy()
    n = len(A)
    rotations = 0
    while rotations < 20 * n * n:
        largest, p, q = 0.0, 0, 1
        for i in range(n):
            for j in range(i + 1, n):
                if abs(A[i, j]) > largest:
                    largest, p, q = abs(A[i, j]), i, j
        if largest < tol:
            break
        theta = (A[q, q] - A[p, p]) / (2 * A[p, q])
        t = 1 / (abs(theta) + np.sqrt(theta**2 + 1))
        if theta < 0:
            t = -t
        c = 1 / np.sqrt(t**2 + 1)
        s = t * c
        col_p, col_q = A[:, p].copy(), A[:, q].copy()
        A[:, p] = c * col_p - s * col_q
        A[:, q] = s * col_p + c * col_q
        row_p, row_q = A[p].copy(), A[q].copy()
        A[p] = c * row_p - s * row_q
        A[q] = s * row_p + c * row_q
        rotations += 1
    return np.sort(np.diag(A))


def gauss_seidel(A, b, tol, max_sweeps):
    """Sweeps until the residual is small; returns their number, too."""
    n = b.shape[0]
    x = np.zeros(n)
    for sweep in range(1, max_sweeps + 1):
        for i in range(n):
            x[i] = (b[i] - A[i, :i] @ x[:i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
        if np.linalg.norm(A @ x - b) < tol:
            return x, sweep
    return x, max_sweeps


def conjugate_gradients(A, b, tol=1e-10):
    """For symmetric positive definite matrices; a zero right side needs no step."""
    x = np.zeros_like(b)
    r = b - A @ x
    rr = r @ r
    if np.sqrt(rr) < tol:
        return x
    p = r
    while True:
        Ap = A @ p
        if p @ Ap <= 0:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        alpha = rr / (p @ Ap)
        x = x + alpha * p
        r = r - alpha * Ap
        rr_new = r @ r
        if np.sqrt(rr_new) < tol:
            break
        p = r + (rr_new / rr) * p
        rr = rr_new
    return x


def power_iteration(A, tol):
    """The largest eigenvalue of a symmetric matrix and its vector; the largest entry of the vector is positive."""
    v = np.ones(A.shape[0]) / np.sqrt(A.shape[0])
    while True:
        w = A @ v
        value = v @ w
        w /= np.linalg.norm(w)
        change = np.abs(w - v).max()
        v = w
        if change < tol:
            break
    if v[np.argmax(np.abs(v))] < 0:
        v = -v
    return value, v


def thomas(lower, diag, upper, rhs):
    """A tridiagonal system in two sweeps."""
    n = len(diag)
    assert len(lower) == len(upper) == n - 1, "the off-diagonals are one shorter"
    c = np.zeros(n)
    d = np.zeros(n)
    for i in range(n):
        if i == 0:
            pivot = diag[0]
            d[0] = rhs[0] / pivot
        else:
            pivot = diag[i] - lower[i - 1] * c[i - 1]
            d[i] = (rhs[i] - lower[i - 1] * d[i - 1]) / pivot
        if i < n - 1:
            c[i] = upper[i] / pivot
    x = d.copy()
    for i in reversed(range(n - 1)):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


def matrix_exponential(A):
    """A Taylor series of a scaled matrix, squared once for each halving."""
    halvings = 0
    scaled = A.copy()
    while np.abs(scaled).sum(axis=1).max() > 0.5:
        scaled = scaled / 2
        halvings += 1
    result = np.eye(len(A))
    term = np.eye(len(A))
    k = 1
    while np.abs(term).max() > 1e-17:
        term = term @ scaled / k
        result += term
        k += 1
    for _ in range(halvings):
        result = result @ result
    return result

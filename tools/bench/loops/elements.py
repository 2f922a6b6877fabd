"""Programs that loop over the elements of arrays, in ordinary plain NumPy."""

from typing import Any

import numpy as np


def lu(a: Any) -> Any:
    """LU decomposition without pivoting, both factors in one matrix."""
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] = a[i, j] - a[i, k] * a[k, j]
    return a


def cholesky(a: Any) -> Any:
    n = a.shape[0]
    factor = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = np.sqrt(total)
            else:
                factor[i, j] = total / factor[j, j]
    return factor


def triangular_solve(lower: Any, b: Any) -> Any:
    """Forward substitution for a row of right-hand sides."""
    n, m = b.shape
    x = np.zeros((n, m))
    for i in range(n):
        for c in range(m):
            total = b[i, c]
            for j in range(i):
                total -= lower[i, j] * x[j, c]
            x[i, c] = total / lower[i, i]
    return x


def gauss_seidel(u: Any, f: Any) -> Any:
    """Sweeps for Poisson's equation on a square."""
    u = u.copy()
    n = u.shape[0]
    for _ in range(10):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
    return u


def levinson(r: Any, order: int) -> Any:
    """The coefficients of linear prediction by the Levinson-Durbin recursion."""
    a = np.zeros(order + 1)
    before = np.zeros(order + 1)
    a[0] = 1.0
    error = r[0]
    for i in range(1, order + 1):
        total = r[i]
        for j in range(1, i):
            total += a[j] * r[i - j]
        reflection = -total / error
        for j in range(i):
            before[j] = a[j]
        for j in range(1, i):
            a[j] = before[j] + reflection * before[i - j]
        a[i] = reflection
        error *= 1.0 - reflection * reflection
    return a


def edit_distance(a: Any, b: Any) -> Any:
    """Levenshtein's distance of two sequences, with the full table."""
    n, m = len(a), len(b)
    table = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        table[i, 0] = i
    for j in range(m + 1):
        table[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + cost)
    return table[n, m]


def cusum(x: Any, drift: float) -> Any:
    """A recurrence over prefixes: the cumulative sums of a control chart, which restart where they are negative."""
    n = x.shape[0]
    high = np.zeros(n)
    total = peak = 0.0
    for i in range(n):
        total = total + x[i] - drift
        total = max(total, 0.0)
        if total > 1.5 * peak:
            peak = total
        high[i] = total
    return high, peak


def floyd_warshall(lengths: Any) -> Any:
    """The shortest paths between all pairs, and an intermediate node of each."""
    d = lengths.copy()
    n = d.shape[0]
    via = np.zeros((n, n), dtype=np.int64)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
                    via[i, j] = k
    return d, via


def sieve(is_prime: Any) -> Any:
    """Eratosthenes: multiples are cleared."""
    is_prime = is_prime.copy()
    n = is_prime.shape[0]
    is_prime[0] = 0
    is_prime[1] = 0
    for i in range(2, n):
        if is_prime[i] == 1:
            j = i * i
            while j < n:
                is_prime[j] = 0
                j += i
    return is_prime


def life(board: Any) -> Any:
    """Generations of Conway's game on a torus, with two boards."""
    n, m = board.shape
    old = board.copy()
    new = np.zeros_like(board)
    for _ in range(10):
        for i in range(n):
            for j in range(m):
                total = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            total += old[(i + di) % n, (j + dj) % m]
                if total == 3 or (total == 2 and old[i, j] == 1):
                    new[i, j] = 1
                else:
                    new[i, j] = 0
        for i in range(n):
            for j in range(m):
                old[i, j] = new[i, j]
    return old

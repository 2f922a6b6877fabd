"""Stacks of matrices on which linear algebra is well conditioned, by name: the domains of its samples."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from tracemill.compiler.dtypes import Array, DType
from tracemill.compiler.ir import Shape

Draw: TypeAlias = Callable[[np.random.Generator, DType, Shape], Array]


def _entries(rng: np.random.Generator, dtype: DType, shape: Shape, size: float = 1.0) -> Any:
    """Uniform entries, in double precision, complex where the dtype is."""
    drawn: Any = rng.uniform(-size, size, shape)
    return drawn + 1j * rng.uniform(-size, size, shape) if dtype.kind == "c" else drawn


def _unitary(rng: np.random.Generator, dtype: DType, lead: Shape, size: int) -> Any:
    q: Any = np.linalg.qr(_entries(rng, dtype, (*lead, size, size)))[0]
    return q


def _apart(rng: np.random.Generator, lead: Shape, size: int) -> Any:
    """Numbers from 1 on that are at least 0.3 apart."""
    return 1 + 0.5 * np.arange(size) + rng.uniform(-0.1, 0.1, (*lead, size))


def _adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def full_rank(rng: np.random.Generator, dtype: DType, shape: Shape) -> Array:
    """U diag(σ) Vᴴ with singular values apart from each other and from 0."""
    *lead, rows, columns = shape
    size = min(rows, columns)
    u = _unitary(rng, dtype, (*lead,), rows)[..., :size]
    v = _unitary(rng, dtype, (*lead,), columns)[..., :size]
    return np.asarray((u * _apart(rng, (*lead,), size)[..., None, :]) @ _adjoint(v)).astype(dtype)


def low_rank(rng: np.random.Generator, dtype: DType, shape: Shape) -> Array:
    """As `full_rank`, but of rank 1."""
    *lead, rows, columns = shape
    return np.asarray(
        _entries(rng, dtype, (*lead, rows, 1)) @ _entries(rng, dtype, (*lead, 1, columns))
    ).astype(dtype)


def hermitian(rng: np.random.Generator, dtype: DType, shape: Shape) -> Array:
    """V diag(λ) Vᴴ with eigenvalues of both signs, apart from each other."""
    *lead, size, _ = shape
    v = _unitary(rng, dtype, (*lead,), size)
    values = _apart(rng, (*lead,), size) - 1.6
    return np.asarray((v * values[..., None, :]) @ _adjoint(v)).astype(dtype)


def positive_definite(rng: np.random.Generator, dtype: DType, shape: Shape) -> Array:
    """As `hermitian`, with positive eigenvalues."""
    *lead, size, _ = shape
    v = _unitary(rng, dtype, (*lead,), size)
    return np.asarray((v * _apart(rng, (*lead,), size)[..., None, :]) @ _adjoint(v)).astype(dtype)


def triangles(rng: np.random.Generator, dtype: DType, shape: Shape) -> Array:
    """Both triangles are well conditioned, with diagonals of size 1 to 2."""
    *lead, size, _ = shape
    signs = rng.choice([-1.0, 1.0], (*lead, size))
    diagonal = signs * rng.uniform(1, 2, (*lead, size))
    return np.asarray(
        np.where(np.eye(size, dtype=bool), diagonal[..., None, :], _entries(rng, dtype, shape, 0.5))
    ).astype(dtype)


def diagonalizable(rng: np.random.Generator, dtype: DType, shape: Shape) -> Array:
    """S diag(λ) S⁻¹ with eigenvalues that are apart from each other; of real matrices two are complex."""
    *lead, size, _ = shape
    values = _apart(rng, (*lead,), size)
    d: Any = np.where(np.eye(size, dtype=bool), values[..., None, :], 0)
    if dtype.kind == "c":
        d = d * np.exp(1j * values)[..., None, :]
    elif size > 1:
        d[..., 0, 1], d[..., 1, 0], d[..., 0, 0] = 0.7, -0.7, d[..., 1, 1]
    s = np.eye(size) + _entries(rng, dtype, shape, 0.3)
    return np.asarray(s @ d @ np.linalg.inv(s)).astype(dtype)


MATRICES: Mapping[str, Draw] = {
    draw.__name__: draw
    for draw in (full_rank, low_rank, hermitian, positive_definite, triangles, diagonalizable)
}

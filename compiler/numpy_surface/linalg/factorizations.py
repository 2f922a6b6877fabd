"""`numpy.linalg`: decompositions, eigenvalues and singular values.

These functions differentiate NumPy's functions. `cholesky`, `eigh` and `eigvalsh` read one triangle of their
argument, so the gradient is in that triangle: an entry off the diagonal has the derivative of both entries of the
Hermitian matrix. To get both, differentiate a function that makes the matrix Hermitian first, ``(x + x.T) / 2``.

Eigenvectors and singular vectors may be multiplied by a phase. The derivative is that of one choice of phases (see
`ops.linalg.spectral`), so it is only meaningful for functions that do not depend on them. It needs distinct
eigenvalues or singular values, and is infinite or NaN if two are equal; so is the second derivative of the values.
Their first derivative, that of the nuclear norm to second order, and those of `inv`, `pinv` and `lstsq` do not need
this. Where LAPACK would choose vectors freely (``full_matrices=True`` for a matrix that is not square,
``mode="complete"`` for a tall one) there is no derivative, and an error says so.
"""

from typing import Any

import numpy as np

from ...builder import bind, bind_all
from ...dtypes import FLOAT64, is_inexact
from ...errors import ArgumentValueError
from ...ir import Value
from ...memory_layout.layout import dense_layout, row_major
from ...memory_layout.result_layouts import copied_order, elementwise_layout, layout_of_stacks
from ...nesting import shown
from ...ops.installed_numpy import EIGENVALUES_MAY_BE_REAL
from ...ops.linalg.matrix_stacks import adjoint
from ...tracing.array_values import as_value
from ...tracing.registry import implements
from ...tracing.traced_array import TracedArray, wrap
from ...value_ops import convert, real
from ..ufuncs.ufunc_calls import as_array

EigResult: Any = type(np.linalg.eig(np.eye(1)))
EighResult: Any = type(np.linalg.eigh(np.eye(1)))
QRResult: Any = type(np.linalg.qr(np.eye(1)))
SVDResult: Any = type(np.linalg.svd(np.eye(1)))


def in_lapack_dtype(*operands: Any) -> list[Value]:
    """The operands in the dtype that NumPy's linear algebra uses: integers and booleans count as f64."""
    values = [as_value(x) for x in operands]
    values = [value if is_inexact(value.dtype) else convert(value, FLOAT64) for value in values]
    dtype = np.dtype(np.result_type(*[value.dtype for value in values]))
    return [convert(value, dtype) for value in values]


def _reads_lower(UPLO: str) -> bool:
    if UPLO not in ("L", "l", "U", "u"):
        raise ArgumentValueError("UPLO argument must be 'L' or 'U'")
    return UPLO.upper() == "L"


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> TracedArray:
    """L with a = L Lᴴ, or its adjoint; reads the triangle in which the result is."""
    (x,) = in_lapack_dtype(a)
    if upper:
        return wrap(adjoint(bind("cholesky", adjoint(x))) if x.ndim > 1 else bind("cholesky", x))
    return wrap(bind("cholesky", x))


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    (x,) = in_lapack_dtype(a)
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ArgumentValueError(
            f"Unrecognized mode {shown(mode)}: qr has 'reduced', 'complete', 'r' and 'raw'"
        )
    first, second = bind_all("qr", x, mode="reduced" if mode == "r" else mode)
    # LAPACK gets a copy in the order of `a`: "raw" transposes it, and R is its triangle.
    given = as_array(a).layout
    copy = copied_order(given, "K")
    if mode == "raw":
        transposed = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
        reflectors = dense_layout(first.shape, tuple(transposed[axis] for axis in copy), given.questions)
        return wrap(first, layout=reflectors), wrap(second, layout=layout_of_stacks(second.shape, [given]))
    triangle = [row_major(second.shape[-2:]), dense_layout(second.shape, copy, given.questions)]
    r = wrap(second, layout=elementwise_layout(second.shape, triangle))
    return r if mode == "r" else QRResult(wrap(first, layout=layout_of_stacks(first.shape, [given])), r)


# ---- eigenvalues -------------------------------------------------------------------------------------


def real_if_known(x: Value, values: Value, *others: Value) -> list[TracedArray]:
    """Eigenvalues and eigenvectors of a matrix: real if it is and all eigenvalues are.

    This is only known under an uncompiled `grad` or `jvp`; elsewhere they are complex.
    """
    results = [wrap(value) for value in (values, *others)]
    known = results[0].concrete() if values.type.size else np.zeros(0)
    if x.dtype.kind == "c" or known is None or np.any(np.imag(known)):
        return results
    return [wrap(real(value)) for value in (values, *others)]


def _as_numpy_returns(x: Value, *found: Value) -> list[TracedArray]:
    return real_if_known(x, *found) if EIGENVALUES_MAY_BE_REAL else [wrap(one) for one in found]


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    (x,) = in_lapack_dtype(a)
    return EigResult(*_as_numpy_returns(x, *bind_all("eig", x)))


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> TracedArray:
    (x,) = in_lapack_dtype(a)
    return _as_numpy_returns(x, bind("eigvals", x))[0]


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: str = "L") -> Any:
    (x,) = in_lapack_dtype(a)
    return EighResult(*map(wrap, bind_all("eigh", x, lower=_reads_lower(UPLO))))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: str = "L") -> TracedArray:
    (x,) = in_lapack_dtype(a)
    return wrap(bind("eigvalsh", x, lower=_reads_lower(UPLO)))


# ---- singular values ---------------------------------------------------------------------------------


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular values in descending order, with their vectors by default."""
    if hermitian:
        return _hermitian_svd(a) if compute_uv else _sizes_of_eigenvalues(a)
    (x,) = in_lapack_dtype(a)
    values = bind_all("svd", x, full_matrices=bool(full_matrices)) if compute_uv else [bind("svdvals", x)]
    given = as_array(a).layout
    results = [wrap(value, layout=layout_of_stacks(value.shape, [given])) for value in values]
    return SVDResult(*results) if compute_uv else results[0]


def _sizes_of_eigenvalues(a: Any) -> Any:
    return np.sort(np.abs(np.linalg.eigvalsh(a)))[..., ::-1]


def _hermitian_svd(a: Any) -> Any:
    """The absolute values of the eigenvalues; their signs flip the right vectors."""
    values, vectors = np.linalg.eigh(a)
    order = np.argsort(np.abs(values))[..., ::-1]
    values = np.take_along_axis(values, order, axis=-1)
    u = np.take_along_axis(vectors, order[..., None, :], axis=-1)
    vh = np.conjugate(np.swapaxes(u * np.sign(values)[..., None, :], -1, -2))
    return SVDResult(u, np.abs(values), vh)


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    return np.linalg.svd(x, compute_uv=False)

"""Linear algebra that NumPy lacks, for NumPy arrays and traced arrays: `tracemill.linalg`.

Names and arguments are SciPy's. Arrays are stacks of matrices in their last two axes; integers count as f64. A
singular matrix raises ``np.linalg.LinAlgError``.
"""

from typing import Any

import numpy as np

from ...dtypes import is_inexact
from ...errors import ArgumentValueError, MatrixShapeError
from ...nesting import shown
from ...ops.linalg.matrix_stacks import joint_lead, solve_broadcast
from ...tracing.array_values import as_value
from ...tracing.traced_array import wrap
from ...tracing.traced_memory import is_traced
from ..ufuncs.eager_ops import apply_op

__all__ = ["cho_solve", "expm", "lu", "solve_triangular"]


def expm(a: Any) -> Any:
    """The exponential of square matrices (…, n, n), by Padé approximants with scaling and squaring.

    Its derivatives of any order are exact Fréchet derivatives. N. J. Higham, "The scaling and squaring method for the
    matrix exponential revisited" (2005).

    >>> import numpy as np
    >>> np.round(expm(np.array([[0.0, 1.0], [0.0, 0.0]])), 12).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return apply_op("expm", *_in_one_dtype(a))[0]


def lu(a: Any, permute_l: bool = False, p_indices: bool = False) -> Any:
    """``(P, L, U)`` with ``a = P @ L @ U``, by partial pivoting; `a` has shape (…, m, n) and k = min(m, n).

    L (…, m, k) has a unit diagonal, and U (…, k, n) is an upper triangle. With `p_indices`, the permutation is
    returned as indices p (…, m) with ``a = L[p] @ U``. With `permute_l`, it is applied: ``(P @ L, U)``.

    >>> import numpy as np
    >>> p, l, u = lu(np.array([[1.0, 2.0], [4.0, 4.0]]))
    >>> u.tolist()
    [[4.0, 4.0], [0.0, 1.0]]
    >>> (p @ l @ u).tolist()
    [[1.0, 2.0], [4.0, 4.0]]
    """
    (x,) = _in_one_dtype(a)
    packed, places = apply_op("lu", x)
    size = min(x.shape[-2:])
    lower = np.tril(packed[..., :size], -1) + np.eye(x.shape[-2], size, dtype=x.dtype)
    upper = np.triu(packed[..., :size, :])
    back = np.argsort(places, axis=-1)
    if permute_l:
        return np.take_along_axis(lower, back[..., None], axis=-2), upper
    if p_indices:
        return back, lower, upper
    rows = np.arange(x.shape[-2])
    permutation = (back[..., :, None] == rows).astype(np.real(packed[..., :0, :0]).dtype)
    return permutation, lower, upper


def solve_triangular(
    a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False
) -> Any:
    """x with ``op(a) @ x = b`` for a triangle `a` (…, n, n), whose other triangle is not read.

    Args:
        a: the matrices.
        b: one vector (n,), or right-hand sides as columns (…, n, k); leading axes broadcast.
        trans: what op does: 0 or "N" nothing, 1 or "T" transposes, 2 or "C" transposes and conjugates.
        lower: `a` holds its lower triangle, not its upper one.
        unit_diagonal: the diagonal is taken for ones, and not read.

    >>> import numpy as np
    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]), lower=True).tolist()
    [1.0, 2.0]
    """
    kind = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}.get(trans)
    if kind is None:
        raise ArgumentValueError(
            f"solve_triangular: trans must be 0, 1, 2, 'N', 'T' or 'C', not {shown(trans)}"
        )
    matrix, sides = _in_one_dtype(a, b)
    vector = sides.ndim == 1
    if vector:
        sides = sides[:, None]
    if matrix.ndim < 2:
        raise MatrixShapeError(f"solve_triangular: a of shape {matrix.shape} is not a matrix")
    params = {
        "lower": bool(lower),
        "transposed": kind > 0,
        "conjugated": kind == 2 and matrix.dtype.kind == "c",
        "unit_diagonal": bool(unit_diagonal),
    }
    traced = next(filter(is_traced, (matrix, sides)), None)
    if traced is not None:
        x = traced._located(_recorded_solution, matrix, sides, params)
    else:
        lead = joint_lead("solve_triangular", matrix.shape, sides.shape)
        matrix, sides = (np.broadcast_to(m, (*lead, *m.shape[-2:])) for m in (matrix, sides))
        (x,) = apply_op("triangular_solve", matrix, sides, **params)
    return x[..., 0] if vector else x


def _recorded_solution(matrix: Any, sides: Any, params: dict[str, Any]) -> Any:
    return wrap(solve_broadcast("triangular_solve", as_value(matrix), as_value(sides), **params))


def cho_solve(c_and_lower: tuple[Any, bool], b: Any) -> Any:
    """x with ``A @ x = b``, from the Cholesky factor of A and whether it is the lower one: ``(c, lower)``.

    `b` is one vector (n,), or right-hand sides as columns (…, n, k).

    >>> import numpy as np
    >>> factor = np.linalg.cholesky(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> cho_solve((factor, True), np.array([8.0, 12.0])).tolist()
    [1.0, 2.0]
    """
    factor, lower = c_and_lower
    halfway = solve_triangular(factor, b, 0 if lower else 2, lower)
    return solve_triangular(factor, halfway, 2 if lower else 0, lower)


def solve_banded(l_and_u: tuple[int, int], ab: Any, b: Any) -> Any:
    """x with ``A @ x = b``, where A has `l` diagonals below the main one and `u` above it: the rows of `ab`."""
    lower, upper = map(int, l_and_u)
    diagonals, sides = _in_one_dtype(ab, b)
    vector = sides.ndim == 1
    (x,) = apply_op("solve_banded", diagonals, sides[:, None] if vector else sides, lower=lower, upper=upper)
    return x[:, 0] if vector else x


def _in_one_dtype(*operands: Any) -> list[Any]:
    """The arrays in the dtype to which NumPy promotes them; integers and booleans count as f64."""
    arrays = [x if is_traced(x) else np.asarray(x) for x in operands]
    arrays = [x if is_inexact(x.dtype) else x.astype(np.float64) for x in arrays]
    dtype = np.result_type(*[x.dtype for x in arrays])
    return [x.astype(dtype, copy=False) for x in arrays]

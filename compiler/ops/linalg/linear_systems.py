"""Linear systems: triangular and general ones, and the inverse.

A stack of matrices has shape (…, m, n). A singular matrix raises ``np.linalg.LinAlgError``, as in NumPy. Formulas:
M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation" (2008).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...builder import bind
from ...ir import ArrayType, Value
from ...op import Op, not_linear, register
from ...value_ops import conjugate, negative, subtract
from .matrix_stacks import (
    batch_sides,
    batch_stacks,
    lower_triangle,
    matmul,
    matrix_transpose,
    require_sides,
    require_square,
    upper_triangle,
)

FAMILY = "linear_systems"


# ---- triangular_solve --------------------------------------------------------------------------------


def _triangular_solve_type(
    a: ArrayType, b: ArrayType, lower: bool, transposed: bool, conjugated: bool, unit_diagonal: bool
) -> ArrayType:
    require_square("triangular_solve", a)
    require_sides("triangular_solve", a, b)
    return b


def _triangular_solve_numpy(
    a: Any, b: Any, lower: Any, transposed: Any, conjugated: Any, unit_diagonal: Any
) -> Any:
    # A lower triangle is flipped, so that the system is always an upper triangle. LAPACK's elimination leaves an upper
    # triangle unchanged, so that solving a block is back substitution.
    size, block = a.shape[-1], 64
    a = np.tril(a) if lower else np.triu(a)
    a = np.conjugate(a) if conjugated else a
    a = np.swapaxes(a, -1, -2) if transposed else a
    turned = bool(lower) != bool(transposed)
    if turned:
        a, b = a[..., ::-1, ::-1], b[..., ::-1, :]
    if unit_diagonal:
        a = np.where(np.eye(size, dtype=bool), np.ones((), a.dtype), a)
    x = np.empty(b.shape, b.dtype)
    for stop in range(size, 0, -block):
        start = max(stop - block, 0)
        rest = b[..., start:stop, :]
        if stop < size:
            rest = rest - np.matmul(a[..., start:stop, stop:], x[..., stop:, :])
        x[..., start:stop, :] = np.linalg.solve(a[..., start:stop, start:stop], rest)
    return x[..., ::-1, :].copy() if turned else x


def _triangle(da: Value, lower: bool, unit_diagonal: bool) -> Value:
    """The part of the tangent that the op reads."""
    return lower_triangle(da, -1 if unit_diagonal else 0) if lower else upper_triangle(da, int(unit_diagonal))


def _triangular_solve_jvp(
    inputs: tuple[Value, Value], tangents: tuple[Value | None, ...], outputs: tuple[Value], **params: Any
) -> Value:
    """op(A) x = b gives op(A) dx = db − op(dA) x."""
    (a, _), (da, db), (x,) = inputs, tangents, outputs
    right = db
    if da is not None:
        da = _triangle(da, params["lower"], params["unit_diagonal"])
        da = conjugate(da) if params["conjugated"] else da
        moved = matmul(matrix_transpose(da) if params["transposed"] else da, x)
        right = negative(moved) if db is None else subtract(db, moved)
    assert right is not None
    return bind("triangular_solve", a, right, **params)


def _triangular_solve_transpose(
    cotangents: tuple[Value], inputs: Sequence[Any], transposed: bool, **params: Any
) -> tuple[None, Value]:
    return None, bind("triangular_solve", inputs[0], cotangents[0], transposed=not transposed, **params)


register(
    Op(
        "triangular_solve", FAMILY, _triangular_solve_type, _triangular_solve_numpy, _triangular_solve_jvp,
        _triangular_solve_transpose, batch_sides("triangular_solve"), spelling=None, effect=None,
        doc="x with op(A) x = b, where op transposes or conjugates the triangle of A; the other one is not read.",
    )
)  # fmt: skip


# ---- solve -------------------------------------------------------------------------------------------


def _solve_type(a: ArrayType, b: ArrayType) -> ArrayType:
    require_square("solve", a)
    require_sides("solve", a, b)
    return b


def _solve_jvp(
    inputs: tuple[Value, Value], tangents: tuple[Value | None, ...], outputs: tuple[Value]
) -> Value:
    """A x = b gives A dx = db − dA x."""
    (a, _), (da, db), (x,) = inputs, tangents, outputs
    right = db
    if da is not None:
        moved = matmul(da, x)
        right = negative(moved) if db is None else subtract(db, moved)
    assert right is not None
    return bind("solve", a, right)


register(
    Op(
        "solve", FAMILY, _solve_type,
        lambda a, b: np.linalg.solve(a, b),
        _solve_jvp,
        lambda cotangents, inputs: (None, bind("solve", matrix_transpose(inputs[0]), cotangents[0])),
        batch_sides("solve"), spelling=None, effect=None, may_fail=True,
        doc="x with A x = b, for matrices b of right-hand sides.",
    )
)  # fmt: skip


# ---- inv ---------------------------------------------------------------------------------------------


def _inv_type(x: ArrayType, nan_if_singular: bool = False) -> ArrayType:
    require_square("inv", x)
    return x


def _inv_numpy(x: Any, nan_if_singular: Any = False) -> Any:
    if not nan_if_singular:
        return np.linalg.inv(x)
    out = np.full(x.shape, np.nan, x.dtype)
    for at in np.ndindex(*x.shape[:-2]):
        try:
            out[at] = np.linalg.inv(x[at])
        except np.linalg.LinAlgError:
            continue
    return out


register(
    Op(
        "inv", FAMILY, _inv_type, _inv_numpy,
        lambda inputs, tangents, outputs, **params: negative(
            matmul(matmul(outputs[0], tangents[0]), outputs[0])
        ),
        not_linear, batch_stacks("inv"), spelling=None, effect=None, may_fail=True,
        doc="The inverse. A singular matrix raises an error, or gives NaN with nan_if_singular.",
    )
)  # fmt: skip

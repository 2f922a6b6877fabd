"""Functions of square matrices that SciPy computes, and Sylvester's equation.

The derivative of f at A in a direction E is a block of f of a larger matrix, N. J. Higham, "Functions of Matrices",
theorem 3.6: f([[A, E], [0, A]]) = [[f(A), L(A, E)], [0, f(A)]]. A second one is a block of that of larger ones.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...builder import bind
from ...errors import MatrixShapeError
from ...ir import ArrayType, Value
from ...op import Op, not_linear, register
from ...value_ops import add, concatenate, negative, slice_axis, subtract, zeros_like
from ..batch_axes import all_leading, in_front
from .matrix_stacks import batch_stacks, matmul, matrix_transpose, require_square

FAMILY = "matrix_functions"


def _type(x: ArrayType, function: str, exponent: float = 0.0) -> ArrayType:
    require_square(function, x)
    return x


def _numpy(x: Any, function: Any, exponent: Any = 0.0) -> Any:
    from scipy import linalg

    out = np.empty(x.shape, x.dtype)
    for at in np.ndindex(*x.shape[:-2]) if out.size else ():
        more = (exponent,) if function == "fractional_matrix_power" else ()
        found = np.real_if_close(getattr(linalg, function)(x[at], *more), 1000)
        if np.iscomplexobj(found) and not np.iscomplexobj(out):
            raise np.linalg.LinAlgError(
                f"{function}: the result is complex. Convert the matrix to complex numbers"
            )
        out[at] = found
    return out


def _slope_type(x: ArrayType, e: ArrayType, function: str, exponent: float = 0.0) -> ArrayType:
    require_square(function, x)
    if e != x:
        raise MatrixShapeError(f"the derivative of {function} of {x} needs a direction of that type, not {e}")
    return x


def _slope_numpy(x: Any, e: Any, function: Any, exponent: Any = 0.0) -> Any:
    from scipy import linalg

    size = x.shape[-1]
    out = np.empty(x.shape, x.dtype)
    for at in np.ndindex(*x.shape[:-2]) if out.size else ():
        scale = max(float(np.max(np.abs(e[at]))), 1e-300)  # so that the block is about as large as the matrix
        block = np.block([[x[at], e[at] / scale], [np.zeros_like(x[at]), x[at]]])
        more = (exponent,) if function == "fractional_matrix_power" else ()
        found = np.real_if_close(getattr(linalg, function)(block, *more), 1000)[:size, size:] * scale
        if np.iscomplexobj(found) and not np.iscomplexobj(out):
            raise np.linalg.LinAlgError(
                f"{function}: the result is complex. Convert the matrix to complex numbers"
            )
        out[at] = found
    return out


def _blocks(upper: Value, corner: Value) -> Value:
    """[[upper, corner], [0, upper]]."""
    rows, columns = upper.ndim - 2, upper.ndim - 1
    low = concatenate([zeros_like(upper), upper], columns)
    return concatenate([concatenate([upper, corner], columns), low], rows)


def _slope_jvp(inputs: Any, tangents: Any, outputs: Any, **params: Any) -> Value:
    """By the matrix in a direction F, the derivative is symmetric in E and F, so that it is written linear in F."""
    (x, e), (dx, de) = inputs, tangents
    total = None if de is None else bind("matrix_function_slope", x, de, **params)
    if dx is not None:
        size = x.shape[-1]
        found = bind("matrix_function_slope", _blocks(x, e), _blocks(dx, zeros_like(dx)), **params)
        corner = slice_axis(slice_axis(found, 0, size, x.ndim - 2), size, 2 * size, x.ndim - 1)
        total = corner if total is None else add(total, corner)
    assert total is not None
    return total


def _slope_transpose(cotangents: tuple[Value], inputs: Sequence[Any], **params: Any) -> tuple[None, Value]:
    return None, bind("matrix_function_slope", matrix_transpose(inputs[0]), cotangents[0], **params)


@in_front
def _slope_batch(inputs: Any, mapped: Any, size: int, **params: Any) -> Value:
    return bind("matrix_function_slope", *all_leading(inputs, mapped, size), **params)


register(
    Op(
        "matrix_function", FAMILY, _type, _numpy,
        lambda inputs, tangents, outputs, **params: bind(
            "matrix_function_slope", inputs[0], tangents[0], **params
        ),
        not_linear, batch_stacks("matrix_function"), spelling=None, effect=None, may_fail=True,
        doc="scipy.linalg's sqrtm, logm or fractional_matrix_power, by name. A real matrix must have a real result.",
    )
)  # fmt: skip
register(
    Op(
        "matrix_function_slope", FAMILY, _slope_type, _slope_numpy, _slope_jvp, _slope_transpose, _slope_batch,
        spelling=None, effect=None, may_fail=True,
        doc="The Fréchet derivative of `matrix_function` in the direction of the second input.",
    )
)  # fmt: skip


# ---- Sylvester's equation ----------------------------------------------------------------------------------


def _sylvester_type(a: ArrayType, b: ArrayType, q: ArrayType) -> ArrayType:
    lead, rows = require_square("solve_sylvester", a)
    others, columns = require_square("solve_sylvester", b)
    if lead != others or q.shape != (*lead, rows, columns) or not a.dtype == b.dtype == q.dtype:
        raise MatrixShapeError(f"solve_sylvester of {a}, {b} and {q}: they do not fit")
    return q


def _sylvester_numpy(a: Any, b: Any, q: Any) -> Any:
    from scipy.linalg import solve_sylvester

    out = np.empty(q.shape, q.dtype)
    for at in np.ndindex(*q.shape[:-2]) if out.size else ():
        out[at] = solve_sylvester(a[at], b[at], q[at])
    return out


def _sylvester_jvp(inputs: Any, tangents: Any, outputs: tuple[Value]) -> Value:
    """A dX + dX B = dQ − dA X − X dB."""
    (a, b, _), (da, db, right), (x,) = inputs, tangents, outputs
    for moved in (None if da is None else matmul(da, x), None if db is None else matmul(x, db)):
        if moved is not None:
            right = negative(moved) if right is None else subtract(right, moved)
    return bind("solve_sylvester", a, b, right)


@in_front
def _sylvester_batch(inputs: Any, mapped: Any, size: int) -> Value:
    return bind("solve_sylvester", *all_leading(inputs, mapped, size))


register(
    Op(
        "solve_sylvester", FAMILY, _sylvester_type, _sylvester_numpy, _sylvester_jvp,
        lambda cotangents, inputs: (
            None, None,
            bind("solve_sylvester", matrix_transpose(inputs[0]), matrix_transpose(inputs[1]), cotangents[0]),
        ),
        _sylvester_batch, spelling=None, effect=None, may_fail=True,
        doc="X with A X + X B = Q.",
    )
)  # fmt: skip

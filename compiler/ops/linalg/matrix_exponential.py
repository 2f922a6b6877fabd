"""The exponential of matrices, with all its Fréchet derivatives as one op.

N. J. Higham, "The scaling and squaring method for the matrix exponential revisited" (2005); derivatives by block
matrices as in N. J. Higham and S. D. Relton, "Higher order Fréchet derivatives of matrix functions and the level-2
condition number" (2014).
"""

from typing import Any

import numpy as np

from ...builder import bind
from ...errors import DTypeError
from ...ir import ArrayType, Value
from ...op import Linear, Op, register
from ...value_ops import add
from ..batch_axes import all_leading, in_front
from .matrix_stacks import matrix_transpose, require_square

FAMILY = "matrix_exponential"


def _expm_type(x: ArrayType, *directions: ArrayType) -> ArrayType:
    require_square("expm", x)
    if any(direction != x for direction in directions):
        raise DTypeError(f"expm of {x}: the directions {', '.join(map(str, directions))} are not of its type")
    return x


def _expm_numpy(x: Any, *directions: Any) -> Any:
    # The derivative of f at A along E is the corner of f([[A, E], [0, A]]), and so on for more directions. It is
    # linear in E, which is scaled to norm 1 so that it does not affect how often A is squared.
    size, factor = x.shape[-1], np.ones((), x.real.dtype)
    for number, direction in enumerate(directions):
        length = np.max(np.sum(np.abs(direction), -2, keepdims=True), -1, keepdims=True, initial=0.0)
        length = np.where(length == 0, np.ones((), length.dtype), length)
        direction, factor = direction / length, factor * length
        corner = np.zeros(x.shape, x.dtype)
        for start in range(0, size << number, max(size, 1)):
            corner[..., start : start + size, start : start + size] = direction
        x = np.concatenate(
            [np.concatenate([x, corner], -1), np.concatenate([np.zeros_like(corner), x], -1)], -2
        )
    # Scaled by a power of two until the Padé approximant of degree 13 is exact to rounding, then squared back.
    coefficients = (
        64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
        10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
    )  # fmt: skip
    single = x.dtype.itemsize // (2 if x.dtype.kind == "c" else 1) == 4
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) if single else x
    norm = np.max(np.sum(np.abs(wide), -2, keepdims=True), -1, keepdims=True, initial=0.0)
    finite = np.isfinite(norm)
    squarings = np.ceil(np.log2(np.where(finite, np.maximum(norm / 5.371920351148152, 1.0), 1.0)))
    a = np.where(finite, wide, 0.0) * np.exp2(-squarings)
    one = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    a2 = np.matmul(a, a)
    a4 = np.matmul(a2, a2)
    a6 = np.matmul(a2, a4)
    b = coefficients
    u = np.matmul(a6, b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one
    u = np.matmul(a, u)
    v = np.matmul(a6, b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one
    result = one + np.linalg.solve(v - u, 2 * u)
    for step in range(int(np.max(squarings, initial=0.0))):
        result = np.where(step < squarings, np.matmul(result, result), result)
    corner = result[..., :size, result.shape[-1] - size :]
    return (np.where(finite, corner, np.nan) * factor).astype(x.dtype)


def _expm_jvp(inputs: tuple[Value, ...], tangents: tuple[Value | None, ...], outputs: Any) -> Value:
    """One more direction for dX; linear in each direction."""
    terms = [bind("expm", *inputs, tangents[0])] if tangents[0] is not None else []
    for place, tangent in enumerate(tangents[1:], 1):
        if tangent is not None:
            terms.append(bind("expm", *inputs[:place], tangent, *inputs[place + 1 :]))
    total = terms[0]
    for term in terms[1:]:
        total = add(total, term)
    return total


def _expm_transpose(cotangents: tuple[Value], inputs: tuple[Any, ...]) -> tuple[Value | None, ...]:
    """tr(Cᵀ L(A; E, …)) = tr(Eᵀ L(Aᵀ; C, …ᵀ)): the cotangent takes the place of the direction."""
    (place,) = (i for i, x in enumerate(inputs) if isinstance(x, Linear))
    turned = [cotangents[0] if i == place else matrix_transpose(x) for i, x in enumerate(inputs)]
    return tuple(bind("expm", *turned) if i == place else None for i in range(len(inputs)))


register(
    Op(
        "expm", FAMILY, _expm_type, _expm_numpy, _expm_jvp, _expm_transpose,
        in_front(lambda inputs, mapped, size: bind("expm", *all_leading(inputs, mapped, size))),
        spelling=None, effect=None,
        doc="The exponential of a matrix or, with k directions, its k-th Fréchet derivative along them.",
    )
)  # fmt: skip

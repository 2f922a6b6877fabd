"""Determinants of stacks of square matrices, and the adjugate, which is the derivative of the determinant."""

from functools import reduce
from typing import Any

import numpy as np

from ...builder import bind
from ...dtypes import real_dtype
from ...errors import DTypeError
from ...ir import ArrayType, Value
from ...op import Linear, Op, not_linear, register
from ...value_ops import add, concatenate, constant, full_like, multiply, slice_axis, subtract
from ..batch_axes import all_leading, in_front
from .matrix_stacks import as_real, batch_stacks, imaginary_part, inner, matrix_transpose, require_square

FAMILY = "determinant"


# ---- det ---------------------------------------------------------------------------------------------


def _det_type(x: ArrayType) -> ArrayType:
    lead, _ = require_square("det", x)
    return ArrayType(x.dtype, lead)


register(
    Op(
        "det", FAMILY, _det_type,
        lambda x: np.linalg.det(x),
        # Jacobi's formula: tr(adj(X) dX), which also holds for singular X.
        lambda inputs, tangents, outputs: inner(_cofactors(inputs[0]), tangents[0]),
        not_linear, batch_stacks("det"), spelling=None, effect=None,
        doc="The determinant.",
    )
)  # fmt: skip


def _cofactors(x: Value) -> Value:
    """The transposed adjugate. For up to three rows it is an explicit polynomial, with all its derivatives
    everywhere.

    The minor of row i and column j has the rows i + 1, i + 2 and columns j + 1, j + 2, which wrap around.
    """
    size = x.shape[-1]
    if size == 1:
        return full_like(x, 1)
    if size == 2:
        return multiply(_wrapped(x, 1, 1), constant([[1, -1], [-1, 1]], x.dtype))
    if size == 3:
        return subtract(
            multiply(_wrapped(x, 1, 1), _wrapped(x, 2, 2)), multiply(_wrapped(x, 1, 2), _wrapped(x, 2, 1))
        )
    return matrix_transpose(bind("adjugate", x))


def _wrapped(x: Value, rows: int, columns: int) -> Value:
    """The matrices from this row and column on, then those before."""
    for start, axis in ((rows, x.ndim - 2), (columns, x.ndim - 1)):
        x = concatenate([slice_axis(x, start, x.shape[axis], axis), slice_axis(x, 0, start, axis)], axis)
    return x


def _adjugate_type(x: ArrayType, *directions: ArrayType) -> ArrayType:
    require_square("adjugate", x)
    if any(direction != x for direction in directions):
        raise DTypeError(
            f"adjugate of {x}: the directions {', '.join(map(str, directions))} are not of its type"
        )
    return x


def _adjugate_numpy(x: Any, *directions: Any) -> Any:
    # The derivative along E₁, E₂, … is the coefficient of t₁ t₂ … in the adjugate of X + t₁ E₁ + t₂ E₂ + …
    count, size = len(directions), x.shape[-1]
    full = (1 << count) - 1
    try:
        # Through the inverse: the coefficients of both factors of det · inverse, per set of directions.
        inverses, determinants = {0: np.linalg.inv(x)}, {0: np.linalg.det(x)[..., None, None]}
        norms = [np.max(np.sum(np.abs(m), -1), -1, initial=0.0) for m in (x, inverses[0])]
        if count and not np.all((norms[0] * norms[1]) ** count < 1e4):
            raise np.linalg.LinAlgError("the inverse has too few digits")
        for chosen in range(1, full + 1):
            inside = [i for i in range(count) if chosen >> i & 1]
            total = sum(np.matmul(directions[i], inverses[chosen - (1 << i)]) for i in inside)
            inverses[chosen] = -np.matmul(inverses[0], total)
            last = inside[-1]
            rest = chosen - (1 << last)
            determinants[chosen] = sum(
                determinants[part]
                * np.trace(np.matmul(inverses[rest - part], directions[last]), 0, -2, -1)[..., None, None]
                for part in range(rest + 1)
                if part & rest == part
            )
        out: Any = sum(determinants[part] * inverses[full - part] for part in range(full + 1))
        return out.astype(x.dtype, copy=False)
    except np.linalg.LinAlgError:
        pass
    # Near a singular matrix: a polynomial in t, whose coefficients come from its values at roots of unity.
    nodes = max(size, 2) if count else 1
    roots = np.exp(2j * np.pi * np.arange(nodes) / nodes)
    length = np.max(np.sum(np.abs(x), -1, keepdims=True), -2, keepdims=True, initial=0.0)
    length = np.where(length == 0, np.ones((), length.dtype), length)
    samples, weight, factor = x[..., None, :, :], np.ones(1), np.ones((), x.real.dtype)
    for direction in directions:
        own = np.max(np.sum(np.abs(direction), -1, keepdims=True), -2, keepdims=True, initial=0.0)
        own = np.where(own == 0, np.ones((), own.dtype), own)
        steps = roots[:, None, None] * (direction * (length / own))[..., None, :, :]
        samples = samples[..., :, None, :, :] + steps[..., None, :, :, :]
        samples = samples.reshape(*x.shape[:-2], -1, size, size)
        weight, factor = np.multiply.outer(weight, roots.conj() / nodes).reshape(-1), factor * own / length
    # A = U Σ Vᴴ has the adjugate det(U) det(Vᴴ) V adj(Σ) Uᴴ; in adj(Σ) are the products of all other entries.
    u, s, vh = np.linalg.svd(samples)
    ones = np.ones((*s.shape[:-1], 1), s.dtype)
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], -1), -1)[..., ::-1]
    others = (np.linalg.det(u) * np.linalg.det(vh))[..., None] * (before * after)
    v, uh = np.conjugate(np.swapaxes(vh, -1, -2)), np.conjugate(np.swapaxes(u, -1, -2))
    adjugates = np.matmul(v * others[..., None, :], uh)
    out = factor * np.sum(weight[:, None, None] * adjugates, -3)
    return (out if x.dtype.kind == "c" else out.real).astype(x.dtype, copy=False)


def _adjugate_jvp(inputs: tuple[Value, ...], tangents: tuple[Value | None, ...], outputs: Any) -> Value:
    """One more direction for dX; linear in each direction."""
    terms = [bind("adjugate", *inputs, tangents[0])] if tangents[0] is not None else []
    for place, tangent in enumerate(tangents[1:], 1):
        if tangent is not None:
            terms.append(bind("adjugate", *inputs[:place], tangent, *inputs[place + 1 :]))
    return reduce(add, terms)


def _adjugate_transpose(cotangents: tuple[Value], inputs: tuple[Any, ...]) -> tuple[Value | None, ...]:
    """tr(C·adj(X; E, …)) is the derivative of det X along C, E, …, in any order: C and E can be swapped."""
    (place,) = (i for i, x in enumerate(inputs) if isinstance(x, Linear))
    turned = [matrix_transpose(cotangents[0]) if i == place else x for i, x in enumerate(inputs)]
    back = matrix_transpose(bind("adjugate", *turned))
    return tuple(back if i == place else None for i in range(len(inputs)))


register(
    Op(
        "adjugate", FAMILY, _adjugate_type, _adjugate_numpy, _adjugate_jvp, _adjugate_transpose,
        in_front(lambda inputs, mapped, size: bind("adjugate", *all_leading(inputs, mapped, size))),
        spelling=None, effect=None,
        doc="The transposed matrix of the cofactors, det(X) X⁻¹ where X has an inverse; with k directions, its k-th "
        "derivative along them. A polynomial in the entries, so singular matrices are nothing special.",
    )
)  # fmt: skip


# ---- slogdet -----------------------------------------------------------------------------------------


def _slogdet_type(x: ArrayType) -> tuple[ArrayType, ArrayType]:
    lead, _ = require_square("slogdet", x)
    return ArrayType(x.dtype, lead), ArrayType(real_dtype(x.dtype), lead)


def _slogdet_jvp(
    inputs: tuple[Value], tangents: tuple[Value], outputs: tuple[Value, Value]
) -> tuple[Value | None, Value]:
    """d log det X = tr(X⁻¹ dX): its real part changes the logarithm, its imaginary part the sign's angle."""
    (x,), (dx,), (sign, _) = inputs, tangents, outputs
    change = inner(matrix_transpose(bind("inv", x)), dx)
    dsign = multiply(imaginary_part(change), sign) if x.dtype.kind == "c" else None
    return dsign, as_real(change)


register(
    Op(
        "slogdet", FAMILY, _slogdet_type,
        lambda x: tuple(np.linalg.slogdet(x)),
        _slogdet_jvp, not_linear, batch_stacks("slogdet"), spelling=None, effect=None,
        doc="The sign of the determinant (a number of modulus 1, or 0) and the logarithm of its modulus.",
    )
)  # fmt: skip

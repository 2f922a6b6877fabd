"""Discrete Fourier transforms along an axis: `fft`, `ifft`, and `rfft`, `irfft` of real signals.

`norm` is NumPy's: where the factor 1/n goes ("backward": into the inverse transforms, "forward": into the direct
ones, "ortho": its square root into both). A real signal of n entries has n // 2 + 1 coefficients; the others are
complex conjugates of these. A transform over several axes is one call per axis.
"""

from typing import Any

import numpy as np

from ...builder import bind
from ...dtypes import INT64, complex_dtype, real_dtype
from ...errors import ArgumentValueError, DTypeError, ShapeError
from ...ir import ArrayType, Value
from ...nesting import shown
from ...op import Meaning, Op, TransposeRule, TypeRule, register
from ...symbolic_size import SymbolicSize
from ...value_ops import conjugate, constant, equal, iota, logical_or, multiply, reshape, where
from ..batch_axes import batch_along_axis

FAMILY = "fft"

OPPOSITE_NORM = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The norm for which an inverse transform has the factor of the direct one."""


def _check(name: str, x: ArrayType, axis: int, norm: str, *, is_complex: bool) -> None:
    if x.dtype not in ((np.complex64, np.complex128) if is_complex else (np.float32, np.float64)):
        raise DTypeError(f"{name} is not defined for {x}")
    if not 0 <= axis < x.ndim:
        raise ShapeError(f"{name}: axis {axis} is out of range for {x}")
    if not x.shape[axis]:
        raise ShapeError(f"{name} of {x}: there is no transform of 0 entries")
    if norm not in OPPOSITE_NORM:
        raise ArgumentValueError(f"{name} of {x}: norm={shown(norm)} is none of {', '.join(OPPOSITE_NORM)}")


def _with_length(shape: tuple[int, ...], axis: int, length: int) -> tuple[int, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


def _register(name: str, type: TypeRule, numpy: Meaning, transpose: TransposeRule, doc: str) -> None:
    """A linear op of one array."""

    def jvp(inputs: Any, tangents: Any, outputs: Any, **params: Any) -> Value:
        return bind(name, tangents[0], **params)

    batch = batch_along_axis(name)
    register(Op(name, FAMILY, type, numpy, jvp, transpose, batch, spelling=None, effect=None, doc=doc))


# ---- complex signals -------------------------------------------------------------------------------


def _complex_type(name: str) -> TypeRule:
    def rule(x: ArrayType, axis: int, norm: str = "backward") -> ArrayType:
        _check(name, x, axis, norm, is_complex=True)
        return x

    return rule


def _symmetric(name: str) -> TransposeRule:
    """The matrix exp(∓2πi jk/n) of a transform is symmetric."""

    def transpose(cotangents: tuple[Value], inputs: Any, **params: Any) -> Value:
        return bind(name, cotangents[0], **params)

    return transpose


def _fft_numpy(x: Any, axis: Any, norm: Any = "backward") -> Any:
    return np.fft.fft(x, axis=axis, norm=norm)


def _ifft_numpy(x: Any, axis: Any, norm: Any = "backward") -> Any:
    return np.fft.ifft(x, axis=axis, norm=norm)


_register(
    "fft",
    _complex_type("fft"),
    _fft_numpy,
    _symmetric("fft"),
    "The discrete Fourier transform along `axis`: the sum over j of x[j] · exp(−2πi jk/n).",
)
_register(
    "ifft",
    _complex_type("ifft"),
    _ifft_numpy,
    _symmetric("ifft"),
    "The inverse of `fft`: the sum over k of x[k] · exp(2πi jk/n), divided by n.",
)


# ---- real signals ----------------------------------------------------------------------------------


def _rfft_type(x: ArrayType, axis: int, norm: str = "backward") -> ArrayType:
    _check("rfft", x, axis, norm, is_complex=False)
    return ArrayType(complex_dtype(x.dtype), _with_length(x.shape, axis, x.shape[axis] // 2 + 1))


def _irfft_type(x: ArrayType, axis: int, length: int, norm: str = "backward") -> ArrayType:
    _check("irfft", x, axis, norm, is_complex=True)
    if length < 1 or x.shape[axis] != length // 2 + 1:
        raise ShapeError(f"irfft of {x}: axis {axis} does not have the coefficients of {length} entries")
    return ArrayType(real_dtype(x.dtype), _with_length(x.shape, axis, length))


def _rfft_numpy(x: Any, axis: Any, norm: Any = "backward") -> Any:
    return np.fft.rfft(x, axis=axis, norm=norm)


def _irfft_numpy(x: Any, axis: Any, length: Any, norm: Any = "backward") -> Any:
    return np.fft.irfft(x, length, axis, norm)


def _twins_scaled(x: Value, axis: int, length: int, factor: float) -> Value:
    """The coefficients of a real signal; those that also represent an omitted conjugate are multiplied by `factor`.

    The first has no conjugate; neither has the last if the length of the signal is even.
    """
    count = length // 2 + 1
    if isinstance(length, SymbolicSize):
        place = iota(count, INT64)
        alone = logical_or(equal(place, 0), equal(multiply(place, 2), length))
        factors = where(alone, constant(1, x.dtype), factor)
    else:
        known = np.full(count, factor)
        known[0] = 1
        if length % 2 == 0:
            known[-1] = 1
        factors = constant(known, x.dtype)
    return multiply(x, reshape(factors, (count, *(1,) * (x.ndim - 1 - axis))))


def _rfft_transpose(cotangents: tuple[Value], inputs: Any, axis: int, norm: str = "backward") -> Value:
    """The pairing Re Σₖ cₖ Σⱼ xⱼ wʲᵏ, with w = exp(−2πi/n), has the derivative Re Σₖ cₖ wʲᵏ by xⱼ.

    That is the real signal of the coefficients conj(cₖ)/2 with their conjugates, and of Re cₖ where there is none;
    `irfft` takes the real part of those anyway. Its factor must be that of the direct transform.
    """
    length = inputs[0].shape[axis]
    halved = _twins_scaled(conjugate(cotangents[0]), axis, length, 0.5)
    return bind("irfft", halved, axis=axis, length=length, norm=OPPOSITE_NORM[norm])


def _irfft_transpose(
    cotangents: tuple[Value], inputs: Any, axis: int, length: int, norm: str = "backward"
) -> Value:
    """The pairing Σⱼ cⱼ Re Σₖ mₖ xₖ w⁻ʲᵏ has the derivative mₖ Σⱼ cⱼ w⁻ʲᵏ by xₖ, where mₖ counts xₖ and its
    conjugate.

    That is mₖ times the conjugate of the direct transform, because c is real.
    """
    direct = bind("rfft", cotangents[0], axis=axis, norm=OPPOSITE_NORM[norm])
    return _twins_scaled(conjugate(direct), axis, length, 2.0)


_register(
    "rfft",
    _rfft_type,
    _rfft_numpy,
    _rfft_transpose,
    "The first n // 2 + 1 entries of the discrete Fourier transform of a real signal.",
)
_register(
    "irfft",
    _irfft_type,
    _irfft_numpy,
    _irfft_transpose,
    "The inverse of `rfft`, for a signal of `length` entries.",
)

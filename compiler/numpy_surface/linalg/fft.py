"""`numpy.fft`: the discrete Fourier transforms, and functions that rearrange frequencies."""

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...arguments.axes import axes_or_all, normalize_axis
from ...builder import bind
from ...dtypes import complex_dtype, is_complex, real_dtype
from ...errors import ArgumentTypeError, ArgumentValueError, OutOfBoundsError, ShapeError
from ...ir import Value
from ...ops.arrays.fft import OPPOSITE_NORM
from ...symbolic_size import SymbolicSize, has_no_entries
from ...tracing.array_values import as_size, as_value
from ...tracing.registry import constructs, implements
from ...tracing.traced_array import TracedArray
from ...tracing.traced_memory import is_traced
from ...value_ops import conjugate, convert, pad, slice_axis
from ..arrays.constructors import arange, constants_of, new_array
from ..ufuncs.ufunc_calls import as_array, write_out


def _checked_norm(norm: Any) -> str:
    chosen: str = "backward" if norm is None else norm
    if chosen not in OPPOSITE_NORM:
        raise ArgumentValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return chosen


def _fitted(x: Value, length: int, axis: int) -> Value:
    """The first `length` entries along an axis, padded with zeros if there are fewer."""
    missing = length - x.shape[axis]
    if missing <= 0:
        return slice_axis(x, 0, length, axis)
    return pad(x, (0,) * x.ndim, [missing if a == axis else 0 for a in range(x.ndim)])


def _transformed(op: str, x: Value, n: Any, axis: Any, norm: str) -> Value:
    """One of the four ops along an axis, for a signal of `n` entries, in the dtypes of NumPy's function."""
    along = normalize_axis(axis, x.ndim)
    real_result = np.result_type(real_dtype(x.dtype), 1.0)
    if op == "rfft":
        if is_complex(x.dtype):
            raise ArgumentTypeError(f"the signal must be real, not {x.type}")
        x = convert(x, real_dtype(complex_dtype(x.dtype)))
    else:
        x = convert(x, complex_dtype(x.dtype))
    length = as_size(n) if n is not None else (x.shape[along] - 1) * 2 if op == "irfft" else x.shape[along]
    if length < 1:
        raise ArgumentValueError(f"Invalid number of FFT data points ({operator.index(length)}) specified.")
    params: dict[str, Any] = {"axis": along} if norm == "backward" else {"axis": along, "norm": norm}
    if op != "irfft":
        return bind(op, _fitted(x, length, along), **params)
    return convert(bind(op, _fitted(x, length // 2 + 1, along), length=length, **params), real_result)


def _delivered(result: Value, out: Any) -> TracedArray:
    """Store the result in ``out=``, which must have its shape."""
    array = new_array(result)
    if out is None:
        return array
    if np.shape(out) != result.shape:
        raise ShapeError(f"output array has wrong shape: {np.shape(out)}, not {result.shape}")
    return write_out(out, array)


# ---- along one axis ----------------------------------------------------------------------------------


def _along_an_axis(op: str) -> None:
    @implements(getattr(np.fft, op))
    def transform(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> TracedArray:
        return _delivered(_transformed(op, as_value(a), n, axis, _checked_norm(norm)), out)


for _op in ("fft", "ifft", "rfft", "irfft"):
    _along_an_axis(_op)


@implements(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> TracedArray:
    """The transform of a signal that is conjugate-symmetric in time, so that its spectrum is real."""
    norm = OPPOSITE_NORM[_checked_norm(norm)]
    return _delivered(_transformed("irfft", conjugate(as_value(a)), n, axis, norm), out)


@implements(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> TracedArray:
    norm = OPPOSITE_NORM[_checked_norm(norm)]
    return _delivered(conjugate(_transformed("rfft", as_value(a), n, axis, norm)), out)


# ---- over several axes -------------------------------------------------------------------------------


def _lengths_and_axes(x: Value, s: Any, axes: Any) -> tuple[list[Any], list[int]]:
    """The length of the signal along each axis; −1 for that of the given array; None lets the transform decide."""
    lengths = None if s is None else [None if n is None else as_size(n) for n in s]
    if axes is None:
        axes = range(-(x.ndim if lengths is None else len(lengths)), 0)
    axes = [normalize_axis(axis, x.ndim) for axis in axes]
    if lengths is None:
        lengths = [*[-1] * len(axes[:-1]), *[None] * len(axes[-1:])]
    if len(lengths) != len(axes):
        raise ShapeError("Shape and axes have different lengths.")
    pairs = zip(lengths, axes, strict=True)
    return [x.shape[axis] if length == -1 else length for length, axis in pairs], axes


def _over_axes(suffix: str, default_axes: tuple[int, ...] | None) -> None:
    """``fftn`` and ``ifftn``, ``rfftn`` and ``irfftn``, or the same with another suffix and default axes."""

    def enter(name: str, record: Callable[[Value, list[Any], list[int], str], Value]) -> None:
        @implements(getattr(np.fft, name + suffix))
        def transform(
            a: Any, s: Any = None, axes: Any = default_axes, norm: Any = None, out: Any = None
        ) -> TracedArray:
            x = as_value(a)
            lengths, along = _lengths_and_axes(x, s, axes)
            return _delivered(record(x, lengths, along, _checked_norm(norm)), out)

    enter("fft", partial(_each_axis, "fft"))
    enter("ifft", partial(_each_axis, "ifft"))
    enter("rfft", _real_direct)
    enter("irfft", _real_inverse)


def _each_axis(op: str, x: Value, lengths: list[Any], axes: list[int], norm: str) -> Value:
    """The last axis first, as in NumPy."""
    for n, axis in reversed([*zip(lengths, axes, strict=True)]):
        x = _transformed(op, x, n, axis, norm)
    return x


def _real_direct(x: Value, lengths: list[Any], axes: list[int], norm: str) -> Value:
    _need_an_axis(axes)
    x = _transformed("rfft", x, lengths[-1], axes[-1], norm)
    return _each_axis("fft", x, lengths[:-1], axes[:-1], norm)


def _real_inverse(x: Value, lengths: list[Any], axes: list[int], norm: str) -> Value:
    _need_an_axis(axes)
    x = _each_axis("ifft", x, lengths[:-1], axes[:-1], norm)
    return _transformed("irfft", x, lengths[-1], axes[-1], norm)


def _need_an_axis(axes: list[int]) -> None:
    if not axes:
        raise OutOfBoundsError("a transform of real signals needs at least one axis")


_over_axes("n", None)
_over_axes("2", (-2, -1))


# ---- frequencies -------------------------------------------------------------------------------------


def _shift(function: Any, direction: int) -> None:
    @implements(function)
    def shifted(x: Any, axes: Any = None) -> Any:
        array: Any = as_array(x)
        chosen = axes_or_all(axes, array.ndim)
        return np.roll(array, [direction * (array.shape[axis] // 2) for axis in chosen], chosen)


_shift(np.fft.fftshift, 1)
_shift(np.fft.ifftshift, -1)


def _frequencies(name: str, of_size: Callable[[Any, Any], Any]) -> None:
    original = getattr(np.fft, name)

    @constructs(f"fft.{name}")
    def frequencies(n: Any, d: Any = 1.0, device: Any = None) -> Any:
        length: Any = as_size(n) if is_traced(n) else n
        if isinstance(length, SymbolicSize):
            if has_no_entries(length):
                raise ZeroDivisionError("float division by zero")
            return of_size(length, 1.0 / (length * d))
        return constants_of(original(length, d))


def _of_both_signs(n: Any, step: Any) -> Any:
    place = arange(n)
    return np.where(place < (n + 1) // 2, place, place - n) * step


_frequencies("fftfreq", _of_both_signs)
_frequencies("rfftfreq", lambda n, step: arange(n // 2 + 1) * step)

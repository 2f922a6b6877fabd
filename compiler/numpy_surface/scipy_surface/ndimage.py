"""Filters of `scipy.ndimage` on traced arrays, whose other filters consist of these: sums of shifted arrays."""

from itertools import product
from typing import Any, Final

import numpy as np

from ...arguments.axes import normalize_axes
from ...dtypes import is_complex
from ...errors import ArgumentValueError, DTypeError
from ...nesting import shown
from ...tracing.registry import stands_in_for

_PADDING: Final = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
}
"""NumPy's names of SciPy's modes."""


def _correlated(
    name: str, x: Any, weights: Any, axes: tuple[int, ...], output: Any, mode: Any, cval: float, origin: Any
) -> Any:
    """The sums of `weights` times the elements around each one, along these axes.

    Like SciPy, computed in f64, in the dtype of the input unless `output` is another dtype or an array for the result.
    """
    x = x if hasattr(x, "dtype") else np.asarray(x)
    if is_complex(x.dtype) or np.iscomplexobj(weights):
        raise DTypeError(
            f"scipy.ndimage.{name} of complex numbers has no traced version: use x.real and x.imag"
        )
    modes = [mode] * len(axes) if isinstance(mode, str) else list(mode)
    origins = [origin] * len(axes) if isinstance(origin, int) else list(origin)
    unknown = next((one for one in modes if one not in _PADDING), None)
    if unknown is not None:
        raise ArgumentValueError(
            f"scipy.ndimage.{name}: mode {shown(unknown)} is not one of {', '.join(_PADDING)}"
        )
    padded = x.astype(np.float64)
    starts = [0] * x.ndim
    for axis, size, how, shift in zip(axes, weights.shape, modes, origins, strict=True):
        before = size // 2 + shift
        after = size - 1 - before
        widths = [(0, 0)] * x.ndim
        widths[axis] = (max(before, 0), max(after, 0))
        starts[axis] = max(-before, 0)
        if max(widths[axis]):
            options = {"constant_values": cval} if _PADDING[how] == "constant" else {}
            padded = np.pad(padded, widths, _PADDING[how], **options)  # type: ignore[call-overload]
    total: Any = 0.0
    for place in product(*map(range, weights.shape)):
        first = list(starts)
        for axis, number in zip(axes, place, strict=True):
            first[axis] += number
        part = padded[tuple(slice(low, low + size) for low, size in zip(first, x.shape, strict=True))]
        total = total + weights[place] * part
    if output is None or isinstance(output, type | np.dtype | str):
        return total.astype(x.dtype if output is None else output)
    output[...] = total.astype(output.dtype)
    return output


@stands_in_for("ndimage.correlate1d")
def correlate1d(
    input: Any,
    weights: Any,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Any:
    taps = weights if hasattr(weights, "dtype") else np.asarray(weights, dtype=np.float64)
    axes = normalize_axes(axis, input.ndim)
    return _correlated("correlate1d", input, taps, axes, output, mode, cval, origin)


@stands_in_for("ndimage.uniform_filter1d")
def uniform_filter1d(
    input: Any,
    size: int,
    axis: int = -1,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Any:
    axes = normalize_axes(axis, input.ndim)
    return _correlated("uniform_filter1d", input, np.full(size, 1 / size), axes, output, mode, cval, origin)


@stands_in_for("ndimage.correlate")
def correlate(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    taps = weights if hasattr(weights, "dtype") else np.asarray(weights, dtype=np.float64)
    along = tuple(range(input.ndim)) if axes is None else normalize_axes(axes, input.ndim)
    return _correlated("correlate", input, taps, along, output, mode, cval, origin)


@stands_in_for("ndimage.convolve")
def convolve(
    input: Any,
    weights: Any,
    output: Any = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    taps = weights if hasattr(weights, "dtype") else np.asarray(weights, dtype=np.float64)
    along = tuple(range(input.ndim)) if axes is None else normalize_axes(axes, input.ndim)
    shifts = [origin] * len(along) if isinstance(origin, int) else origin
    opposite = [-shift - (size % 2 == 0) for shift, size in zip(shifts, taps.shape, strict=True)]
    return _correlated("convolve", input, np.flip(taps), along, output, mode, cval, opposite)

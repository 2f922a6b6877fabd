"""Filters of `scipy.ndimage` on traced arrays, whose other filters consist of these: sums of shifted arrays."""

from collections.abc import Callable
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


def _sum_along_one_axis(weights: Any, part: Callable[[int], Any]) -> Any:
    """The sum of weights times parts, in SciPy's order: integers are cut off, so that a rounding may change them.

    Equal or opposite weights on both sides of the middle are multiplied once.
    """
    last = len(weights) - 1
    middle = last // 2
    epsilon = np.finfo(np.float64).eps
    for sign in (1, -1):
        if last % 2 == 0 and np.all(np.abs(weights - sign * weights[::-1])[:middle] <= epsilon):
            total = part(middle) * weights[middle]
            for number in range(middle):
                far, near = part(number), part(last - number)
                total = total + (far + near if sign == 1 else far - near) * weights[number]
            return total
    total = part(last) * weights[last]
    for number in range(last):
        total = total + part(number) * weights[number]
    return total


def _correlated(
    name: str,
    x: Any,
    weights: Any,
    axes: tuple[int, ...],
    output: Any,
    mode: Any,
    cval: float,
    origin: Any,
    divisor: int = 1,
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
    for size, shift in zip(weights.shape, origins, strict=True):
        if not -(size // 2) <= shift <= (size - 1) // 2:
            raise ArgumentValueError(
                f"scipy.ndimage.{name}: origin {shift} is not from {-(size // 2)} to {(size - 1) // 2}, "
                f"as the {size} weights need"
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

    def part(*place: int) -> Any:
        first = list(starts)
        for axis, number in zip(axes, place, strict=True):
            first[axis] += number
        return padded[tuple(slice(low, low + size) for low, size in zip(first, x.shape, strict=True))]

    total: Any = 0.0
    if len(axes) == 1 and isinstance(weights, np.ndarray):
        total = _sum_along_one_axis(weights, part)
    else:
        for place in product(*map(range, weights.shape)):
            total = total + weights[place] * part(*place)
    total = total / divisor
    if output is None or isinstance(output, type | np.dtype | str):
        return total.astype(x.dtype if output is None else output)
    output[...] = total.astype(output.dtype)
    return output


def _taps(weights: Any) -> Any:
    """Weights as an array; numbers in lists count as f64."""
    return weights if hasattr(weights, "dtype") else np.asarray(weights, dtype=np.float64)


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
    taps = _taps(weights)
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
    if size < 1:
        raise ArgumentValueError(f"scipy.ndimage.uniform_filter1d: size {size} is not positive")
    # The sum is divided, not each element: 7 is the mean of sevens, and 6.999… would be cut off to 6.
    return _correlated("uniform_filter1d", input, np.ones(size), axes, output, mode, cval, origin, size)


def _axes_of_weights(
    name: str, x: Any, weights: Any, origin: Any, axes: Any
) -> tuple[tuple[int, ...], list[int]]:
    """The axes along which weights are, which are in the input's order, and their origins.

    SciPy takes the origins in the order of `axes`, but in the input's order where `axes` has all of them.
    """
    along = tuple(range(x.ndim)) if axes is None else normalize_axes(axes, x.ndim)
    if weights.ndim != len(along):
        raise ArgumentValueError(
            f"scipy.ndimage.{name}: weights with {weights.ndim} axes are not for {len(along)}"
        )
    origins = [origin] * len(along) if isinstance(origin, int) else list(origin)
    pairs = sorted(zip(along if len(along) < x.ndim else range(x.ndim), origins, strict=True))
    return tuple(axis for axis, _ in pairs), [shift for _, shift in pairs]


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
    taps = _taps(weights)
    along, origins = _axes_of_weights("correlate", input, taps, origin, axes)
    return _correlated("correlate", input, taps, along, output, mode, cval, origins)


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
    taps = _taps(weights)
    along, origins = _axes_of_weights("convolve", input, taps, origin, axes)
    opposite = [-shift - (size % 2 == 0) for shift, size in zip(origins, taps.shape, strict=True)]
    return _correlated("convolve", input, np.flip(taps), along, output, mode, cval, opposite)

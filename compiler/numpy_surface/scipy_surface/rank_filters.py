"""Minimum, maximum, median and rank filters of `scipy.ndimage` on traced arrays: what its public functions call.

The shifted arrays under the footprint are stacked, so that a filter is a reduction, or a choice after sorting.
"""

from itertools import product
from typing import Any, Final

import numpy as np

from ...arguments.axes import normalize_axes
from ...errors import ArgumentValueError, DTypeError
from ...ir import Constant
from ...nesting import shown
from ...tracing.registry import stands_in_for
from ...tracing.trace import require_trace
from ...tracing.traced_memory import is_traced

_PADDING: Final = {
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "constant": "constant",
    "grid-constant": "constant",
}
"""NumPy's names of SciPy's modes."""


def _each(given: Any, count: int) -> list[Any]:
    """One entry per axis."""
    if isinstance(given, str) or np.ndim(given) == 0:
        return [given] * count
    found = list(given)
    if len(found) != count:
        raise ArgumentValueError(f"scipy.ndimage: {shown(given)} is not for {count} axes")
    return found


def _footprint(given: Any) -> Any:
    """A footprint as NumPy's array; which elements count must not depend on arguments."""
    if not is_traced(given):
        return np.asarray(given, bool)
    if require_trace().is_evaluating:
        return np.asarray(given.concrete(), bool)
    if not isinstance(given.value, Constant):
        raise ArgumentValueError(
            "scipy.ndimage: a footprint must not depend on the arguments of your function"
        )
    return np.asarray(given.value.array, bool)


def _windows(
    x: Any, size: Any, footprint: Any, mode: Any, cval: float, origin: Any, axes: Any
) -> tuple[Any, Any]:
    """The elements under the footprint along a new first axis, in f64, as SciPy compares them; and the footprint."""
    if x.dtype.kind == "c":
        raise DTypeError("scipy.ndimage: complex numbers have no order")
    along = tuple(range(x.ndim)) if axes is None else normalize_axes(axes, x.ndim)
    if footprint is None:
        if size is None:
            raise ArgumentValueError("scipy.ndimage: no footprint or filter size provided")
        footprint = np.ones([int(one) for one in _each(size, len(along))], bool)
    footprint = _footprint(footprint)
    if footprint.ndim != len(along) or not footprint.any():
        raise ArgumentValueError(
            f"scipy.ndimage: a footprint of shape {footprint.shape} is not for {len(along)} axes"
        )
    padded = x.astype(np.float64)
    for axis, width, shift, how in zip(
        along, footprint.shape, _each(origin, len(along)), _each(mode, len(along)), strict=True
    ):
        before = width // 2 + int(shift)
        if how not in _PADDING or not 0 <= before < width:
            raise ArgumentValueError(
                f"scipy.ndimage: mode {shown(how)} with origin {shown(shift)} is not possible"
            )
        widths = [(0, 0)] * x.ndim
        widths[axis] = (before, width - 1 - before)
        if width > 1:
            options: dict[str, Any] = {"constant_values": cval} if _PADDING[how] == "constant" else {}
            padded = np.pad(padded, widths, _PADDING[how], **options)  # type: ignore[call-overload]
    parts: list[Any] = []
    for place in product(*map(range, footprint.shape)):
        if footprint[place]:
            first = [0] * x.ndim
            for axis, number in zip(along, place, strict=True):
                first[axis] = number
            parts.append(padded[tuple(slice(low, low + n) for low, n in zip(first, x.shape, strict=True))])
    return np.stack(parts), footprint


def _delivered(found: Any, x: Any, output: Any) -> Any:
    if output is None or isinstance(output, type | np.dtype | str):
        return found.astype(x.dtype if output is None else output)
    output[...] = found.astype(output.dtype)
    return output


@stands_in_for("ndimage._filters._min_or_max_filter")
def _min_or_max_filter(
    input: Any, size: Any, footprint: Any, structure: Any, output: Any, mode: Any, cval: float, origin: Any,
    minimum: Any, axes: Any = None,
) -> Any:  # fmt: skip
    if structure is not None and footprint is None:
        footprint = np.ones(structure.shape, bool)
    found, footprint = _windows(input, size, footprint, mode, cval, origin, axes)
    if structure is not None:
        heights = structure[footprint].reshape(-1, *[1] * input.ndim)
        found = found - heights if minimum else found + heights
    return _delivered(np.min(found, axis=0) if minimum else np.max(found, axis=0), input, output)


def _register_for_one_axis(name: str, *, minimum: bool) -> None:
    @stands_in_for(f"ndimage.{name}")
    def filtered(
        input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: float = 0.0,
        origin: int = 0,
    ) -> Any:  # fmt: skip
        return _min_or_max_filter(input, size, None, None, output, mode, cval, origin, minimum, (axis,))


_register_for_one_axis("minimum_filter1d", minimum=True)
_register_for_one_axis("maximum_filter1d", minimum=False)


@stands_in_for("ndimage._filters._rank_filter")
def _rank_filter(
    input: Any, rank: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect",
    cval: float = 0.0, origin: Any = 0, operation: str = "rank", axes: Any = None,
) -> Any:  # fmt: skip
    found, _ = _windows(input, size, footprint, mode, cval, origin, axes)
    count = found.shape[0]
    if operation == "median":
        rank = count // 2
    elif operation == "percentile":
        share = rank + 100.0 if rank < 0 else rank
        if not 0 <= share <= 100:
            raise ArgumentValueError(f"scipy.ndimage.percentile_filter: {shown(rank)} is not a percentile")
        rank = count - 1 if share == 100 else int(float(count) * share / 100.0)
    rank = rank + count if rank < 0 else rank
    if not 0 <= rank < count:
        raise ArgumentValueError(
            f"scipy.ndimage.rank_filter: the rank {shown(rank)} is not within {count} elements"
        )
    return _delivered(np.sort(found, axis=0)[rank], input, output)


@stands_in_for("signal.medfilt2d")
def medfilt2d(input: Any, kernel_size: Any = 3) -> Any:
    return _rank_filter(input, 0, kernel_size, mode="constant", operation="median")

"""Axis arguments by NumPy's rules: negative axes count from the end, none may repeat."""

from typing import Any

from ..errors import AxisError, ShapeError
from .option_checks import c_long, integer

_NAMED_AXES = frozenset({"axis1", "axis2", "source", "destination"})
"""The parameters whose names are in NumPy's error."""


def normalize_axis(axis: Any, ndim: int, name: str = "axis") -> int:
    """An axis in [−ndim, ndim) as one in [0, ndim)."""
    chosen = integer(name, c_long(axis))
    if not -ndim <= chosen < ndim:
        prefix = f"{name}: " if name in _NAMED_AXES else ""
        error = AxisError(f"{prefix}axis {chosen} is out of bounds for array of dimension {ndim}")
        error.axis, error.ndim = chosen, ndim
        raise error
    return chosen % ndim


def normalize_axes(axis: Any, ndim: int, name: str = "axis") -> tuple[int, ...]:
    """One axis or several different ones, in the order given."""
    is_several = isinstance(axis, (tuple, list, range)) or getattr(axis, "ndim", 0) == 1
    given = tuple(axis) if is_several else (axis,)
    axes = tuple(normalize_axis(one, ndim, name) for one in given)
    if len(set(axes)) != len(axes):
        raise ShapeError(f"repeated axis in {name}: {tuple(given)}")
    return axes


def axes_or_all(axis: Any, ndim: int) -> tuple[int, ...]:
    """As `normalize_axes`; None stands for every axis."""
    return tuple(range(ndim)) if axis is None else normalize_axes(axis, ndim)

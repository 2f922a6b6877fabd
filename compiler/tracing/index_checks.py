"""Checks of indices: at once where they are known, and otherwise recorded, in programs that check bounds."""

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from os.path import join
from types import FrameType
from typing import Any, Final

import numpy as np

from ..builder import bind_all
from ..callers.user_code import PACKAGE, is_library, user_location
from ..dtypes import INT64
from ..errors import OutOfBoundsError
from ..ir import Constant, Shape, Value
from ..symbolic_size import assuming, is_empty, is_known, joint_shape
from ..value_ops import add, broadcast_to, constant, convert, less, number, where
from .index_progressions import progression_of, value_range_of
from .trace import require_trace

_DOORS: Final = (
    __file__,
    *(
        join(PACKAGE, *path.split("/"))
        for path in (
            "compiler/numpy_surface/arrays/flat.py",
            "compiler/numpy_surface/indexing/indexing_functions.py",
            "compiler/numpy_surface/ownership.py",
            "compiler/numpy_surface/result_order.py",
            "compiler/numpy_surface/ufuncs/ufunc_calls.py",
            "compiler/numpy_surface/ufuncs/ufunc_methods.py",
            "compiler/tracing/indexing.py",
            "compiler/tracing/traced_array.py",
            "runtime/autograd/variable.py",
            "runtime/evaluation/",
            "runtime/staging/",
        )
    ),
    "<__array_function__",
)
"""Code that passes the user's indices on, for ``x[i]`` and ``np.take(x, i)``. It has no indices of its own."""


def check_index(index: Value, length: Any, axis: int) -> None:
    """Record a check of a user's index when the program runs, if the trace checks bounds or the axis may be empty.

    Indices in [−length, length) are valid. Without checks, an index out of bounds means the nearest element, and an
    empty axis has none.
    """
    trace = require_trace()
    if is_empty(index.shape) or not (trace.checks_bounds or not is_known(length >= 1)):
        return
    key = index, str(length), axis
    if key in trace.checked or not _is_users():
        return
    trace.checked.add(key)
    bind_all("check_index", index, length=length, axis=axis)


@contextmanager
def unchecked() -> Generator[None]:
    """Within the block, indices are valid by construction: one of NumPy's modes has moved them into the axis."""
    trace = require_trace()
    before = trace.checks_bounds
    trace.checks_bounds = False
    try:
        yield
    finally:
        trace.checks_bounds = before


def _is_users() -> bool:
    """Whether the user's own code indexes here, rather than a function of Tracemill or NumPy."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_DOORS):
        frame = frame.f_back
    return frame is not None and not is_library(frame.f_code.co_filename)


# ---- places of elements ------------------------------------------------------------------------------


def checked_place(index: Any, dim: Any, axis: int) -> Value:
    """The place of an element along an axis of a computed length. The program also checks the index."""
    bind_all("check_index", number(index, INT64), length=dim, axis=axis)
    return number(index if is_known(index >= 0) else index + dim, INT64)


def wrap_index(index: Value, dim: int, axis: int, places: Sequence[Shape] = ()) -> Value:
    """Indices in [−dim, dim) as indices in [0, dim). Known indices that are out of range are an error.

    Unknown indices of the user are checked when the program runs. `places` are the shapes of all arrays of the index.
    If these broadcast to an empty shape, NumPy checks numbers, but not arrays with axes.
    """
    if index.dtype == np.uint64:
        index = convert_index(index)  # as NumPy does: 2**64 - 1 is the last entry
    trace = require_trace()
    if (ends := trace.ends.get(index)) and is_known(ends[0] >= 0) and is_known(ends[1] < dim):
        return convert_index(index)
    known = trace.concrete(index)
    is_checked = not index.ndim or not any(map(is_empty, places))
    if known is not None and known.size:
        least, most = int(known.min()), int(known.max())
        if is_checked:
            in_range(least, dim, axis)
            in_range(most, dim, axis)
        if isinstance(index, Constant) and least >= 0:
            return convert_index(index)
        if isinstance(index, Constant) and type(dim) is int:
            return constant(np.where(known < 0, known.astype(np.int64) + dim, known), INT64)
    elif known is None and is_checked and not _is_in_range(index, dim, axis):
        check_index(_as_often_as_read(index, places), dim, axis)
    if index.dtype.kind == "u" or (isinstance(index, Constant) and type(dim) is int):
        return convert_index(index)
    index = convert_index(index)
    return where(less(index, 0), add(index, dim), index)


def _as_often_as_read(index: Value, places: Sequence[Shape]) -> Value:
    """The index array, broadcast with the others if one of these may be empty for some sizes."""
    shape = joint_shape(*places) if index.ndim else None
    if shape is None or all(type(dim) is int for dim in shape):
        return index
    return broadcast_to(index, shape)


def _is_in_range(index: Value, dim: Any, axis: int) -> bool:
    """Refuse indices that follow from sizes and are out of range. If that depends on sizes, the answer becomes a guard.

    It is not known whether indices that are also computed from arguments are in range.
    """
    if is_empty(index.shape):
        return True
    trace = require_trace()
    while trace.parent is not None and (outer := trace.outer_value(index)) is not None:
        trace, index = trace.parent, outer
    if trace.depends_on_arguments(index):
        return False
    with assuming(dim >= 1 for dim in index.shape):  # without entries, nothing is out of range
        found = value_range_of(trace, index)
        facts: list[Any] = []
        if found is not None:
            (low, high), facts = found[0], [*found[1]]
            if all(map(is_known, facts)):
                trace.ends[index] = low, high  # other indices may be computed from this one
            facts += low >= -dim, high < dim
            if all(map(is_known, facts)):
                return True
    progression = progression_of(trace, index)
    if progression is not None and progression.ends is not None:
        for entry in progression.ends:
            if not -dim <= entry < dim and progression.count >= 1:
                raise OutOfBoundsError(
                    f"index {entry} is out of bounds for axis {axis} with size {dim}", user_location()
                )
        return True
    if facts and all(facts):
        return True
    known = trace.at_these_sizes(index, "whether an index is out of bounds is not known for other sizes")
    if known is not None and known.size:
        in_range(int(known.min()), dim, axis)
        in_range(int(known.max()), dim, axis)
    return known is not None


def convert_index(index: Value) -> Value:
    return constant(index.array, INT64) if isinstance(index, Constant) else convert(index, INT64)


def fails_when_run(index: Any, dim: Any) -> bool:
    """Whether a number is out of bounds in a branch that may not run, in a program that checks bounds."""
    if type(index) is not int or type(dim) is not int or -dim <= index < dim:
        return False
    trace = require_trace()
    return trace.may_not_run and trace.checks_bounds


def in_range(index: int, dim: int, axis: int) -> int:
    if not -dim <= index < dim:
        raise OutOfBoundsError(
            f"index {index} is out of bounds for axis {axis} with size {dim}", user_location()
        )
    return index if index >= 0 else index + dim

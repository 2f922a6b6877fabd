"""Records checks of the indices that the user's code computes, in programs that check bounds."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from os.path import join
from types import FrameType
from typing import Any, Final

from ..builder import bind_all
from ..callers.user_code import PACKAGE, is_library
from ..ir import Value
from ..symbolic_size import is_empty
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


def check_index(index: Value, length: Any, axis: int, function: str = "") -> None:
    """Record a check of a user's index when the program runs, if the trace checks bounds.

    Indices in [−length, length) are valid; for a `function` that does not count from the end, those in [0, length).
    """
    trace = require_trace()
    if not trace.checks_bounds or is_empty(index.shape):
        return
    key = index, str(length), axis, function
    if key in trace.checked or not _is_users():
        return
    trace.checked.add(key)
    function_of = {"function": function} if function else {}
    bind_all("check_index", index, length=length, axis=axis, **function_of)


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

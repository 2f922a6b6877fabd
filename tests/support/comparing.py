"""What the tests of control flow compare: values of loops and their derivatives, compiled and not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

F32 = np.float32
both_dtypes = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def assert_close(actual: Any, expected: Any, tolerance: float = 1e-9) -> None:
    """Equal in dtype and shape, and but for rounding."""
    ours, theirs = np.asarray(actual), np.asarray(expected)
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    wide = max(tolerance, 1e-5 if ours.dtype == F32 else 0)
    np.testing.assert_allclose(ours, theirs, wide, wide)


def assert_compiled_same(function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function, which is the same compiled."""
    plain = function(*args)
    compiled = tm.compile(function)(*args)
    for ours, theirs in zip(np.atleast_1d(compiled), np.atleast_1d(plain), strict=True):
        assert_close(ours, theirs)
    return plain


ANY: Any = np.ones(2)  # neither a function nor a number of steps

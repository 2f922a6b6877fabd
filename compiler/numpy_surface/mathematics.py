"""Mathematical functions that are more than one ufunc: rounding, clipping, differences, parts of complex numbers."""

from typing import Any

import numpy as np

from ..traced_array import TracedArray
from .reductions import NO_VALUE
from .registry import implements
from .ufuncs import apply, as_array


@implements(np.clip)
def clip(a: Any, a_min: Any = NO_VALUE, a_max: Any = NO_VALUE, out: Any = None, *, min: Any = NO_VALUE,
         max: Any = NO_VALUE, **kwargs: Any) -> TracedArray:  # fmt: skip
    """``minimum(maximum(a, low), high)``; a bound that is None or beyond an integer dtype's range does nothing."""
    low = next((bound for bound in (a_min, min) if bound is not NO_VALUE), None)
    high = next((bound for bound in (a_max, max) if bound is not NO_VALUE), None)
    x = as_array(a)
    if x.dtype.kind in "iu":
        low = None if type(low) is int and low <= np.iinfo(x.dtype).min else low
        high = None if type(high) is int and high >= np.iinfo(x.dtype).max else high
    if low is None and high is None:
        return np.positive(x, out=out, **kwargs)  # type: ignore[no-any-return, call-overload]
    if low is None:
        return np.minimum(x, high, out=out, **kwargs)  # type: ignore[no-any-return, call-overload]
    if high is None:
        return np.maximum(x, low, out=out, **kwargs)  # type: ignore[no-any-return, call-overload]
    return apply(np._core.umath.clip, x, low, high, out=out, **kwargs)  # type: ignore[no-any-return, attr-defined]

"""Window functions, which are constants of their length; the shape parameter of Kaiser's may be traced."""

from typing import Any

import numpy as np

from ..functions import constant
from ..interception import intercepts
from ..traced_array import is_traced
from .creation import intercepts_constants, new_array
from .mathematics import bessel_i0
from .ufuncs import as_array

intercepts_constants("bartlett", "blackman", "hamming", "hanning")
_numpy_kaiser = np.kaiser


@intercepts("kaiser")
def kaiser(M: Any, beta: Any) -> Any:
    if not is_traced(beta) or M <= 1:
        return new_array(constant(_numpy_kaiser(M, 0.0 if is_traced(beta) else beta)))
    half = (M - 1) / 2.0
    bend = np.sqrt(1 - ((np.arange(M) - half) / half) ** 2.0)
    shape: Any = as_array(beta).astype(float)
    return bessel_i0(shape * bend) / bessel_i0(shape)

"""Window functions: constants for a known length, formulas for a symbolic one; Kaiser's shape parameter may be
traced."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...symbolic_size import is_symbolic_shape
from ...tracing.array_values import as_size
from ...tracing.registry import constructs, implements
from ...tracing.traced_memory import is_traced
from ...value_ops import constant
from ..ufuncs.mathematics import bessel_i
from ..ufuncs.ufunc_calls import as_array
from .constructors import arange, constructs_constants, new_array

constructs_constants("bartlett", "blackman", "hamming", "hanning")
_numpy_kaiser = np.kaiser


def _known_length(length: Any) -> Any:
    """A symbolic length of at most 1 as an int; NumPy makes a window of 0 points of any negative one."""
    return int(bool(length == 1)) if is_symbolic_shape((length,)) else length


def _window(name: str, formula: Callable[[Any], Any]) -> None:
    """A window of `M` points, from its formula for positions from −1 to 1."""
    original = getattr(np, name)

    @implements(original)
    def window(M: Any) -> Any:
        length: Any = as_size(M) if is_traced(M) else M
        if length <= 1 or not is_symbolic_shape((length,)):
            return new_array(constant(original(_known_length(length))))
        return formula(arange(1 - length, length, 2) / (length - 1))


_window("bartlett", lambda x: 1 - abs(x))
_window("blackman", lambda x: 0.42 + 0.5 * np.cos(np.pi * x) + 0.08 * np.cos(2.0 * np.pi * x))
_window("hamming", lambda x: 0.54 + 0.46 * np.cos(np.pi * x))
_window("hanning", lambda x: 0.5 + 0.5 * np.cos(np.pi * x))


@constructs("kaiser")
def kaiser(M: Any, beta: Any) -> Any:
    length: Any = as_size(M) if is_traced(M) else M
    if length <= 1 or not (is_traced(beta) or is_symbolic_shape((length,))):
        return new_array(constant(_numpy_kaiser(_known_length(length), 0.0 if is_traced(beta) else beta)))
    half: Any = (length - 1) / 2.0
    bend = np.sqrt(1 - ((arange(length) - half) / half) ** 2.0)
    shape: Any = as_array(beta).astype(float)
    return bessel_i(shape * bend, 0) / bessel_i(shape, 0)

"""The Array API standard's namespace for traced and NumPy arrays: what ``x.__array_namespace__()`` returns.

NumPy's main namespace follows the standard since 2.0, so nearly every function is NumPy's, and constructors make traced
arrays where they are called in a traced function. What the standard (version 2025.12) has and NumPy lacks is added:
sorting in descending order, and the dtype of frequencies. NumPy's other functions are there, too.

>>> import numpy as np, tracemill as tm
>>> def centred(x):
...     xp = x.__array_namespace__()
...     return x - xp.mean(x)
>>> tm.compile(centred)(np.array([1.0, 3.0]))
array([-1.,  1.])
"""

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from ..errors import UnsupportedFunctionError
from ..nesting import shown
from ..tracing.registry import CONSTRUCTORS, method
from ..tracing.trace import current_trace
from ..tracing.traced_array import TracedArray, located
from ..tracing.traced_memory import is_traced

_STANDARD = """
    e inf nan newaxis pi bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64
    complex64 complex128 arange asarray empty empty_like eye from_dlpack full full_like linspace
    meshgrid ones ones_like tril triu zeros zeros_like astype can_cast finfo iinfo isdtype result_type
    abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert
    bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1
    floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p
    log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply
    negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh
    square sqrt subtract tan tanh trunc take take_along_axis matmul matrix_transpose tensordot vecdot
    broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll
    squeeze stack tile unstack argmax argmin count_nonzero nonzero searchsorted where unique_all
    unique_counts unique_inverse unique_values argsort sort cumulative_prod cumulative_sum max mean min
    prod std sum var all any diff linalg fft isin broadcast_shapes __array_namespace_info__
""".split()

VERSION = "2025.12"


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """A sorted copy of an array along an axis. Equal elements are alike, so `stable` changes nothing."""
    ordered = np.sort(x, axis=axis, stable=stable)
    return np.flip(ordered, axis) if descending else ordered


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The positions that sort an array along an axis; those of equal elements in ascending order."""
    if not descending:
        return np.argsort(x, axis=axis, stable=stable)
    backwards = np.argsort(np.flip(x, axis), axis=axis, stable=True)
    return x.shape[axis] - 1 - np.flip(backwards, axis)


def _frequencies(name: str) -> Callable[..., Any]:
    original = getattr(np.fft, name)

    def frequencies(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
        found = original(n, d, device=device)
        return found if dtype is None else np.astype(found, dtype)

    frequencies.__name__ = name
    frequencies.__doc__ = original.__doc__
    return frequencies


class _Info:
    """What `__array_namespace_info__` returns: NumPy's answers, with a tuple of devices."""

    def __init__(self) -> None:
        numpys = np.__array_namespace_info__()
        self.capabilities = numpys.capabilities
        self.default_device = numpys.default_device
        self.default_dtypes = numpys.default_dtypes
        self.dtypes = numpys.dtypes

    def devices(self) -> tuple[str, ...]:
        """The devices whose arrays functions of the namespace make."""
        return ("cpu",)


_FFT = ModuleType("tracemill.array_api.fft", np.fft.__doc__)
_FFT.__getattr__ = lambda name: getattr(np.fft, name)  # type: ignore[method-assign]
for _name in ("fftfreq", "rfftfreq"):
    setattr(_FFT, _name, _frequencies(_name))

_ADDED: dict[str, Any] = {
    "sort": sort,
    "argsort": argsort,
    "fft": _FFT,
    "__array_namespace_info__": _Info,
}
"""What the standard wants otherwise than NumPy has it."""


def _function(name: str) -> Any:
    """The member `name` of the namespace."""
    if name in _ADDED:
        return _ADDED[name]
    original = getattr(np, name)
    traced = CONSTRUCTORS.get(name)
    return original if traced is None else _constructor(name, original, traced)


def _constructor(name: str, original: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def constructor(*args: Any, **kwargs: Any) -> Any:
        first = next(filter(is_traced, args), None)
        if first is not None:
            return first._located(traced, *args, **kwargs)
        return original(*args, **kwargs) if current_trace() is None else located(traced, *args, **kwargs)

    return constructor


def _make_namespace() -> ModuleType:
    """A module that looks up names on use: by then every chapter has registered its functions."""

    def look_up(name: str) -> Any:
        if (name.startswith("__") and name not in _STANDARD) or not (name in _ADDED or hasattr(np, name)):
            raise AttributeError(f"tracemill.array_api has no {name!r}")
        return _function(name)

    namespace = ModuleType("tracemill.array_api", __doc__)
    namespace.__getattr__ = look_up  # type: ignore[method-assign]
    namespace.__dir__ = lambda: sorted(_STANDARD)  # type: ignore[method-assign]
    namespace.__array_api_version__ = VERSION  # type: ignore[attr-defined]
    return namespace


array_api = _make_namespace()
"""The namespace, as a module."""


@method("__array_namespace__")
def array_namespace(x: TracedArray, api_version: str | None = None) -> ModuleType:
    """The standard's namespace for traced arrays; raises `UnsupportedFunctionError` for a version that NumPy lacks."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", VERSION):
        raise UnsupportedFunctionError(
            f"version {shown(api_version)} of the Array API is unknown: use {VERSION!r}"
        )
    return array_api

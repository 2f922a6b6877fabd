"""Methods of arrays without a corresponding NumPy function, and methods that have no meaning for a traced array."""

import builtins
from typing import Any, NoReturn

import numpy as np

from ..dtypes import is_complex, is_supported, real_dtype
from ..errors import ArgumentValueError, DTypeError, ShapeError, UnsupportedFunctionError
from ..nesting import shown
from ..symbolic_size import is_known
from ..tracing.array_values import plain_number, written_value
from ..tracing.registry import method
from ..tracing.traced_array import TracedArray
from ..tracing.views import Bits, Pairs, Parts
from .arrays.constructors import as_dtype, new_array
from .arrays.reshaping import view_of
from .refused import MEMORY


@method("fill")
def fill(a: TracedArray, value: Any) -> None:
    """Write one number to every element."""
    new = written_value(plain_number(value, a.dtype), a.dtype)
    if new.type.size != 1:
        raise ShapeError("fill takes one number")
    a[...] = np.reshape(new_array(new), ())


@method("view")
def view(a: TracedArray, dtype: Any = None, type: Any = None) -> TracedArray:
    """The same memory, optionally with its bits read as another dtype of the same size, or as parts of numbers."""
    if type is not None or (isinstance(dtype, builtins.type) and issubclass(dtype, np.ndarray)):
        raise UnsupportedFunctionError("x.view(type=…) cannot be traced: traced arrays have no subclasses")
    if dtype is None:
        return view_of(a)
    wanted = as_dtype(dtype)
    if is_complex(a.dtype) and wanted == real_dtype(a.dtype):
        return view_of(a, Parts()) if _may_be_parted(a) else _not_contiguous()
    if is_complex(wanted) and a.dtype == real_dtype(wanted):
        if a.ndim and a.shape[-1] % 2 != 0:
            raise ShapeError(f"x.view({wanted}) of {a.type}: the length of the last axis must be even")
        return view_of(a, Pairs()) if _may_be_parted(a) else _not_contiguous()
    if wanted.itemsize != a.itemsize or not is_supported(wanted):
        raise DTypeError(
            f"x.view({wanted}) of {a.type} cannot be traced: the two dtypes must have the same size, or be a "
            "complex one and that of its parts"
        )
    return view_of(a, Bits(wanted))


def _may_be_parted(a: TracedArray) -> bool:
    """Whether the last axis can be seen with another length, as NumPy has it."""
    if not a.ndim:
        raise ShapeError(
            f"x.view of {a.type}: the size of the elements of an array without axes stays as it is"
        )
    strides = a.layout.asked().strides
    return strides is None or is_known(a.shape[-1] == 1) or 0 in a.shape or is_known(strides[-1] == 1)


def _not_contiguous() -> NoReturn:
    raise ShapeError(
        "x.view of a dtype of another size: the last axis must be contiguous: x.copy().view(dtype)"
    )


def _conj(a: TracedArray) -> Any:
    """For a real array, the array itself: unlike ``np.conj(x)``, the method makes no copy."""
    return np.conj(a) if is_complex(a.dtype) else a


method("conj")(_conj)
method("conjugate")(_conj)


@method("sort")
def sort(
    a: TracedArray, axis: int = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None
) -> None:
    """Sort in place."""
    a[...] = np.sort(a, axis=axis, kind=kind, order=order, stable=stable)


@method("partition")
def partition(a: TracedArray, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    """Partition in place."""
    a[...] = np.partition(a, kth, axis=axis, kind=kind, order=order)  # type: ignore[call-overload]


@method("to_device")
def to_device(a: TracedArray, device: str, /, *, stream: Any = None) -> TracedArray:
    """Traced arrays are on the CPU, like NumPy's."""
    if device != "cpu" or stream is not None:
        raise ArgumentValueError(
            f"arrays are on the device 'cpu' and have no stream, not on {shown(device)}: leave it out"
        )
    return a


@method("setflags")
def setflags(
    a: TracedArray, write: bool | None = None, align: bool | None = None, uic: bool | None = None
) -> None:
    if write is not None:
        a.flags.writeable = write


def _refuse(name: str, reason: str) -> None:
    @method(name)
    def refused(a: TracedArray, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedFunctionError(f"x.{name} cannot be traced: {reason}")


for _name in ("byteswap", "resize", "getfield", "setfield"):
    _refuse(_name, MEMORY)

"""`ForeignArray`: arrays outside NumPy's memory. A traced function computes with them as with NumPy arrays."""

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import optree

from ...callers.user_code import user_location
from ...dtypes import is_supported
from ...errors import ArgumentTypeError, ConcretizationError, UnsupportedAttributeError
from ..foreign_memory import ForeignMemory
from ..trace import Trace, current_trace
from ..traced_array import TracedArray, array_on
from ..traced_memory import TracedMemory

COMPILE_OR_COPY = (
    "only compiled functions compute on the device of such arrays: compile the whole, as in tm.compile(tm.grad(f))(x), "
    "or copy the array first, x.numpy()"
)


class ForeignArray(ForeignMemory):
    """In a traced function, operations on such an array are recorded, and the array is an input of the program.

    Elsewhere NumPy's functions get a copy. Operators and methods are errors there, because they look as if they
    computed on the device of the array.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # as NumPy's arrays have none

    def inside(self, what: str) -> TracedArray:
        """The array in the function that is being traced.

        Raises:
            ArgumentTypeError: no function is being traced, so `what` is not possible.
        """
        trace = trace_of_a_function()
        if trace is None:
            raise ArgumentTypeError(
                f"{what} of a {type(self).__name__} of {self.type}: {COMPILE_OR_COPY}", user_location()
            )
        return array_on(trace.storage_of_array(self), self.type)

    def refuse_to_look(self, what: str) -> None:
        """ConcretizationError in a traced function: later calls would rely on the current elements."""
        if trace_of_a_function() is not None:
            raise ConcretizationError(
                f"{what} needs the values of a {type(self).__name__} of {self.type}, which are not known while "
                "tracing, as each call reads them anew. Use np.where or tm.cond instead of `if`, tm.while_loop "
                "instead of `while`, or keep what is needed here in a NumPy array",
                user_location(),
            )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _called(getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _called(function, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}")
        if trace_of_a_function() is None:
            raise UnsupportedAttributeError(
                f"x.{name} of a {type(self).__name__} of {self.type}: {COMPILE_OR_COPY}", user_location()
            )
        return getattr(self.inside(name), name)

    def __getitem__(self, index: Any) -> Any:
        return self.inside("x[…]")[index]

    def __setitem__(self, index: Any, new: Any) -> None:
        self.inside("x[…] = …")[index] = new

    def __iter__(self) -> Iterator[Any]:
        return iter(self.inside("an iteration"))

    def __contains__(self, item: Any) -> bool:
        return item in self.inside("`in`")


def trace_of_a_function() -> Trace | None:
    """The trace of the function that is being traced in this thread; None if none is."""
    trace = current_trace()
    return None if trace is None or trace.is_open_ended else trace


def as_seen_inside(leaf: Any) -> Any:
    """A value that a traced function passes on: an array from outside becomes a traced one."""
    if isinstance(leaf, ForeignArray) and trace_of_a_function() is not None:
        return leaf.inside("a call")
    return leaf.as_argument() if isinstance(leaf, TracedMemory) else in_native_order(leaf)


def in_native_order(leaf: Any) -> Any:
    """An array whose bytes are in the order of the machine: a copy otherwise, to which a function cannot write."""
    if type(leaf) not in (np.ndarray, np.memmap) or leaf.dtype.isnative:
        return leaf
    native = np.dtype(leaf.dtype.type)  # NumPy's own object, which later calls compare by identity
    if not is_supported(native):
        return leaf
    copied = np.asarray(leaf, native)
    copied.flags.writeable = False
    return copied


def _called(function: Any, args: Any, kwargs: Any) -> Any:
    """A NumPy function, recorded on arrays of a traced function or computed on copies."""
    convert = np.asarray if trace_of_a_function() is None else as_seen_inside
    given: Any = args, kwargs
    args, kwargs = optree.tree_map(lambda x: convert(x) if isinstance(x, ForeignArray) else x, given)
    return function(*args, **kwargs)


# ---- operators -----------------------------------------------------------------------------------------

_BINARY = "add sub mul truediv floordiv mod pow matmul lshift rshift and_ or_ xor".split()
_OTHERS = "eq ne lt le gt ge neg pos abs invert".split()


def _install_operators() -> None:
    for name in (*_BINARY, *_OTHERS):
        _install(name.rstrip("_"), getattr(operator, name))
    _install("divmod", divmod)
    for name in (*_BINARY, "divmod"):
        function = divmod if name == "divmod" else getattr(operator, name)
        _install(f"r{name.rstrip('_')}", lambda x, y, function=function: function(y, x))
    for name in _BINARY:
        _install_in_place(f"i{name.rstrip('_')}")


def _install(name: str, function: Any) -> None:
    def operate(self: ForeignArray, *others: Any) -> Any:
        return function(self.inside(name), *others)

    setattr(ForeignArray, f"__{name}__", operate)


def _install_in_place(name: str) -> None:
    def operate(self: ForeignArray, other: Any) -> ForeignArray:
        getattr(operator, name)(self.inside(name), other)
        return self

    setattr(ForeignArray, f"__{name}__", operate)


_install_operators()

"""A namespace of the Array API standard whose every function, operator and index is compiled and then called.

The standard's public tests run on it, in a clone of https://github.com/data-apis/array-api-tests with its submodules::

    export PYTHONPATH=<this repository>/tests:<this repository>/tests/.root
    export ARRAY_API_TESTS_MODULE=numpy_surface.traced_namespace ARRAY_API_TESTS_VERSION=2024.12
    pytest array_api_tests --max-examples 3 --disable-deadline --hypothesis-derandomize

With ``ARRAY_API_TESTS_MODULE=numpy`` they show which of them NumPy itself fails.
"""

import functools
import inspect
import operator
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np

import tracemill as tm

BACKEND = os.environ.get("TRACED_NAMESPACE_BACKEND", "numpy")
AS_THEY_ARE = frozenset(
    "e inf nan newaxis pi bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128 "
    "finfo iinfo isdtype __array_namespace_info__".split()
)
"""Names that take no arrays."""

_OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
_COMPARISONS = "lt le gt ge eq ne".split()
__array_api_version__ = tm.array_api.__array_api_version__


class Array:
    """An array of NumPy's whose operators are compiled."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: Any) -> None:
        self.array = array

    def __repr__(self) -> str:
        return f"Array({self.array!r})"

    def __array_namespace__(self, api_version: str | None = None) -> ModuleType:
        return sys.modules[__name__]

    def __getitem__(self, key: Any) -> Any:
        return compiled(operator.getitem, self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        compiled(operator.setitem, self, key, value)

    def __iter__(self) -> Iterator[Any]:
        return map(wrapped, self.array)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        return compiled(lambda x: x.to_device(device, stream=stream), self)

    @property
    def T(self) -> Any:
        return compiled(lambda x: x.T, self)

    @property
    def mT(self) -> Any:
        return compiled(lambda x: x.mT, self)


def _delegate(name: str) -> Callable[..., Any]:
    return lambda self, *args, **options: getattr(self.array, name)(*args, **options)


def _operator(name: str, *, is_reflected: bool = False) -> Callable[..., Any]:
    function = getattr(operator, name)

    def method(self: Array, *others: Any) -> Any:
        if not all(isinstance(other, Array | int | float | complex) for other in others):
            return NotImplemented
        operands = (*others, self) if is_reflected else (self, *others)
        return compiled(function, *operands)

    return method


for _name in "bool int float complex index len dlpack dlpack_device".split():
    setattr(Array, f"__{_name}__", _delegate(f"__{_name}__"))
for _name in "dtype shape ndim size device".split():
    setattr(Array, _name, property(operator.attrgetter(f"array.{_name}")))
for _name in [
    *_OPERATORS,
    *(f"i{name}" for name in _OPERATORS),
    *_COMPARISONS,
    "neg",
    "pos",
    "invert",
    "abs",
]:
    setattr(Array, f"__{_name}__", _operator(f"__{_name}__"))
for _name in _OPERATORS:
    setattr(Array, f"__r{_name}__", _operator(f"__{_name}__", is_reflected=True))


def compiled(function: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
    """The result of the compiled function; arrays in sequences are arguments, too."""
    arrays: list[Any] = []

    def found(given: Any) -> Callable[[Sequence[Any]], Any]:
        """What takes an argument out of the traced arrays."""
        if isinstance(given, Array):
            arrays.append(given.array)
            return operator.itemgetter(len(arrays) - 1)
        if isinstance(given, list | tuple):
            parts = [found(part) for part in given]
            return lambda traced: type(given)(part(traced) for part in parts)
        if isinstance(given, slice):
            ends = [found(end) for end in (given.start, given.stop, given.step)]
            return lambda traced: slice(*(end(traced) for end in ends))
        return lambda traced: given

    places = [found(given) for given in args]
    named = {name: found(given) for name, given in options.items()}

    def traced(*arrays: Any) -> Any:
        return function(
            *(place(arrays) for place in places), **{name: place(arrays) for name, place in named.items()}
        )

    return wrapped(tm.compile(traced, backend=BACKEND)(*arrays))


def wrapped(result: Any) -> Any:
    """The arrays of a result as `Array`."""
    if isinstance(result, np.ndarray | np.generic):
        return Array(np.asarray(result))
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*map(wrapped, result))
    return type(result)(map(wrapped, result)) if isinstance(result, list | tuple) else result


def _function(owner: Any, name: str) -> Callable[..., Any]:
    original = getattr(owner, name)

    def function(*args: Any, **options: Any) -> Any:
        return compiled(original, *args, **options)

    function.__name__ = name
    with suppress(ValueError):  # a function in C without a signature
        function.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
    return function


class _Extension:
    def __init__(self, name: str) -> None:
        self.owner = getattr(tm.array_api, name)

    def __getattr__(self, name: str) -> Any:
        return _function(self.owner, name)


_extension = functools.cache(_Extension)


def from_dlpack(x: Any, /, **options: Any) -> Any:
    return Array(np.from_dlpack(x, **options))


def result_type(*operands: Any) -> Any:
    return np.result_type(*(x.array if isinstance(x, Array) else x for x in operands))


def can_cast(given: Any, to: Any, /) -> bool:
    return np.can_cast(given.array.dtype if isinstance(given, Array) else given, to)


def __getattr__(name: str) -> Any:
    if name in AS_THEY_ARE:
        return getattr(tm.array_api, name)
    if name in ("linalg", "fft"):
        return _extension(name)
    if name.startswith("__"):
        raise AttributeError(name)
    return _function(tm.array_api, name)

"""What an evaluated array is after its call has ended: a NumPy array, or a number, with the values that it had.

It shares memory with its views, as in NumPy, and with the array from outside that it is a view of. Outside of traces,
its attributes and operations are those of that value. A trace captures the memory like that of any NumPy array.
"""

import copy
import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...compiler.builder import _current, recording
from ...compiler.dtypes import Array
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.tracing.views import Bits, ImaginaryPart, Joined, Pairs, Parts, ReadOnly, RealPart, View
from .evaluated_memory import Evaluated, elements
from .evaluating import Evaluating


def is_value(x: Any) -> bool:
    """Whether an evaluated array is its value now: its call has ended, and no trace runs that would capture it."""
    return _current.builder is None and bool(x._home.has_ended)


def value_after_call(x: Any) -> Any:
    """The value of an evaluated array whose call has ended."""
    memory = x._storage.array_after_call()
    if memory is None:  # what is traced on behalf of the call may not use it
        return x.value
    seen = seen_through(x._views, memory)
    if x.weak is not None:
        return seen.item()
    return seen[()] if x.is_scalar else seen


def with_values(x: Any) -> Any:
    """The same argument, with values instead of the evaluated arrays in it."""
    if type(x) is list or type(x) is tuple:
        return type(x)(map(with_values, x))
    if type(x) is dict:
        return {key: with_values(one) for key, one in x.items()}
    return x.as_argument() if is_traced(x) else x


# ---- views -------------------------------------------------------------------------------------------


def seen_through(views: tuple[View, ...], array: Array) -> Array:
    """The view of a NumPy array that these steps lead to."""
    for is_of_places, steps in _in_groups(views):
        if is_of_places:
            array = _at_places(steps, array)
        else:
            (step,) = steps
            array = _with_other_elements(step, array)
    return array


def _in_groups(views: tuple[View, ...]) -> list[tuple[bool, list[View]]]:
    """The steps; those that select and order elements come in groups, as single ones need not be views in NumPy."""
    groups: list[tuple[bool, list[View]]] = []
    for step in _single_steps(views):
        is_of_places = not isinstance(step, (Bits, RealPart, ImaginaryPart, Parts, Pairs, ReadOnly))
        if is_of_places and groups and groups[-1][0]:
            groups[-1][1].append(step)
        else:
            groups.append((is_of_places, [step]))
    return groups


def _single_steps(views: tuple[View, ...]) -> list[View]:
    return [
        one for step in views for one in (_single_steps(step.steps) if isinstance(step, Joined) else [step])
    ]


def _with_other_elements(step: View, array: Any) -> Array:
    """The same memory as other elements, or as read-only ones."""
    seen: Array
    if isinstance(step, Bits):
        seen = array.view(step.dtype)
    elif isinstance(step, (RealPart, ImaginaryPart)):
        seen = array.real if isinstance(step, RealPart) else array.imag
    elif isinstance(step, (Parts, Pairs)):
        real: Any = np.zeros(0, array.dtype).real
        seen = array.view(real.dtype if isinstance(step, Parts) else np.result_type(real, np.complex64))
    else:
        seen = array.view()
        seen.flags.writeable = False
    return seen


def _at_places(steps: list[View], array: Array) -> Array:
    """The selected elements as a view. If NumPy has none, they are a copy, which is read-only."""
    with recording(Evaluating("views", keeps=False)):
        value: Any = Evaluated(np.arange(array.size).reshape(array.shape))
        for step in steps:
            value = step.read(value)
    places = elements(value)
    if not places.size:
        return np.empty(places.shape, array.dtype)
    entries = np.unravel_index(places, array.shape)
    offsets: Any = sum(
        (entry * stride for entry, stride in zip(entries, array.strides, strict=True)), np.zeros_like(places)
    )
    first = (0,) * places.ndim
    strides = [
        int(offsets[(*first[:axis], 1, *first[axis + 1 :])] - offsets[first]) if dim > 1 else 0
        for axis, dim in enumerate(places.shape)
    ]
    steps_of_axes = np.meshgrid(*map(np.arange, places.shape), indexing="ij", sparse=True)
    strided = offsets[first] + sum(step * at for step, at in zip(strides, steps_of_axes, strict=True))
    if not np.array_equal(offsets, np.broadcast_to(strided, offsets.shape)):
        copied = array.reshape(-1)[places]
        copied.flags.writeable = False
        return copied
    ends: Any = *(slice(int(entry[first]), None) for entry in entries), ...
    start = array[ends]
    is_repeated = any(dim > 1 and not stride for dim, stride in zip(places.shape, strides, strict=True))
    return as_strided(start, places.shape, strides, writeable=bool(array.flags.writeable and not is_repeated))


def reshaped_view(array: Array, shape: Any) -> Array:
    """What ``x.shape = shape`` makes of an array."""
    found = array.reshape(shape)
    if not np.may_share_memory(found, array) and found.size:
        raise AttributeError("the shape cannot be set without a copy: x = x.reshape(shape)")
    return found


# ---- operations --------------------------------------------------------------------------------------


def _call_ufunc(x: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    return getattr(ufunc, method)(*with_values(inputs), **with_values(options))


def _call_function(x: Any, function: Any, types: Any, args: Any, options: Any) -> Any:
    return function(*with_values(args), **with_values(options))


def _as_array(x: Any, dtype: Any = None, copy: "bool | None" = None) -> Array:
    found = np.asarray(x)
    return found.astype(dtype or found.dtype) if copy or dtype not in (None, found.dtype) else found


def _pickled(x: Any) -> Any:
    return copy.copy, (x,)


def _swapped(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, other: function(other, x)


_SYMBOLS: Final = "add sub mul truediv floordiv mod pow matmul lshift rshift and_ or_ xor"
_OPERATIONS: Final[dict[str, Callable[..., Any]]] = {
    **{f"__{name.strip('_')}__": getattr(operator, name) for name in _SYMBOLS.split()},
    **{f"__r{name.strip('_')}__": _swapped(getattr(operator, name)) for name in _SYMBOLS.split()},
    **{f"__i{name.strip('_')}__": getattr(operator, f"i{name.strip('_')}") for name in _SYMBOLS.split()},
    **{
        f"__{name}__": getattr(operator, name)
        for name in "eq ne lt le gt ge neg pos abs invert index getitem setitem contains".split()
    },
    **{f"__{kind.__name__}__": kind for kind in (int, float, complex, len, iter, round, divmod)},
    **{f"__{name}__": getattr(math, name) for name in ("floor", "ceil", "trunc")},
    "__rdivmod__": _swapped(divmod),
    "__copy__": copy.copy,
    "__deepcopy__": copy.deepcopy,
    "__reduce__": _pickled,
    "__array__": _as_array,
    "__array_ufunc__": _call_ufunc,
    "__array_function__": _call_function,
    "item": lambda x, *index: x.item(*index),
    "tolist": lambda x: x.tolist(),
}
_ATTRIBUTES: Final = "T mT real imag flat flags strides".split()


def with_operations_after_call(cls: type[Any]) -> None:
    """Let a class of evaluated arrays do on their values what it inherits for arrays in traces."""
    for name, operation in _OPERATIONS.items():
        if hasattr(cls, name) and getattr(cls, name) is not getattr(object, name, None):
            setattr(cls, name, _operation(getattr(cls, name), operation))
    for name in _ATTRIBUTES:
        setattr(cls, name, _attribute(getattr(cls, name), name))


def _operation(inside: Callable[..., Any], on_values: Callable[..., Any]) -> Callable[..., Any]:
    def called(self: Any, *args: Any, **options: Any) -> Any:
        if _current.builder is None and self._home.has_ended:
            return on_values(self._outside, *map(with_values, args), **options)
        return inside(self, *args, **options)

    return called


def _attribute(inside: Any, name: str) -> Any:
    def get(self: Any) -> Any:
        return getattr(self._outside, name) if is_value(self) else inside.fget(self)

    def set_(self: Any, new: Any) -> None:
        if is_value(self):
            setattr(self._outside, name, with_values(new))
        else:
            inside.fset(self, new)

    return property(get, set_ if inside.fset is not None else None)

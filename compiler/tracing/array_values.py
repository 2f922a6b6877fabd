"""Values for what NumPy takes as arrays, numbers, sizes and indices."""

import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from ..builder import bind
from ..callers.user_code import user_location
from ..dtypes import INT64, Array, DType, is_supported
from ..errors import (
    ArgumentTypeError,
    IndexTypeError,
    ShapeError,
    UndecidedDimError,
)
from ..ir import Constant, Value
from ..nesting import shown
from ..symbolic_size import SymbolicFact, SymbolicSize
from ..value_ops import concatenate, convert, expand_dims, transpose
from .foreign_memory import ForeignMemory
from .rows import columns_of, last_rows, stack_of
from .size_values import size_of_value
from .trace import array_type, require_trace
from .traced_memory import TracedMemory, contains_size, contains_traced, is_traced
from .value_lengths import length_of

PYTHON_NUMBERS = (bool, int, float, complex)


def as_value(x: Any, weak_dtype: DType | None = None) -> Value:
    """The value of an argument where NumPy takes an array: a traced or NumPy array, a number, or a nested sequence.

    Python numbers and weak scalars become `weak_dtype` if it is given.
    """
    if isinstance(x, TracedMemory):
        return _weak_value(x, weak_dtype) if x.weak and weak_dtype is not None else x.value
    if isinstance(x, Value):
        return x
    if isinstance(x, np.generic):
        array_type(np.asarray(x))
        return Constant(x)
    if isinstance(x, (np.ndarray, ForeignMemory)):
        return _value_of_array(x)
    if isinstance(x, PYTHON_NUMBERS):
        if weak_dtype is not None and not isinstance(x, bool):
            return Constant(_number_of(x, weak_dtype))
        if isinstance(x, int) and not -(2**63) <= x < 2**64:
            raise ArgumentTypeError(f"no integer dtype holds {shown(x)}: give a float", user_location())
        return Constant(x)
    if isinstance(x, (list, tuple)):
        return stack_nested(x)
    return _symbolic_value(x, weak_dtype)


def _value_of_array(x: Array | ForeignMemory) -> Value:
    """A captured array. A view of a written array shows what was written."""
    if isinstance(x, np.ndarray) and type(x) not in (np.ndarray, np.memmap):
        raise ArgumentTypeError(
            f"a {type(x).__name__} has other rules than a plain array, so it cannot meet a traced one: {plain_form(x)}",
            user_location(),
        )
    trace = require_trace()
    if not x.dtype.isnative and is_supported(np.dtype(x.dtype.type)):
        return as_value(np.asarray(x, np.dtype(x.dtype.type)))
    adopted: TracedMemory | None = None
    if not isinstance(x, ForeignMemory):
        adopted = trace.outermost().adopted_view(x)
    return trace.storage_of_array(x).value if adopted is None else adopted.value


def plain_form(x: Array) -> str:
    """What to write for an array of a subclass, such as a matrix."""
    if isinstance(x, np.ma.MaskedArray):
        return "use x.filled(fill_value), or x.data and x.mask"
    return "use np.asarray(x)"


def _number_of(x: Any, dtype: DType) -> Array:
    """A Python number in the dtype of the array that it meets."""
    if dtype.kind == "b":
        return np.asarray(x).astype(dtype)
    try:
        return np.asarray(x, dtype)
    except TypeError:
        raise ArgumentTypeError(
            f"{dtype} cannot hold the complex number {shown(x)}: give its real part", user_location()
        ) from None


def _symbolic_value(x: Any, weak_dtype: DType | None) -> Value:
    """A symbolic size, or a comparison of sizes as the bool that ``if`` would get."""
    if isinstance(x, SymbolicSize):
        return size_value(x, weak_dtype) if fits_64_bits(x) else as_value(operator.index(x), weak_dtype)
    if isinstance(x, SymbolicFact):
        return Constant(bool(x))
    if (elements := getattr(type(x), "__traced_elements__", None)) is not None:
        return as_value(elements(x))
    fix = ". Convert it outside of the function, np.asarray(x)" if hasattr(type(x), "__dlpack__") else ""
    raise ArgumentTypeError(
        f"expected an array, not {type(x).__name__}: {shown(x, 80)}{fix}", user_location()
    )


def _weak_value(x: TracedMemory, dtype: DType) -> Value:
    """A Python number in the dtype of the operand that it meets."""
    check_fits(x, dtype)
    return convert(x.value, dtype)


def size_value(size: Any, dtype: DType | None = None) -> Value:
    """A symbolic size as a number."""
    if dtype is None:
        return bind("size", of=size)
    check_fits(size, dtype)
    return convert(bind("size", of=size), dtype)


def written_value(x: Any, dtype: DType) -> Value:
    """A value to write to an array of this dtype. Python numbers in it, also in lists, must fit the dtype."""
    check_fits(x, dtype)
    return as_value(x, dtype)


def plain_number(x: Any, dtype: DType) -> Any:
    """A real NumPy scalar as a Python number, for a write to signed integers, which must hold it.

    NumPy checks both alike there, but lets its scalars wrap around in unsigned integers.
    """
    return x.item() if dtype.kind == "i" and isinstance(x, (np.integer, np.floating)) else x


def check_fits(x: Any, dtype: DType) -> None:
    """Refuse Python numbers and sizes that an integer dtype cannot hold, also in lists, as NumPy does."""
    if dtype.kind not in "iu":
        return
    if isinstance(x, (list, tuple)):
        for one in x:
            check_fits(plain_number(one, dtype), dtype)
    elif type(x) in (int, float):
        np.asarray(x, dtype)
    elif isinstance(x, SymbolicSize):
        _check_size_fits(x, dtype)
    elif isinstance(x, TracedMemory) and x.weak is int and dtype != INT64:
        trace, value = x._trace, x.value
        size = size_of_value(trace, value)
        if size is None and not trace.depends_on_arguments(value):  # such as a power
            size = int(trace.at_these_sizes(value))  # type: ignore[arg-type]
        check_fits(size, dtype)


def _check_size_fits(size: Any, dtype: DType) -> None:
    if dtype == INT64:
        return  # sizes are no larger
    limits = np.iinfo(dtype)
    is_above = dtype.itemsize < INT64.itemsize and not size <= int(limits.max)
    if is_above or not size >= int(limits.min):
        with suppress(UndecidedDimError):  # if no declared size fits
            size = operator.index(size)
        raise OverflowError(f"Python integer {size!r} out of bounds for {dtype}")


def fits_64_bits(size: SymbolicSize) -> bool:
    """Whether a size fits the 64 bits in which a program computes it."""
    return not size.may_overflow or (size >= -(2**63) and size <= 2**63 - 1)  # type: ignore[operator]


def as_size(x: Any) -> Any:
    """A length, an index or a count: an int, or a symbolic size, even if it has become a number of the program."""
    if type(x) is int or isinstance(x, SymbolicSize):
        return x
    if is_traced(x):
        found = size_of_value(x._trace, x.value)
        if found is not None:
            return found
        if is_computed(x):
            return length_of(convert(x.value, INT64))
    return operator.index(x)


def array_from(x: Any) -> Any:
    """``np.array(x)`` without traced arrays."""
    try:
        return np.array(x)
    except ValueError:
        raise ShapeError(
            f"expected an array, or lists of equal lengths that make one, not {shown(x)}", user_location()
        ) from None


def stack_nested(items: Any) -> Value:
    """``np.array`` of a nested sequence that may hold traced arrays."""
    if not (contains_traced(items) or contains_size(items)):
        array = array_from(items)
        if array.dtype == object:
            raise ArgumentTypeError("arrays of Python objects cannot be traced", user_location())
        array_type(array)
        return Constant(array)
    if columns := columns_of(items):
        columns_first = stack_nested(columns)
        return transpose(columns_first, (1, 0, *range(2, columns_first.ndim)))
    items = [
        x if type(x) is not list or (rows := stack_of(x)) is None else TracedMemory(*rows) for x in items
    ]
    alone = len(items) - last_rows(items)
    parts = [expand_dims(as_value(item), 0) for item in items[:alone]]
    if (rows := stack_of(items[alone:])) is not None:
        parts.append(TracedMemory(*rows).value)
    if len(parts) == 1:
        return parts[0]
    dtype = np.result_type(*[part.dtype for part in parts])
    return concatenate([convert(part, dtype) for part in parts], 0)


def weak_or_dtype(x: Any, value: Value) -> Any:
    """What stands for this operand in NumPy's promotion: a Python number if it is weak, otherwise a dtype."""
    if isinstance(x, TracedMemory) and x.weak and x.weak is not bool:
        return x.weak(0)
    if isinstance(x, SymbolicSize):
        return 0
    return x if isinstance(x, PYTHON_NUMBERS) and not isinstance(x, bool) else value.dtype


def index_items(index: Any) -> list[Any]:
    """An index expression as a list of ints, slices, None, Ellipsis and integer or bool values."""
    return [_index_item(item) for item in (index if isinstance(index, tuple) else (index,))]


def _index_item(item: Any) -> Any:
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, slice):
        ends = (item.start, item.stop, item.step)
        traced = any(isinstance(end, TracedMemory) for end in ends)
        return slice(*map(_slice_end, ends)) if traced else item
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return int(item)
    if isinstance(item, SymbolicSize):
        return item
    if isinstance(item, range):
        item = np.array(item, np.intp)
    if not isinstance(item, _INDEX_ARRAYS):
        return _index_item(_number_of_object(item))
    value = as_value(np.asarray(item, np.intp) if isinstance(item, (list, tuple)) and not item else item)
    if value.dtype.kind not in "iub":
        raise index_type_error(str(value.type))
    if value.ndim == 0 and value.dtype.kind != "b":
        trace = require_trace()
        known = trace.concrete(value)
        if known is not None:
            return int(known)
        size = size_of_value(trace, value)
        return value if size is None else size
    return value


def _number_of_object(x: Any) -> Any:
    """What the ``__index__`` of an object returns: an int, or a number of the program."""
    as_index = getattr(type(x), "__index__", None)
    found = None if as_index is None else as_index(x)
    if isinstance(found, bool) or not (isinstance(found, int | SymbolicSize) or is_traced(found)):
        raise index_type_error(type(x).__name__)
    return found


def _slice_end(end: Any) -> Any:
    """An end or the step of a slice: an int, a size, or a number that the program computes."""
    if not is_traced(end):
        return end
    found = size_of_value(end._trace, end.value)
    if found is None and is_computed(end):
        return convert(end.value, INT64)
    return operator.index(end) if found is None else found


def is_computed(x: TracedMemory) -> bool:
    """Whether an integer is known only when the program runs."""
    if x.ndim or x.dtype.kind not in "iu" or x._known_here() is not None:
        return False
    return not x._trace.numbers_used_by(x.value)


_INDEX_ARRAYS = (TracedMemory, Value, np.ndarray, np.generic, ForeignMemory, bool, list, tuple)


def index_type_error(what: str) -> IndexTypeError:
    return IndexTypeError(
        "only integers, slices (`:`), ellipsis (`...`), None and integer or boolean arrays are valid indices, "
        f"not {what}",
        user_location(),
    )


def refuse_several(array: Any, convert: Callable[[Any], Any]) -> None:
    """Refuse an array with axes if NumPy cannot convert one of its shape to a number, with NumPy's text."""
    if not array.shape or any(type(length) is not int for length in array.shape):
        return
    try:
        convert(np.broadcast_to(np.zeros((), array.dtype), array.shape))
    except TypeError as error:
        raise ArgumentTypeError(str(error), user_location()) from None
    except ValueError as error:
        raise ShapeError(str(error), user_location()) from None

"""Array creation: constructors in a traced function, with or without traced arguments."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...builder import bind, bind_all
from ...dtypes import FLOAT64, INT64, DType
from ...errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError
from ...ir import ArrayType, Shape, Value
from ...memory_layout.layout import NOTHING_ASKED, Layout, dense_layout, layout_of
from ...memory_layout.result_layouts import copied_order, order_of, stride_order
from ...nesting import shown
from ...symbolic_size import SymbolicSize, is_symbolic_shape, max_expr
from ...tracing.array_values import as_size, as_value, check_fits, is_computed
from ...tracing.exceptions.huge_arrays import refuse_huge
from ...tracing.outside.adoption import captured_array, traced_replacement
from ...tracing.registry import FUNCTIONS, constructs, implements, method, place_in_numpy
from ...tracing.size_values import size_of_value
from ...tracing.trace import array_type, require_trace
from ...tracing.traced_array import TracedArray, wrap
from ...tracing.traced_memory import contains_size, contains_traced, is_numpy_array, is_traced
from ...tracing.value_lengths import length_at_least_0
from ...tracing.views import NewAxes
from ...value_ops import add, broadcast_to, constant, convert, equal, full, iota, multiply, subtract, where

MOST_ENTRIES = 2.0**62
"""No array has more."""


def new_array(value: Value, order: Sequence[int] | None = None, like: Layout | None = None) -> TracedArray:
    """A new array; unlike a result of arithmetic it can be written to even if it is 0-d.

    It is row-major, or has another `order` of axes in memory, taken from the layout `like`.
    """
    refuse_huge(value.type)
    if order is None or value.ndim < 2:
        return wrap(value, is_scalar=False)
    questions = NOTHING_ASKED if like is None else like.questions
    return wrap(value, is_scalar=False, layout=dense_layout(value.shape, tuple(order), questions))


def check_order(order: Any, allowed: str = "CFAK") -> str:
    """``order=`` as a letter; raises `ArgumentValueError` if it is not one of NumPy's."""
    if order is None:
        return allowed[-1]
    letter = order.upper() if isinstance(order, str) else order
    if not isinstance(letter, str) or len(letter) != 1 or letter not in allowed:
        raise ArgumentValueError(f"order must be one of {', '.join(map(repr, allowed))}, not {shown(order)}")
    return letter


def copied(value: Value, array: Any, order: Any) -> TracedArray:
    """A new array with the contents of `value`, in the memory order of ``np.array(array, order=order)``."""
    layout = _layout_in_memory(array)
    if layout is None or len(layout.shape) != value.ndim:
        return new_array(value, range(value.ndim)[::-1] if order == "F" else None)
    if layout.is_row_major and not layout.questions and order != "F":
        return new_array(value)
    return new_array(value, copied_order(layout, order), layout)


def as_shape(shape: Any) -> Shape:
    """A shape from an int or a sequence of ints."""
    return tuple(map(as_size, shape)) if np.iterable(shape) else (as_size(shape),)


def _new_shape(shape: Any, dtype: DType) -> Shape:
    """The shape of a new array. One that is too large is refused before it is filled."""
    found = as_shape(shape)
    if any(type(length) is int and length < 0 for length in found):
        raise ShapeError("negative dimensions are not allowed")
    if not is_symbolic_shape(found):
        refuse_huge(ArrayType(dtype, found))
    return found


def as_dtype(dtype: Any, default: DType = FLOAT64) -> DType:
    """The requested dtype of a constructor; raises `DTypeError` if it cannot be traced."""
    chosen = default if dtype is None else np.dtype(dtype)
    array_type(np.empty((), chosen))
    return chosen


def _filled(name: str, fill: int) -> None:
    def constructor(shape: Any, dtype: Any = None, order: str = "C", **options: Any) -> TracedArray:
        chosen = as_dtype(dtype)
        return copied(full(_new_shape(shape, chosen), fill, chosen), None, check_order(order, "CF"))

    def like(
        a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **options: Any
    ) -> Any:
        type = as_value(a).type
        chosen = as_dtype(dtype, type.dtype)
        filled = full(type.shape if shape is None else _new_shape(shape, chosen), fill, chosen)
        return _copied_like(filled, a, check_order(order), shape)

    constructs(name)(constructor)
    implements(getattr(np, name))(constructor)
    implements(getattr(np, f"{name}_like"))(like)
    constructs(f"{name}_like")(like)


_filled("zeros", 0)
_filled("ones", 1)
_filled("empty", 0)


@constructs("full")
@implements(np.full)
def full_(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **options: Any) -> TracedArray:
    filled = _fill(fill_value, None if dtype is None else as_dtype(dtype))
    return copied(broadcast_to(filled, _new_shape(shape, filled.dtype)), None, check_order(order, "CF"))


@constructs("full_like")
@implements(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
              **options: Any) -> TracedArray:  # fmt: skip
    type = as_value(a).type
    filled = _fill(fill_value, as_dtype(dtype, type.dtype))
    filled = broadcast_to(filled, type.shape if shape is None else _new_shape(shape, filled.dtype))
    return _copied_like(filled, a, check_order(order), shape)


def _copied_like(value: Value, a: Any, order: str, shape: Any) -> TracedArray:
    """An array like `a` with the contents of `value`. In another shape, the strides of axes of length 1 in `a` count,
    too."""
    layout = _layout_in_memory(a)
    if shape is None or order != "K" or layout is None:
        return copied(value, a, order)
    for letter in "CF":
        if layout.is_contiguous(letter):
            return copied(value, a, letter)
    if len(layout.shape) != value.ndim:
        return new_array(value)
    return new_array(value, stride_order(layout.asked_wholly()), layout)


def _layout_in_memory(a: Any) -> Layout | None:
    """The layout of an array; None for objects that still have to become one."""
    return a.layout if is_traced(a) else layout_of(a) if is_numpy_array(a) else None


def _fill(fill: Any, dtype: DType | None) -> Value:
    """The fill value of an array. As in NumPy, a Python int that the dtype cannot hold is an error."""
    if dtype is None:
        return as_value(fill)
    is_weak = isinstance(fill, (int, SymbolicSize)) and dtype.kind != "b"
    return convert(as_value(fill, dtype if is_weak else None), dtype)


_NO_COPY_NEEDED = (None, False, np._CopyMode.NEVER, np._CopyMode.IF_NEEDED)


@constructs("array")
@implements(np.array)
def array(object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", ndmin: int = 0,
          **options: Any) -> TracedArray:  # fmt: skip
    """A copy of any array-like object, including nested sequences of traced arrays; the object itself if no copy is
    needed."""
    letter = check_order(order)
    if copy in _NO_COPY_NEEDED:
        object = _traced_memory(object)
    if isinstance(object, TracedArray) and copy in _NO_COPY_NEEDED and _fits(object, dtype, letter):
        return _with_axes(object, ndmin, letter)
    if copy is False or copy is np._CopyMode.NEVER:
        raise ArgumentValueError(
            "Unable to avoid copy while creating an array as requested: leave out copy=False"
        )
    value = as_value(object)
    chosen = as_dtype(dtype, value.dtype)
    check_fits(object, chosen)
    if letter == "A" and chosen != value.dtype:  # NumPy's conversion has no such order
        letter = "K"
    result = copied(convert(value, chosen), object, letter)
    return _with_axes(result, ndmin, letter)


def _with_axes(array: TracedArray, ndmin: int, order: str) -> TracedArray:
    """The array, viewed with new leading axes if it has fewer than `ndmin`."""
    missing = ndmin - array.ndim
    if missing <= 0:
        return array
    layout = array.layout
    is_column_major = order == "F" or (layout.is_contiguous("F") and not layout.is_contiguous("C"))
    return array.through(NewAxes(missing, is_column_major))


def _fits(array: TracedArray, dtype: Any, order: str) -> bool:
    """Whether it has this dtype and memory order, so that no copy is needed. A NumPy scalar becomes an array."""
    if array.is_scalar or (dtype is not None and np.dtype(dtype) != array.dtype):
        return False
    return order in "KA" or array.layout.is_contiguous(order)


def _traced_memory(x: Any) -> Any:
    """The traced array that stands for one of NumPy's, through which its memory is shared; all else as it is."""
    x = traced_replacement(x)
    return captured_array(require_trace(), x) if is_numpy_array(x) else x


def _as_array(name: str, forced: str | None = None) -> None:
    @constructs(name)
    @implements(getattr(np, name))
    def asarray(
        a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, **options: Any
    ) -> Any:
        """The array itself if it has that dtype and memory order, otherwise a copy."""
        result = array(_traced_memory(a), dtype, copy=copy, order=forced or order)
        return np.atleast_1d(result) if forced else result


_as_array("asarray")
_as_array("asanyarray")
_as_array("ascontiguousarray", "C")
_as_array("asfortranarray", "F")
_asarray = FUNCTIONS[np.asarray]

_REQUIREMENTS = {
    "C": "C", "C_CONTIGUOUS": "C", "CONTIGUOUS": "C",
    "F": "F", "F_CONTIGUOUS": "F", "FORTRAN": "F",
    "A": "A", "ALIGNED": "A", "W": "W", "WRITEABLE": "W", "O": "O", "OWNDATA": "O", "E": "E", "ENSUREARRAY": "E",
}  # fmt: skip


@constructs("require")
@implements(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None, **options: Any) -> Any:
    """Like `numpy.asarray`. A copy is made for another memory order, of a read-only array, and of a view."""
    wanted = {_REQUIREMENTS[str(one).upper()] for one in requirements or ()}
    if {"C", "F"} <= wanted:
        raise ArgumentValueError("Cannot specify both 'C' and 'F' order")
    result = _asarray(a, dtype, order="C" if "C" in wanted else "F" if "F" in wanted else "A")
    flags = result.flags
    if ("W" in wanted and not flags.writeable) or ("O" in wanted and not flags.owndata):
        return array(result, order="C" if "C" in wanted else "F" if "F" in wanted else "A")
    return result


def constants_of(result: Any) -> Any:
    """Arrays, alone or in a tuple or list, as traced constants in the same memory order."""
    if isinstance(result, (tuple, list)):
        return type(result)(map(constants_of, result))
    if not is_numpy_array(result):
        return result
    array = new_array(constant(result), order_of(result))
    return array if result.flags.owndata else array.through()


def constructs_constants(*names: str) -> None:
    """Constructors whose arguments are usually known: NumPy's own result, as constants.

    With traced arguments, the function that is registered for the protocol runs instead, if there is one.
    """
    for name in names:
        module, short = place_in_numpy(name)
        constructs(name)(_constant_or_traced(getattr(module, short)))


def _constant_or_traced(original: Any) -> Callable[..., Any]:
    def constructor(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if any(map(contains_traced, given)) or any(map(contains_size, given)):
            if original in FUNCTIONS:
                return FUNCTIONS[original](*args, **kwargs)
            args, kwargs = tuple(map(known_number, args)), {k: known_number(v) for k, v in kwargs.items()}
        return constants_of(original(*args, **kwargs))

    return constructor


def known_number(x: Any) -> Any:
    """A traced but known, or symbolic, size as an int for this call; an error if it is not known."""
    is_size = isinstance(x, SymbolicSize) or (is_traced(x) and x.dtype.kind in "iu")
    return operator.index(x) if is_size else x


def _known_size(x: Any) -> Any:
    """A traced but known size as a number; one that the program computes stays."""
    if not is_traced(x) or x.dtype.kind not in "iu":
        return x
    return x if is_computed(x) and size_of_value(require_trace(), x.value) is None else as_size(x)


@constructs("arange")
@implements(np.arange)
def arange(*args: Any, dtype: Any = None, **kwargs: Any) -> TracedArray:
    """Evenly spaced numbers; a separate op if it counts from 0."""
    given, args = (*args, *kwargs.values()), tuple(map(_known_size, args))
    if dtype is None and any(getattr(x, "dtype", None) == np.uint64 for x in given):
        dtype = FLOAT64  # NumPy's type of them and the int64 numbers 0 and 1
    kwargs = {name: _known_size(x) for name, x in kwargs.items() if name not in ("device", "like")}
    if len(args) == 1 and not kwargs and isinstance(args[0], int):
        if args[0] >= MOST_ENTRIES:
            np.arange(args[0])  # raises NumPy's own error
        return new_array(bind("iota", length=max(args[0], 0), dtype=as_dtype(dtype, np.dtype(np.intp))))
    if contains_traced([*args, *kwargs.values()]):
        return _computed_range(*args, dtype=dtype, **kwargs)
    if is_symbolic_shape((*args, *kwargs.values())):
        return _symbolic_range(*args, dtype=dtype, **kwargs)
    return new_array(constant(np.arange(*args, dtype=dtype, **kwargs)))


def _symbolic_range(start: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> TracedArray:
    """``arange`` with an end that is a symbolic size; combined with floats, its value for this call counts."""
    if stop is None:
        start, stop = 0, start
    given = (start, stop, step)
    if not all(isinstance(x, (int, np.integer, SymbolicSize)) for x in given):
        return _symbolic_range_of_floats(given, dtype)
    ahead, stride = (stop - start, step) if step > 0 else (start - stop, -step)
    length = (ahead + stride - 1) // stride if ahead >= 0 else 0
    positions = bind("iota", length=length, dtype=INT64)
    if type(step) is not int or step != 1:
        positions = multiply(positions, step)
    if type(start) is not int or start != 0:
        positions = add(positions, start)
    default = np.result_type(0, *[x for x in given if isinstance(x, np.integer)])
    chosen = as_dtype(dtype, default)
    # NumPy computes the others from the first two, and lets them wrap.
    for count, entry in enumerate((start, start + step)):
        if isinstance(entry, SymbolicSize) and chosen.kind in "iu" and chosen != INT64 and length > count:
            check_fits(entry, chosen)
    return new_array(convert(positions, chosen))


def _computed_range(start: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> TracedArray:
    """``arange`` with ends that the program computes."""
    if stop is None:
        start, stop = 0, start
    given = (start, stop, step)
    values = [as_value(x) for x in given]
    kinds = "".join(value.dtype.kind for value in values)
    if any(value.ndim for value in values) or not set(kinds) <= set("iubf"):
        raise ArgumentTypeError(
            f"arange: ends and steps are real numbers, not {', '.join(str(v.type) for v in values)}"
        )
    default = FLOAT64 if "f" in kinds else INT64
    if default == INT64:
        start, stop, step = (wrap(convert(value, INT64)) for value in values)
        entries = stop if type(given[0]) is int and given[0] == 0 else stop - start
        if not (type(given[2]) is int and given[2] == 1):
            bind_all("raise_if", (step == 0).value, error="ZeroDivisionError('division by zero')")
            entries = -(-entries // step)
    else:
        entries = np.ceil((stop - start) / step)
        refused = "ValueError('Maximum allowed size exceeded')"
        bind_all("raise_if", np.logical_not(np.abs(entries) < MOST_ENTRIES).value, error=refused)
    count = convert(as_value(entries), INT64)
    known = require_trace().concrete(count)
    length = length_at_least_0(count) if known is None else max(int(known), 0)
    chosen = as_dtype(dtype, default)
    place = iota(length, INT64)
    if default == INT64 and type(given[0]) is type(given[2]) is int and given[::2] == (0, 1):
        return new_array(convert(place, chosen))
    # NumPy computes the others from the first two.
    first, second = (convert(as_value(x), chosen) for x in (start, start + step))
    others = add(multiply(convert(place, chosen), subtract(second, first)), first)
    return new_array(where(equal(place, 1), second, others))


def _symbolic_range_of_floats(given: tuple[Any, Any, Any], dtype: Any) -> TracedArray:
    """Like `_symbolic_range`. Steps that are not multiples of 1/256 are rounded, so the number of entries is only
    known for this call."""
    parts = [x * 256 for x in given]
    are_exact = all(
        isinstance(x, SymbolicSize | int) or (isinstance(x, float) and x.is_integer()) for x in parts
    )
    if not are_exact or as_dtype(dtype) != FLOAT64:
        known = [operator.index(x) if isinstance(x, SymbolicSize) else x for x in given]
        return new_array(constant(np.arange(*known, dtype=dtype)))
    ends: Any = [x if isinstance(x, SymbolicSize) else int(x) for x in parts]
    first, last, stride = ends
    positions: Any = _symbolic_range(0, max_expr(-((first - last) // stride), 0))
    return new_array(convert((positions * given[2] + given[0]).value, FLOAT64))


@implements(np.copy)
def copy(a: Any, order: Any = "K", subok: bool = False) -> TracedArray:
    return copied(as_value(a), a, check_order(order))


@method("copy")
def copy_method(a: TracedArray, order: Any = "C") -> TracedArray:
    """``x.copy()``, which is row-major by default, unlike ``np.copy(x)``."""
    return copied(a.value, a, check_order(order))


@method("astype")
@implements(np.astype)
def astype(x: TracedArray, dtype: Any, order: Any = "K", casting: str = "unsafe", subok: bool = True,
           copy: bool = True, **options: Any) -> TracedArray:  # fmt: skip
    if not isinstance(x, TracedArray):
        raise ArgumentTypeError(f"astype: x must be an array, not {type(x).__name__}: {shown(x)}")
    chosen, letter = as_dtype(dtype), check_order(order)
    if casting != "unsafe" and not np.can_cast(x.dtype, chosen, casting):  # type: ignore[arg-type]
        raise DTypeError(f"cannot cast {x.dtype} to {chosen} with casting rule {casting!r}")
    is_in_order = letter != "A" or x.layout.is_contiguous("C") or x.layout.is_contiguous("F")
    if not copy and _fits(x, chosen, letter) and is_in_order:
        return x
    if x.is_scalar:
        return x if not copy and chosen == x.dtype else wrap(convert(x.value, chosen))
    return copied(convert(x.value, chosen), x, letter)

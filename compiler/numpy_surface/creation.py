"""Array creation: constructors in a traced function, with or without traced arguments."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import FLOAT64, INT64, DType
from ..errors import DataDependentShapeError
from ..functions import add, broadcast_to, constant, convert, full, multiply
from ..interception import intercepts, place_in_numpy
from ..ir import Shape, Value
from ..symbolic_size import SymbolicSize, is_symbolic_shape, maximum
from ..trace import bind
from ..traced_array import (
    TracedArray,
    array_on,
    as_size,
    as_value,
    check_fits,
    contains_size,
    contains_traced,
    is_numpy_array,
    is_traced,
    wrap,
)
from ..tracing import array_type, require_trace
from .registry import FUNCTIONS, implements, method


def new_array(value: Value) -> TracedArray:
    """A fresh array; unlike a result of arithmetic it can be written to even if it is 0-d."""
    return wrap(value, is_scalar=False)


def as_shape(shape: Any) -> Shape:
    """A shape from an int or a sequence of ints."""
    return tuple(map(as_size, shape)) if np.iterable(shape) else (as_size(shape),)


def as_dtype(dtype: Any, default: DType = FLOAT64) -> DType:
    """The dtype that a constructor was asked for; `DTypeError` if it cannot be traced."""
    chosen = default if dtype is None else np.dtype(dtype)
    array_type(np.empty((), chosen))
    return chosen


def _filled(name: str, fill: int) -> None:
    def constructor(shape: Any, dtype: Any = None, order: str = "C", **options: Any) -> TracedArray:
        return new_array(full(as_shape(shape), fill, as_dtype(dtype)))

    def like(
        a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **options: Any
    ) -> Any:
        type = as_value(a).type
        chosen = type.shape if shape is None else as_shape(shape)
        return new_array(full(chosen, fill, as_dtype(dtype, type.dtype)))

    intercepts(name)(constructor)
    implements(getattr(np, name))(constructor)
    implements(getattr(np, f"{name}_like"))(like)
    intercepts(f"{name}_like")(like)


_filled("zeros", 0)
_filled("ones", 1)
_filled("empty", 0)


@intercepts("full")
@implements(np.full)
def full_(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", **options: Any) -> TracedArray:
    wanted = None if dtype is None else as_dtype(dtype)
    return new_array(broadcast_to(_fill(fill_value, wanted), as_shape(shape)))


@intercepts("full_like")
@implements(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None,
              **options: Any) -> TracedArray:  # fmt: skip
    type = as_value(a).type
    chosen = type.shape if shape is None else as_shape(shape)
    return new_array(broadcast_to(_fill(fill_value, as_dtype(dtype, type.dtype)), chosen))


def _fill(fill: Any, dtype: DType | None) -> Value:
    """What arrays are filled with. As in NumPy, a Python int that the dtype does not hold is an error."""
    if dtype is None:
        return as_value(fill)
    is_weak = isinstance(fill, (int, SymbolicSize)) and dtype.kind != "b"
    return convert(as_value(fill, dtype if is_weak else None), dtype)


_NO_COPY_NEEDED = (None, False, np._CopyMode.NEVER, np._CopyMode.IF_NEEDED)


@intercepts("array")
@implements(np.array)
def array(object: Any, dtype: Any = None, *, copy: bool | None = True, order: str = "K", ndmin: int = 0,
          **options: Any) -> TracedArray:  # fmt: skip
    """A copy of anything array-like, nested sequences of traced arrays included."""
    if (
        is_traced(object)
        and copy in _NO_COPY_NEEDED
        and (dtype is None or np.dtype(dtype) == object.dtype)
        and ndmin <= object.ndim
    ):
        return object  # type: ignore[no-any-return]
    value = as_value(object)
    chosen = as_dtype(dtype, value.dtype)
    check_fits(object, chosen)
    value = convert(value, chosen)
    if value.ndim < ndmin:
        value = bind("reshape", value, shape=(*(1,) * (ndmin - value.ndim), *value.shape))
    return new_array(value)


def _as_array(name: str) -> None:
    @intercepts(name)
    @implements(getattr(np, name))
    def asarray(
        a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, **options: Any
    ) -> Any:
        """The array itself where it is one of that dtype, else a copy."""
        if is_numpy_array(a) and not copy and (dtype is None or np.dtype(dtype) == a.dtype):
            return array_on(require_trace().storage_of_array(a), array_type(a))
        result = array(a, dtype, copy=copy or False)
        return np.atleast_1d(result) if name == "ascontiguousarray" else result


for _name in ("asarray", "asanyarray", "ascontiguousarray", "asfortranarray"):
    _as_array(_name)
_asarray = FUNCTIONS[np.asarray]  # kept, because `np.asarray` is intercepted during a trace


@intercepts("require")
@implements(np.require)
def require(a: Any, dtype: Any = None, requirements: Any = None, **options: Any) -> Any:
    """As `numpy.asarray`; a copy if ``"O"`` (own data) is asked for. A traced array has no other memory layout."""
    wanted = {requirements} if isinstance(requirements, str) else set(requirements or ())
    owns = any(str(one).upper() in ("O", "OWNDATA") for one in wanted)
    return array(a, dtype, copy=True) if owns else _asarray(a, dtype)


def constants_of(result: Any) -> Any:
    """Arrays, alone or in a tuple or list, as traced constants."""
    if isinstance(result, (tuple, list)):
        return type(result)(map(constants_of, result))
    return new_array(constant(result)) if is_numpy_array(result) else result


def intercepts_constants(*names: str) -> None:
    """Constructors whose arguments are usually known: NumPy's own result, as constants.

    With traced arguments the function that is registered for the protocol runs instead, if there is one.
    """
    for name in names:
        module, short = place_in_numpy(name)
        intercepts(name)(_constant_or_traced(getattr(module, short)))


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
    """A size that is traced but known, or symbolic, as an int for the call at hand; an error if it is not known."""
    is_size = isinstance(x, SymbolicSize) or (is_traced(x) and x.dtype.kind in "iu")
    return operator.index(x) if is_size else x


def _known_size(x: Any) -> Any:
    """A size that is traced but known, as a number; an error if it is not known."""
    return as_size(x) if is_traced(x) and x.dtype.kind in "iu" else x


@intercepts("arange")
@implements(np.arange)
def arange(*args: Any, dtype: Any = None, **kwargs: Any) -> TracedArray:
    """Evenly spaced numbers; an op of its own where it counts from 0."""
    args = tuple(map(_known_size, args))
    kwargs = {name: _known_size(x) for name, x in kwargs.items() if name not in ("device", "like")}
    if len(args) == 1 and not kwargs and isinstance(args[0], int):
        return new_array(bind("iota", length=max(args[0], 0), dtype=as_dtype(dtype, np.dtype(np.intp))))
    if contains_traced([*args, *kwargs.values()]):
        raise DataDependentShapeError(
            "np.arange gives an array whose length depends on values: np.arange(n) * step + start has n of them"
        )
    if is_symbolic_shape((*args, *kwargs.values())):
        return _symbolic_range(*args, dtype=dtype, **kwargs)
    return new_array(constant(np.arange(*args, dtype=dtype, **kwargs)))


def _symbolic_range(start: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> TracedArray:
    """``arange`` where an end is a symbolic size; beside floats it is what it is for the call at hand."""
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
    # NumPy makes the others of the first two, and lets them wrap.
    for count, entry in enumerate((start, start + step)):
        if isinstance(entry, SymbolicSize) and chosen.kind in "iu" and chosen != INT64 and length > count:
            check_fits(entry, chosen)
    return new_array(convert(positions, chosen))


def _symbolic_range_of_floats(given: tuple[Any, Any, Any], dtype: Any) -> TracedArray:
    """As `_symbolic_range`. What is no multiple of 1/256 is rounded, so only this call tells how many there are."""
    parts = [x * 256 for x in given]
    are_exact = all(
        isinstance(x, SymbolicSize | int) or (isinstance(x, float) and x.is_integer()) for x in parts
    )
    if not are_exact or as_dtype(dtype) != FLOAT64:
        known = [operator.index(x) if isinstance(x, SymbolicSize) else x for x in given]
        return new_array(constant(np.arange(*known, dtype=dtype)))
    ends: Any = [x if isinstance(x, SymbolicSize) else int(x) for x in parts]
    first, last, stride = ends
    positions: Any = _symbolic_range(0, maximum(-((first - last) // stride), 0))
    return new_array(convert((positions * given[2] + given[0]).value, FLOAT64))


@method("copy")
@implements(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> TracedArray:
    return new_array(as_value(a))


@method("astype")
@implements(np.astype)
def astype(x: TracedArray, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True,
           copy: bool = True, **options: Any) -> TracedArray:  # fmt: skip
    chosen = as_dtype(dtype)
    if not copy and chosen == x.dtype:
        return x
    return wrap(convert(x.value, chosen), is_scalar=x.is_scalar)

"""`TracedArray`: what the user's function gets instead of an array while it is traced."""

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NoReturn, TypeGuard

import numpy as np

from ..builder import bind
from ..callers.subscripts import subscript_at_work
from ..callers.user_code import user_location, why_not_converted
from ..dtypes import INT64, Array, DType, is_inexact
from ..errors import (
    ArgumentTypeError,
    ConcretizationError,
    ImmutableScalarError,
    IndexTypeError,
    ReadOnlyError,
    ShapeError,
    SharedMemoryError,
    TracemillError,
    UndecidedDimError,
    UnsupportedAttributeError,
    UnsupportedFunctionError,
)
from ..ir import ArrayType, Constant, Shape, Value
from ..memory_layout.array_flags import Flags
from ..memory_layout.layout import Layout, row_major
from ..memory_layout.result_layouts import elementwise_layout
from ..nesting import MOST_AXES, named, refuse_deep, shown
from ..symbolic_size import SymbolicFact, SymbolicSize, is_known
from ..told_values import TELLING
from ..value_ops import broadcast_to, concatenate, convert, expand_dims, full, reshape, transpose
from .at_hand import guarded_value
from .foreign_memory import ForeignMemory
from .indexing import Gather, Selection, masked_part, select
from .registry import FUNCTIONS, METHODS, REFUSED, UFUNCS
from .rows import columns_of, last_rows, stack_of
from .sharing import invalidate_shared, write
from .size_values import comparison_of_value, ratio_of_value, rounded_quotient, size_of_value
from .trace import Storage, Trace, array_type, current_trace, require_trace
from .value_lengths import length_of
from .views import Bits, ImaginaryPart, ReadOnly, RealPart, Transpose, View, is_flagged_read_only

PYTHON_NUMBERS = (bool, int, float, complex)


class TracedArray:
    """Represents an array whose elements are not known yet. It behaves like a NumPy array and records its operations.

    ``shape``, ``dtype``, ``ndim`` and ``size`` are known. A read gives the current value of the memory that this array
    shares with its views, and a write replaces it.
    """

    __slots__ = (
        "_is_reshaped", "_known_value", "_layout", "_storage", "_unknown_owner", "_version", "_views", "is_scalar",
        "type", "weak",
    )  # fmt: skip
    __array_priority__ = 1000.0

    def __init__(
        self,
        storage: Storage,
        type: ArrayType,
        views: tuple[View, ...] = (),
        *,
        is_scalar: bool = False,
        weak: "type[Any] | None" = None,
    ) -> None:
        self._storage = storage
        self._views = views
        self.type = type
        self.is_scalar = is_scalar
        """Whether NumPy would return a scalar here, which cannot be written to."""
        self.weak = weak
        """The Python type (int, float, complex) of a weak number, which takes the dtype of the array that it meets."""
        self._unknown_owner = ""
        """The NumPy function that made this array, if it is not known whether its result owns its memory."""
        self._is_reshaped = False
        """Whether its views come from ``x.shape = …``, which does not make a new array."""
        self._version = -1
        self._known_value: Value | None = None
        self._layout: Layout | None = None

    # ---- reading and writing -----------------------------------------------------------------------

    @property
    def _trace(self) -> Trace:
        """The trace in which this array can be used now."""
        return require_trace()

    def _located(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function of the NumPy surface on this array. Errors of Tracemill get the user's line."""
        return located(function, *args, **kwargs)

    @property
    def value(self) -> Value:
        """The current value, in the current trace."""
        if self._storage.unreadable:
            raise SharedMemoryError(f"an array is used that {self._storage.unreadable}", user_location())
        trace = self._trace
        storage = trace.shadow(self._storage)
        if storage is self._storage and self._version == storage.version and self._known_value is not None:
            return self._known_value
        value = storage.value
        for view in self._views:
            value = view.read(value)
        if storage is self._storage:
            self._known_value, self._version = value, storage.version
        return value

    def write(self, new: Value) -> None:
        """Replace the elements, through all views down to the memory."""
        if self.is_scalar:
            raise ImmutableScalarError("a NumPy scalar does not support item assignment", user_location())
        if self._storage.shared_with:
            invalidate_shared(self._storage, user_location())
        argument = self._storage.argument
        if argument is not None:
            argument.asked_writeable = True
            if not argument.writeable:
                raise ReadOnlyError(
                    f"{argument.name} is read-only, and is written to: pass a copy, or write to x.copy()",
                    user_location(),
                )
        storage = self._trace.shadow(self._storage)
        if storage.is_input and not storage.version:
            Trace.first_write(storage)
        bases = [storage.value]
        for view in self._views:
            bases.append(view.read(bases[-1]))
        new = broadcast_to(convert(new, self.dtype), self.shape)
        for view, base in zip(reversed(self._views), reversed(bases[:-1]), strict=True):
            new = view.write(base, new)
        write(storage, new)

    def through(self, *views: View, is_scalar: bool = False) -> "TracedArray":
        """An array that shares this one's memory through `views`. Without any, it is still a view, as ``x[:]``."""
        views = views or (Bits(self.dtype),)
        value = self.value
        for step in views:
            value = step.read(value)
        return array_on(self._storage, value.type, (*self._views, *views), is_scalar=is_scalar)

    @property
    def layout(self) -> Layout:
        """The layout that this array has in NumPy."""
        layout = self._storage.layout
        if not self._views:
            return layout or row_major(self.type.shape)
        found: Layout | None = self._layout
        if found is None:
            made: Layout = layout or row_major(self._storage.value.shape)
            for view in self._views:
                made = view.layout(made)
            self._layout = found = made
        return found

    @property  # type: ignore[misc]  # object's can be assigned to, which nothing here needs
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """`np.ndarray`, so that ``isinstance(x, np.ndarray)`` gives the same answer as without tracing."""
        return TracedArray if self.is_scalar else np.ndarray

    # ---- attributes --------------------------------------------------------------------------------

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @shape.setter
    def shape(self, new: Any) -> None:
        """The same memory in another shape, if that needs no copy."""
        reshaped = np.reshape(self, new, copy=False)
        self._is_reshaped = self._is_reshaped or not self._views
        self._views, self.type, self._version = reshaped._views, reshaped.type, -1  # type: ignore[attr-defined]
        self._layout = None

    @property
    def flat(self) -> Any:
        return METHODS["flat"](self)

    @flat.setter
    def flat(self, new: Any) -> None:
        self.flat[...] = new

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @dtype.setter
    def dtype(self, new: Any) -> None:
        """The same memory as another dtype of the same size."""
        seen = self.view(new)
        self._views, self.type, self._version = seen._views, seen.type, -1
        self._layout = None

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    @property
    def size(self) -> int:
        return self.type.size

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in bytes, as in NumPy."""
        found = self.layout
        if any(is_known(dim <= 1) for dim in found.shape):
            found.asked_wholly()
        strides = found.asked().strides
        if strides is None:
            raise UnsupportedAttributeError("x.strides of this array is not known", user_location())
        return tuple(stride * self.itemsize for stride in strides)

    @property
    def _owns_memory(self) -> bool:
        """Whether this is not a view, as far as the trace shows."""
        return self._is_reshaped or all(isinstance(view, ReadOnly) for view in self._views)

    @property
    def flags(self) -> Flags:
        """The flags, as in NumPy: contiguity, and whether the array is writeable."""
        is_read_only = any(map(is_flagged_read_only, self._views))
        owndata, writeable = self._owns_memory, not (self.is_scalar or is_read_only)
        argument = self._storage.argument
        if argument is not None:
            argument.asked_owndata = argument.asked_writeable = True
            owndata, writeable = owndata and argument.owndata, writeable and argument.writeable
        return Flags(self.layout, owndata=owndata, writeable=writeable, unknown_owner=self._unknown_owner)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.type.nbytes

    @property
    def T(self) -> "TracedArray":
        return self.through(Transpose(tuple(reversed(range(self.ndim)))), is_scalar=self.is_scalar)

    @property
    def mT(self) -> "TracedArray":
        if self.ndim < 2:
            raise ShapeError(f"x.mT needs at least 2 axes, not {self.type}", user_location())
        *front, rows, columns = range(self.ndim)
        return self.through(Transpose((*front, columns, rows)))

    @property
    def real(self) -> "TracedArray":
        return self.through(RealPart()) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, new: Any) -> None:
        self.real[...] = new

    @property
    def imag(self) -> "TracedArray":
        if self.dtype.kind == "c":
            return self.through(ImaginaryPart())
        layout = elementwise_layout(self.shape, [self.layout])
        zeros = wrap(full(self.shape, 0, self.dtype), is_scalar=self.is_scalar, layout=layout)
        return zeros if self.is_scalar else zeros.through(ReadOnly())

    @imag.setter
    def imag(self, new: Any) -> None:
        if self.dtype.kind != "c":
            raise ArgumentTypeError("only complex arrays have an imaginary part to set", user_location())
        self.imag[...] = new

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentTypeError("len() of a 0-d array", user_location())
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise ArgumentTypeError("iteration over a 0-d array", user_location())
        return (self[i] for i in range(operator.index(self.shape[0])))

    def __repr__(self) -> str:
        return self._told("!r") or f"TracedArray({self.type})"

    def __str__(self) -> str:
        return self._told("!s") or f"TracedArray({self.type})"

    def _told(self, form: str) -> str:
        """The mark for the value in the message of an exception that is being made; empty elsewhere."""
        told = TELLING.get()
        return "" if told is None or self._known_here() is not None else told.mark(self, form)

    def __getattr__(self, name: str) -> Any:
        function = METHODS.get(name)
        if function is None:
            function = _numpy_function_for_method(name)
        if function is None:
            if name in _NO_MEMORY:
                raise UnsupportedAttributeError(
                    f"x.{name} cannot be traced: a traced array has no memory of its own", user_location()
                )
            raise AttributeError(f"a traced array has no attribute {name!r}")
        return _bound(function, self)

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *METHODS, *_SAME_AS_FUNCTION})

    # ---- indexing ----------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return self._located(self._get, index)

    def __setitem__(self, index: Any, new: Any) -> None:
        self._located(self._set, index, new)

    def _get(self, index: Any) -> Any:
        selection = select(self.shape, index_items(index))
        views: tuple[View, ...] = selection.views
        if selection.gather is not None:
            views = (*views, selection.gather)
        if not (selection.is_copy or selection.is_element or _has_0d_array(index)):
            return self.through(*views)
        value = self.value
        for step in views:
            value = step.read(value)
        copy = wrap(
            value, is_scalar=selection.is_element, layout=self._layout_of_copy(selection, value.shape)
        )
        is_transposed = selection.gather is not None and selection.gather.place > 0
        return copy.through() if is_transposed else copy

    def _layout_of_copy(self, selection: Selection, shape: Shape) -> Layout | None:
        """The memory order of a selection by integer arrays: as in NumPy, the axes of these arrays come first."""
        if selection.gather is None or len(shape) < 2:
            return None
        layout = self.layout
        for view in selection.views:
            layout = view.layout(layout)
        return selection.gather.copied(layout, shape)

    def _set(self, index: Any, new: Any) -> None:
        if self.is_scalar:
            raise ImmutableScalarError("a NumPy scalar does not support item assignment", user_location())
        items = index_items(index)
        is_basic = not any(isinstance(item, Value) for item in items)
        update = written_value(plain_number(new, self.dtype) if is_basic else new, self.dtype)
        masked = masked_part(self.shape, items, update)
        if masked is None:
            self.at_index(items, update, "set")
        else:
            part = self.through(*masked.views)
            part.write(masked.written(part.value, convert(update, self.dtype)))

    def at_index(self, items: list[Any], update: Value, mode: str) -> None:
        """Combine `update` into the elements that an index selects: "set", "add", "multiply" …"""
        selection = select(self.shape, items)
        target = self.through(*selection.views)
        if selection.gather is None and mode == "set":
            target.write(_fitted(convert(update, self.dtype), target.shape))
            return
        gather = selection.gather or Gather((), (), 0)
        current = target.value
        shape = gather.read(current).shape
        target.write(gather.combine(current, _fitted(convert(update, self.dtype), shape), mode))

    # ---- Python's questions ------------------------------------------------------------------------

    def concrete(self) -> Any:
        """The elements if they are known while tracing; otherwise None."""
        return self._trace.concrete(self.value)

    def _known_here(self) -> Any:
        """The elements if they are known for the sizes of this call, which become guards; otherwise None."""
        known = self.concrete()
        if known is None and (size := size_of_value(self._trace, self.value)) is not None:
            known = np.asarray(operator.index(size))
        if known is None and (comparison := comparison_of_value(self._trace, self.value)) is not None:
            known = np.asarray(bool(comparison))
        return self._trace.at_these_sizes(self.value) if known is None else known

    def _need(self, what: str, hint: str = "") -> Any:
        """The elements for Python."""
        known = self._known_here()
        if known is None:
            known = guarded_value(self._trace, self.value, what)
        if known is None:
            error = ConcretizationError(
                f"{what} needs the value of a traced {self.type}, which is not known while tracing. Use np.where or "
                "tm.cond instead of `if`, tm.while_loop instead of `while`, a NumPy function instead of one of `math`, "
                f"or make the argument static{hint}",
                user_location(),
            )
            error.numbers = self._trace.numbers_behind(self.value)
            raise error
        return known

    def __bool__(self) -> bool:
        return bool(self._need("bool(x), as in `if` or `while`,"))

    def __int__(self) -> int:
        self._check_place(_WHERE_NUMBERS_ARE_STORED)
        return int(self._need("int(x)"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise ArgumentTypeError(
                f"only integer scalar arrays can be used as an index or a size, not {self.type}. "
                "A list takes no others: np.asarray(entries)[i]",
                user_location(),
            )
        self._check_place(_WHERE_INTS_ARE_PLACES)
        return int(
            self._need("an index or a size", ". tm.fori_loop(0, n, …) stands for a loop over range(n)")
        )

    def __float__(self) -> float:
        self._check_place(_WHERE_NUMBERS_ARE_STORED)
        self._refuse_to_detach("float(x)")
        return float(self._need("float(x)"))

    def __complex__(self) -> complex:
        self._check_place(_WHERE_NUMBERS_ARE_STORED)
        self._refuse_to_detach("complex(x)")
        return complex(self._need("complex(x)"))

    def __round__(self, ndigits: int | None = None) -> Any:
        """``round(x)`` of a scalar. Without `ndigits`, it is an int, or a size if `x` is computed from sizes."""
        if not self.is_scalar:
            raise ArgumentTypeError("round(x) takes no arrays: use np.round", user_location())
        if ndigits is not None:
            return np.round(self, ndigits)
        ratio = ratio_of_value(self._trace, self.value)
        return int(np.rint(self)) if ratio is None else rounded_quotient(*ratio)

    def __trunc__(self) -> int:
        return int(self)

    def __floor__(self) -> Any:
        """``math.floor(n / 2)``. It is a size if `n` is one."""
        ratio = ratio_of_value(self._trace, self.value)
        return math.floor(float(self)) if ratio is None else ratio[0] // ratio[1]

    def __ceil__(self) -> Any:
        """``math.ceil(n / 2)``. It is a size if `n` is one."""
        ratio = ratio_of_value(self._trace, self.value)
        return math.ceil(float(self)) if ratio is None else -(-ratio[0] // ratio[1])

    def __format__(self, spec: str) -> str:
        """The number of a known scalar, as under `grad`; otherwise what print shows."""
        if text := self._told(f":{spec}"):
            return text
        known = self._trace.at_these_sizes(self.value) if self.is_scalar else None
        if known is None and not spec:
            return super().__format__(spec)
        return str(self) if known is None else format(known[()], spec)

    def item(self, *index: int) -> Any:
        self._refuse_to_detach("x.item()")
        return self._need("x.item()").item(*index)

    def tolist(self) -> Any:
        self._refuse_to_detach("x.tolist()")
        return self._need("x.tolist()").tolist()

    def _check_place(self, fixes: Mapping[str, tuple[str, str]]) -> None:
        """Refuse an unknown index, with a message that says what to write instead."""
        if self.concrete() is not None:  # the user's code is only examined for an error
            return
        place: str | None = subscript_at_work()
        if place is None or place not in fixes or self._known_here() is not None:
            return
        if place == "entry" and "mask" in fixes:
            if self.dtype.kind not in "iub":
                raise _index_type_error(str(self.type))
            place = "mask" if self.dtype.kind == "b" else place
        what, fix = fixes[place]
        error = ConcretizationError(
            f"{what} a traced {self.type}, whose value is not known while tracing: {fix}", user_location()
        )
        error.numbers = self._trace.numbers_behind(self.value)
        raise error

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._check_place(_WHERE_ARRAYS_ARE_PLACES)
        self._refuse_to_detach("turning a traced array into a NumPy array", _IN_A_LIST)
        return np.array(self._need("turning it into a NumPy array", _IN_A_LIST), dtype)

    def _refuse_to_detach(self, what: str, hint: str = "") -> None:
        """Refuse to make a Python number from a traced argument, because its derivative would silently be lost."""
        if is_inexact(self.dtype) and self._trace.depends_on_arguments(self.value):
            raise ConcretizationError(
                f"{what} of a traced {self.type} leaves the trace, and with it the derivative. Use a NumPy function "
                "instead of one of `math`, np.where instead of `if`, and to store it in, arrays made inside the "
                "function (np.zeros, …), or np.asarray(w) for an array w from outside"
                + hint
                + why_not_converted(),
                user_location(),
            )

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            "a traced array cannot be pickled: return it from the function instead", user_location()
        )

    def __hash__(self) -> int:
        self._check_place(_LOOKED_UP)
        raise ArgumentTypeError(
            f"a traced {self.type} cannot be hashed, as NumPy's arrays cannot: keep it in a list or as a value of a "
            "dict, not as a key or in a set",
            user_location(),
        )

    def __copy__(self) -> "TracedArray":
        """A new array in the same memory order, unlike ``x.copy()``."""
        if self.is_scalar:
            return wrap(self.value)
        copy: TracedArray = METHODS["copy"](self, order="K")
        return copy

    def __deepcopy__(self, memo: Any) -> "TracedArray":
        return self.__copy__()

    # ---- NumPy's protocols -------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self._located(UFUNCS["call"], ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        implementation = FUNCTIONS.get(function)
        if implementation is None:
            name = getattr(function, "__name__", str(function))
            reason = REFUSED.get(name, "Tracemill does not know it")
            raise UnsupportedFunctionError(f"np.{name} cannot be traced: {reason}", user_location())
        return self._located(implementation, *args, **kwargs)


def located(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of the NumPy surface. Errors of Tracemill get the user's line."""
    try:
        try:
            return function(*args, **kwargs)
        except RecursionError:
            refuse_deep(named(args, kwargs))
            raise
    except TracemillError as error:
        if error.location is None:
            error.locate(user_location())
        raise


def _fitted(value: Value, shape: Shape) -> Value:
    """`value` broadcast for an assignment, where NumPy also drops leading axes of length 1."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = reshape(value, value.shape[1:])
    return broadcast_to(value, shape)


def _has_0d_array(index: Any) -> bool:
    """Whether an index holds an array without axes. NumPy treats it as an integer, but makes a copy."""
    items = index if isinstance(index, tuple) else (index,)
    return any(
        isinstance(i, (np.ndarray, TracedArray, ForeignMemory))
        and not (i.shape or getattr(i, "is_scalar", False))
        for i in items
    )


def _bound(function: Callable[..., Any], array: TracedArray) -> Callable[..., Any]:
    def method(*args: Any, **kwargs: Any) -> Any:
        return array._located(function, array, *args, **kwargs)

    return method


_IN_A_LIST = (
    ". Ufuncs and their methods do not look into lists: np.logical_and.reduce(np.stack([x, y])) instead of "
    "np.logical_and.reduce([x, y])"
)
_ASARRAY = "np.asarray(table)[i] = … writes to a NumPy array in a traced function"
_WHERE_INTS_ARE_PLACES = {
    "entry": (
        "a list or a tuple is indexed by",
        "np.asarray(entries)[i] takes one of several numbers, or arrays of one shape, and tm.switch(i, functions) "
        "calls one of several functions",
    ),
    "slice": (
        "a slice begins or ends at",
        "its length must be known. np.take(x, i + np.arange(3)) are 3 entries from `i` on, and "
        "np.where(np.arange(len(x)) < i, x, 0) keeps the shape",
    ),
    "write": (
        "a list or a slice is written to at",
        f"{_ASARRAY}, and np.asarray(table)[i + np.arange(3)] = … to several entries. Lists can only be written to at "
        "known places",
    ),
}
_WHERE_ARRAYS_ARE_PLACES = {
    "entry": (
        "a NumPy array is indexed by",
        "np.take(table, i) instead of table[i], or np.asarray(table)[i]",
    ),
    "mask": (
        "a NumPy array is indexed by",
        "np.where(mask, table, fill) keeps the shape, and tracemill.numpy.extract(mask, table, size=) has a known one",
    ),
    "write": ("a NumPy array is written to by, or at,", _ASARRAY),
}
_WHERE_NUMBERS_ARE_STORED = {"write": _WHERE_ARRAYS_ARE_PLACES["write"]}
_LOOKED_UP = {
    "entry": ("a dict is looked up by", "np.take(table, i) of an array, or tm.switch(i, functions)"),
    "write": ("a dict is written to at", f"an array can be the table: {_ASARRAY}"),
}
_NO_MEMORY = frozenset(("base", "ctypes", "data"))
_SAME_AS_FUNCTION = frozenset(
    """
    all any argmax argmin argpartition argsort choose clip conj conjugate cumprod cumsum diagonal dot
    max mean min nonzero prod ptp put ravel repeat reshape round searchsorted squeeze std sum swapaxes
    take trace transpose var
    """.split()
)


def _numpy_function_for_method(name: str) -> Callable[..., Any] | None:
    """NumPy's function of the same name and argument order, which dispatches back to Tracemill."""
    return getattr(np, name) if name in _SAME_AS_FUNCTION else None


# ---- between traced arrays and values ----------------------------------------------------------------


def wrap(
    value: Value,
    *,
    is_scalar: bool | None = None,
    weak: "type[Any] | None" = None,
    layout: Layout | None = None,
) -> TracedArray:
    """A new array that holds `value`. By default, a 0-d result is a scalar, as in NumPy.

    It is row-major, unless another `layout` is given.
    """
    scalar = value.ndim == 0 if is_scalar is None else is_scalar
    return array_on(require_trace().new_storage(value, layout), value.type, is_scalar=scalar, weak=weak)


def array_on(
    storage: Storage,
    type: ArrayType,
    views: tuple[View, ...] = (),
    *,
    is_scalar: bool = False,
    weak: "type[Any] | None" = None,
) -> TracedArray:
    """An array on `storage`, of the array class of its trace."""
    array_class = storage.trace.array_class or TracedArray
    array: TracedArray = array_class(storage, type, views, is_scalar=is_scalar, weak=weak)
    return array


def is_traced(x: Any) -> bool:
    return isinstance(x, TracedArray)


def is_numpy_array(x: Any) -> TypeGuard[Array]:
    """Whether `x` is a NumPy array. `isinstance` cannot tell, because it is also true of traced arrays."""
    return isinstance(x, np.ndarray) and not is_traced(x)


def as_value(x: Any, weak_dtype: DType | None = None) -> Value:
    """The value of an argument where NumPy takes an array: a traced or NumPy array, a number, or a nested sequence.

    Python numbers and weak scalars become `weak_dtype` if it is given.
    """
    if isinstance(x, TracedArray):
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
    trace = require_trace()
    adopted: TracedArray | None = None
    if not isinstance(x, ForeignMemory):
        adopted = trace.outermost().adopted_view(x)
    return trace.storage_of_array(x).value if adopted is None else adopted.value


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
        return size_value(x, weak_dtype) if _fits(x) else as_value(operator.index(x), weak_dtype)
    if isinstance(x, SymbolicFact):
        return Constant(bool(x))
    raise ArgumentTypeError(f"expected an array, not {type(x).__name__}: {shown(x, 80)}", user_location())


def _weak_value(x: TracedArray, dtype: DType) -> Value:
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
    elif isinstance(x, TracedArray) and x.weak is int and dtype != INT64:
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


def _fits(size: SymbolicSize) -> bool:
    """Whether a size fits the 64 bits in which a program computes it."""
    return not size.may_overflow or (size >= -(2**63) and size <= 2**63 - 1)  # type: ignore[operator]


def as_size(x: Any) -> Any:
    """A length, an index or a count: an int, or a symbolic size, even if it has become a number of the program."""
    if type(x) is int or isinstance(x, SymbolicSize):
        return x
    if isinstance(x, TracedArray):
        found = size_of_value(x._trace, x.value)
        if found is not None:
            return found
        if is_computed(x):
            return length_of(convert(x.value, INT64))
    return operator.index(x)


def _recorded(size: SymbolicSize) -> "TracedArray | int | None":
    """A symbolic size as a weak number in the function that is being traced; an int if 64 bits cannot hold it."""
    if current_trace() is None:
        return None
    return wrap(size_value(size), weak=int) if _fits(size) else operator.index(size)


SymbolicSize.recorded = _recorded


def contains_traced(x: Any) -> bool:
    """Whether a nested sequence holds a traced array."""
    return _holds(x, TracedArray)


def contains_size(x: Any) -> bool:
    """Whether a nested sequence holds a symbolic size."""
    return _holds(x, SymbolicSize)


def _holds(x: Any, kind: type, depth: int = 0) -> bool:
    if isinstance(x, (list, tuple)):
        if depth > MOST_AXES:
            raise ShapeError(
                f"a {type(x).__name__} nests more than {MOST_AXES} deep, or holds itself: arrays have at most "
                f"{MOST_AXES} axes. Give an array, or lists of equal lengths",
                user_location(),
            )
        return any(_holds(one, kind, depth + 1) for one in x)
    return isinstance(x, kind)


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
    items = [x if type(x) is not list or (rows := stack_of(x)) is None else array_on(*rows) for x in items]
    alone = len(items) - last_rows(items)
    parts = [expand_dims(as_value(item), 0) for item in items[:alone]]
    if (rows := stack_of(items[alone:])) is not None:
        parts.append(array_on(*rows).value)
    if len(parts) == 1:
        return parts[0]
    dtype = np.result_type(*[part.dtype for part in parts])
    return concatenate([convert(part, dtype) for part in parts], 0)


def weak_or_dtype(x: Any, value: Value) -> Any:
    """What stands for this operand in NumPy's promotion: a Python number if it is weak, otherwise a dtype."""
    if isinstance(x, TracedArray) and x.weak:
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
        traced = any(isinstance(end, TracedArray) for end in ends)
        return slice(*map(_slice_end, ends)) if traced else item
    if isinstance(item, (int, np.integer)) and not isinstance(item, bool):
        return int(item)
    if isinstance(item, SymbolicSize):
        return item
    if isinstance(item, range):
        return as_value(np.array(item, np.intp))
    if not isinstance(item, _INDEX_ARRAYS):
        raise _index_type_error(type(item).__name__)
    value = as_value(np.asarray(item, np.intp) if isinstance(item, (list, tuple)) and not item else item)
    if value.dtype.kind not in "iub":
        raise _index_type_error(str(value.type))
    if value.ndim == 0 and value.dtype.kind != "b":
        trace = require_trace()
        known = trace.concrete(value)
        return (size_of_value(trace, value) or value) if known is None else int(known)
    return value


def _slice_end(end: Any) -> Any:
    """An end or the step of a slice: an int, a size, or a number that the program computes."""
    if not isinstance(end, TracedArray):
        return end
    found = size_of_value(end._trace, end.value)
    if found is None and is_computed(end):
        return convert(end.value, INT64)
    return operator.index(end) if found is None else found


def is_computed(x: TracedArray) -> bool:
    """Whether an integer is known only when the program runs."""
    if x.ndim or x.dtype.kind not in "iu" or x._known_here() is not None:
        return False
    return not x._trace.numbers_behind(x.value)


_INDEX_ARRAYS = (TracedArray, Value, np.ndarray, np.generic, ForeignMemory, bool, list, tuple)


def _index_type_error(what: str) -> IndexTypeError:
    return IndexTypeError(
        "only integers, slices (`:`), ellipsis (`...`), None and integer or boolean arrays are valid indices, "
        f"not {what}",
        user_location(),
    )

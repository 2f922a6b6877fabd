"""`TracedArray`: what the user's function gets instead of an array while it is traced."""

import math
import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any, NoReturn

import numpy as np

from ..builder import current_builder
from ..callers.subscripts import (
    AT_UNKNOWN_ARRAYS,
    AT_UNKNOWN_INTS,
    BY_UNKNOWN_KEYS,
    OF_UNKNOWN_NUMBERS,
    current_subscript,
)
from ..callers.user_code import asked_by_traced_code, user_location, why_not_converted
from ..dtypes import BOOL, DType, is_inexact
from ..errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ConcretizationError,
    ImmutableScalarError,
    ShapeError,
    SideEffectError,
    TracemillError,
    UnsupportedAttributeError,
    UnsupportedFunctionError,
)
from ..ir import ArrayType, Shape, Value
from ..memory_layout.array_flags import Flags
from ..memory_layout.layout import Layout
from ..memory_layout.result_layouts import elementwise_layout
from ..message_values import MESSAGE_VALUES, MISSING, is_drafted
from ..nesting import named, refuse_deep_nesting
from ..symbolic_size import SymbolicSize, is_known
from ..value_ops import broadcast_to, convert, full, reshape
from .array_values import (
    fits_64_bits,
    index_items,
    index_type_error,
    plain_number,
    refuse_several,
    size_value,
    written_value,
)
from .foreign_memory import ForeignMemory
from .indexing import Gather, Selection, masked_part, select
from .registry import FUNCTIONS, LEAVING, METHODS, REFUSED, UFUNCS
from .size_values import ratio_of_value, rounded_quotient
from .trace import Storage, current_trace, require_trace
from .traced_memory import TracedMemory
from .values_in_call import FOLLOWS, guarded_value, is_followed
from .views import (
    Bits,
    ImaginaryPart,
    ReadOnly,
    RealPart,
    Transpose,
    View,
    is_flagged_read_only,
)


class TracedArray(TracedMemory):
    """Represents an array whose elements are not known yet. It behaves like a NumPy array and records its operations.

    ``shape``, ``dtype``, ``ndim`` and ``size`` are known. A read gives the current value of the memory that this array
    shares with its views, and a write replaces it.
    """

    __slots__ = ()
    __array_priority__ = 1000.0

    # ---- views -------------------------------------------------------------------------------------

    def _located(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function of the NumPy surface on this array. Errors of Tracemill get the user's line."""
        return located(function, *args, **kwargs)

    def through(self, *views: View, is_scalar: bool = False) -> "TracedArray":
        """An array that shares this one's memory through `views`. Without any, it is still a view, as ``x[:]``."""
        views = views or (Bits(self.dtype),)
        value = self.value
        for step in views:
            value = step.read(value)
        return array_on(self._storage, value.type, (*self._views, *views), is_scalar=is_scalar)

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
        reshaped = FUNCTIONS[np.reshape](self, new, copy=False)  # NumPy 2.0 has no `copy`
        self._is_reshaped = self._is_reshaped or not self._views
        self._views, self.type, self._version = reshaped._views, reshaped.type, -1
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
        return Flags(
            self.layout,
            owndata=owndata,
            writeable=writeable,
            set_writeable=self._set_writeable,
            unknown_owner=self._unknown_owner,
        )

    @property
    def returns_read_only(self) -> bool:
        """Whether it is read-only, as ``np.diagonal(x)`` is, so that the caller gets a read-only array."""
        return any(map(is_flagged_read_only, self._views))

    def _set_writeable(self, new: bool) -> None:
        """``x.flags.writeable = new``: for this array, and for views of it that are made from now on."""
        is_own = self._storage.trace is current_trace() and not self._storage.is_input
        if new is not any(map(is_flagged_read_only, self._views)) and (
            is_own or self._storage.argument is None
        ):
            return
        if self._storage.argument is not None and require_trace().outermost().is_kept:
            error = SideEffectError(
                "x.flags.writeable of an argument is set: do that outside", user_location()
            )
            error.runs_uncompiled = True
            raise error
        if not is_own or self.is_scalar:
            raise UnsupportedAttributeError(
                "x.flags.writeable can be set for arrays that the function makes, and not in a branch or a loop: set "
                "it for a copy, x = x.copy(), or outside",
                user_location(),
            )
        if not new:
            self._views = (*self._views, ReadOnly())
        elif isinstance(self._views[-1], ReadOnly):
            self._views = self._views[:-1]
        else:
            raise ArgumentValueError("cannot set WRITEABLE flag to True of this array", user_location())
        self._version, self._layout = -1, None

    @property
    def device(self) -> str:
        """Where the Array API says that the array is: beside NumPy's."""
        return "cpu"

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
        return self._part(RealPart()) if self.dtype.kind == "c" else self

    @real.setter
    def real(self, new: Any) -> None:
        self.real[...] = new

    @property
    def imag(self) -> "TracedArray":
        if self.dtype.kind == "c":
            return self._part(ImaginaryPart())
        layout = elementwise_layout(self.shape, [self.layout])
        zeros = wrap(full(self.shape, 0, self.dtype), is_scalar=self.is_scalar, weak=self.weak, layout=layout)
        return zeros if self.is_scalar else zeros.through(ReadOnly())

    @imag.setter
    def imag(self, new: Any) -> None:
        if self.dtype.kind != "c":
            raise ArgumentTypeError("only complex arrays have an imaginary part to set", user_location())
        self.imag[...] = new

    def _part(self, part: View) -> "TracedArray":
        """The real or the imaginary part: a view, or a number of a number."""
        if not self.is_scalar:
            return self.through(part)
        return wrap(part.read(self.value), is_scalar=True, weak=None if self.weak is None else float)

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentTypeError("len() of a 0-d array", user_location())
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise ArgumentTypeError("iteration over a 0-d array", user_location())
        return (self[i] for i in range(operator.index(self.shape[0])))

    def __repr__(self) -> str:
        return self._text("!r", repr, sys._getframe(1))

    def __str__(self) -> str:
        return self._text("!s", str, sys._getframe(1))

    def __format__(self, spec: str) -> str:
        return self._text(f":{spec}", lambda number: format(number, spec), sys._getframe(1))

    def _text(self, form: str, shown: Callable[[Any], str], asker: FrameType) -> str:
        """In a message that the program completes, a mark; in a traced function, the value's text; else the type."""
        message_values = MESSAGE_VALUES.get()
        if message_values is not None and self._known_here() is None:
            return message_values.mark(self, form)
        if not asked_by_traced_code(asker):
            known = self._trace.at_these_sizes(self.value) if self.is_scalar else None
            return f"TracedArray({self.type})" if known is None else shown(known[()])
        if self._known_here() is None and is_drafted():
            return MISSING
        try:
            number = self._number_to_show()
        except ConcretizationError as error:
            # A text of a number never fails in Python, so code that catches this would take another way than there.
            if (trace := current_trace()) is not None:
                trace.at_return["text"] = _raising(error)
            raise
        if self.weak is not None:
            return shown(number.item())
        return shown(number[()] if self.is_scalar else number)

    def _number_to_show(self) -> Any:
        """The value for a text in the traced function."""
        if is_inexact(self.dtype) and self._trace.depends_on_arguments(self.value):
            error = ConcretizationError(_NO_TEXT.format(self.type), user_location())
            error.is_of_text = True
            raise error
        return self._need("the text of x", instead=_NO_TEXT.format(self.type))

    def __getattr__(self, name: str) -> Any:
        function = METHODS.get(name)
        if function is None:
            function = _numpy_function_for_method(name)
        if function is None:
            if name in _NO_MEMORY:
                raise UnsupportedAttributeError(
                    f"x.{name} cannot be traced: a traced array has no memory of its own", user_location()
                )
            kind: type[Any] = self.weak or (self.dtype.type if self.is_scalar else np.ndarray)
            if self.is_scalar and not name.startswith("_") and hasattr(kind, name):
                return self._of_number(getattr(kind, name), name)
            own = kind.__name__ if self.weak is not None else f"numpy.{kind.__name__}"
            raise AttributeError(f"{own!r} object has no attribute {name!r}", name=name, obj=self)
        return _bound(function, self)

    def _of_number(self, own: Any, name: str) -> Any:
        """What numbers have and arrays do not, such as ``n.bit_length``. It needs the value but for `is_integer`."""
        if name == "is_integer" and self.dtype.kind == "f":
            return self._is_integer

        def asked(*given: Any, **more: Any) -> Any:
            self._refuse_to_detach(f"x.{name}")
            known = self._need(f"x.{name}")
            found = getattr(known[()] if self.weak is None else known.item(), name)
            return found(*given, **more) if callable(own) else found

        return asked if callable(own) else asked()

    def _is_integer(self) -> Any:
        is_whole: Any = np.logical_and(np.equal(np.floor(self), self), np.isfinite(self))
        return wrap(is_whole.value, weak=bool)

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

    def _need(self, what: str, hint: str = "", instead: str = "") -> Any:
        """The elements for Python. The message of the error ends with a hint, or is another one `instead`."""
        known = self._known_here()
        if known is None:
            known = guarded_value(self._trace, self.value, what)
        if known is None:
            error = ConcretizationError(
                instead
                or f"{what} needs the value of a traced {self.type}, which is not known while tracing. Use np.where or "
                "tm.cond instead of `if`, tm.while_loop instead of `while`, a NumPy function instead of one of `math`, "
                f"or make the argument static{hint}",
                user_location(),
            )
            error.numbers = self._trace.numbers_used_by(self.value)
            raise error
        return known

    def __bool__(self) -> bool:
        if self.is_scalar and self.dtype != BOOL and is_followed(self._trace, self.value):
            return bool(np.not_equal(self, 0))
        return bool(self._need("bool(x), as in `if` or `while`,"))

    def __int__(self) -> int:
        refuse_several(self, int)
        self._check_place(OF_UNKNOWN_NUMBERS)
        return int(self._need("int(x)"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise ArgumentTypeError(
                f"only integer scalar arrays can be used as an index or a size, not {self.type}. "
                "A list takes no others: np.asarray(entries)[i]",
                user_location(),
            )
        self._check_place(AT_UNKNOWN_INTS)
        return int(
            self._need("an index or a size", ". tm.fori_loop(0, n, …) stands for a loop over range(n)")
        )

    def __float__(self) -> float:
        refuse_several(self, float)
        self._check_place(OF_UNKNOWN_NUMBERS)
        self._refuse_to_detach("float(x)")
        return float(self._need("float(x)"))

    def __complex__(self) -> complex:
        refuse_several(self, complex)
        self._check_place(OF_UNKNOWN_NUMBERS)
        self._refuse_to_detach("complex(x)")
        return complex(self._need("complex(x)"))

    def __round__(self, ndigits: int | None = None) -> Any:
        """``round(x)`` of a scalar. Without `ndigits`, it is an int, or a size if `x` is computed from sizes."""
        if not self.is_scalar:
            raise ArgumentTypeError("round(x) takes no arrays: use np.round", user_location())
        if ndigits is not None:
            rounded: Any = np.round(self, ndigits)
            return rounded if self.weak is None else wrap(rounded.value, weak=self.weak)
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

    def item(self, *index: int) -> Any:
        if not index:
            refuse_several(self, np.ndarray.item)
        self._refuse_to_detach("x.item()")
        return self._need("x.item()").item(*index)

    def tolist(self) -> Any:
        self._refuse_to_detach("x.tolist()")
        return self._need("x.tolist()").tolist()

    def _check_place(self, fixes: Mapping[str, tuple[str, str]]) -> None:
        """Refuse an unknown index, with a message that says what to write instead."""
        if self.concrete() is not None:  # the user's code is only examined for an error
            return
        place: str | None = current_subscript()
        if place is None or place not in fixes or self._known_here() is not None:
            return
        if self.dtype.kind in "biu" and is_followed(self._trace, self.value):
            return
        if place == "entry" and "mask" in fixes:
            if self.dtype.kind not in "iub":
                raise index_type_error(str(self.type))
            place = "mask" if self.dtype.kind == "b" else place
        what, fix = fixes[place]
        error = ConcretizationError(
            f"{what} a traced {self.type}, whose value is not known while tracing: {fix}", user_location()
        )
        error.numbers = self._trace.numbers_used_by(self.value)
        raise error

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._check_place(AT_UNKNOWN_ARRAYS)
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
        error = ConcretizationError(
            "a traced array cannot be pickled: return it from the function instead", user_location()
        )
        error.is_of_text, error.act = True, "pickles an array"
        raise error

    def as_key(self) -> Any:
        """The number for which the program is made, because it is a key of a dict or a member of a set."""
        known = self._need(_KEY, instead=_NO_KEY.format(self.type))
        return known[()] if self.weak is None else known.item()

    def __hash__(self) -> int:
        return self._hash(sys._getframe(1))

    def _hash(self, asker: FrameType) -> int:
        if self.is_scalar and (FOLLOWS.get() or asked_by_traced_code(asker)):
            known = self._need(_KEY, instead=_NO_KEY.format(self.type))[()]
            return object.__hash__(self) if np.isnan(known) else hash(known)  # a NaN is equal to itself only
        self._check_place(BY_UNKNOWN_KEYS)
        raise ArgumentTypeError(
            f"a traced {self.type} cannot be hashed, as NumPy's arrays cannot: keep it in a list or as a value of a "
            "dict, not as a key or in a set",
            user_location(),
        )

    def __copy__(self) -> "TracedArray":
        """A new array in the same memory order, unlike ``x.copy()``."""
        if self.weak is not None:  # one of Python's numbers
            return self
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
        implementation = FUNCTIONS.get(function) or LEAVING.get(function)
        if implementation is None:
            name = getattr(function, "__name__", str(function))
            reason = REFUSED.get(name, "Tracemill does not know it")
            raise UnsupportedFunctionError(f"np.{name} cannot be traced: {reason}", user_location())
        return self._located(implementation, *args, **kwargs)


def located(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of the NumPy surface. What it records, and errors of Tracemill, get the user's line."""
    builder = current_builder()
    before = None if builder is None else builder.location
    location = user_location()  # asked once: it is looked up through all frames
    if builder is not None:
        builder.location = location
    try:
        try:
            return function(*args, **kwargs)
        except RecursionError:
            refuse_deep_nesting(named(args, kwargs))
            raise
        except TypeError as error:
            if not str(error).startswith(f"{getattr(function, '__qualname__', '')}() "):
                raise
            raise ArgumentTypeError(str(error)) from None  # the function does not have such parameters
    except TracemillError as error:
        if error.location is None:
            error.locate(location)
        raise
    finally:
        if builder is not None:
            builder.location = before


def _raising(error: Exception) -> Callable[[], NoReturn]:
    """A function that raises an error."""

    def function() -> NoReturn:
        raise error

    return function


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


_KEY = "a key of a dict, or a member of a set,"
OTHER_KEYS_IN_BATCH = (
    "Under vmap, each example has other keys: call the function for each one instead, "
    "np.stack([f(row) for row in x])"
)
_NO_KEY = (
    f"{_KEY} needs the value of a traced {{}}, which is not known while tracing: compare numbers with `==`, or count "
    f"them in an array, np.zeros(n). {OTHER_KEYS_IN_BATCH}"
)
_IN_A_LIST = (
    ". Ufuncs and their methods do not look into lists: np.logical_and.reduce(np.stack([x, y])) instead of "
    "np.logical_and.reduce([x, y])"
)
_NO_TEXT = (
    "a text shows a traced {}, whose value is known only when the program runs: return the number, and make a text of "
    "the result. print(), logging, warnings.warn() and messages of exceptions can show it"
)
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


def _recorded(size: SymbolicSize) -> "TracedArray | int | None":
    """A symbolic size as a weak number in the function that is being traced; an int if 64 bits cannot hold it."""
    if current_trace() is None:
        return None
    return wrap(size_value(size), weak=int) if fits_64_bits(size) else operator.index(size)


SymbolicSize.recorded = _recorded
TracedArray.__name__ = "traced array"  # what Python's errors call it

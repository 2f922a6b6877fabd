"""`EvaluatedArray`: an array of an evaluating trace.

Frequent calls run NumPy's own function and record a node: `ufuncs`, `functions` and `indexing` of this folder. So the
value has NumPy's dtype, memory order, warnings and errors. Every other call goes through the NumPy surface like that of
any traced array, and is computed op by op (`Evaluating.emit`).
"""

import sys
from collections.abc import Callable
from typing import Any, ClassVar, Final

import numpy as np

from ...compiler.builder import current_builder
from ...compiler.dtypes import Array
from ...compiler.ir import ArrayType, Shape, Value
from ...compiler.memory_layout.layout import Layout, layout_of
from ...compiler.tracing.array_values import index_items
from ...compiler.tracing.indexing import select
from ...compiler.tracing.trace import Storage
from ...compiler.tracing.traced_array import TracedArray
from ...compiler.tracing.views import Slice, View
from .after_call import is_value, reshaped_view, value_after_call, with_operations_after_call
from .evaluated_memory import Evaluated, EvaluatedMemory
from .evaluating import Evaluating
from .operand_types import OperandType, operand_type


class _Unwritten:
    """Stands for the memory of an array as long as nothing shares it."""

    version: ClassVar[int] = 0


UNWRITTEN: Final = _Unwritten()


_traced: Any = TracedArray
_class_in_traces: Any = vars(TracedArray)["__class__"].fget


ARRAYS: Final[set[Any]] = set()
"""The classes of arrays whose operations are computed at once."""
FAST_OPERANDS: Final[set[Any]] = {float, int, complex, np.ndarray, np.float64, np.float32}
"""They, and what they are often combined with."""


class EvaluatedArray(TracedArray):
    """An array with known elements. Attributes that few programs need are made when they are first read."""

    __slots__ = ("_array", "_clock", "_home", "_index", "_kind", "_node", "_outside", "_seen")

    _array: Array
    """The elements, if they are up to date."""
    _clock: Any
    """Its version is that of the elements if they are up to date: the memory, if it is shared or was written to."""
    _home: Any
    """The trace."""
    _index: "PartOf | None"
    """How this is a part of another array, if indexing has made it."""
    _kind: OperandType | None
    """The kind; None if the elements have not been read yet."""
    _node: Any
    _outside: Any
    """What it is after its call has ended, outside of traces."""
    _seen: int
    """The version of the memory that the elements are."""

    def __init__(
        self,
        storage: Storage,
        type: ArrayType,
        views: tuple[View, ...] = (),
        *,
        is_scalar: bool = False,
        weak: Any = None,
    ) -> None:
        super().__init__(storage, type, views, is_scalar=is_scalar, weak=weak)
        self._home = storage.trace
        self._clock = storage
        self._kind = None
        self._seen = -1

    def __init_subclass__(cls) -> None:
        ARRAYS.add(cls)
        FAST_OPERANDS.add(cls)

    def __getattr__(self, name: str) -> Any:
        maker = _MADE_WHEN_ASKED.get(name)
        if maker is None:
            return getattr(self._outside, name) if is_value(self) else super().__getattr__(name)
        made = maker(self)
        object.__setattr__(self, name, made)
        return made

    def _made_storage(self) -> Storage:
        layout = layout_of(self._array)
        value: Any = self._known_value
        storage: Storage = self._home.new_storage(value, None if layout.is_row_major else layout)
        self._clock = storage
        return storage

    def _made_value(self) -> Value:
        return Evaluated(self._array, self._node)

    def is_up_to_date(self) -> bool:
        return self._kind is not None and self._seen == self._clock.version

    def is_readable_in(self, trace: Any) -> bool:
        """Whether the elements can be used in the current trace: they are up to date, or are now read again."""
        return self._home is trace and self.weak is None and (self.is_up_to_date() or self._refresh())

    def is_number_in(self, trace: Any) -> bool:
        """Whether it stands for a Python float, whose value can be used in the current trace."""
        return self.weak is float and self._home is trace and self.is_up_to_date()

    def _refresh(self) -> bool:
        """Read the memory again, after a write or for the first time. Whether the array can be used here."""
        if current_builder() is not self._home or self._storage.unreadable or self.weak is not None:
            return False
        value: Any = self.value
        self._array, self._node, self._kind = value.array, value.node, operand_type(value.array)
        self._seen = self._clock.version
        return True

    def _shaped(self, new: Any) -> None:
        """``x.shape = new``"""
        if is_value(self):
            self._become(reshaped_view(self._outside, new))
            return
        _traced.shape.fset(self, new)
        self._index, self._clock, self._seen = None, self._storage, -1

    shape = _traced.shape.setter(_shaped)  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    def _typed(self, new: Any) -> None:
        """``x.dtype = new``"""
        if is_value(self):
            self._become(self._outside.view(new))
            return
        _traced.dtype.fset(self, new)
        self._index, self._clock, self._seen = None, self._storage, -1

    dtype = _traced.dtype.setter(_typed)  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    def _become(self, array: Array) -> None:
        """Be this array, after the call has ended."""
        storage = EvaluatedMemory(self._home, Evaluated(array), layout_of(array))
        storage.array = self._outside = array
        super().__init__(storage, storage.value.type)
        self._clock, self._index, self._seen = storage, None, -1

    def evaluated(self) -> tuple[Array, Any]:
        """The elements and the node."""
        if self._home.has_ended:
            if is_value(self):
                return np.asarray(self._outside), None
        elif self.is_up_to_date():
            return self._array, self._node
        value: Any = self.value
        return value.array, value.node

    def as_argument(self) -> Any:
        return self._outside if is_value(self) else self

    def is_of(self, trace: Any) -> bool:
        """Whether it was made in this trace."""
        return self._home is trace

    def is_unshared(self) -> bool:
        """Whether nothing shares its memory yet."""
        return self._clock is UNWRITTEN

    def share(self, base: "EvaluatedArray", views: tuple[View, ...]) -> None:
        """Make this new array a view of another one."""
        storage = base._storage
        self._storage = self._clock = storage
        self._views = (*base._views, *views)
        self._seen = storage.version

    # ---- values ------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        if self._home.has_ended:
            return bool(self._outside) if is_value(self) else super().__bool__()
        return bool(self._array) if self.is_up_to_date() else super().__bool__()

    def __repr__(self) -> str:
        return repr(self._for_reading())

    def __str__(self) -> str:
        return str(self._for_reading())

    def __format__(self, spec: str) -> str:
        return format(self._for_reading(), spec)

    def _for_reading(self) -> Any:
        """The elements as NumPy would show them."""
        array = self.evaluated()[0]
        if self.weak is not None:
            return array.item()
        return array[()] if self.is_scalar else array

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """That of an array or a number, to `isinstance`."""
        return type(self._outside) if is_value(self) else _class_in_traces(self)

    def __hash__(self) -> int:
        return hash(self._outside) if is_value(self) else self._hash(sys._getframe(1))

    @property
    def layout(self) -> Layout:
        return layout_of(self._array) if self.is_up_to_date() else super().layout


class PartOf:
    """The views from memory to ``x[index]``, which are worked out when they are asked for."""

    __slots__ = ("base", "index", "shape")

    def __init__(self, base: "tuple[View, ...] | PartOf", shape: Shape, index: Any) -> None:
        self.base = base
        """Those to `x`."""
        self.shape = shape
        self.index = index

    def views(self) -> tuple[View, ...]:
        base = self.base.views() if isinstance(self.base, PartOf) else self.base
        return (*base, *(select(self.shape, index_items(self.index)).views or (_whole(self.shape),)))


def _whole(shape: Shape) -> Slice:
    """The view of all elements, ``x[...]``."""
    return Slice((0,) * len(shape), shape, (1,) * len(shape))


def _own_views(array: EvaluatedArray) -> tuple[View, ...]:
    return () if array._index is None else array._index.views()


def _own_type(array: EvaluatedArray) -> ArrayType:
    kind: Any = array._kind
    found: ArrayType = kind.type
    return found


def _nothing(array: EvaluatedArray) -> None:
    return None


_MADE_WHEN_ASKED: Final[dict[str, Callable[[EvaluatedArray], Any]]] = {
    "_outside": value_after_call,
    "_storage": EvaluatedArray._made_storage,
    "_known_value": EvaluatedArray._made_value,
    "_views": _own_views,
    "_index": lambda array: None,
    "_version": lambda array: array._seen,
    "type": _own_type,
    "_layout": _nothing,
    "_unknown_owner": lambda array: "",
    "_is_reshaped": lambda array: False,
}
_FLOAT: Final = operand_type(np.float64(0))
EvaluatedArray.__init_subclass__()
with_operations_after_call(EvaluatedArray)
Evaluating.array_class = EvaluatedArray
_new: Final = EvaluatedArray.__new__


def new_result(home: Any, out: Any, kind: OperandType, node: Any) -> EvaluatedArray:
    """A new array with the result of a NumPy function: an array, or a scalar."""
    new: EvaluatedArray = _new(home.array_class)
    if type(out) is not np.ndarray:
        out = np.asarray(out)
        new.is_scalar = True
    else:
        new.is_scalar = False
    new._array = out
    new._node = node
    new._kind = kind
    new._home = home
    new._clock = UNWRITTEN
    new._seen = 0
    new.weak = None
    return new


EvaluatedArray.__name__ = "numpy.ndarray"  # what Python's errors call it


def is_variable(x: Any) -> bool:
    """Whether this is a variable of `tracemill.autograd`."""
    return isinstance(x, EvaluatedArray) and bool(x._home.is_open_ended)


def new_number(home: Any, number: float, node: Any) -> EvaluatedArray:
    """A new array that stands for a Python float."""
    new = new_result(home, np.float64(number), _FLOAT, node)
    new.weak = float
    return new

"""`TracedMemory`: an array of a trace as views on memory, which can be read and written."""

import operator
from typing import Any, TypeGuard

import numpy as np

from ..builder import current_builder
from ..callers.user_code import user_location
from ..dtypes import Array, DType
from ..errors import (
    ImmutableScalarError,
    ReadOnlyError,
    ShapeError,
    SharedMemoryError,
)
from ..ir import ArrayType, Shape, Value
from ..memory_layout.layout import Layout, row_major
from ..nesting import MOST_AXES
from ..symbolic_size import SymbolicSize
from ..value_ops import broadcast_to, convert
from .sharing import invalidate_shared, write
from .size_values import comparison_of_value, size_of_value
from .trace import Storage, Trace, require_trace
from .views import View


class TracedMemory:
    """The memory of a `TracedArray`, and its views from there. A read gives the value that it has now."""

    __slots__ = (
        "_is_reshaped", "_known_value", "_layout", "_storage", "_unknown_owner", "_version", "_views", "is_scalar",
        "type", "weak",
    )  # fmt: skip
    __pandas_priority__ = 10_000
    """A Series from outside leaves operators to the traced array."""

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

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    # ---- reading and writing -----------------------------------------------------------------------

    @property
    def _trace(self) -> Trace:
        """The trace in which this array can be used now."""
        return require_trace()

    @property
    def value(self) -> Value:
        """The current value, in the current trace."""
        own = self._storage
        known = self._known_value if self._version == own.version else None
        if own.unreadable:
            raise SharedMemoryError(f"an array is used that {own.unreadable}", user_location())
        if known is not None and own.trace is current_builder():
            return known
        storage = self._trace.shadow(own)
        if known is not None and storage is own:
            return known
        value = storage.value
        for view in self._views:
            value = view.read(value)
        if storage is own:
            self._known_value, self._version = value, own.version
        return value

    def as_argument(self) -> Any:
        """What a transform takes for this array: its value, if the call that made it has ended."""
        return self

    def move_to(self, storage: Storage) -> None:
        """Let this array have other memory."""
        self._storage, self._known_value = storage, None

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

    # ---- what is known while tracing ---------------------------------------------------------------

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


def is_traced(x: Any) -> bool:
    return isinstance(x, TracedMemory)


def is_numpy_array(x: Any) -> TypeGuard[Array]:
    """Whether `x` is a NumPy array. `isinstance` cannot tell, because it is also true of traced arrays."""
    return isinstance(x, np.ndarray) and not is_traced(x)


def contains_traced(x: Any) -> bool:
    """Whether a nested sequence holds a traced array."""
    return _holds(x, TracedMemory)


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

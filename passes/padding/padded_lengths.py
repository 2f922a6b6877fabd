"""`PaddedLengths`: what the rules of `pad_lengths` know about lengths, and which entries are valid."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ...compiler.dtypes import INT64, is_inexact
from ...compiler.free_sizes import sizes_in_param
from ...compiler.ir import Call, Constant, Shape, Value
from ...compiler.shapes.largest import largest
from ...compiler.symbolic_size import SymbolicSize, is_known, max_expr
from ...compiler.tracing.lengths_in_call import computed_size
from ...compiler.value_ops import (
    broadcast_to,
    iota,
    less,
    logical_and,
    maximum,
    minimum,
    number,
    reshape,
    slice_axis,
    where,
)

Inputs: TypeAlias = tuple[Value, ...]


class CannotPadError(Exception):
    """Raised where arrays of some lengths cannot be replaced by longer ones; without names, those of the call."""

    def __init__(self, names: set[str] | None = None) -> None:
        super().__init__()
        self.names = names or set()


class PaddedLengths:
    """The lengths of a graph that are replaced.

    Args:
        names: their names.
        is_differentiated: whether derivatives may be asked for later.
    """

    def __init__(self, names: set[str], is_differentiated: bool) -> None:
        self.names = names
        self.is_differentiated = is_differentiated
        self._sizes: dict[str, SymbolicSize] = {}
        self._most: dict[str, Any] = {}
        self._counts: dict[str, Value] = {}
        self._counting: dict[Any, Value] = {}

    def bind(self, size: SymbolicSize, count: Value, most: Any) -> None:
        """Note what a length is, and what it is at most."""
        name = str(size)
        self._sizes[name], self._counts[name], self._most[name] = size, count, max_expr(self.most_of(most), 0)

    def inside(self, counts: dict[str, Value]) -> "PaddedLengths":
        """The same in a graph that a call holds, in which these are the numbers of entries that count."""
        inner = PaddedLengths(set(counts), self.is_differentiated)
        inner._sizes, inner._most, inner._counts = self._sizes, self._most, counts
        return inner

    def bound_counts(self) -> None:
        """Record that the numbers are between 0 and the lengths of arrays."""
        self._counts = {
            name: minimum(maximum(count, 0), self._most[name]) for name, count in self._counts.items()
        }

    def found(self, name: str) -> Value:
        """The number of entries that count along axes of a length."""
        if name not in self._counts:
            raise CannotPadError({name})
        return self._counts[name]

    def is_padded(self, size: Any) -> bool:
        """Whether a size of the graph is, or follows from, a length that is replaced."""
        return isinstance(size, SymbolicSize) and any(str(one) in self.names for one in size.sizes)

    def most_of(self, size: Any) -> Any:
        """The size that an axis has that has this size in the graph."""
        given = size
        for name in names_in((size,)) & self.names:
            if name not in self._most:
                raise CannotPadError({name})
            one: Any
            one, most = self._sizes[name], self._most[name]
            following: Any = size.where(one, one + 1)
            if is_known(following >= size):
                size = size.where(one, most)
            elif is_known(following <= size):
                size = size.where(one, 0)
            else:
                return self._largest(given)
        return size

    def _largest(self, size: Any) -> Any:
        """A less close bound, of a size that may grow or become smaller with a length."""
        try:
            return largest(size, self._most)
        except ValueError:
            raise CannotPadError(names_in((size,)) & self.names) from None

    def padded(self, shape: Shape) -> Shape:
        """The shape of an array that has this shape in the graph."""
        return tuple(map(self.most_of, shape))

    def count(self, size: Any) -> Value:
        """A size of the graph as a number: i64[]."""
        return computed_size(size, self._counts) if self.is_padded(size) else number(size, INT64)

    def counting(self, size: Any) -> Value:
        """Which entries count along an axis that has this size in the graph: a mask."""
        if size not in self._counting:
            self._counting[size] = less(iota(self.most_of(size), INT64), self.count(size))
        return self._counting[size]

    def mask(self, shape: Shape) -> Value | None:
        """Which entries of an array count that has this shape in the graph; None if all do."""
        mask: Value | None = None
        for axis, size in enumerate(shape):
            if self.is_padded(size):
                whole = broadcast_to(along(self.counting(size), axis, len(shape)), self.padded(shape))
                mask = whole if mask is None else logical_and(mask, whole)
        return mask

    def filled(self, value: Value, shape: Shape, fill: Any) -> Value:
        """An array that has this shape in the graph, with one number in place of the entries that do not count."""
        mask = self.mask(shape)
        return value if mask is None else where(mask, value, fill)

    def sheltered(self, value: Value, shape: Shape) -> Value:
        """An array whose entries that do not count have no derivative, where that may be asked for."""
        is_needed = self.is_differentiated and is_inexact(value.dtype) and not isinstance(value, Constant)
        return self.filled(value, shape, 1) if is_needed else value

    def fitting(self, value: Value, axis: int, length: Any) -> Value:
        """An array cut to a length that is enough for the entries that count."""
        if value.shape[axis] is length or is_known(value.shape[axis] == length):
            return value
        if not is_known(value.shape[axis] > length):
            raise CannotPadError()
        return slice_axis(value, 0, length, axis)


Rule: TypeAlias = Callable[[PaddedLengths, Call, Inputs], Any]
"""``rule(lengths, call, inputs)``: the outputs of a call of the graph, computed from what stands for its inputs."""


def along(value: Value, axis: int, ndim: int) -> Value:
    """An array of one axis, aligned with an axis of others."""
    return reshape(value, (*(1,) * axis, value.shape[0], *(1,) * (ndim - axis - 1)))


def names_in(shape: Sequence[Any]) -> set[str]:
    """The named sizes in a shape."""
    return {str(one) for size in sizes_in_param(tuple(shape)) for one in size.sizes}

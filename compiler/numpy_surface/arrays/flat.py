"""``x.flat``: the elements in row-major order, for reading, writing and iteration."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...tracing.array_values import written_value
from ...tracing.registry import constructs, method
from ...tracing.traced_array import TracedArray, wrap
from ...value_ops import reshape
from ..ufuncs.ufunc_calls import as_array
from .editing import recycled


class FlatIterator:
    """The object ``x.flat``. Reading copies; writing changes the array."""

    def __init__(self, base: TracedArray) -> None:
        self.base = base
        self._position = 0

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        self._position = 0
        return self

    def __next__(self) -> Any:
        if self._position >= len(self):
            raise StopIteration
        self._position += 1
        return self[self._position - 1]

    @property
    def index(self) -> int:
        """The number of elements that the iterator has returned."""
        return self._position

    @property
    def coords(self) -> tuple[int, ...]:
        """The position of the next element along each axis."""
        return tuple(int(i) for i in np.unravel_index(min(self._position, len(self) - 1), self.base.shape))

    def _row(self) -> TracedArray:
        return wrap(reshape(self.base.value, (self.base.size,)), is_scalar=False)

    def copy(self) -> TracedArray:
        row: TracedArray = self.base._located(self._row)
        return row

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.copy().__array__(dtype, copy)

    def __getitem__(self, index: Any) -> Any:
        return self.base._located(self._get, index)

    def __setitem__(self, index: Any, new: Any) -> None:
        self.base._located(self._set, index, new)

    def _get(self, index: Any) -> Any:
        found = self._row()[index]
        return found if found.is_scalar else wrap(found.value, is_scalar=False)

    def _set(self, index: Any, new: Any) -> None:
        """`new` is repeated or cut to the number of elements that `index` selects."""
        row = self._row()
        value = written_value(new, row.dtype)
        shape = row[index].shape
        if value.type.size:
            row[index] = recycled(value, shape) if value.shape != shape else value
            self.base.write(reshape(row.value, self.base.shape))


@constructs("ndenumerate")
def ndenumerate(arr: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Each element with its position."""
    array = as_array(arr)
    return ((place, array[place]) for place in np.ndindex(array.shape))


@method("flat")
def flat(a: TracedArray) -> FlatIterator:
    """The getter behind ``x.flat``."""
    return FlatIterator(a)

"""The rows of an array as the entries of a list, and the array that a list of rows comes from."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..ir import ArrayType
from ..memory_layout.layout import row_major
from ..symbolic_size import SymbolicSize
from .trace import Storage
from .views import SelectAxes, Slice, View


def rows_of(stack: Any, *, is_scalar: bool = False, weak: "type[Any] | None" = None) -> list[Any]:
    """All rows of a traced array along the first axis, which share its memory.

    Nothing is recorded for a row before it is used.
    """
    type_, kind, storage = ArrayType(stack.dtype, stack.shape[1:]), type(stack), stack._storage
    return [
        kind(storage, type_, (*stack._views, *views), is_scalar=is_scalar, weak=weak)
        for views in _views_of_rows(stack.shape)
    ]


def stack_of(entries: Sequence[Any]) -> tuple[Storage, ArrayType, tuple[View, ...]] | None:
    """The memory, the type and the views of the array with these rows in this order; None if there is none."""
    if not entries or len(getattr(entries[0], "_views", ())) < 2:
        return None
    storage: Storage = entries[0]._storage
    views: tuple[View, ...] = entries[0]._views[:-2]
    row: ArrayType = entries[0].type
    whole = ArrayType(row.dtype, (len(entries), *row.shape))
    if any(isinstance(n, SymbolicSize) for n in row.shape):
        return None
    for entry, own in zip(entries, _views_of_rows(whole.shape), strict=True):
        if getattr(entry, "_storage", None) is not storage or entry._views != (*views, *own):
            return None
    layout = row_major(storage.value.shape)
    for view in views:
        layout = view.layout(layout)
    return (storage, whole, views) if layout.shape == whole.shape else None


def last_rows(entries: Sequence[Any]) -> int:
    """How many entries at the end are all rows of one array; 0 if there is none."""
    storage = getattr(entries[-1], "_storage", None) if entries else None
    others = next((i for i, x in enumerate(entries) if getattr(x, "_storage", None) is storage), 0)
    return len(entries) - others if storage is not None and stack_of(entries[others:]) is not None else 0


def columns_of(entries: Sequence[Any]) -> list[list[Any]]:
    """The columns of lists of one length, if the entries of the first column are the rows of an array."""
    if not {*map(type, entries)} <= {list, tuple} or len({*map(len, entries)}) > 1:
        return []
    if not 0 < len(entries[0]) < len(entries):
        return []
    first = [entry[0] for entry in entries]
    is_stack = stack_of(first) is not None or bool(columns_of(first))
    return [list(column) for column in zip(*entries, strict=True)] if is_stack else []


def _views_of_rows(shape: Sequence[int]) -> Iterator[tuple[View, View]]:
    """The views for each row of an array, as indexing makes them."""
    rest = tuple(shape[1:])
    zeros, ones = (0,) * len(rest), (1,) * len(shape)
    select = SelectAxes(rest, tuple(range(1, len(shape))))
    for i in range(shape[0]):
        yield Slice((i, *zeros), (i + 1, *rest), ones), select

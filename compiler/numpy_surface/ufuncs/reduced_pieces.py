"""`reduced_pieces`: the pieces of `ufunc.reduceat` between indices that the program computes."""

from typing import Any

import numpy as np

from ...builder import bind
from ...dtypes import BOOL, INT64
from ...errors import UnsupportedFunctionError
from ...ir import Value
from ...symbolic_size import is_known, is_symbolic_shape
from ...tracing.array_values import as_value
from ...tracing.traced_array import wrap
from ...value_ops import concatenate, convert, full, iota, number
from .value_checks import refuse_values

_MODES = {
    "add": "add",
    "subtract": "add",
    "multiply": "multiply",
    "maximum": "maximum",
    "minimum": "minimum",
}
_OF_BOOLS = {
    "logical_and": "minimum",
    "logical_or": "maximum",
    "bitwise_and": "minimum",
    "bitwise_or": "maximum",
    "maximum": "maximum",
    "minimum": "minimum",
}
_OF_FLAGS = np.dtype(np.uint8)


def reduced_pieces(ufunc: Any, lines: Value, starts: Value) -> Value:
    """From each of the `starts` in the first axis to the next; a single entry if the next one is not larger.

    Each piece starts with its first entry, and the others are scattered into it. All entries of all pieces are one
    array, whose length depends on the starts.
    """
    name, dtype = ufunc.__name__, lines.dtype
    mode = (_OF_BOOLS if dtype == BOOL else _MODES).get(name)
    if mode is None or (dtype.kind == "c" and mode in ("maximum", "minimum")):
        raise UnsupportedFunctionError(
            f"{name}.reduceat of {dtype} needs indices that are known while tracing: make them static, or write a loop"
        )
    firsts: Any = wrap(convert(starts, INT64))
    length: Any = lines.shape[0]
    _refuse_outside(firsts, length, name)
    if dtype == BOOL:
        lines = convert(lines, _OF_FLAGS)
    if not is_known(length >= 1):  # no start is inside then, but the program reads an entry for each
        lines = concatenate([lines, full((1, *lines.shape[1:]), 0, lines.dtype)], 0)
    result = bind("gather", lines, firsts.value, axes=(0,))
    if is_known(firsts.shape[0] == 0):
        return convert(result, dtype)
    count: Any = wrap(number(firsts.shape[0], INT64))
    following: Any = np.add(wrap(iota(firsts.shape[0], INT64)), 1)
    ends = np.where(following < count, firsts[np.minimum(following, count - 1)], wrap(number(length, INT64)))
    others = np.minimum(
        np.maximum(ends - firsts - 1, 0), wrap(number(length, INT64))
    )  # which bounds their sum
    owners: Any = np.repeat(wrap(iota(firsts.shape[0], INT64)), others)
    first_of_others = firsts + 1 - (np.cumsum(others) - others)
    offsets = np.add(wrap(iota(owners.shape[0], INT64)), first_of_others[owners])
    entries = bind("gather", lines, as_value(offsets), axes=(0,))
    if ufunc is np.subtract:
        entries = bind("negative", entries)
    return convert(bind("scatter", result, entries, as_value(owners), axes=(0,), mode=mode), dtype)


def _refuse_outside(starts: Any, length: Any, name: str) -> None:
    """Raise NumPy's error for the first start outside the axis."""
    outside = np.logical_or(starts < 0, starts >= length)
    if is_symbolic_shape((length,)):
        length = wrap(number(length, INT64))
    first = np.append(starts, 0)[np.argmax(np.append(outside, True))]
    message = f"index {{}} out-of-bounds in {name}.reduceat [0, {{}})"
    refuse_values(np.any(outside), message, IndexError, shown_values=(first, length))

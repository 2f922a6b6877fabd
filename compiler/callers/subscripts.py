"""How the user's code uses brackets when Python or NumPy needs the value of an index: for error messages."""

import dis
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Final, Literal, TypeAlias

from .user_code import users_frame

Subscript: TypeAlias = Literal["entry", "slice", "write"]
_WRITES = frozenset({"STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR"})


CURRENT_SUBSCRIPT: ContextVar[Subscript | None] = ContextVar("current_subscript", default=None)
"""The bracket operation of a hook in converted code."""


def current_subscript() -> Subscript | None:
    """Whether the current line of the user's code reads an entry, reads a slice, or writes; None otherwise."""
    if CURRENT_SUBSCRIPT.get() is not None:
        return CURRENT_SUBSCRIPT.get()
    frame = users_frame()
    if frame is None:
        return None
    before = ""
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset >= frame.f_lasti:
            return _meaning(instruction, before)
        before = instruction.opname
    return None


def _meaning(instruction: dis.Instruction, before: str) -> Subscript | None:
    name = instruction.opname
    if name in _WRITES:
        return "write"
    if name == "BINARY_SLICE":
        return "slice"
    if name == "BINARY_SUBSCR" or (name == "BINARY_OP" and instruction.argrepr == "[]"):
        return "slice" if before == "BUILD_SLICE" else "entry"
    return None


# ---- what to write instead ---------------------------------------------------------------------------

Fixes: TypeAlias = Mapping[str, tuple[str, str]]
"""For each use of brackets, what it does with a traced array, and what to write instead."""

_ASARRAY = "np.asarray(table)[i] = … writes to a NumPy array in a traced function"
AT_UNKNOWN_INTS: Final[Fixes] = {
    "entry": (
        "a list or a tuple is indexed by",
        "np.asarray(entries)[i] takes one of several numbers, or arrays of one shape, and tm.switch(i, functions) "
        "calls one of several functions",
    ),
    "slice": (
        "a slice begins or ends at",
        "its length must be known. np.take(x, i + np.arange(3)) reads 3 entries from `i` on, and "
        "np.where(np.arange(len(x)) < i, x, 0) keeps the shape",
    ),
    "write": (
        "a list or a slice is written to at",
        f"{_ASARRAY}, and np.asarray(table)[i + np.arange(3)] = … to several entries. Lists can only be written to at "
        "known places",
    ),
}
AT_UNKNOWN_ARRAYS: Final[Fixes] = {
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
OF_UNKNOWN_NUMBERS: Final[Fixes] = {"write": AT_UNKNOWN_ARRAYS["write"]}
BY_UNKNOWN_KEYS: Final[Fixes] = {
    "entry": ("a dict is looked up by", "np.take(table, i) of an array, or tm.switch(i, functions)"),
    "write": ("a dict is written to at", f"an array can be the table: {_ASARRAY}"),
}

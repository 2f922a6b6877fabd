"""What the user's code does with brackets when Python or NumPy needs the value of an index: for messages."""

import dis
from contextvars import ContextVar
from typing import Literal, TypeAlias

from .user_code import users_frame

Subscript: TypeAlias = Literal["entry", "slice", "write"]
_WRITES = frozenset({"STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR"})


AT_WORK: ContextVar[Subscript | None] = ContextVar("subscript_at_work", default=None)
"""The bracket operation of a hook in converted code."""


def subscript_at_work() -> Subscript | None:
    """Whether the current line of the user's code reads an entry, reads a slice, or writes; None otherwise."""
    if AT_WORK.get() is not None:
        return AT_WORK.get()
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

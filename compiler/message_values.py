"""Values in the message of an exception: marks in the text stand for them until the program computes them."""

import ast
import operator
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from .dtypes import DType

MARK: Final = re.compile(r"⟦(\d+)([!:%])([^⟧|]*)\|?([^⟧]*)⟧")
"""The number of a value, how it is formatted, and the format of the resulting text."""
_PERCENT: Final = re.compile(r"%([-+ #0]*\d*(?:\.\d+)?[sdifFgGeErxXc%])")
_INTEGERS: Final = "oxXc"
"""The formats that need an integer, and take no float."""

MISSING: Final = "…"
"""In place of a value that a program cannot give its caller."""
_NUMBER: Final = re.compile(r"#\d+$")
"""What distinguishes exceptions with the same text."""

LONGEST: Final = 400
"""The most characters of a message in a file."""

MESSAGE_VALUES: "ContextVar[MessageValues | None]" = ContextVar("message_values", default=None)
"""The values in the exception that is being created."""

_DRAFT: "ContextVar[Draft | None]" = ContextVar("draft", default=None)


class Draft:
    """What is noted of the texts of a block that may end with an exception."""

    def __init__(self) -> None:
        self.lacks_values = False
        """Whether ``…`` is in place of a value in a text."""


@contextmanager
def drafting(draft: Draft) -> Generator[None]:
    """Within the block, texts have ``…`` in place of values that only the program knows.

    This is enough if the block ends with an exception for which the function itself runs. Otherwise it has to be
    traced again, without a draft.
    """
    token = _DRAFT.set(draft)
    try:
        yield
    finally:
        _DRAFT.reset(token)


def is_drafted() -> bool:
    """Whether ``…`` may be in place of a value in a text, which is then noted."""
    draft = _DRAFT.get()
    if draft is not None:
        draft.lacks_values = True
    return draft is not None


class MessageValues:
    """The traced values that the text of an exception shows, in order of their numbers."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def number(self, x: Any) -> int:
        """The number of a value."""
        for number, known in enumerate(self.values):
            if known is x:
                return number
        self.values.append(x)
        return len(self.values) - 1

    def mark(self, x: Any, form: str) -> str:
        """The mark of a value in a text: its number, and its format."""
        return _Text(f"⟦{self.number(x)}{form}⟧")


class _Text(str):
    """A string that is a mark. The format of a field in an f-string, as in ``{x!r:>8}``, becomes part of the mark."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return f"{self[:-1]}|{spec}⟧" if spec else str(self)


@dataclass(frozen=True, slots=True)
class Mark:
    """Stands for a value that is itself an argument of an exception."""

    number: int


@dataclass(frozen=True, slots=True)
class Form:
    """The kind of a value: a Python number, a NumPy number, or an array."""

    dtype: DType
    shape: tuple[int, ...]
    kind: "type[Any] | None"
    """The class of a number."""

    def of(self, array: Any) -> Any:
        """The value as a Python object."""
        found = np.asarray(array).reshape(self.shape).astype(self.dtype)
        return found if self.kind is None else self.kind(found[()])


def percent(text: Any, given: Any) -> Any:
    """``text % given``, where `given` may contain traced values."""
    entries = given if isinstance(given, tuple) else (given,)
    if type(text) is not str or not any(hasattr(one, "_trace") for one in entries):
        return text % given
    message_values = MESSAGE_VALUES.get()
    following = iter(entries)

    def shown(match: re.Match[str]) -> str:
        form = match[1]
        if form == "%":
            return "%"
        one = next(following)
        if not hasattr(one, "_trace"):
            return f"%{form}" % (one,)
        if message_values is not None:
            is_cut = form[-1] in "di" and one.dtype.kind == "f"
            return message_values.mark(np.trunc(one) if is_cut else one, f"%{form}")
        if hasattr(one, "_for_reading"):  # it is computed at once
            return f"%{form}" % (one._for_reading(),)
        if one._known_here() is None and is_drafted():
            return MISSING
        if one.dtype.kind in "fc":
            format(one)  # which raises the error for texts
        if form[-1] in "di":
            one = int(one)
        return f"%{form}" % (operator.index(one) if form[-1] in _INTEGERS else one,)

    return _PERCENT.sub(shown, text)


def with_values(x: Any, values: Sequence[Any]) -> Any:
    """An argument of an exception, with values in place of the marks."""
    if isinstance(x, Mark):
        return values[x.number] if x.number < len(values) else None
    return MARK.sub(lambda match: _shown(match, values), x) if isinstance(x, str) else x


def with_numbers(text: str, numbers: Mapping[int, int]) -> str:
    """A text in which the values of the marks have new `numbers`; `MISSING` is in place of the others."""

    def numbered(match: re.Match[str]) -> str:
        number = numbers.get(int(match[1]))
        return MISSING if number is None else f"⟦{number}{match[0][1 + len(match[1]) :]}"

    return MARK.sub(numbered, text)


def without_number(error: str) -> str:
    """The name of an exception in a graph, without what distinguishes it from others of the same text."""
    return _NUMBER.sub("", error)


def _shown(match: re.Match[str], values: Sequence[Any]) -> str:
    number, how, form, field = int(match[1]), match[2], match[3], match[4]
    if number >= len(values):
        return MISSING
    value = values[number]
    if how == "%":
        shown: str = percent(f"%{form}", (value,))
        return shown
    text = (repr(value) if form == "r" else str(value)) if how == "!" else format(value, form)
    return format(text, field)


def class_and_message(error: str) -> tuple[str, str]:
    """The name of an exception's class, and its text on one line, with ``…`` in place of values.

    >>> class_and_message("ValueError('the mean is ⟦0:.2f⟧')")
    ('ValueError', 'the mean is …')
    """
    kind, _, rest = without_number(error).partition("(")
    given = rest.removesuffix(")")
    try:
        parts = ast.literal_eval(f"({given},)") if given else ()
    except (SyntaxError, ValueError):  # an argument is a value
        parts = (given,)
    text = re.sub(r"Mark\(number=\d+\)", "…", MARK.sub("…", ", ".join(map(str, parts))))
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return kind, text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"

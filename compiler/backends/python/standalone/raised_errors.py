"""The exceptions of an exported file: their texts show the values that the program computed."""

import ast
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from ....dtypes import DType
from ....message_values import MARK, without_number

_ARGUMENT: Final = re.compile(r"Mark\(number=(\d+)\)")
_UNREADABLE: Final = (SyntaxError, ValueError)


class Shown(NamedTuple):
    """A value in the text of an exception. Its bits are among the records of the checks."""

    start: int
    """The record with its first 64 bits."""
    dtype: str
    """The dtype, or the name of Python's type."""
    shape: tuple[int, ...]
    how: str
    """``:`` for `format`, ``!`` for `str` and `repr`, ``%`` for the operator."""
    form: str
    field: str
    """The format of the resulting text."""


class RaisedError(NamedTuple):
    """An exception that a check of the program may find."""

    record: int
    """The record that says whether it is raised."""
    kind: str
    message: str
    """A format for `values`."""
    line: str
    values: tuple[Shown, ...] = ()


class MessageValue(NamedTuple):
    """The place and the type of a value that a text may show."""

    start: int
    dtype: DType
    shape: tuple[int, ...]
    kind: "type | None"
    """Python's type of a number."""


def raised_error(record: int, error: str, line: str, values: Sequence[MessageValue]) -> RaisedError:
    """An exception that a graph names, as in ``ValueError('the mean is ⟦0:.2f⟧')``, with these values."""
    kind, _, rest = without_number(error).partition("(")
    given = _ARGUMENT.sub(r"'⟦\1!s⟧'", rest.removesuffix(")"))
    try:
        parts = ast.literal_eval(f"({given},)") if given else ()
    except _UNREADABLE:
        parts = (given,)
    text = ", ".join(map(str, parts))
    shown: list[Shown] = []
    message, end = "", 0
    for match in MARK.finditer(text):
        number = int(match[1])
        message += _escaped(text[end : match.start()])
        if number < len(values):
            value = values[number]
            name = value.dtype.name if value.kind is None else value.kind.__name__
            shown.append(Shown(value.start, name, value.shape, match[2], match[3], match[4]))
            message += f"{{{len(shown) - 1}}}"
        end = match.end()
    return RaisedError(record, kind, message + _escaped(text[end:]), line, tuple(shown))


def _escaped(text: str) -> str:
    """A part of a text that `str.format` leaves as it is."""
    return text.replace("{", "{{").replace("}", "}}")

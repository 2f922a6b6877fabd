"""Exceptions that the user's function raises depending on values: a graph names them, this process stores them."""

import builtins
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from .ir import Location
from .message_values import MISSING, Form, Mark, MessageValues, with_numbers, with_values, without_number

_MOST: Final = 4096
_PLAIN = (str, bytes, int, float, complex, bool, type(None))
_MESSAGE_VALUES: Final = "_tracemill_told"
"""The attribute of an exception with the values that the marks in its text stand for."""
_OWN_TEXTS: Final = ("strerror", "filename", "msg")
"""Attributes of Python's exceptions that are not in their dicts."""


@dataclass(frozen=True)
class _Noted:
    """An exception that a program may raise."""

    kind: type[BaseException]
    args: tuple[object, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    forms: tuple[Form, ...] = ()
    """The kinds of the values in it."""

    def is_like(self, other: "_Noted") -> bool:
        """Whether it is the same exception as another one with the same text."""
        if (
            self.kind is not other.kind
            or self.forms != other.forms
            or len(self.attributes) != len(other.attributes)
        ):
            return False
        return all(
            one is own or (type(one) is type(own) and isinstance(one, (Mark, str, int, float)) and one == own)
            for own, one in zip(self.attributes.values(), other.attributes.values(), strict=True)
        )

    def made(self, arrays: Sequence[Any]) -> BaseException:
        """The exception, with the values that the program computed."""
        values = [form.of(array) for form, array in zip(self.forms, arrays, strict=False)]
        args = tuple(with_values(one, values) for one in self.args)
        if not self.forms and not self.attributes:
            return self.kind(*args)
        error = self.kind.__new__(self.kind, *args)  # its own ``__init__`` has already created the arguments
        error.args = args
        for name, one in self.attributes.items():
            setattr(error, name, with_values(one, values))
        return error


_noted: "OrderedDict[str, _Noted]" = OrderedDict()


def attach_values(error: BaseException, message_values: MessageValues) -> None:
    """Record what the marks in the text of an exception stand for."""
    setattr(error, _MESSAGE_VALUES, message_values)


def complete(error: BaseException) -> None:
    """Replace the marks in an exception with the texts of the values that they stand for.

    Raises:
        ConcretizationError: only the program knows a value.
    """
    message_values: MessageValues | None = vars(error).pop(_MESSAGE_VALUES, None)
    if message_values is None:
        return
    error.args = tuple(with_values(one, message_values.values) for one in error.args)
    own = [name for name in _OWN_TEXTS if isinstance(getattr(error, name, None), str)]
    for name in (*vars(error), *own):
        setattr(error, name, with_values(getattr(error, name), message_values.values))


def values_in_exception(error: BaseException) -> list[Any]:
    """The traced values of an exception, in its text, arguments or attributes."""
    message_values: MessageValues = getattr(error, _MESSAGE_VALUES, None) or MessageValues()
    for one in (*error.args, *vars(error).values()):
        if hasattr(one, "_trace"):
            message_values.number(one)
    if message_values.values:
        attach_values(error, message_values)
    return message_values.values


@dataclass(frozen=True, slots=True)
class NamedError:
    """How a graph names an exception of the user."""

    text: str
    """Its class and its arguments."""
    values: list[Any]
    """The traced values in it that a program can give its caller."""
    is_whole: bool
    """Whether that is all it shows. Otherwise the function itself has to run for the exception as Python raises it, and
    ``…`` is in place of what is missing where that is impossible."""


def named(error: BaseException) -> NamedError:
    """The name of an exception in a graph."""
    kind, values = type(error), values_in_exception(error)
    places = [place for place, one in enumerate(values) if _can_be_told(one)]
    numbers = {place: number for number, place in enumerate(places)}
    args = tuple(_as_named(one, values, numbers) for one in error.args)
    is_whole = len(places) == len(values) and all(isinstance(one, Mark) or _is_plain(one) for one in args)
    is_whole = is_whole and error.__cause__ is None and not hasattr(error, "__notes__")
    attributes = {
        name: _as_named(one, values, numbers)
        for name, one in vars(error).items()
        if name not in (_MESSAGE_VALUES, "__notes__")
    }
    args = tuple(one if isinstance(one, Mark) or _is_plain(one) else MISSING for one in args)
    told = [values[place] for place in places]
    forms = tuple(Form(x.dtype, x.shape, _kind_of(x)) for x in told)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    text = _noted_as(f"{name}({', '.join(map(repr, args))})", _Noted(kind, args, attributes, forms))
    return NamedError(text, told, is_whole)


def _noted_as(text: str, noted: _Noted) -> str:
    """The text under which this process stores an exception: with a number if another one has the same text."""
    number, plain = 1, text
    while text in _noted and not _noted[text].is_like(noted):
        number += 1
        text = f"{plain}#{number}"
    _noted[text] = noted
    _noted.move_to_end(text)
    if len(_noted) > _MOST:
        _noted.popitem(last=False)
    return text


def _as_named(x: Any, values: Sequence[Any], numbers: Mapping[int, int]) -> Any:
    """A part of an exception as a graph has it, where values have new `numbers`, and some have none."""
    for place, one in enumerate(values):
        if one is x:
            return Mark(numbers[place]) if place in numbers else MISSING
    return with_numbers(x, numbers) if isinstance(x, str) else x


def _is_plain(x: Any) -> bool:
    return isinstance(x, _PLAIN) or (type(x) is tuple and all(map(_is_plain, x)))


def _can_be_told(x: Any) -> bool:
    """Whether a program can return a value to its caller: a number, or a small array of real numbers."""
    shape_is_known = all(type(length) is int for length in x.shape)
    return shape_is_known and x.dtype.kind in "fiub" and int(np.prod(x.shape)) <= MOST_TOLD


MOST_TOLD: Final = 64
"""The maximum number of array elements in an exception."""


def _kind_of(x: Any) -> "type[Any] | None":
    if not x.is_scalar:
        return None
    kind: type[Any] = x.dtype.type if x.weak is None else x.weak
    return kind


def forms_in(text: str) -> tuple[Form, ...]:
    """The kinds of the values in an exception, if this process has made the text that names it."""
    return _noted[text].forms if text in _noted else ()


def arrays_of_bits(text: str, bits: Sequence[int]) -> list[Any]:
    """The values in the exception, from the 64 bits of each number."""
    found: list[Any] = []
    start = 0
    for form in forms_in(text):
        count = int(np.prod(form.shape))
        part = np.asarray(bits[start : start + count], np.int64)
        start += count
        found.append(part.view(np.float64) if form.dtype.kind == "f" else part)
    return found


def message_values_at_first(condition: Any, message_values: Sequence[Any]) -> list[Any]:
    """The values of the first example for which a condition holds."""
    place = np.unravel_index(np.argmax(condition), np.shape(condition)) if np.ndim(condition) else ()
    return [np.asarray(one)[tuple(place)] for one in message_values]


def error_at(text: str, location: Location | None, arrays: Sequence[Any] = ()) -> BaseException:
    """An exception that a graph names, with its values, and a note with the line that raises it."""
    error = _error_of(text, arrays)
    error.add_note(f"raised at {location}")
    return error


def _error_of(text: str, arrays: Sequence[Any]) -> BaseException:
    """It has its own class if this process knows it, or if it is a class of Python or NumPy."""
    if text in _noted:
        return _noted[text].made(arrays)
    text = without_number(text)
    name, _, rest = text.partition("(")
    found = getattr(np.linalg if name.startswith("numpy.linalg") else builtins, name.rpartition(".")[2], None)
    if isinstance(found, type) and issubclass(found, Exception):
        message = rest[:-1]
        return found(with_values(message[1:-1] if message[:1] in ("'", '"') else message, ()))
    return RuntimeError(with_values(text, ()))

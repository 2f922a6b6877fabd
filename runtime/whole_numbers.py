"""Integer options of transforms: numbers of steps, sizes of chunks, axes."""

from collections.abc import Iterable
from operator import index
from typing import Any, cast

from ..compiler.errors import TransformArgumentError, TransformTypeError
from ..compiler.nesting import shown
from ..compiler.symbolic_size import SymbolicSize
from ..compiler.tracing.size_values import size_of_value
from ..compiler.tracing.traced_memory import is_traced


def whole_number(where: str, name: str, given: Any, *, least: int | None = 0, most: int | None = None) -> int:
    """An int from `least` to `most`, where None means no bound; otherwise raises `TransformTypeError` or
    `TransformArgumentError`.

    >>> whole_number("scan(step)", "length", 3)
    3
    """
    try:
        number = index(given)
    except TypeError:
        number = None
    if number is None or isinstance(given, bool):
        raise TransformTypeError(f"{where}: {name} must be an int, not {type(given).__name__}")
    if least is not None and number < least:
        wanted = "must not be negative" if least == 0 else f"must be at least {least}"
        raise TransformArgumentError(f"{where}: {name} {wanted}, not {shown(number)}")
    if most is not None and number > most:
        raise TransformArgumentError(f"{where}: {name} must be at most {most}, not {shown(number)}")
    return number


def whole_size(where: str, name: str, given: Any) -> int:
    """A count: an int, or a symbolic size; never negative."""
    found: Any = size_of_value(given._trace, given.value) if is_traced(given) else given
    size = cast("int", found)  # computes as one
    return size if isinstance(found, SymbolicSize) and size >= 0 else whole_number(where, name, given)


def joint_length(lengths: Iterable[int]) -> int | None:
    """The common length, None if they differ. Symbolic sizes that may be equal are equal in the current call."""
    found = list(lengths)
    plainest = min(found, key=lambda one: isinstance(one, SymbolicSize))
    return plainest if all(plainest == one for one in found) else None

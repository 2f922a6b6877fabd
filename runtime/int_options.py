"""Options that are ints: numbers of steps and of variants, sizes of chunks, axes."""

from collections.abc import Iterable
from operator import index
from typing import Any, cast

from ..compiler.arguments.option_checks import is_int
from ..compiler.errors import TracemillError, TransformArgumentError, TransformTypeError
from ..compiler.nesting import shown
from ..compiler.symbolic_size import SymbolicSize
from ..compiler.tracing.size_values import size_of_value
from ..compiler.tracing.traced_memory import is_traced


def int_option(
    where: str, name: str, given: Any, *, minimum: int | None = 0, maximum: int | None = None
) -> int:
    """An int from `minimum` to `maximum`, where None means no bound; otherwise raises `TransformTypeError` or
    `TransformArgumentError`.

    >>> int_option("scan(step)", "length", 3)
    3
    """
    try:
        number = index(given)
    except TypeError:
        number = None
    if number is None or isinstance(given, bool):
        raise TransformTypeError(f"{where}: {name} must be an int, not {type(given).__name__}")
    if minimum is not None and number < minimum:
        wanted = "must not be negative" if minimum == 0 else f"must be at least {minimum}"
        raise TransformArgumentError(f"{where}: {name} {wanted}, not {shown(number)}")
    if maximum is not None and number > maximum:
        raise TransformArgumentError(f"{where}: {name} must be at most {maximum}, not {shown(number)}")
    return number


def size_option(where: str, name: str, given: Any) -> int:
    """A count: an int, or a symbolic size; never negative."""
    found: Any = size_of_value(given._trace, given.value) if is_traced(given) else given
    size = cast("int", found)  # computes as one
    return size if isinstance(found, SymbolicSize) and size >= 0 else int_option(where, name, given)


def positive_int(what: str, given: Any, error: type[TracemillError]) -> int:
    """A number of things of which there is at least one; raises `error` for anything else."""
    if not is_int(given, 1):
        raise error(f"{what} must be a positive int, not {shown(given)}")
    return int(given)


def joint_length(lengths: Iterable[int]) -> int | None:
    """The common length, None if they differ. Symbolic sizes that may be equal are equal in the current call."""
    found = list(lengths)
    plainest = min(found, key=lambda one: isinstance(one, SymbolicSize))
    return plainest if all(plainest == one for one in found) else None

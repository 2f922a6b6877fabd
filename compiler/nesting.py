"""Refuse containers that nest too deeply, or contain themselves, with the name of the argument."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from .errors import ArgumentValueError

MOST_AXES = 64
"""How deeply NumPy lets the sequences of an array nest."""

MOST_NESTED = 200
"""How deeply containers of arrays may nest if walking them reaches Python's recursion limit."""


def nests_deeper(x: Any, most: int) -> bool:
    """Whether lists, tuples and dicts nest more than `most` levels deep."""
    level = [x]
    for _ in range(most + 1):
        items = [item for item in level if isinstance(item, (list, tuple, dict))]
        inner = [one for item in items for one in (item.values() if isinstance(item, dict) else item)]
        level = list({id(one): one for one in inner}.values())
        if not level:
            return False
    return True


@contextmanager
def refusing_deep_nesting(name: str, value: Any) -> Generator[None]:
    """Around a walk of `value`: `ArgumentValueError` if it reaches the recursion limit because `value` nests too
    deeply."""
    try:
        yield
    except RecursionError:
        refuse_deep_nesting({name: value})
        raise


def refuse_deep_nesting(arguments: Mapping[str, Any]) -> None:
    """`ArgumentValueError` for the first argument that nests too deeply. Called when a walk reached the recursion
    limit."""
    for name, value in arguments.items():
        if nests_deeper(value, MOST_NESTED):
            raise ArgumentValueError(
                f"{name} is a {type(value).__name__} that nests more than {MOST_NESTED} deep, or holds itself: "
                "give arrays, or containers that end"
            ) from None


def named(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name: ``args[0]``, ``scale``."""
    return {**{f"args[{place}]": value for place, value in enumerate(args)}, **kwargs}


def shown(x: Any, most: int = 60) -> str:
    """The start of ``repr(x)`` for a message, or the type of `x` if repr fails.

    >>> shown(10**5000)
    '<an int that cannot be shown>'
    """
    try:
        return repr(x)[:most]
    except (
        Exception
    ):  # it nests too deeply, is a number with too many digits, or has a class whose repr fails
        name = type(x).__name__
        return f"<{'an' if name[:1] in 'aeiou' else 'a'} {name} that cannot be shown>"

"""Containers that nest too deep, or hold themselves, are refused with the name of the argument."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from .errors import ArgumentValueError

MOST_AXES = 64
"""How deep NumPy lets sequences nest that are to be an array."""

MOST_NESTED = 200
"""How deep containers of arrays may nest where walking them meets Python's recursion limit."""


def nests_deeper(x: Any, most: int) -> bool:
    """Whether lists, tuples and dicts nest more than `most` deep."""
    level = [x]
    for _ in range(most + 1):
        items = [item for item in level if isinstance(item, (list, tuple, dict))]
        inner = [one for item in items for one in (item.values() if isinstance(item, dict) else item)]
        level = list({id(one): one for one in inner}.values())
        if not level:
            return False
    return True


@contextmanager
def refusing_deep(name: str, value: Any) -> Generator[None]:
    """Where `value` is walked: `ArgumentValueError` if that meets the recursion limit because it nests too deep."""
    try:
        yield
    except RecursionError:
        refuse_deep({name: value})
        raise


def refuse_deep(arguments: Mapping[str, Any]) -> None:
    """`ArgumentValueError` for the first argument that nests too deep: called where a walk met the recursion limit."""
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
    """The beginning of ``repr(x)`` for a message, or what `x` is, if that cannot be written out.

    >>> shown(10**5000)
    '<an int that cannot be shown>'
    """
    try:
        return repr(x)[:most]
    except Exception:  # it nests too deep, is a number of too many digits, or is of a class whose repr fails
        name = type(x).__name__
        return f"<{'an' if name[:1] in 'aeiou' else 'a'} {name} that cannot be shown>"

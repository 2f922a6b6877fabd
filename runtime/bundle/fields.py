"""`Fields`: the parts of a JSON document, each accessed by name and type."""

import json
from collections.abc import Mapping
from typing import Any, Final

from ...compiler.nesting import shown
from .damage import DamageError

_KINDS: Final[Mapping[type[Any], str]] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    bool: "true or false",
}
_LONGEST_NUMBER: Final = 20
_DEEPEST: Final = 400
"""The maximum nesting depth: far below Python's own limit."""


def json_document(member: str, content: bytes) -> "Fields":
    """The object in a member's JSON; raises `DamageError` for anything else, and for duplicate names."""
    try:
        found = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_once,
            parse_constant=_no_number,
            parse_int=_short,
            parse_float=_no_number,
        )
    except (ValueError, RecursionError) as error:
        raise DamageError(member, f"it is not JSON that can be read: {error}") from error
    if not isinstance(found, dict):
        raise DamageError(member, "it is not an object of JSON")
    if _is_deep(found):
        raise DamageError(member, f"its lists and objects are nested more than {_DEEPEST} deep")
    return Fields(member, "the document", found)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice in an object")
    return found


def _short(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


def _no_number(text: str) -> Any:
    raise ValueError(f"{text[:40]} is not a whole number")


def _is_deep(found: dict[str, Any]) -> bool:
    level: list[Any] = [found]
    for _ in range(_DEEPEST):
        level = [
            part
            for outer in level
            for part in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(part, dict | list)
        ]
    return bool(level)


class Fields:
    """An object of a document: its path, and its own parts."""

    def __init__(self, member: str, what: str, found: Mapping[str, Any]) -> None:
        self.member, self.what, self.found = member, what, found

    def take(self, name: str, kind: type[Any]) -> Any:
        """A part of this type; raises `DamageError` if it is missing or has another type."""
        if name not in self.found:
            raise DamageError(self.member, f"{self.what} has no {name!r}")
        return self.checked(name, self.found[name], kind)

    def count(self, name: str, below: int) -> int:
        """A non-negative integer."""
        number: int = self.take(name, int)
        if not 0 <= number < below:
            raise DamageError(self.member, f"{name!r} of {self.what} is {number}, and must be below {below}")
        return number

    def fields(self, name: str) -> "Fields":
        """An object."""
        return Fields(self.member, repr(name), self.take(name, dict))

    def objects(self, name: str) -> "list[tuple[str, Fields]]":
        """The objects in an object, by name."""
        found = self.take(name, dict)
        return [
            (key, Fields(self.member, f"{shown(key, 80)} in {name!r}", self.checked(key, item, dict)))
            for key, item in found.items()
        ]

    def items(self, name: str, kind: type[Any]) -> list[Any]:
        """A list of parts of this type."""
        return [self.checked(name, item, kind) for item in self.take(name, list)]

    def checked(self, name: str, found: Any, kind: type[Any]) -> Any:
        """The part, if it has this type."""
        if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
            raise DamageError(
                self.member,
                f"{shown(name, 80)} of {self.what} is {shown(found)}, and should be {_KINDS[kind]}",
            )
        return found

"""Lists, dicts and deques in values: a walk through them, and their contents."""

import operator
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final

from .one_of import entries_of, is_one_of
from .slots import contents

CONTAINERS: Final = (list, dict, deque)


def outermost(x: Any) -> Iterator[Any]:
    """The containers in a value that are not inside another container."""
    if is_one_of(x):
        for one in entries_of(x):
            yield from outermost(one)
    elif isinstance(x, CONTAINERS):
        yield x
    elif isinstance(x, tuple):
        for one in x:
            yield from outermost(one)


def contents_of(x: Any) -> Iterator[tuple[Any, Mapping[Any, Any]]]:
    """The containers in a value, each with its contents."""
    for container in outermost(x):
        found = contents(container)
        yield container, dict(found)
        for one in found.values():
            yield from contents_of(one)


def shallow(x: Any) -> Mapping[Any, Any]:
    return dict(contents(x))


def has_contents(x: Any, state: Mapping[Any, Any]) -> bool:
    if len(x) != len(state):
        return False
    now = x.values() if isinstance(x, dict) else x
    return (not isinstance(x, dict) or list(x) == list(state)) and all(map(operator.is_, now, state.values()))


def fill(x: Any, new: Mapping[Any, Any]) -> None:
    """Replace the contents of a container."""
    x.clear()
    if isinstance(x, dict):
        x.update(new)
    else:
        x.extend(new.values())

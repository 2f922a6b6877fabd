"""`CodeNames`: the attributes and the variables that code mentions, and so may read."""

import dis
from collections.abc import Set
from functools import lru_cache
from itertools import pairwise
from types import CodeType
from typing import Final

from .place import Way

_ANY_ATTRIBUTE: Final = frozenset(
    {"vars", "__dict__", "getattr", "attrgetter", "asdict", "astuple", "deepcopy"}
)
"""What reads attributes that code does not mention."""


class CodeNames:
    """What the code of some functions mentions, and the attributes for which functions of Python are `asked`."""

    def __init__(self, codes: Set[CodeType], asked: Set[str]) -> None:
        self._codes = codes
        self.names: frozenset[str] = frozenset(asked).union(*map(_texts, codes))
        """The names and the texts in the code."""
        self.is_any_attribute = not self.names.isdisjoint(_ANY_ATTRIBUTE)
        """Whether the code may read attributes that it does not mention."""

    def leads(self, way: Way) -> bool:
        """Whether the code may go a way."""
        if isinstance(way, CodeType):
            return way in self._codes
        return way is None or self.is_any_attribute or way in self.names

    def only_appends(self, path: str) -> bool:
        """Whether the code only appends to the list, or adds to the set, with this path."""
        name = path.rpartition(".")[2]
        uses = [found[name] for found in map(_uses, self._codes) if name in found]
        return bool(uses) and uses == [True] * len(uses)

    @property
    def asks_identity(self) -> bool:
        """Whether the code asks ``x is y``, or for an ``id``."""
        return "id" in self.names or any(map(_compares_objects, self._codes))


@lru_cache(4096)
def _compares_objects(code: CodeType) -> bool:
    """Whether there is an ``is`` with something other than a constant."""
    if dis.opmap["IS_OP"] in code.co_code[::2]:  # reading the instructions takes much longer
        steps = pairwise(dis.get_instructions(code))
        if any(step.opname == "IS_OP" and before.opname != "LOAD_CONST" for before, step in steps):
            return True
    return any(_compares_objects(one) for one in code.co_consts if isinstance(one, CodeType))


_APPENDING: Final = frozenset({"append", "appendleft", "extend", "insert", "add"})


@lru_cache(4096)
def _uses(code: CodeType) -> dict[str, bool]:
    """For each name in code and its inner functions, whether only items are appended there."""
    found: dict[str, bool] = {}
    for step, following in pairwise(dis.get_instructions(code)):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_ATTR", "LOAD_METHOD"):
            is_appended = _loads_method(following) and following.argval in _APPENDING
            found[step.argval] = is_appended and found.get(step.argval, True)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            found |= {name: only and found.get(name, True) for name, only in _uses(one).items()}
    return found


def _loads_method(step: dis.Instruction) -> bool:
    """Whether a method is loaded to be called. Before Python 3.12, this has an instruction of its own."""
    return step.opname == "LOAD_METHOD" or (step.opname == "LOAD_ATTR" and "NULL|self" in step.argrepr)


@lru_cache(4096)
def _texts(code: CodeType) -> frozenset[str]:
    """The names and the texts in code and its inner functions."""
    inner = [_texts(one) for one in code.co_consts if isinstance(one, CodeType)]
    return frozenset(code.co_names).union((x for x in code.co_consts if isinstance(x, str)), *inner)

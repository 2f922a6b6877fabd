"""Objects of the user's classes that a function makes and returns: each call of the program makes new ones.

They are given the attributes that they have when the function returns, without calling ``__init__``.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import optree

from ...arguments.leaves import NAMESPACE, flattened
from ...callers.user_code import is_defined_by_user
from ...errors import ConcretizationError
from ...nesting import refusing_deep_nesting
from ...tracing.outside.object_walk import ObjectWalk
from ...tracing.trace import require_trace
from ...tracing.traced_memory import is_traced
from .argument_objects import attributes_of


class Reference:
    """Stands for one of the objects, by its number, so that they may refer to each other."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:  # without letters: it is no size
        return f"<{self.number}>"


class MadeObjects:
    """A result, and the attributes of the objects in it, in which references stand for the objects."""

    def __init__(self, kinds: Sequence[type], attributes: Sequence[dict[str, Any]], result: Any) -> None:
        self.kinds, self.attributes, self.result = kinds, attributes, result

    def made(self) -> Any:
        """The result with new objects."""
        objects: list[Any] = [object.__new__(kind) for kind in self.kinds]

        def filled(tree: Any) -> Any:
            return optree.tree_map(
                lambda x: objects[x.number] if type(x) is Reference else x, tree, namespace=NAMESPACE
            )

        for new, attributes in zip(objects, self.attributes, strict=True):
            for name, value in attributes.items():
                object.__setattr__(new, name, filled(value))
        return filled(self.result)


_register: Any = optree.register_pytree_node  # its annotation asks for a collection
_register(
    MadeObjects,
    lambda x: ((*x.attributes, x.result), x.kinds),
    lambda kinds, children: MadeObjects(kinds, children[:-1], children[-1]),
    namespace=NAMESPACE,
)


def with_made_objects(result: Any, is_noted: Callable[[Any], bool], outside: ObjectWalk | None) -> Any:
    """A result as `MadeObjects` if it holds objects that the function has made, rather than found `outside`.

    `is_noted` says whether the trace has noted that the function has made an object.
    """

    def is_made(x: Any) -> bool:
        is_new = _can_be_made(x) and (is_noted(x) or (outside is not None and not outside.has_met(x)))
        return bool(is_new)

    with refusing_deep_nesting("the result", result):
        if not any(map(is_made, flattened(result)[0])):
            return result
    objects: dict[int, tuple[Any, Reference]] = {}
    attributes: list[dict[str, Any]] = []

    def replaced(x: Any) -> Any:
        if is_traced(x) and x._storage.trace is not require_trace():
            raise ConcretizationError(
                "the function returns an object that a branch on values, or an iteration, has made: return its "
                "attributes, and make the object after the call"
            )
        if not is_made(x):
            return x
        if id(x) not in objects:
            objects[id(x)] = x, Reference(len(objects))
            attributes.append({})
            place = len(attributes) - 1
            attributes[place] = {name: _mapped(replaced, value) for name, value in attributes_of(x).items()}
        return objects[id(x)][1]

    found = _mapped(replaced, result)
    return MadeObjects(tuple(type(x) for x, _ in objects.values()), tuple(attributes), found)


def _mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    return optree.tree_map(change, tree, namespace=NAMESPACE)


def _can_be_made(x: Any) -> bool:
    """Whether an object can be made without its ``__init__``."""
    kind: Any = type(x)
    is_special = issubclass(kind, type | Enum | BaseException) or kind.__new__ is not object.__new__
    return not is_special and is_defined_by_user(kind)

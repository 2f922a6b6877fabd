"""Objects of the user's classes that a function makes and returns. Each call of the program makes new ones.

They hold what they held when the function returned; ``__init__`` is not called.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

import optree

from ...arguments.leaves import NAMESPACE
from ...errors import ConcretizationError
from ...nesting import refusing_deep_nesting
from ...tracing.trace import require_trace
from ...tracing.traced_memory import is_traced
from .object_state import set_state, state_of

Form: TypeAlias = tuple[type, tuple[Any, ...]]
"""The class of an object, and its slots and the names of its other attributes."""


class Reference:
    """Stands for one of the objects, by its number, so that they may refer to each other."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __repr__(self) -> str:  # without letters, so that it is not taken for the name of a size
        return f"<{self.number}>"


class MadeObjects:
    """A result, and what the objects in it hold, in which references stand for the objects."""

    def __init__(self, forms: Sequence[Form], contents: Sequence[tuple[Any, ...]], result: Any) -> None:
        self.forms, self.contents, self.result = tuple(forms), contents, result

    def made(self) -> Any:
        """The result with new objects."""
        objects: list[Any] = [object.__new__(kind) for kind, _ in self.forms]

        def filled(tree: Any) -> Any:
            return _mapped(lambda x: objects[x.number] if type(x) is Reference else x, tree)

        for new, (_, keys), values in zip(objects, self.forms, self.contents, strict=True):
            set_state(new, dict(zip(keys, map(filled, values), strict=True)))
        return filled(self.result)


_register: Any = optree.register_pytree_node  # its annotation asks for a collection
_register(
    MadeObjects,
    lambda x: ((*x.contents, x.result), x.forms),
    lambda forms, children: MadeObjects(forms, children[:-1], children[-1]),
    namespace=NAMESPACE,
)


def with_made_objects(result: Any, made: Collection[int]) -> Any:
    """A result as `MadeObjects` if it holds objects that the function has `made`, by id."""
    if not made:
        return result
    objects: dict[int, Reference] = {}
    forms: list[Form] = []
    contents: list[tuple[Any, ...]] = []

    def replaced(x: Any) -> Any:
        if is_traced(x) and x._storage.trace is not require_trace():
            raise ConcretizationError(
                "the function returns an object that a branch on values, or an iteration, has made: return its "
                "attributes, and make the object after the call"
            )
        if id(x) not in made:
            return x
        if id(x) not in objects:
            place = len(objects)
            objects[id(x)] = Reference(place)
            state = state_of(x)
            forms.append((type(x), tuple(state)))
            contents.append(())
            contents[place] = tuple(_mapped(replaced, value) for value in state.values())
        return objects[id(x)]

    with refusing_deep_nesting("the result", result):
        found = _mapped(replaced, result)
    return MadeObjects(forms, contents, found)


def _mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    return optree.tree_map(change, tree, namespace=NAMESPACE)

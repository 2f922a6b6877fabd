"""Containers of arguments and results as JSON, and back: tuples, lists, dicts, objects of named classes."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import optree

from ...compiler.arguments.leaves import NAMESPACE
from ...compiler.errors.tracemill_error import text_of
from ...compiler.nesting import shown
from ...compiler.numpy_surface.linalg.factorizations import EighResult, EigResult, QRResult, SVDResult
from ...compiler.numpy_surface.linalg.linear_systems import SlogdetResult
from ..eager.pytrees import UNFLATTEN
from .literal_document import literal_document, literal_of

DEEPEST: Final = 64
MOST_NODES: Final = 1 << 16

_GENERATOR: Final = "tracemill.runtime.random.generator:Generator"
"""The one class of Tracemill's own that need not be given."""

_NUMPYS: Final[tuple[type[Any], ...]] = (EigResult, EighResult, QRResult, SVDResult, SlogdetResult)
"""NumPy's named tuples, which need not be given either."""


class MissingClassError(ValueError):
    """A file names a class that was not given."""

    def __init__(self, what: str, shown: str, name: str) -> None:
        super().__init__(f"it takes or returns {what} of the class {shown:.200}")
        self.remedy = f"Give it: tm.load(path, types=[{name:.80}]), or --types MODULE:{name:.80}"


def class_name(cls: type[Any]) -> str:
    """The name of a class in a file: ``module:Class``. It is never imported."""
    return f"{cls.__module__}:{cls.__qualname__}"


def tree_document(tree: Any, leaf: Callable[[int], Any]) -> Any:
    """A structure in a form that JSON can hold, with ``leaf(number)`` in place of each leaf.

    ValueError says which container cannot be stored.
    """
    numbered = optree.tree_unflatten(tree, [_Leaf(number) for number in range(tree.num_leaves)])
    return _written(numbered, leaf, 0)


class _Leaf:
    """Stands for a leaf, by its number."""

    def __init__(self, number: int) -> None:
        self.number = number


def _written(node: Any, leaf: Callable[[int], Any], depth: int) -> Any:
    if isinstance(node, _Leaf):
        return leaf(node.number)
    if depth >= DEEPEST:
        raise ValueError(f"containers are nested more than {DEEPEST} deep")

    def written(items: Iterable[Any]) -> list[Any]:
        return [_written(item, leaf, depth + 1) for item in items]

    if node is None:
        return None
    if type(node) in (tuple, list):
        return {type(node).__name__: written(node)}
    if type(node) in (dict, OrderedDict):
        return {type(node).__name__: [list(map(literal_document, node)), written(node.values())]}
    if optree.is_namedtuple_class(type(node)):
        return {"namedtuple": [type(node).__name__, list(node._fields), written(node)]}
    if type(node) not in UNFLATTEN:
        raise ValueError(f"a {type(node).__name__}")
    children, metadata, _, _ = optree.tree_flatten_one_level(node, namespace=NAMESPACE)
    return {"object": [class_name(type(node)), literal_document(metadata), written(children)]}


class TreeReader:
    """Reads structures from documents.

    Args:
        leaf: what stands for the document of a leaf, a dict with the key ``leaf``; ValueError if it is none.
        classes: those of named tuples and of objects that may be in there.
    """

    def __init__(self, leaf: Callable[[Mapping[str, Any]], Any], classes: Iterable[type[Any]]) -> None:
        self._leaf = leaf
        self._classes = (*classes, *_NUMPYS)
        self._nodes = 0

    def read(self, document: Any, depth: int = 0) -> Any:
        """The containers with their leaves; ValueError for an invalid document or unknown classes."""
        self._nodes += 1
        if depth > DEEPEST or self._nodes > MOST_NODES:
            raise ValueError(f"containers are nested more than {DEEPEST} deep, or more than {MOST_NODES}")
        if document is None:
            return None
        if not isinstance(document, dict):
            raise ValueError(f"{shown(document)} describes no container")
        if "leaf" in document:
            return self._leaf(document)
        if len(document) != 1:
            raise ValueError(f"{shown(document)} describes no container")
        ((kind, content),) = document.items()
        if not isinstance(content, list):
            raise ValueError(f"{shown(document)} describes no container")
        match kind, content:
            case ("tuple", _):
                return tuple(self.read(item, depth + 1) for item in content)
            case ("list", _):
                return [self.read(item, depth + 1) for item in content]
            case ("dict" | "OrderedDict", [list(keys), list(items)]):
                return self._dict(kind, keys, items, depth)
            case ("namedtuple", [str(name), list(fields), list(items)]):
                return self._named_tuple(name, fields, items, depth)
            case ("object", [str(name), metadata, list(items)]):
                return self._object(name, metadata, items, depth)
            case _:
                raise ValueError(f"{shown(document)} describes no container")

    def _dict(self, kind: str, keys: list[Any], items: list[Any], depth: int) -> Any:
        known = [literal_of(key) for key in keys]
        if len(set(known)) != len(items) or len(known) != len(items):
            raise ValueError(f"a dict has {len(items)} entries and {len(set(known))} keys")
        entries = zip(known, (self.read(item, depth + 1) for item in items), strict=True)
        return dict(entries) if kind == "dict" else OrderedDict(entries)

    def _named_tuple(self, name: str, fields: list[Any], items: list[Any], depth: int) -> Any:
        for cls in self._classes:
            if optree.is_namedtuple_class(cls) and (cls.__name__, _fields(cls)) == (name, fields):
                if len(items) != len(fields):
                    break
                return cls(*(self.read(item, depth + 1) for item in items))
        raise MissingClassError("named tuples", f"{name}({', '.join(map(str, fields))})", name)

    def _object(self, name: str, metadata: Any, items: list[Any], depth: int) -> Any:
        cls = self._class(name)
        if cls not in UNFLATTEN:
            raise ValueError(f"{name} is not a container here: register_pytree makes it one")
        children = tuple(self.read(item, depth + 1) for item in items)
        try:
            return UNFLATTEN[cls](literal_of(metadata), children)
        except Exception as error:  # the class is the user's, and its arguments come from the file
            raise ValueError(f"{name} cannot be made of what is stored: {text_of(error)}") from error

    def _class(self, name: str) -> type[Any]:
        if name == _GENERATOR:
            from ..random.generator import Generator

            return Generator
        for cls in self._classes:
            if class_name(cls) == name:
                return cls
        raise MissingClassError("objects", name, name.rpartition(":")[2])


def _fields(named_tuple: Any) -> list[str]:
    return list(named_tuple._fields)

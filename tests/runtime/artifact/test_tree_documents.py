"""Containers are read back from their documents, and documents that describe none are refused."""

from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

import optree
import pytest

from tracemill.runtime.bundle.tree_document import DEEPEST, MissingClassError, TreeReader, tree_document

Point = namedtuple("Point", ["x", "y"])


class Unregistered:
    """A class that is not a container."""


def leaf(document: Mapping[str, Any]) -> Any:
    return document["leaf"]


def reader() -> TreeReader:
    return TreeReader(leaf, [Point, Unregistered])


@pytest.mark.parametrize(
    "container",
    [(1, [2, None]), {"b": 1, "a": (2, 3)}, OrderedDict(b=1, a=2), Point(1, (2,)), {(1, "x"): 1, 2.5: 2}],
)
def test_a_container_is_read_back(container: Any) -> None:
    leaves, tree = optree.tree_flatten(container, namespace="tracemill")
    document = tree_document(tree, lambda number: {"leaf": leaves[number]})
    found = reader().read(document)
    assert found == container
    assert type(found) is type(container)
    assert list(found) == list(container)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (3, "3 describes no container"),
        ({"tuple": [], "list": []}, "describes no container"),
        ({"tuple": 3}, "describes no container"),
        ({"set": []}, "describes no container"),
        ({"dict": [["a"]]}, "describes no container"),
        ({"dict": [["a", "a"], [None, None]]}, "a dict has 2 entries and 1 keys"),
        ({"dict": [["a"], []]}, "a dict has 0 entries and 1 keys"),
        ({"object": [f"{__name__}:Unregistered", None, []]}, "is not a container here: register_pytree"),
    ],
)
def test_a_document_that_describes_no_container_is_refused(document: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reader().read(document)


def test_a_named_tuple_that_was_not_given_or_has_other_fields_is_refused() -> None:
    assert reader().read({"namedtuple": ["Point", ["x", "y"], [{"leaf": 1}, {"leaf": 2}]]}) == (1, 2)
    for name, fields, items in (
        ("Spot", ["x"], [None]),
        ("Point", ["x"], [None]),
        ("Point", ["x", "y"], [None]),
    ):
        with pytest.raises(MissingClassError, match=rf"named tuples of the class {name}\("):
            reader().read({"namedtuple": [name, fields, items]})


def test_documents_are_nested_so_deep_and_no_deeper() -> None:
    def nested(depth: int) -> Any:
        document: Any = None
        for _ in range(depth):
            document = {"tuple": [document]}
        return document

    assert reader().read(nested(DEEPEST)) is not None
    with pytest.raises(ValueError, match=f"nested more than {DEEPEST} deep"):
        reader().read(nested(DEEPEST + 1))
    deep: Any = 1
    for _ in range(DEEPEST + 1):
        deep = (deep,)
    with pytest.raises(ValueError, match=f"nested more than {DEEPEST} deep"):
        tree_document(optree.tree_structure(deep), lambda number: {"leaf": number})

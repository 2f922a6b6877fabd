"""Functions that see the order of a dict's keys give NumPy's answer for every order."""

from collections import OrderedDict, defaultdict
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import RecompileError

ONE, TWO, THREE = np.full(1, 1.0), np.full(2, 2.0), np.full(3, 3.0)
VALUES = {"b": ONE, "a": TWO, 7: THREE}
ORDERS = [{key: VALUES[key] for key in keys} for keys in permutations(VALUES)]
HOLDERS: dict[str, Callable[[dict[Any, Any]], Any]] = {
    "dict": dict,
    "OrderedDict": OrderedDict,
    "defaultdict": lambda d: defaultdict(list, d),
    "dict-in-tuple": lambda d: (None, d),
    "dict-in-dict": lambda d: {"z": d, "y": d},
    "dict-in-OrderedDict": lambda d: OrderedDict(z=d, y=1.0),
}


def told_apart(held: Any) -> Any:
    """The first entry counts most."""
    if isinstance(held, tuple):
        return told_apart(held[1])
    values = list(held.values())
    return told_apart(values[0]) * 2 if isinstance(values[0], dict) else joined(held)


def joined(values: dict[Any, Any]) -> Any:
    return np.concatenate(list(values.values())) * 1.0


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_each_order_of_keys_is_a_signature_and_computes_as_numpy_does(holder: Callable[[Any], Any]) -> None:
    f = tm.compile(told_apart, backend="numpy")
    for given in map(holder, ORDERS * 2 + ORDERS[::-1]):
        for _ in range(2):  # the general way, then the generated entry
            np.testing.assert_array_equal(f(given), told_apart(given))
    assert len(f.signatures()) == len(ORDERS)


def test_orders_are_kept_where_arguments_are_updated_and_where_sizes_have_names() -> None:
    def bumped(d: Any) -> Any:
        for count, x in enumerate(d.values()):
            x += count
        return {key: x + 1 for key, x in d.items()}

    f = tm.compile(bumped, backend="numpy")
    for size in (3, 4, 5, 6):
        for keys in (("a", "b"), ("b", "a"), ("a", "b")):
            ours, theirs = ({key: np.zeros(size) for key in keys} for _ in range(2))
            assert str(f(ours)) == str(bumped(theirs))
            assert str(ours) == str(theirs)


def test_the_order_of_keywords_counts_only_where_the_function_sees_it() -> None:
    seen = tm.compile(lambda **given: joined(given), backend="numpy")
    named = tm.compile(lambda x, y: x - y, backend="numpy")
    for _ in range(3):
        np.testing.assert_array_equal(seen(x=ONE, y=TWO), [1, 2, 2])
        np.testing.assert_array_equal(seen(y=TWO, x=ONE), [2, 2, 1])
        np.testing.assert_array_equal(named(x=ONE, y=TWO), [-1, -1])
        np.testing.assert_array_equal(named(y=TWO, x=ONE), [-1, -1])
    assert [len(seen.signatures()), len(named.signatures())] == [2, 1]


@pytest.mark.parametrize("place", ["inside", "outside", "nowhere"])
@pytest.mark.parametrize("transform", [tm.grad, tm.vmap, tm.jacfwd], ids=lambda t: t.__name__)
def test_transforms_see_the_order_of_the_call(transform: Any, place: str) -> None:
    def f(d: Any) -> Any:
        first, second = d.values()
        return np.sum(first**2 * second)

    inner = tm.compile(f, backend="numpy") if place == "inside" else f
    found: Any = transform(inner)
    if place == "outside":
        found = tm.compile(found, backend="numpy")
    x, y = np.full(2, 3.0), np.full(2, 5.0)
    for given in ({"a": x, "b": y}, {"b": y, "a": x}, {"b": x, "a": y}, {"a": y, "b": x}):
        first, second = given
        result = found(given)
        if transform is tm.vmap:
            np.testing.assert_array_equal(result, given[first] ** 2 * given[second])
            continue
        assert list(result) == [first, second]
        np.testing.assert_array_equal(result[first], 2 * given[first] * given[second])
        np.testing.assert_array_equal(result[second], given[first] ** 2)


def test_a_recompilation_for_an_order_says_so() -> None:
    f = tm.compile(joined, on_recompile="error")
    f({"a": ONE, "b": TWO})
    with pytest.raises(
        RecompileError, match=r"order \('b', 'a'\), and had them in the order \('a', 'b'\)(.|\n)*one order"
    ):
        f({"b": TWO, "a": ONE})

"""A branch in which Python would fail, as at an attribute of None, fails in calls that take it, and in no others."""

import math
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm


class Node:
    def __init__(self, key: Any) -> None:
        self.key = key
        self.left: Any = None
        self.right: Any = None


def inserted(tree: Any, key: Any) -> Any:
    if tree is None:
        return Node(key)
    if key < tree.key:
        tree.left = inserted(tree.left, key)
    elif key > tree.key:
        tree.right = inserted(tree.right, key)
    return tree


def in_order(tree: Any) -> list[Any]:
    return [] if tree is None else [*in_order(tree.left), tree.key, *in_order(tree.right)]


def sorted_by_tree(keys: Any) -> Any:
    tree = None
    for key in keys:
        tree = inserted(tree, key)
    return in_order(tree)


@pytest.mark.slow
def test_a_search_tree_is_built_by_recursion() -> None:
    compiled = tm.compile(sorted_by_tree, on_recompile="ignore")
    for keys in ([3, 1, 4, 1, 5, 9, 2, 6], [1.5, 0.5], [], [1, 2, 3], [3, 1, 2]):
        assert compiled(keys) == sorted_by_tree(keys)


def _attribute(x: Any) -> Any:
    nothing: Any = None
    if x > 0:
        return nothing.size
    return x


def _operator(x: Any) -> Any:
    text: Any = "a"
    return text + 1 if x > 0 else x


def _name(x: Any) -> Any:
    if x > 0:
        return undefined  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    return x


def _unpacking(x: Any) -> Any:
    pair: Any = (1,)
    if x > 0:
        first, second = pair
        return first + second
    return x


def _text(x: Any) -> Any:
    if x > 0:
        return int("zz")
    return x


def _call(x: Any) -> Any:
    nothing: Any = None
    if x > 0:
        return nothing(x)
    return x


def _arguments(x: Any) -> Any:
    def same(one: Any) -> Any:
        return one

    call: Any = same
    return call(x, 1) if x > 0 else x


def _iteration(x: Any) -> Any:
    number: Any = 3
    for step in range(3):
        if x > step:
            x = x - len(number)
    return x


FAILING = [_attribute, _operator, _name, _unpacking, _text, _call, _arguments, _iteration]


@pytest.mark.parametrize("function", FAILING)
def test_only_calls_that_take_the_branch_fail(function: Callable[..., Any]) -> None:
    compiled = tm.compile(function)
    for _ in range(2):
        assert compiled(-1.0) == -1.0
        with pytest.raises(Exception) as expected:  # noqa: PT011 (each function has its own)
            function(1.0)
        with pytest.raises(type(expected.value)) as found:
            compiled(1.0)
        assert str(found.value) == str(expected.value)
        assert found.value.__context__ is None
        last = [traceback.extract_tb(one.value.__traceback__)[-1].lineno for one in (found, expected)]
        assert last[0] == last[1]


@pytest.mark.parametrize("function", FAILING)
def test_a_batch_fails_only_if_an_example_takes_the_branch(function: Callable[..., Any]) -> None:
    np.testing.assert_array_equal(tm.vmap(function)(np.array([-1.0, -2.0])), [-1.0, -2.0])
    with pytest.raises((AttributeError, TypeError, NameError, ValueError)):
        tm.vmap(function)(np.array([-1.0, 2.0]))


def test_a_handler_sees_the_failure() -> None:
    def handled(x: Any) -> Any:
        try:
            return _attribute(x)
        except AttributeError as error:
            return len(str(error))

    compiled = tm.compile(handled, on_recompile="ignore")
    assert [compiled(x) for x in (1.0, -1.0, 2.0)] == [handled(x) for x in (1.0, -1.0, 2.0)]


def test_no_error_of_tracing_is_the_context_of_an_exception_of_the_function() -> None:
    def taken(items: Any, place: Any) -> Any:
        return items.pop(place)

    with pytest.raises(IndexError, match="pop from empty list") as found:
        tm.compile(taken)([], 0)
    assert found.value.__context__ is None


def test_a_program_for_many_sizes_that_fails_is_not_the_context_either() -> None:
    def counted(n: int, step: int) -> Any:
        return list(range(0, n, step)), np.zeros(n)

    compiled = tm.compile(counted)
    compiled(5, 2)
    with pytest.raises(ValueError, match="must not be zero") as found:
        compiled(3, 0)
    assert found.value.__context__ is None


def root_or_seven(x: Any) -> Any:
    try:
        y = math.sqrt(x[1]) if x[1] > 0 else 7.0
    except ValueError:
        y = -1.0
    return y * x[2]


def root_by_another_test(x: Any) -> Any:
    try:
        y = math.sqrt(x[1]) if x[0] > 0 else 7.0
    except ValueError:
        y = -1.0
    return y * x[2]


def root_returned(x: Any) -> Any:
    try:
        if x[1] > 0:
            return math.sqrt(x[1])
    except ValueError:
        return -1.0
    return x[2]


@pytest.mark.parametrize("function", [root_or_seven, root_by_another_test, root_returned])
def test_a_handler_does_not_see_what_python_does_not_run(function: Callable[[Any], Any]) -> None:
    for backend in ("numpy", "c"):
        compiled = tm.compile(function, backend=backend)
        for x in ([1.0, -2.0, 3.0], [1.0, 2.0, 3.0], [-1.0, -2.0, 3.0]):
            assert compiled(np.array(x)) == pytest.approx(function(np.array(x)), rel=1e-15)
            found, _ = tm.compile(tm.value_and_grad(function))(np.array(x))
            assert found == pytest.approx(function(np.array(x)), rel=1e-15)


def refused_by_percent(x: Any) -> Any:
    if x[0] < 0:
        raise ValueError("negative: %.1f of %s" % (x[0], x[1]))  # noqa: UP031
    return x.sum()


def test_an_exception_of_an_uncompiled_derivative_shows_values() -> None:
    with pytest.raises(ValueError, match=r"^negative: -1\.0 of 2\.0$"):
        tm.value_and_grad(refused_by_percent)(np.array([-1.0, 2.0]))

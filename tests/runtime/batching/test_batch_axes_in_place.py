"""Batch axes stay where they are: nested maps move only the axes that their results need moved."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from support.random_arrays import numbers, same
from tracemill.compiler.ir import Call, Graph, called


def calls_of(graph: Graph) -> Iterator[Call]:
    """The calls of a graph and of its nested graphs."""
    for call in graph.calls:
        yield call
        for nested in called((call,)):
            yield from calls_of(nested)


def transposes(function: Callable[..., Any], *args: Any) -> int:
    """How many transposes the optimised graph has."""
    return sum(call.op == "transpose" for call in calls_of(tm.compile(function).lower(*args).optimised))


def backwards(x: Any) -> Any:
    return np.flip(np.cumsum(x))


def share(x: Any) -> Any:
    return x / tm.psum(x, "i")


def standardised(x: Any) -> Any:
    return (x - x.mean(0)) / x.std(0)


def differences(x: Any) -> Any:
    return np.concatenate([x[:1], np.diff(x, axis=0)])


def chosen(x: Any) -> Any:
    return x[np.array([1, 0, 1])]


def sorted_sums(x: Any) -> Any:
    return np.cumsum(tm.vmap(np.sort, 1, 1)(x), -1)


def energy(x: Any) -> Any:
    return np.sum(np.cumsum(np.sin(x)) ** 2)


x, y = numbers(2, 3, 4), numbers(4, 3, 2)
NESTINGS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], Any, int]] = {
    "cumulative": (tm.vmap(tm.vmap(np.cumsum, 1, 1), 1, 1), (x,), np.cumsum(x, 0), 0),
    "axes swapped": (tm.vmap(tm.vmap(np.cumsum, 1, 1), 1), (x,), np.cumsum(x, 0).swapaxes(0, 1), 1),
    "reversed": (tm.vmap(tm.vmap(backwards, 1, 1), 2, 2), (x,), np.flip(np.cumsum(x, 0), 0), 0),
    "sorted": (tm.vmap(tm.vmap(np.sort, 1, 1), 2, 2), (x,), np.sort(x, 0), 0),
    "along two axes": (tm.vmap(sorted_sums, 1, 1), (x,), np.cumsum(np.sort(x, 0), -1), 0),
    "inner name": (tm.vmap(tm.vmap(share, 1, 1, axis_name="i"), 2, 2), (x,), x / x.sum(1, keepdims=True), 0),
    "outer name": (tm.vmap(tm.vmap(share, 1, 1), 2, 2, axis_name="i"), (x,), x / x.sum(2, keepdims=True), 0),
    "standardised": (tm.vmap(standardised, 1, 1), (x,), standardised(x), 0),
    "joined parts": (tm.vmap(tm.vmap(differences, 1, 1), 2, 2), (x,), differences(x), 0),
    "chosen entries": (tm.vmap(tm.vmap(chosen, 1, 1), 2, 2), (x,), chosen(x), 0),
    "pairs": (
        tm.vmap(tm.vmap(lambda a, b: np.sum((a - b) ** 2), (None, 0)), (0, None)),
        (x[0], x[1]),
        np.sum((x[0][:, None] - x[1][None]) ** 2, -1),
        0,
    ),
    "gradients": (
        tm.vmap(tm.vmap(tm.grad(energy), 1, 1), 2, 2),
        (x,),
        2 * np.flip(np.cumsum(np.flip(np.cumsum(np.sin(x), 0), 0), 0), 0) * np.cos(x),
        0,
    ),
}


@pytest.mark.parametrize("name", NESTINGS)
def test_nested_maps_move_no_more_axes_than_their_results_need(name: str) -> None:
    function, args, expected, needed = NESTINGS[name]
    same(function(*args), expected)
    same(tm.compile(function)(*args), expected)
    assert transposes(function, *args) == needed


def test_three_levels_with_results_in_another_order_need_one_transpose() -> None:
    z = numbers(2, 3, 4, 5)
    nested = tm.vmap(tm.vmap(tm.vmap(backwards, 1, 1), 2, 1), 3, 2)
    expected = np.flip(np.cumsum(z, 0), 0).transpose(0, 2, 3, 1)
    same(nested(z), expected)
    same(tm.compile(nested)(z), expected)
    assert transposes(nested, z) == 1


def test_operands_of_different_batch_axes_meet_along_one() -> None:
    function = tm.vmap(lambda a, b: np.cumsum(a * b), (1, 0), 1)
    same(function(x[0], y[..., 0]), np.cumsum(x[0] * y[..., 0].T, 0))
    assert transposes(function, x[0], y[..., 0]) == 1


def test_a_shape_that_joins_axes_across_the_batch_moves_it_to_the_front() -> None:
    joined, apart = tm.vmap(np.ravel, 1), tm.vmap(np.ravel, 2, 1)
    same(joined(x), x.swapaxes(0, 1).reshape(3, -1))
    same(apart(x), x.reshape(-1, 4))
    assert (transposes(joined, x), transposes(apart, x)) == (1, 0)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_stacks_of_matrices_keep_a_batch_before_the_matrix(axis: int) -> None:
    stack = numbers(2, 3, 4, 4) + 4 * np.eye(4)
    moved = np.moveaxis(stack, 0, axis)
    same(tm.vmap(np.linalg.inv, axis, axis)(moved), np.moveaxis(np.linalg.inv(stack), 0, axis))
    assert transposes(tm.vmap(np.linalg.inv, axis, axis), moved) == (0 if axis in (0, 1) else 2)

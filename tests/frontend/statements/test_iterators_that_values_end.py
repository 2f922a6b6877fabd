"""Iterators of users' classes whose `StopIteration` depends on values end where Python's do."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import assert_same
from tracemill.compiler.errors import BatchedHandlerError, ConcretizationError


class Halves:
    """Halves of a number, down to a limit."""

    def __init__(self, x: Any, limit: Any) -> None:
        self.x, self.limit = x, limit

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.x < self.limit:
            raise StopIteration
        self.x = self.x / 2
        return self.x


def looped(x: Any, limit: Any) -> Any:
    total = 0.0
    for half in Halves(x, limit):
        total += half
    return total


def listed(x: Any, limit: Any) -> Any:
    halves = list(Halves(x, limit))
    return (*halves, len(halves))


def sliced(x: Any, limit: Any) -> Any:
    return tuple(islice(Halves(x, limit), 2))


def summed(x: Any, limit: Any) -> Any:
    return sum(Halves(x, limit)), max(Halves(x, limit), default=-1.0)


def asked(x: Any, limit: Any) -> Any:
    halves = Halves(x, limit)
    return next(halves, -1.0), next(halves, -2.0)


def unpacked(x: Any, limit: Any) -> Any:
    first, *others = [0.0, *Halves(x, limit)]
    return first, *others


@pytest.mark.parametrize("function", [looped, listed, sliced, summed, asked, unpacked])
def test_it_ends_where_python_ends_it(function: Callable[..., Any]) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    for args in ((8.0, 1.0), (0.5, 1.0), (100.0, 30.0), (3.0, 1.0)):
        assert_same(compiled(*args), function(*args))


def test_checks_can_be_off() -> None:
    assert tm.compile(looped, checks=False)(8.0, 1.0) == looped(8.0, 1.0)


def test_next_without_a_default_raises() -> None:
    def taken(x: Any) -> Any:
        return next(Halves(x, 1.0))

    compiled = tm.compile(taken)
    assert compiled(4.0) == 2.0
    with pytest.raises(StopIteration):
        compiled(0.5)


def test_a_gradient_follows_the_iterator() -> None:
    assert tm.grad(lambda x: looped(x, 1.0))(8.0) == 15 / 16


@pytest.mark.parametrize("transform", [tm.vmap, lambda function: tm.compile(tm.vmap(function))])
def test_a_batch_is_refused(transform: Callable[..., Any]) -> None:
    with pytest.raises((ConcretizationError, BatchedHandlerError), match="iterator"):
        transform(lambda x: looped(x, 1.0))(np.array([8.0, 3.0]))

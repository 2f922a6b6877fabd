"""Containers that nest too deeply, or hold themselves, are refused by name wherever a function takes some."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import TracemillError


def endless() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


def deep() -> list[Any]:
    items: list[Any] = [1.0]
    for _ in range(10_000):
        items = [items]
    return items


def in_a_trace(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda x: tm.compile(lambda y: function(y, x), backend="numpy")(np.ones(2))


TAKERS: dict[str, Callable[[Any], Any]] = {
    "compile": tm.compile(np.sum, backend="numpy"),
    "a static argument": tm.compile(np.sum, backend="numpy", static_argnums=0),
    "grad": tm.grad(np.sum),
    "argnums": lambda x: tm.grad(np.sum, argnums=x)(1.0),
    "jvp": lambda x: tm.jvp(np.sin, (x,), (x,)),
    "vjp": lambda x: tm.vjp(np.sin, x),
    "vmap": tm.vmap(np.sin),
    "scan": lambda x: tm.scan(lambda carry, row: (carry, row), x, np.ones(3)),
    "export": lambda x: tm.export(np.sin, x),
    "the result": in_a_trace(lambda y, x: [x, y]),
    "a ufunc": in_a_trace(np.add),
    "np.where": in_a_trace(lambda y, x: np.where(x, y, y)),
    "np.concatenate": in_a_trace(lambda y, x: np.concatenate([y, x])),
    "np.stack": in_a_trace(lambda y, x: np.stack([y, x])),
    "an index": in_a_trace(lambda y, x: y[x]),
    "an assignment": in_a_trace(lambda y, x: y.__setitem__(0, x)),
}


@pytest.mark.parametrize("make", [endless, deep])
@pytest.mark.parametrize("taker", TAKERS)
def test_a_container_without_end_is_refused_by_name(taker: str, make: Callable[[], Any]) -> None:
    with pytest.raises((TracemillError, ValueError, TypeError)) as caught:
        TAKERS[taker](make())
    assert str(caught.value)


def test_results_that_nest_deeper_than_python_reads_brackets_are_returned() -> None:
    def deeper(x: Any) -> Any:
        found: Any = x
        for _ in range(300):
            found = [found]
        return found

    compiled = tm.compile(deeper, backend="numpy")
    for x in (1.0, 2.0):
        assert compiled(np.full(1, x)) == deeper(np.full(1, x))

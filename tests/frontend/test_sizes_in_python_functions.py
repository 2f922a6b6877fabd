"""Functions and objects of Python's library get the numbers of sizes and ints."""

import json
import statistics
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ArgumentTypeError

USES: dict[str, Callable[[Any], Any]] = {
    "json": lambda m: json.dumps({"n": len(m), "shape": m.shape}),
    "fraction": lambda m: Fraction(len(m), 2),
    "timedelta": lambda m: timedelta(len(m)),
    "statistics": lambda m: statistics.mean([len(m), 2, 3]),
    "set": lambda m: {len(m), 7},
    "counter": lambda m: Counter([len(m), 1, 1]),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_sizes_are_numbers(use: Callable[[Any], Any]) -> None:
    def computed(x: Any) -> Any:
        return use(x[x > 0])

    for function in (use, computed):
        compiled = tm.compile(function, on_recompile="ignore")
        for count in (3, 4, 5):
            x = np.arange(count) - 1.0
            found, expected = compiled(x), function(x)
            assert type(found) is type(expected)
            assert repr(found) == repr(expected)


def test_int_arguments_are_numbers() -> None:
    def function(n: int, x: Any) -> Any:
        return json.dumps({"n": n, "large": n > 2}), Fraction(n, 3), x * n

    compiled = tm.compile(function, on_recompile="ignore")
    for n in (1, 4):
        text, part, _ = compiled(n, np.ones(2))
        assert (text, part) == function(n, np.ones(2))[:2]


def test_an_object_that_holds_a_size_is_not_returned() -> None:
    with pytest.raises(ArgumentTypeError, match="holds a traced size"):
        tm.compile(lambda x: ValueError(len(x[x > 0])))(np.ones(2))


def test_an_int_that_each_iteration_halves_or_triples_becomes_no_endless_expression() -> None:
    def path(n: int) -> Any:
        steps = [n]
        while n != 1:
            n = 3 * n + 1 if n & 1 else n >> 1
            steps.append(n)
        return steps, max(steps)

    compiled = tm.compile(path, on_recompile="ignore")
    for n in (7, 8, 1, 27, 9):
        assert compiled(n) == path(n)

"""Loading generated source: a namespace of its own, tracebacks with its lines, nothing left behind."""

import gc
import linecache
import traceback
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.runtime.programs.load_module import load_module

SOURCE = '''"""A module."""

count = 0


def divide(x, y):
    """x / y, counting the calls."""
    global count
    count += 1
    return x / y, count
'''


def test_each_module_has_a_namespace_of_its_own() -> None:
    first, second = load_module(SOURCE, "divide"), load_module(SOURCE, "divide")
    assert first(1, 2) == (0.5, 1)
    assert first(1, 2) == (0.5, 2)
    assert second(1, 2) == (0.5, 1)


@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_a_function_may_be_called_as_the_module_that_runs_is(backend: str) -> None:
    def __main__(x: Any) -> Any:  # noqa: N807
        return x * 2.0

    assert tm.compile(__main__, backend=backend)(np.ones(2)).tolist() == [2.0, 2.0]


def test_a_traceback_shows_the_generated_line_as_long_as_the_function_lives() -> None:
    function: Any = load_module(SOURCE, "divide")
    file = function.__code__.co_filename
    with pytest.raises(ZeroDivisionError) as caught:
        function(1, 0)
    assert "    return x / y, count\n" in "".join(traceback.format_exception(caught.value))
    assert file in linecache.cache
    del function, caught
    gc.collect()
    assert file not in linecache.cache


def test_python_functions_are_put_into_the_module() -> None:
    function = load_module("def f(x):\n    return python_1(x)\n", "f", {"python_1": lambda x: x + 1})
    assert function(1) == 2


def test_the_self_check_of_a_program_is_shown_but_not_compiled() -> None:
    def sines(x: Any) -> Any:
        return np.sin(x) * 2.0

    source = tm.compile(sines, backend="numpy").lower(np.ones(3)).source
    program: Any = load_module(source, "sines")
    assert program(np.zeros(3))[0].tolist() == [0.0, 0.0, 0.0]
    assert {"statements"} == {"statements", "reference", "check", "INPUTS"} & program.__globals__.keys()
    lines = linecache.getlines(program.__code__.co_filename)
    assert "def check():\n" in lines
    first = program.__globals__["statements"].__code__.co_firstlineno
    assert lines[first - 1] == "def statements(mine, x):\n"

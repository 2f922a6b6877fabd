"""Without a trace, a converted function behaves like the original: the same results, exceptions and lines."""

import ast
import bisect
import colorsys
import fractions
import heapq
import inspect
import json
import random
import runpy
import statistics
import subprocess
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.callers.user_code import CONVERTS
from tracemill.compiler.frontend.conversion import conversion_of, converted


def text_of(function: Callable[..., Any]) -> str:
    assert isinstance(function, FunctionType)
    found = conversion_of(function)
    assert not isinstance(found, str), found
    return found.text


# ---- nothing is traced: Python's meaning ----------------------------------------------------------------


def counted(n: int, log: list[str]) -> str:
    """Every kind of statement that conversion rewrites."""
    total: float = 0
    for i, letter in enumerate("abcdef"):
        if i == n:
            log.append("continue")
            continue
        if i > n + 2:
            break
        while total < 10 and total != 7:
            total += 3
            if total > 8:
                log.append(f"{total}")
                break
        else:
            log.append("else of while")
        total -= 1 if letter in ("b", "d") else 2
    else:
        log.append("else of for")
    table = {"a": [1, 2], "b": [3, 4]}
    table["a"][0], table["b"][-1] = table["b"][-1], table["a"][0]
    table["a"][1] += 5
    first, *rest = (x for x in range(5) if 0 < x < 4)
    try:
        if n > 3:
            return f"early {total}"
        log.append(str([first, rest, table]))
        total /= n
    except ZeroDivisionError as error:
        log.append(str(error))
    finally:
        log.append("finally")
    del first
    with np.errstate(all="ignore"):
        if (m := n) and m > 1:
            return f"in with {m}"
    return f"{total} {max(1, n)} {'x' if n else 'y'}"


@pytest.mark.parametrize("n", range(6))
def test_converted_statements_behave_like_the_original(n: int) -> None:
    ours: list[str] = []
    theirs: list[str] = []
    assert converted(counted)(n, ours) == counted(n, theirs)
    assert ours == theirs


def failing(x: list[int]) -> int:
    total = 0
    for one in x:
        if one > 2:
            total += x[one]
    return total


def test_a_traceback_shows_the_lines_of_the_function() -> None:
    def lines(function: Callable[..., Any]) -> list[Any]:
        with pytest.raises(IndexError) as caught:
            function([1, 9])
        frames = traceback.extract_tb(caught.value.__traceback__)
        return [(frame.lineno, frame.name) for frame in frames if frame.filename == __file__][1:]

    assert lines(converted(failing)) == lines(failing)


def test_a_converted_function_keeps_its_closure_defaults_and_names() -> None:
    scale = 2.0

    def scaled(x: float, by: float = 3.0, *more: float, plus: float = 1.0, **others: float) -> float:
        nonlocal scale
        scale += 1.0
        return x * by * scale + plus + sum(more) + sum(others.values())

    new = converted(scaled)
    assert new is not scaled
    assert new(1.0) == 10.0
    assert scale == 3.0
    assert new(1.0, 2.0, 3.0, plus=0.0, z=1.0) == 12.0
    assert (new.__name__, new.__qualname__, new.__module__) == (
        scaled.__name__,
        scaled.__qualname__,
        scaled.__module__,
    )
    assert inspect.signature(new).parameters.keys() == inspect.signature(scaled).parameters.keys()


def test_recursion_and_methods_work() -> None:
    class Tree:
        def __init__(self, *children: "Tree") -> None:
            self.__children = children

        def depth(self) -> int:
            return 1 + max([child.depth() for child in self.__children], default=0)

    tree = Tree(Tree(), Tree(Tree()))
    assert converted(tree.depth)() == 3

    def factorial(n: int) -> int:
        return 1 if n < 2 else n * factorial(n - 1)

    assert converted(factorial)(5) == 120


def a_generator() -> Any:
    yield 1


async def a_coroutine() -> int:
    return 1


def of_its_variables(x: int) -> int:
    return len(locals()) + x


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (a_generator, None),
        (a_coroutine, "it is a coroutine"),
        (of_its_variables, "it uses locals"),
        (statistics.mean, "belongs to a library"),
        (eval("lambda x: x"), "its source is not there"),
        ((lambda x: x, lambda x: x)[1], None),
    ],
)
def test_a_function_that_cannot_be_converted_is_unchanged(function: Any, reason: str | None) -> None:
    found = conversion_of(function)
    if reason is None:
        assert not isinstance(found, str)
    else:
        assert isinstance(found, str)
        assert reason in found
        assert converted(function) is function


# ---- libraries as test data ------------------------------------------------------------------------------


LIBRARIES = (statistics, heapq, bisect, random, fractions, colorsys, textwrap)


@pytest.fixture
def _libraries_are_converted() -> Any:
    token = CONVERTS.set(tuple(module.__name__ for module in LIBRARIES))
    yield
    CONVERTS.reset(token)


@pytest.mark.usefixtures("_libraries_are_converted")
def test_converted_library_functions_behave_like_the_original() -> None:
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (statistics.mean, ([1, 2, 3.5, 7],)),
        (statistics.median, ([5, 1, 4],)),
        (statistics.mode, ("abbc",)),
        (statistics.stdev, ([1.0, 2.5, 4.0],)),
        (statistics.quantiles, ([1, 2, 3, 4, 5],)),
        (statistics.linear_regression, ([1, 2, 3], [2, 4, 7])),
        (statistics.multimode, ("aabbc",)),
        (heapq.nlargest, (3, [5, 1, 9, 7, 2])),
        (heapq.nsmallest, (2, [5, 1, 9, 7, 2])),
        (colorsys.rgb_to_hls, (0.2, 0.4, 0.6)),
        (colorsys.hsv_to_rgb, (0.6, 0.5, 0.4)),
        (textwrap.dedent, ("  a\n    b\n",)),
        (fractions.Fraction(3, 7).limit_denominator, (5,)),
    ]
    for function, args in calls:
        new = converted(function)
        assert new is not function
        assert new(*args) == function(*args)
    with pytest.raises(statistics.StatisticsError, match="at least two data points"):
        converted(statistics.stdev)([1.0])


@pytest.mark.slow
@pytest.mark.usefixtures("_libraries_are_converted")
def test_every_function_of_these_modules_converts() -> None:
    for module in LIBRARIES:
        for name, function in vars(module).items():
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                found = conversion_of(function)
                if isinstance(found, str):
                    assert "generator" in found or "it uses" in found, (name, found)
                else:
                    ast.parse(found.text)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("modules", "functions", "examples"),
    [
        ("statistics heapq bisect random fractions textwrap colorsys", 150, 90),
        ("numpy.lib numpy.linalg numpy.polynomial", 600, 1000),
        ("scipy.linalg scipy.special", 300, 1000),
    ],
)
def test_the_examples_of_libraries_give_the_same_when_all_functions_are_converted(
    modules: str, functions: int, examples: int
) -> None:
    program = Path(__file__).parents[1] / "support" / "doctests_of_converted.py"
    command = [sys.executable, str(program), *modules.split()]
    process = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found = json.loads(process.stdout.splitlines()[-1])
    assert found["differ"] == []
    assert found["functions"] > functions
    assert found["examples"] > examples


# ---- the source of a function ----------------------------------------------------------------------------


IN_A_FILE = '''
import math
from os.path import (
    join,
    split,
)
TEXT = """
def inner(x): return x
"""
def decorator(value):
    return lambda function: function
@decorator(
    1
)
@decorator(2)
def decorated(x):
    # a comment
# at the left
    return math.sin(x) + math.floor(x)
if TEXT:
    def under_if(x): return x if x > 0 else 1
else:
    def under_else(x): return x
try:
    import cmath
except ImportError:
    cmath = None
class Held:
    def method(self, x):
        return join("a", x), split(x), cmath.sqrt(x)
pair = (lambda x: x + 1,
        lambda x: -x)
def quoted(x):
    """
at the left, too
"""
    return x
'''


def test_the_source_of_a_function_is_found_in_any_place(tmp_path: Path) -> None:
    path = tmp_path / "functions_in_a_file.py"
    path.write_text(IN_A_FILE)
    module = runpy.run_path(str(path))
    found = [module[name] for name in ("decorated", "under_if", "quoted")]
    for function in (*found, module["Held"].method, *module["pair"]):
        assert not isinstance(conversion_of(function), str), function


def test_a_function_whose_file_has_changed_is_not_converted(tmp_path: Path) -> None:
    path = tmp_path / "changed.py"
    path.write_text(IN_A_FILE)
    module = runpy.run_path(str(path))
    path.write_text(
        IN_A_FILE.replace("return math.sin(x) + ", "return math.cos(x) + ").replace("x + 1", "x + 2")
    )
    for function in (module["decorated"], module["pair"][0]):
        reason = conversion_of(function)
        assert isinstance(reason, str)
        assert "has changed" in reason
    assert not isinstance(conversion_of(module["quoted"]), str)


# ---- nothing changes for others --------------------------------------------------------------------------


def test_a_conversion_shows_its_source() -> None:
    def relu(x: float) -> float:
        if x > 0:
            return x
        return 0.0

    place, line, *_ = text_of(relu).splitlines()
    assert place.startswith("# test_conversion.py:")
    assert line.startswith("def relu(x: float)")
    assert "_tm.is_staged" in text_of(relu)


def test_threads_convert_one_function_at_the_same_time() -> None:
    results: list[float] = []

    def bent(x: Any) -> Any:
        return x if x > 0 else -x

    def work() -> None:
        results.extend(float(tm.compile(bent, backend="numpy")(x)) for x in (1.0, -2.0))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [1.0] * 8 + [2.0] * 8


def _own_names(x: Any) -> Any:
    def inner() -> Any:
        return x

    class Kind:
        def method(self) -> Any:
            return x

    if x > 5:
        x = Kind().method()
    return inner.__qualname__, (lambda: x).__qualname__, Kind.__qualname__, Kind.method.__qualname__


class _Names:
    def own(self, x: Any) -> Any:
        for step in range(2):
            if x > step:
                x = x - 1

        def inner() -> Any:
            return x

        return inner.__qualname__


def test_functions_and_classes_inside_keep_their_qualified_names() -> None:
    for function in (_own_names, _Names().own):
        assert tm.compile(function)(1.0) == function(1.0)
        token = CONVERTS.set(True)
        try:
            assert converted(function)(1.0) == function(1.0)
        finally:
            CONVERTS.reset(token)


def test_messages_name_functions_inside_as_python_does() -> None:
    def calling(x: Any) -> Any:
        def inner(one: Any) -> Any:
            return one

        call: Any = inner
        return call(x, 2)

    with pytest.raises(TypeError) as expected:
        calling(1.0)
    with pytest.raises(TypeError) as found:
        tm.compile(calling)(1.0)
    assert str(found.value) == str(expected.value)


class _Private:
    def __init__(self, x: Any) -> None:
        self.__x = x

    def __raised(self, by: Any) -> Any:
        if by > self.__x:
            self.__x = self.__x + by
        return self.__x

    def run(self, values: Any) -> Any:
        for by in values:
            self.__raised(by)
        return self.__x

    def named(self, __value: Any) -> Any:
        __unread = __value
        return __value


def test_private_methods_and_attributes_are_converted() -> None:
    def function(values: Any) -> Any:
        return _Private(0.5).run(values)

    rows = np.array([[1.0, 2.0, 0.1], [0.2, 0.3, 9.0]])
    np.testing.assert_array_equal(tm.vmap(function)(rows), [function(row) for row in rows])
    found = conversion_of(_Private.named)  # type: ignore[arg-type]
    assert isinstance(found, str)
    assert "private names" in found

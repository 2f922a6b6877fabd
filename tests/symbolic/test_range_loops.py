"""Python's loops over ``range(n)`` of a symbolic size, or over that many rows, become one loop if they only compute.

Other loops run iteration by iteration and limit the program to one size; their results are right as well.
"""

import linecache
import re
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from numpy_surface.differential import assert_same
from samples.thinning import one_in
from symbolic.loops_that_compute import (
    COMPUTING,
    RNG,
    by_two,
    in_place,
    narrow,
    of_a_table,
    recurrent,
    rows,
    running,
    table,
    weighted,
)
from symbolic.loops_that_do_more import (
    MORE,
    factorial,
    known_turn_by_turn,
    labelled,
    listed,
    powers,
    range_of_its_own,
)
from tracemill.compiler.errors import UndecidedDimError

SIZES = (4, 7, 2, 30)


def check(
    function: Callable[..., Any], backend: str, sizes: tuple[int, ...] = SIZES, dynamic: bool = True
) -> int:
    """Compare with NumPy, and tell how many programs it took."""
    compiled = tm.compile(function, dynamic=dynamic, on_recompile="ignore", backend=backend)
    for size in sizes:
        x = RNG.normal(size=(size, 3) if function in (recurrent, rows) else size)
        theirs, ours = x.copy(), x.copy()
        with np.errstate(all="ignore"):
            want, got = function(theirs), compiled(ours)
        assert list(map(type, optree.tree_leaves(got))) == list(map(type, optree.tree_leaves(want)))
        assert_same(want, got, rtol=1e-12 if function is not narrow else 1e-6)
        assert_same(theirs, ours, rtol=1e-12)
    return len(compiled.signatures())


@pytest.mark.sampled("of_rows-numpy", "gradient-c", "mapped-numpy", slow=5)
@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("function", COMPUTING, ids=lambda function: function.__name__)
def test_a_loop_that_computes_is_one_program_for_all_sizes(
    function: Callable[..., Any], backend: str, c_compiler: str
) -> None:
    assert check(function, backend) == 1


@pytest.mark.sampled(every=5, slow=3)
@pytest.mark.parametrize("function", one_in(3, MORE), ids=lambda function: function.__name__)
def test_a_loop_that_does_more_gives_what_python_gives(function: Callable[..., Any]) -> None:
    check(function, "numpy")
    assert check(function, "numpy", (2, 3), dynamic=False) == 2


def test_an_index_that_python_would_know_may_be_out_of_range() -> None:
    def through_a_table(x: Any) -> Any:
        y, places = np.zeros(4), np.arange(len(x))
        for i in range(len(x)):
            y[places[i]] += x[i]
        return y

    def of_numbers(x: Any) -> Any:
        y = np.zeros(4)
        for place in np.arange(len(x)):
            y[place] += x[place]
        return y

    for function in (through_a_table, of_numbers):
        f = tm.compile(function, dynamic=True, on_recompile="ignore")
        for size in (2, 4):
            assert_same(function(np.ones(size)), f(np.ones(size)))
        with pytest.raises(IndexError):
            function(np.ones(5))
        with pytest.raises(IndexError):
            f(np.ones(5))


def test_numbers_of_numpys_keep_their_dtype_in_loops() -> None:
    def f(x: Any) -> Any:
        y, n = x * 1, len(x)
        for i in range(n):
            y = y + x[i] * np.float32(0.5) * np.maximum(n, 1)
        return y

    g = tm.compile(f, dynamic=True)
    for size in (5, 9):
        x = np.ones(size, "f4")
        assert f(x).dtype == np.float64
        assert_same(f(x), g(x))
    assert len(g.signatures()) == 1


def test_a_name_that_is_not_pythons_range_is_left_alone() -> None:
    check(range_of_its_own, "numpy")


@pytest.mark.parametrize("function", [weighted, running, recurrent, of_a_table, in_place, table, by_two])
def test_a_loop_can_be_exported_for_all_sizes(function: Callable[..., Any]) -> None:
    shape = "N, 3" if function is recurrent else "N"
    f = tm.export(function, f"x: f64[{shape}]", constraints="N in 1..40").function()
    for size in (1, 5, 33):
        x = RNG.normal(size=(size, 3) if function is recurrent else size)
        assert_same(function(x.copy()), f(x.copy()), rtol=1e-12)


def test_a_loop_may_have_no_turns_where_types_stay() -> None:
    def f(x: Any) -> Any:
        total = x[0] + 2
        for i in range(1, len(x)):
            total = total + x[i]
            x[i] = 0.0
        return total

    g = tm.export(f, "x: f64[N]", constraints="N in 1..40").function()
    assert [g(np.ones(n)) for n in (1, 2, 6)] == [3, 4, 8]
    h = tm.export(weighted, "x: f64[N]").function()
    assert [h(np.ones(n)) for n in (0, 1, 3)] == [0, 0, 3]
    with pytest.raises(UndecidedDimError, match=r"The loop at .* is unrolled, since .*it changes `found`"):
        tm.export(listed, "x: f64[N]", constraints="N >= 1")


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (listed, "it changes `found`, a list"),
        (factorial, "it computes numbers that Python knows in each iteration"),
        (known_turn_by_turn, "an index may be out of bounds for an axis with size 40"),
        (powers, "it computes Python ints that may exceed 64 bits"),
        (labelled, "it needs Python's own numbers and variables"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_recompilation_says_why_a_loop_is_unrolled(function: Callable[..., Any], reason: str) -> None:
    f = tm.compile(function, dynamic=True, on_recompile="ignore")
    line, file = function.__code__.co_firstlineno, Path(function.__code__.co_filename).name
    for size in (5, 9):
        f(np.ones(size))
    text = f.explain_recompile()
    assert re.search(f"is unrolled, since .*{re.escape(reason)}", text)
    assert any(f"the loop at {file}:{line + more} " in text for more in range(12))


@pytest.mark.parametrize("text", ["nowhere is None", "np.nowhere is None", "len(nowhere) > 0", "x[nowhere]"])
def test_a_name_without_a_value_is_an_error_as_in_python(text: str, tmp_path: Path) -> None:
    file = tmp_path / "unbound.py"
    file.write_text(f"def f(x):\n    for i in range(len(x)):\n        y = {text}\n    return x\n")
    module: Any = {"np": np}
    exec(compile(file.read_text(), str(file), "exec"), module)
    with pytest.raises((NameError, AttributeError), match="nowhere"):
        tm.compile(dynamic=True)(module["f"])(np.ones(3))


def test_text_that_has_changed_since_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    text = "def total(x):\n    acc = 0.0\n    for i in range(len(x)):\n        acc = acc + x[i] * 1.0\n    return acc\n"
    file.write_text(text)
    module = types.ModuleType("edited")
    exec(compile(text, str(file), "exec"), vars(module))
    for _ in range(100):  # Python notes in code what it has seen when it runs
        module.total(np.ones(3))
    assert check(module.total, "numpy") == 1
    for old, new in (("+", "-"), ("1.0", "True"), ("1.0", "1"), ("acc = 0.0", "acc = -0.0")):
        file.write_text(text.replace(old, new))
        linecache.checkcache(str(file))
        exec(compile(text, str(file), "exec"), vars(module))
        assert check(module.total, "numpy") > 1


def test_threads_do_not_see_each_others_loops() -> None:
    found: list[bool] = []

    def work() -> None:
        f = tm.compile(running, dynamic=True, on_recompile="ignore")
        for size in (3, 5, 9):
            x = np.arange(float(size))
            found.append(bool((f(x) == running(x)).all()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 12

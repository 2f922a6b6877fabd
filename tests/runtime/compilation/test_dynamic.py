"""`dynamic=`: one program serves arrays of many sizes, all for which it is right, and says why there is another."""

import collections
import contextlib
import functools
import json
import math
import pickle
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracemill as tm
from samples.thinning import one_in
from support.threading_together import run_in_threads
from symbolic.programs import OBSERVED, OTHERS, PROGRAMS
from tracemill.compiler.errors import (
    ArgumentSpecError,
    ContradictoryConstraintsError,
    DimMismatchError,
    DimSpecError,
    DTypeError,
    RecompileError,
    RecompileWarning,
    TransformTypeError,
    UndecidedDimError,
    UndeterminedDimError,
)
from tracemill.runtime.cache.disk_cache import default_cache
from tracemill.runtime.programs.built import statistics


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRACEMILL_CACHE_DIR", str(folder))
    monkeypatch.setenv(
        "TRACEMILL_CHECK", "1"
    )  # names that do not do are errors, and no programs for single sizes
    return folder


def layer(x: Any, w: Any) -> Any:
    return np.tanh(x @ w) + 1


W = np.linspace(-1, 1, 12).reshape(4, 3)


def rows(count: int) -> Any:
    return np.linspace(0, 1, 4 * count).reshape(count, 4)


def shown(f: Any) -> list[str]:
    return [str(signature) for signature in f.signatures()]


# ---- how many programs -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("dynamic", "programs"), [(None, 2), (True, 1), ({"x": "[B, 4]"}, 1)])
def test_a_thousand_sizes_are_served_by_one_program(dynamic: Any, programs: int) -> None:
    f = tm.compile(layer, dynamic=dynamic)
    before = statistics.compiled
    for count in range(2, 1002):
        np.testing.assert_allclose(f(rows(count), W), layer(rows(count), W), rtol=1e-12)
    assert len(f.signatures()) == statistics.compiled - before == programs


def test_never_is_a_program_for_each_size() -> None:
    f = tm.compile(layer, dynamic=False)
    for count in (2, 3, 4, 3):
        f(rows(count), W)
    assert len(f.signatures()) == 3


def test_the_second_size_that_an_axis_shows_gives_it_a_name() -> None:
    f = tm.compile(layer)
    f(rows(5), W)
    f(rows(7), W)
    assert shown(f) == [
        "args[0]: f64[5, 4], args[1]: f64[4, 3]",
        "args[0]: f64[x_0, 4], args[1]: f64[4, 3] where x_0 in 2..",
    ]
    f(np.ones((9, 6)), np.ones((6, 3)))  # now others differ, and they are equal: they share a name
    assert shown(f)[2:] == ["args[0]: f64[x_0, x_1], args[1]: f64[x_1, 3] where x_0 in 2.. and x_1 in 2.."]
    f(np.ones((2, 3)), np.ones((3, 3)))
    assert len(f.signatures()) == 3


@pytest.mark.parametrize("dynamic", [None, True, {"x": "[N, _]"}])
def test_sizes_0_and_1_are_right_too(dynamic: Any) -> None:
    def normalised(x: Any, y: Any) -> Any:
        return (x + y) / (1 + x.sum(axis=0)), y * len(y.T)

    f = tm.compile(normalised, dynamic=dynamic)
    for n, m in [(3, 3), (5, 5), (5, 1), (1, 1), (1, 6), (0, 0), (0, 1), (1, 0), (8, 8)]:
        x, y = np.arange(2.0 * n).reshape(n, 2), np.arange(2.0 * m).reshape(m, 2)
        for got, expected in zip(f(x, y), normalised(x, y), strict=True):
            np.testing.assert_array_equal(got, expected)


def test_axes_that_were_equal_and_differ_later_get_a_program_of_their_own() -> None:
    f = tm.compile(lambda x, y: (x.sum() + y, y.shape[0]), dynamic=True)
    f(np.ones(3), np.ones(3))
    f(np.ones(5), np.ones(5))
    assert len(f.signatures()) == 1
    for n, m in [(5, 4), (7, 9), (2, 2)]:
        total, size = f(np.ones(n), np.ones(m))
        assert (total.tolist(), size) == ([n + 1.0] * m, m)
    assert [text.split(" where")[0] for text in shown(f)] == [
        "args[0]: f64[x_0], args[1]: f64[x_0]",
        "args[0]: f64[x_0], args[1]: f64[y_0]",
    ]


# ---- guards ----------------------------------------------------------------------------------------------


def clipped(x: Any) -> Any:
    if x.shape[0] > 8:
        return x.sum() - 8
    return x.sum() * 2


def test_a_question_about_a_size_becomes_a_guard_and_each_answer_has_a_program() -> None:
    f = tm.compile(clipped, dynamic=True)
    for count in (10, 3, 20, 8, 9, 2):
        assert f(np.ones(count)) == clipped(np.ones(count))
    assert shown(f) == [
        "args[0]: f64[x_0] where x_0 in 2.. and x_0 >= 9",
        "args[0]: f64[x_0] where x_0 in 2.. and x_0 <= 8",
    ]


def test_a_recompilation_names_the_guard_its_values_the_line_and_what_to_do() -> None:
    f = tm.compile(clipped, dynamic=True)
    f(np.ones(10))
    assert f.explain_recompile().startswith("clipped was compiled once, for args[0]: f64[x_0]")
    f(np.ones(3))
    text = f.explain_recompile()
    assert "the program for f64[x_0] is for x_0 >= 9, and x_0 is 3, by test_dynamic.py:" in text
    assert "if x.shape[0] > 8:" in text
    assert "\nfix: that line depends on a size" in text


@pytest.mark.parametrize(
    ("function", "fix"),
    [
        (lambda x: x[: min(len(x), 4)], "write np.minimum(n, 8) instead of min(n, 8)"),
        (lambda x: x * int(np.ceil(len(x) / 2)), "write math.ceil(n / 2) or -(-n // 2)"),
        (lambda x: x * math.hypot(len(x), 3), "np.exp(n) instead of math.exp(n)"),
        (lambda x: x * float(len(x)), "write n * 1.0"),
        (lambda x: x[: int(len(x) / 2)], "write n instead of int(n), and n // 2"),
        (lambda x: sum(x[i] for i in range(len(x))), "loop with tm.fori_loop(0, n, …)"),
        (lambda x: x.reshape(2, -1) if len(x) % 2 == 0 else x, "avoid this, or accept it"),
    ],
)
def test_the_remedy_is_for_the_line_that_needs_a_size_or_asks(function: Any, fix: str) -> None:
    f: Any = tm.compile(function, dynamic=True, on_recompile="ignore")
    for count in (2, 5):
        np.testing.assert_array_equal(f(np.arange(float(count))), function(np.arange(float(count))))
    assert fix in f.explain_recompile().splitlines()[-1]


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ([rows(3), rows(3).astype("f4")], "args[0]: f64[3, 4] became f32[3, 4]\nfix: convert arguments"),
        ([rows(3), rows(5), rows(5).astype("f4")], "args[0]: f64[x_0, 4] became f32[5, 4]\nfix: convert"),
        ([rows(3), rows(3)[0]], "args[0]: f64[3, 4] became f64[4]\nfix: give arrays the same number of axes"),
        ([rows(3), [rows(3)]], "args[0]: f64[3, 4] is gone\nfix: pass the same containers"),
        ([1.0, 1], "args[0]: float became int\nfix: pass numbers of one type, as 1.0 for 1"),
        ([rows(3), "text"], "args[0]: f64[3, 4] became static 'text'\nfix: pass what is data as an array"),
        (
            [rows(3), rows(5), rows(1)],
            "x_0 is 1 in this call, and its limits are x_0 in 2..\nfix: none needed",
        ),
        (
            [rows(3), rows(0)],
            "f64[3, 4] became f64[0, 4]\nfix: none needed: axes of size 0 and 1 get programs",
        ),
        ([rows(1), rows(5)], "f64[1, 4] became f64[5, 4]\nfix: none needed: from the second size"),
    ],
)
def test_a_recompilation_names_what_changed_and_what_to_do(calls: list[Any], message: str) -> None:
    f = tm.compile(lambda x: 1 if isinstance(x, (str, list)) else x * 1)
    for call in calls:
        f(call)
    lines = [line for line in f.explain_recompile().splitlines() if not line.startswith("  compiled for")]
    assert message in "\n".join(lines)


def test_a_size_that_is_needed_as_a_number_gives_up_names_after_some_programs() -> None:
    def unrolled(x: Any) -> Any:
        terms = [x[0] * 0]
        for number in range(x.shape[0]):
            terms.append(number * x[number])  # noqa: PERF401
        return sum(terms)

    f = tm.compile(unrolled, on_recompile="ignore")
    for count in range(2, 9):
        np.testing.assert_allclose(f(rows(count)), unrolled(rows(count)))
    assert all("x_0" not in text for text in shown(f))
    text = f.explain_recompile()
    assert "args[0]: f64[7, 4] became f64[8, 4]" in text
    assert "sizes get no names any more, after: x_0 == 6  # test_dynamic.py:" in text
    assert (
        "\nfix: none needed: each size gets a program; for one that serves all, loop with tm.fori_loop(0, n, …)"
        in text
    )
    again = tm.compile(unrolled, on_recompile="ignore")
    for count in (3, 4):
        again(rows(count))
    text = again.explain_recompile()
    assert "compiled only for these sizes: x_0 == 4  # test_dynamic.py:" in text
    assert "for number in range(x.shape[0]):" in text


def of_text(x: Any) -> Any:
    return x + len(json.dumps(x.shape))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (of_text, "TypeError: Object of type int is not JSON serializable, by test_dynamic.py:"),
    ],
)
def test_the_warning_that_names_do_not_work_shows_the_error_and_the_lines(
    function: Callable[[Any], Any],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.delenv("TRACEMILL_CHECK")
    caplog.set_level("INFO", "tracemill.recompiles")
    said = f"no program for many sizes could be made: {said}"
    f = tm.compile(function)
    f(np.ones(5))
    with pytest.warns(RecompileWarning, match="is compiled for each size") as warned:
        assert f(np.ones(7))[0] == function(np.ones(7))[0]
    assert warned[0].filename == __file__
    text = f.explain_recompile()
    for shown in (text, str(warned[0].message), caplog.text):
        assert said in shown
    assert text.count("\n") == 3
    assert text.startswith(
        f"{function.__name__} was compiled again because\n  args[0]: f64[5] became f64[7]\n"
    )
    assert "please report this: TRACEMILL_CHECK=1 raises the error" in text
    assert ("raised in json/encoder.py:" in text) == (function is of_text)
    f(np.ones(8))
    assert "sizes get no names any more, after: TypeError: " in f.explain_recompile()
    assert "please report this" in f.explain_recompile()
    first = tm.compile(function, dynamic=True)
    with pytest.warns(
        RecompileWarning, match="is compiled only for these sizes because\n  no program for many"
    ):
        first(np.ones(5))
    assert said in first.explain_recompile()
    assert "please report this" in first.explain_recompile()
    monkeypatch.setenv("TRACEMILL_CHECK", "1")
    with pytest.raises(TypeError):
        tm.compile(function, dynamic=True)(np.ones(5))


def test_a_size_is_an_int_to_the_function() -> None:
    def checked(x: Any) -> Any:
        n = x.shape[0]
        assert isinstance(n, int)
        assert isinstance(n, (float, np.integer, int))
        assert not isinstance(n, float)
        match n:
            case int():
                return x / n
            case _:
                return x

    f = tm.compile(checked)
    for count in (3, 5, 8):
        np.testing.assert_array_equal(f(np.ones(count)), np.ones(count) / count)
    assert len(f.signatures()) == 2
    exported = tm.export(checked, "x: f64[B]", constraints="B >= 1").function()
    np.testing.assert_array_equal(exported(np.ones(7)), np.ones(7) / 7)
    assert not isinstance(tm.Dim("B"), int)


def test_a_call_that_fails_takes_no_names_away() -> None:
    f = tm.compile(lambda x: 2 * x[4], dynamic=True)
    for n in (3, 7, 2, 9):
        with pytest.raises(IndexError) if n < 5 else contextlib.nullcontext():
            assert f(np.ones(n)) == 2
    assert shown(f) == ["args[0]: f64[x_0] where x_0 in 2.. and x_0 >= 5"]
    assert repr(f.signatures()) == f"(<{shown(f)[0]}>,)"


def test_what_is_left_of_a_shape_is_refused_beside_a_length_of_0() -> None:
    def rest(x: Any) -> Any:
        return x[:-3].reshape(len(x) - 3, -1)

    f = tm.compile(rest, dynamic=True)
    for n in (3, 5, 9):
        with pytest.raises(ValueError, match="cannot reshape") if n == 3 else contextlib.nullcontext():
            assert f(np.ones((n, 2))).shape == (n - 3, 2)
    assert len(shown(f)) == 1
    loaded = tm.export(rest, "x: f64[N, 2]", constraints="N >= 3").function()
    assert loaded(np.ones((3, 2))).shape == (0, 2)


def test_results_hold_sizes_and_what_is_asked_of_them() -> None:
    f = tm.compile(lambda x: (x.shape, x.size, 2 * len(x) + 1, x.shape[0] > 3), dynamic={"x": "[N, M]"})
    for shape in [(2, 3), (4, 5), (5, 1)]:
        for _ in range(2):  # the general way, then the generated entry
            found = f(np.zeros(shape))
            assert found == (shape, shape[0] * shape[1], 2 * shape[0] + 1, shape[0] > 3)
            assert all(type(size) is int for size in (*found[0], *found[1:3]))
            assert type(found[3]) is bool


@functools.lru_cache
def weight(n: int) -> int:
    return 2 if n > 4 else 3


@pytest.mark.parametrize(
    "look",
    [
        lambda n: n in {2, 4, 6},
        lambda n: {2: 5, 6: 7}.get(n, 1),
        lambda n: weight(n),  # noqa: PLW0108
        lambda n: {n: 4}[n] + len({n, 3, n}),
        lambda n: max(collections.Counter([n, 4, n]).values()),
        lambda n: n in (2, 4) or n in [3, 7],
        lambda n: f"{n} rows",
        lambda n: {f"w{k}": 2 * k for k in range(9)}[f"w{n}"] + len(str(n)),
        lambda n: types.SimpleNamespace(rows=n).rows,
        lambda n: [5, 7][n > 4] + 2 * (n > 3) + sum([n > 2, n == 4]),
        lambda n: {True: 1, False: 2}[np.int64(4) < n] if (n > 2) & (n < 6.5) else ~(n > 4) + 3,
        lambda n: (n > 4) is True or (n <= 4) is not True,
        lambda n: (n & (n - 1), n | 1, n ^ 5, 6 & n, 1 << n, n & n),
    ],
)
def test_sizes_are_found_where_numbers_are(look: Any) -> None:
    f = tm.compile(lambda x: (x.sum(), look(x.shape[0])), dynamic=True, on_recompile="ignore")
    for n in (3, 6, 2, 4, 5, 6, 3):
        for _ in range(2):
            assert f(np.ones(n)) == (n, look(n))


@pytest.mark.parametrize(
    "compute",
    [
        lambda n: 2**n,
        lambda n: 10**n - 1,
        lambda n: n**12,
        lambda n: n**n,
        lambda n: n * (n * n - 1) * 10**14,
        lambda n: 2 ** (5 - n),
    ],
)
def test_numbers_of_sizes_are_as_large_as_pythons(compute: Callable[[int], float]) -> None:
    f = tm.compile(lambda x: (x * compute(x.shape[0]), x + compute(len(x)) / 3), on_recompile="ignore")
    for n in (3, 5, 70, 7, 100, 3):
        scaled, moved = f(np.ones(n))
        np.testing.assert_allclose(scaled, np.full(n, float(compute(n))))
        np.testing.assert_allclose(moved, np.full(n, 1 + compute(n) / 3))


def test_a_size_below_what_an_integer_dtype_holds_is_refused_as_numpy_does() -> None:
    f = tm.compile(lambda x: x + (8 - x.shape[0]), on_recompile="ignore")
    for dtype, largest in ((np.uint8, 8), (np.uint64, 8), (np.int8, 136)):
        for n in (3, 5, largest):
            np.testing.assert_array_equal(f(np.ones(n, dtype)), np.ones(n, dtype) + (8 - n))
        with pytest.raises(OverflowError, match="out of bounds"):
            f(np.ones(largest + 1, dtype))


def _changed(x: np.ndarray, change: Callable[[np.ndarray], None]) -> np.ndarray:
    x = x.copy()
    change(x)
    return x


_MEETING_PIXELS: list[Callable[[np.ndarray, int], Any]] = [
    lambda x, n: n * x,
    lambda x, n: n - x,
    lambda x, n: np.maximum(n, x),
    lambda x, n: (40 - n) * x,
    lambda x, n: 2 ** (n // 9) * x,
    lambda x, n: x[0] + n * 2 // 2,
    lambda x, n: np.array(n, x.dtype) + np.array([[n, 1]], x.dtype),
    lambda x, n: _changed(x, lambda y: y.__setitem__(slice(1, 3), [n, 1])),
    lambda x, n: _changed(x, lambda y: np.put(y, [0, 1], [n, 2])),
    lambda x, n: _changed(x, lambda y: np.putmask(y, y > 3, (n, n))),
    lambda x, n: np.insert(x, 0, n),
    lambda x, n: np.piecewise(x, [x > 3], [n, 0]),  # pyright: ignore[reportCallIssue]
    lambda x, n: np.arange(n - 2, n + 2, dtype=x.dtype),
    lambda x, n: np.arange(0, 3 * n, n, dtype=x.dtype),
    lambda x, n: tm.vmap(lambda row: n * row)(x),
    lambda x, n: n < x,
]


@pytest.mark.parametrize("meet", _MEETING_PIXELS)
def test_what_an_integer_dtype_cannot_hold_is_refused_as_numpy_does(
    meet: Callable[[np.ndarray, int], Any],
) -> None:
    functions: list[Callable[..., Any]] = [lambda x: meet(x, 9 * len(x)), lambda x: meet(x, 90)]
    for compiled in functions:
        f = tm.compile(compiled, dynamic=True, on_recompile="ignore")
        for dtype in (np.uint8, np.int8, np.uint64):
            for n in (10, 4, 12, 40, 20):
                x = np.arange(1, n + 1).astype(dtype)
                try:
                    expected = compiled(x)
                except OverflowError as error:
                    with pytest.raises(OverflowError, match=str(error)):
                        f(x)
                else:
                    found = f(x)
                    assert found.dtype == expected.dtype
                    np.testing.assert_array_equal(found, expected)


def test_sizes_ask_nothing_of_dtypes_that_hold_them_and_are_declared_for_others() -> None:
    for dtype in (np.int64, np.float16, np.complex64):
        f = tm.compile(lambda x: 9 * len(x) * x + np.array([len(x)], x.dtype), dynamic=True)
        assert not f.lower(np.ones(5, dtype)).guards.guards
    scaled = tm.export(lambda x: 9 * len(x) * x, "x: u8[N]", constraints="N in 1..28").function()
    np.testing.assert_array_equal(scaled(np.ones(28, np.uint8)), np.full(28, 252, np.uint8))
    with pytest.raises(UndecidedDimError, match="N <= 28"):
        tm.export(lambda x: 9 * len(x) * x, "x: u8[N]", constraints="N in 1..100")
    with pytest.raises(OverflowError, match=r"integer 9\*N out of bounds for uint8"):
        tm.export(lambda x: 9 * len(x) * x, "x: u8[N]", constraints="N in 29..100")


@pytest.mark.slow
@pytest.mark.usefixtures("c_toolchain")
def test_arrays_without_elements_have_axes_of_many_sizes() -> None:
    f = tm.compile(lambda x: (x @ x.T, np.sort(x, axis=0), np.cumsum(x, axis=1)), backend="c")
    for columns in (3, 4, 9):
        assert [found.shape for found in f(np.ones((0, columns)))] == [(0, 0), (0, columns), (0, columns)]


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: bool(a < b),
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    ">=": lambda a, b: bool(a >= b),
    "%": lambda a, b: bool(a % 3 == b % 2),
    "//": lambda a, b: bool(a // 2 < b),
    "*": lambda a, b: bool(a * b > 12),
    "-": lambda a, b: bool(2 * a - b == 3),
    "min": lambda a, b: bool(tm.Dim.minimum(a, 4) == tm.Dim.minimum(b, 5)),
}


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.sampled_from(sorted(_COMPARISONS)), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=8),
    st.sampled_from([None, True, "declared"]),
)
def test_whatever_is_asked_of_sizes_results_are_right_for_all(
    asked: list[str], sizes: list[tuple[int, int]], dynamic: Any
) -> None:
    def answers(x: Any) -> Any:
        weight = 0
        for number, name in enumerate(asked):
            if _COMPARISONS[name](*x.shape):
                weight += 2**number
        return x.sum() * 0 + weight

    f = tm.compile(
        answers, dynamic={"x": "[A, B]"} if dynamic == "declared" else dynamic, on_recompile="ignore"
    )
    for shape in sizes * 2:
        assert f(np.ones(shape)) == answers(np.ones(shape)), (asked, shape, f.signatures())


# ---- what is described -----------------------------------------------------------------------------------


def test_arguments_can_be_described_by_texts_tuples_and_prefixes() -> None:
    def predict(params: Any, x: Any) -> Any:
        return x @ params["w"] + params["b"]

    K = tm.Dim("K", min=1)
    given = {"x": "f64[B, 2*K + 1]", "params['w']": (2 * K + 1, 3), "params['b']": [None]}
    f = tm.compile(predict, dynamic=given, constraints=("B in 1..64", K <= 100))
    for b, k in [(2, 4), (64, 1), (1, 100)]:
        params = {"w": np.ones((2 * k + 1, 3)), "b": np.zeros(3)}
        np.testing.assert_array_equal(f(params, np.ones((b, 2 * k + 1))), np.full((b, 3), 2 * k + 1.0))
    assert shown(f) == [
        "args[0]['b']: f64[3], args[0]['w']: f64[2*K + 1, 3], args[1]: f64[B, 2*K + 1]"
        " where K in 1.. and B in 1..64 and K <= 100"
    ]
    whole = tm.compile(predict, dynamic={"params": True, "x": False})
    whole({"w": np.ones((4, 3)), "b": np.ones(3)}, np.ones((2, 4)))
    assert "f64[params_w_0, params_b_0], args[1]: f64[2, 4]" in shown(whole)[0]
    first = {"x": "[A]", "y": "[min(A, 5)]"}
    ends = tm.compile(lambda x, y: x[:5] * y, dynamic=first, constraints="A in 2.. and A % 2 == 0")
    for n in (4, 8):
        assert ends(np.ones(n), np.ones(min(n, 5))).shape == (min(n, 5),)


def test_a_dim_may_occur_only_in_constraints() -> None:
    f = tm.compile(
        lambda x: (x.reshape(3, -1).sum(axis=0), len(x) // 3),
        dynamic={"x": "[N]"},
        constraints=("N == 3*M", "M >= 2"),
    )
    for n in (6, 12, 9):
        sums, count = f(np.ones(n))
        np.testing.assert_array_equal(sums, np.full(n // 3, 3.0))
        assert count == n // 3
    assert shown(f) == ["args[0]: f64[N] where N == 3*M and M >= 2"]
    asking = tm.compile(lambda x: x if len(x) > 8 else -x, dynamic={"x": "[N]"}, constraints="N == 3*M")
    for n in (9, 6):
        asking(np.ones(n))
    assert "the program for f64[N] is for N >= 9, and N is 6" in asking.explain_recompile()
    for n, message in [(7, r"N == 3\*M holds for no M in this call with N = 7"), (3, "M >= 2 .* M = 1")]:
        with pytest.raises(DimMismatchError, match=message):
            f(np.ones(n))


@pytest.mark.parametrize(
    ("dynamic", "constraints", "x", "error", "message"),
    [
        ({"x": "[B]"}, (), rows(3), DimMismatchError, r"x has 2 axes, \[3, 4\], and 1 are declared: \[B\]"),
        ({"x": "[B, 5]"}, (), rows(3), DimMismatchError, r"axis 1 of x is 4, and it must be 5"),
        (
            {"x": "[B, 2*K + 1]"},
            (),
            rows(3),
            DimMismatchError,
            r"axis 1 of x is 4, which is not of the form 2\*K \+ 1",
        ),
        (
            {"x": "[B, _]"},
            "B in 8..16",
            rows(3),
            DimMismatchError,
            r"axis 0 of x: dim B is 3 in this call, and its limits are B in 8\.\.16",
        ),
        (
            {"x": "[B, _]"},
            "B % 16 == 0",
            rows(3),
            DimMismatchError,
            r"axis 0 of x: dim B is 3 in this call, and its limits are B % 16 == 0",
        ),
        ({"x": "[B, _]"}, (), np.ones(3), DimMismatchError, r"x has 1 axis, \[3\], and 2 are declared"),
        (
            {"x": "[B, K]"},
            "B >= K",
            rows(3),
            DimMismatchError,
            r"the constraint B >= K does not hold in this call, where B = 3, K = 4",
        ),
        ({"x": "f32[B, 4]"}, (), rows(3), DTypeError, r"x is f64 in this call, and it is declared to be f32"),
        ({"x['w']": "[B]"}, (), rows(3), ArgumentSpecError, r"no such array: it has x"),
        ({"x": "[A*B, _]"}, (), rows(3), UndeterminedDimError, r"dim A cannot be determined from"),
    ],
)
def test_a_call_that_is_not_as_described_is_named(
    dynamic: Any, constraints: Any, x: Any, error: type[Exception], message: str
) -> None:
    f = tm.compile(lambda x: x + 1, dynamic=dynamic, constraints=constraints)
    for _ in range(2):
        with pytest.raises(error, match=message):
            f(x)
    assert f.signatures() == ()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dynamic": {"y": "[B]"}}, ArgumentSpecError, "'y', but .* no such argument: it has x, scale"),
        ({"dynamic": {3: "[B]"}}, ArgumentSpecError, "arguments have names such as 'x', and 3 is none"),
        ({"dynamic": {"x": "f99[B]"}}, ArgumentSpecError, "'f99' is not a dtype: write one of bool"),
        ({"dynamic": {"x": "B, 784"}}, ArgumentSpecError, "cannot read 'B, 784'"),
        ({"dynamic": {"x": ["B", 2.5]}}, ArgumentSpecError, "a size of 'x' cannot be 2.5"),
        ({"dynamic": {"x": (-1,)}}, ArgumentSpecError, "a size of 'x' cannot be -1"),
        ({"dynamic": {"x": 3}}, ArgumentSpecError, "'x' cannot be 3"),
        ({"dynamic": {"x": "[B +]"}}, DimSpecError, r"cannot read 'B \+'"),
        ({"dynamic": "x"}, TransformTypeError, "dynamic must be None, True, False, or a dict"),
        (
            {"dynamic": True, "constraints": "B <= 4"},
            DimSpecError,
            "constraints are of dims that dynamic names",
        ),
        ({"dynamic": {"x": "[B]"}, "constraints": (3,)}, DimSpecError, "not 3"),
        ({"dynamic": {"x": "[B]"}, "constraints": 3}, DimSpecError, "not 3"),
        (
            {"dynamic": {"x": "[B]"}, "constraints": "B in 1.., C in 1..9"},
            DimSpecError,
            "'C', which dynamic names in no argument",
        ),
        (
            {"dynamic": {"x": "[B]"}, "constraints": ("B % 4 == 0", "B % 4 == 1")},
            ContradictoryConstraintsError,
            "the constraint 'B % 4 == 1' holds for no size at all, with B % 4 == 0",
        ),
        (
            {"dynamic": {"x": "[B]"}, "constraints": ("B in 1..4", "2*B >= 20")},
            ContradictoryConstraintsError,
            "hold for no sizes",
        ),
        (
            {"dynamic": {"x": (tm.Dim("B", max=4),)}, "constraints": ("B in 5..",)},
            ContradictoryConstraintsError,
            "hold for no sizes",
        ),
        (
            {"dynamic": {"x": (tm.Dim("B", min=1), "2*B"), "y": (tm.Dim("B"),)}},
            ContradictoryConstraintsError,
            "two dims with different limits are called B",
        ),
        ({"on_recompile": "shout"}, TransformTypeError, "on_recompile must be 'warn', 'error', 'ignore'"),
    ],
)
def test_a_wrong_description_is_named_when_wrapping(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tm.compile(lambda x, scale=2.0: x * scale, **options)


def test_names_for_sizes_collide_with_nothing() -> None:
    def f(x: Any, x_0: Any, class_: Any, size_x_0: Any) -> Any:
        return x * x_0 + class_ + size_x_0.sum()

    compiled = tm.compile(f, dynamic={"class_": "[x_0_2]"})
    for n in (3, 5, 7):
        arrays = np.ones(n), np.ones(n), np.ones(n), np.ones(n + 1)
        np.testing.assert_array_equal(compiled(*arrays), f(*arrays))
    assert len(compiled.signatures()) == 2
    assert "args[0]: f64[x_0_3], args[1]: f64[x_0_3], args[2]: f64[x_0_2]" in shown(compiled)[1]


# ---- together with everything else -------------------------------------------------------------------------


class Pair(NamedTuple):
    first: Any
    second: Any


def test_containers_numbers_settings_methods_and_captured_arrays_go_with_names() -> None:
    bias = np.arange(3.0)

    class Model:
        @tm.compile(static_argnames="mode")
        def run(self, pair: Any, scale: Any, *, mode: str = "up") -> Any:
            y = pair.first["x"] * scale + bias
            return Pair(y if mode == "up" else -y, pair.second)

    model = Model()
    for n in (2, 4, 6):
        bias += 1
        for mode in ("up", "down"):
            x = np.ones((n, 3), np.float32)
            got = model.run(Pair({"x": x}, 2), 3.0, mode=mode)
            expected = (x * 3.0 + bias) * (1 if mode == "up" else -1)
            np.testing.assert_array_equal(got.first, expected)
            assert got.first.dtype == np.float64
            assert got.second == 2
    assert len(Model.run.signatures()) == 4


def test_arrays_that_are_written_to_are_updated_at_every_size() -> None:
    @tm.compile
    def step(x: Any, y: Any) -> Any:
        x += y
        return x.sum(), x.shape[0]

    for n in (3, 5, 8, 5):
        x = np.ones(n)
        assert step(x, 2.0) == (3 * n, n)
        assert x.tolist() == [3.0] * n
    both = np.zeros(6)
    shifted = tm.compile(lambda a, b: a.__iadd__(b).sum(), dynamic=True)
    shifted(np.ones(4), np.ones(4))
    plain = np.zeros(6)
    plain[:4] += plain[2:]
    assert shifted(both[:4], both[2:]) == plain[:4].sum()


def test_donated_arguments_may_be_of_any_size() -> None:
    step = tm.compile(lambda w, g: (w - 0.1 * g, w.shape[0]), donate_argnums=0, dynamic=True)
    for n in (3, 5, 8):
        weights, size = step(np.ones(n), np.ones(n))
        np.testing.assert_allclose(weights, np.full(n, 0.9))
        assert size == n
    assert len(step.signatures()) == 1


def test_a_captured_array_that_the_trace_relied_on_is_looked_at_again() -> None:
    mask = np.array([True, False, True])
    f = tm.compile(lambda x, y: y * x[mask].sum(), dynamic={"y": "[N]", "x": False})
    for kept in (2, 3):
        for n in (2, 5):
            assert f(np.ones(3), np.ones(n)).tolist() == [kept] * n
        mask[:] = True
    assert len(f.signatures()) == 1


def test_derivatives_take_all_sizes() -> None:
    f = tm.compile(tm.grad(lambda w, x: (np.tanh(x @ w) ** 2).sum()))
    for n in (3, 5, 9):
        expected = tm.grad(lambda w, x: (np.tanh(x @ w) ** 2).sum())(W, rows(n))
        np.testing.assert_allclose(f(W, rows(n)), expected, rtol=1e-12)
    assert len(f.signatures()) == 2


def test_inside_of_another_function_sizes_are_those_of_its_call() -> None:
    inner = tm.compile(clipped, dynamic=False)
    outer = tm.compile(lambda x: inner(x) + 1, dynamic=True)
    for n in (10, 4, 12, 5):
        assert outer(np.ones(n)) == clipped(np.ones(n)) + 1
    assert len(outer.signatures()) == 2
    assert inner.signatures() == ()


def test_many_threads_with_many_sizes_share_programs() -> None:
    f = tm.compile(clipped, on_recompile="ignore")
    failures: list[int] = []

    def work(seed: int) -> None:
        sizes = np.random.default_rng(seed).integers(0, 30, 150).tolist()
        failures.extend(n for n in sizes if f(np.ones(n)) != clipped(np.ones(n)))

    run_in_threads(work, 6)
    assert not failures
    assert len(f.signatures()) <= 5


def test_a_function_with_descriptions_can_be_pickled() -> None:
    f = tm.compile(np.linalg.norm, dynamic={"x": "[B, 4]"}, constraints="B <= 9")
    again = pickle.loads(pickle.dumps(f))
    np.testing.assert_allclose(again(rows(3)), np.linalg.norm(rows(3)))
    with pytest.raises(DimMismatchError, match="B <= 9"):
        again(rows(10))


# ---- when it is compiled again and again -------------------------------------------------------------------


def test_many_programs_for_sizes_are_worth_one_warning() -> None:
    f = tm.compile(layer, dynamic=False)
    for count in range(8):
        f(rows(count), W)
    with pytest.warns(
        RecompileWarning, match="compiled for the 9th time for calls that differ only in"
    ) as caught:
        f(rows(8), W)
    assert caught[0].filename == __file__
    f(rows(9), W)
    few = tm.compile(layer, dynamic=False, max_variants=2)
    few(rows(1), W)
    few(rows(2), W)
    with pytest.warns(RecompileWarning, match="keeps at most max_variants=2 programs"):
        few(rows(3), W)
    few(rows(4), W)


def test_compiling_again_can_be_an_error_or_be_told() -> None:
    strict = tm.compile(layer, on_recompile="error")
    for count in (3, 5, 7):  # sizes get names: that is meant
        strict(rows(count), W)
    with pytest.raises(RecompileError, match=r"args\[0\]: f64\[x_0, 4\] became f32\[3, 4\]"):
        strict(rows(3).astype("f4"), W)
    assert len(strict.signatures()) == 2
    product = tm.compile(np.multiply.outer, on_recompile="error")
    for sizes in ((3, 3), (5, 5), (5, 4), (7, 9)):  # names, then names apart
        product(*map(np.ones, sizes))
    for f, message in [
        (clipped, r"is for x_0 >= 9, and x_0 is 3, by .* if x\.shape\[0\] > 8"),
        (lambda x: x * int(x.shape[0]), r"alone the last time: x_0 == 10 [^\0]*write n instead of int\(n\)"),
    ]:
        named = tm.compile(f, dynamic=True, on_recompile="error")
        named(np.ones(10))
        with pytest.raises(RecompileError, match=message):
            named(np.ones(3))  # had a name from the first call on
        assert len(named.signatures()) == 1
    told: list[str] = []
    f = tm.compile(layer, dynamic=False, on_recompile=told.append)
    for count in (3, 5, 3):
        f(rows(count), W)
    assert len(told) == 1
    assert "args[0]: f64[3, 4] became f64[5, 4]" in told[0]


def test_programs_for_many_sizes_are_forgotten_as_others_are() -> None:
    f = tm.compile(clipped, dynamic=True, max_variants=1, on_recompile="ignore")
    for count in (10, 3, 12):
        assert f(np.ones(count)) == clipped(np.ones(count))
        assert len(f.signatures()) == 1


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_guards_of_composites_have_the_line_of_the_user(backend: str) -> None:
    sizes = f"[Of{backend.upper()}, Entries]"  # of these, no composite remembers anything
    f = tm.compile(lambda x: tm.nn.softmax(x, axis=-1), dynamic={"x": sizes}, backend=backend)
    for _ in range(2):
        (line,) = f.lower(rows(3)).guards.described()
        assert line.startswith("Entries != 0  # test_dynamic.py:")


# ---- stages, and the disk ------------------------------------------------------------------------------------


def test_stages_are_those_of_the_program_that_serves_the_call() -> None:
    f = tm.compile(clipped, dynamic=True)
    before = f.lower(np.ones(20))
    assert str(before.guards) == "x_0 >= 9"
    (line,) = before.guards.described()
    assert "if x.shape[0] > 8:" in line
    f(np.ones(20))
    lowered = f.lower(np.ones(40))  # of the same class
    assert lowered.graph == before.graph
    assert "x_0" in str(lowered.graph)
    assert lowered.source in str(lowered)
    assert lowered.cost.flops > 0
    assert lowered.memory.peak > 0
    assert "f64[x_0]" in lowered.html()
    assert str(tm.compile(clipped).lower(np.ones(10)).guards) == "True"
    assert lowered.compile().build.function(np.ones(30))[0] == 22.0


@pytest.mark.slow
def test_guards_come_back_from_the_disk_with_the_program(private_cache: Path) -> None:
    program = textwrap.dedent(
        """
        import numpy as np, tracemill as tm
        from tracemill.runtime.programs.built import statistics

        def clipped(x):
            return x.sum() - 8 if x.shape[0] > 8 else x.sum() * 2

        f = tm.compile(clipped, dynamic=True, backend="numpy")
        print([float(f(np.ones(n))) for n in (10, 3, 12, 9)], statistics.compiled, statistics.from_disk)
        print(*map(str, f.signatures()), sep="; ")
        """
    )
    file = private_cache.parent / "program.py"
    file.write_text(program)
    first, second = (
        subprocess.run([sys.executable, file], capture_output=True, text=True, check=True).stdout.splitlines()
        for _ in range(2)
    )
    assert first[0] == "[2.0, 6.0, 4.0, 1.0] 2 0"
    assert second[0] == "[2.0, 6.0, 4.0, 1.0] 0 2"
    assert first[1] == second[1]


def test_what_making_a_program_assumed_is_stored_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracemill.runtime.programs import optimize

    unpatched = optimize.optimize
    asked: list[bool] = []

    def assuming(graph: Any, backend: str) -> Any:
        (size,) = graph.inputs[0].shape
        asked.append(bool(size > 100))  # as a pass may
        return unpatched(graph, backend)

    monkeypatch.setattr(optimize, "optimize", assuming)
    for number, sizes in enumerate([(70, 200), (70, 200), (120, 70), (90, 110)]):
        f = tm.compile(lambda x: x * 2, dynamic=True, backend="numpy")
        for size in sizes:
            assert f(np.ones(size)).shape == (size,)
        assert {text.split(" and ")[1] for text in shown(f)} == {"x_0 <= 100", "x_0 >= 101"}
        assert number > 1 or asked == [False, True]
    assert default_cache().statistics.hits >= 2


# ---- whatever functions do with arrays of any size -----------------------------------------------------------


def _parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


@pytest.mark.sampled(
    "arithmetic:roots-by-math",
    "shapes:deleted-slice",
    "indexing:diagonal-written",
    "creation:frequencies",
    "creation:linspace",
    "products:tensordot-of-axes",
    "order:histogram",
    every=7,
    slow=2,
)
@pytest.mark.parametrize("name", one_in(5, PROGRAMS))
def test_what_is_compiled_for_many_sizes_gives_what_numpy_gives(name: str) -> None:
    program = PROGRAMS[name]
    f = tm.compile(program.function, dynamic=True, on_recompile="ignore")
    for sizes in (OBSERVED, *OTHERS, OBSERVED):
        arrays, plain = program.arrays(sizes), program.arrays(sizes)
        with np.errstate(all="ignore"):
            try:
                expected = _parts(program.function(*plain))
            except (ValueError, IndexError):  # it is not for these sizes
                with pytest.raises((ValueError, IndexError)):
                    f(*arrays)
                continue
            for got, wanted in zip(_parts(f(*arrays)), expected, strict=True):
                assert (got is None) == (wanted is None)
                if wanted is not None:
                    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
        for got, wanted in zip(arrays, plain, strict=True):
            np.testing.assert_array_equal(got, wanted)
    assert program.guards != "True" or len(f.signatures()) <= 2  # the second where sizes were equal by chance


@pytest.mark.parametrize(
    ("function", "programs"),
    [
        (lambda x: np.sum(x) / np.maximum(len(x), 1), 1),
        (lambda x: x * (np.int64(2) * len(x)), 1),
        (lambda x: x * (len(x) * np.int64(2)), 1),
        (lambda x: x + (len(x) + np.uint8(3)), 1),
        (lambda x: x + np.negative(len(x)) * np.abs(len(x)), 1),
        (lambda x: x * (np.int64(70) // len(x)), 1),
        (lambda x: np.maximum(len(x), 3), 1),
        (lambda x: np.zeros(np.maximum(len(x), 3)) + x[0], 1),
        (lambda x: x[: np.minimum(len(x), 3)], 1),
        (lambda x: x[np.int64(0) + len(x) - 1], 1),
        (lambda x: x if np.minimum(len(x), 8) > 4 else -x, 2),
        (lambda x: x if np.int64(2) * len(x) == 8 else -x, 2),
        (lambda x: sum(x[i] for i in range(np.minimum(len(x), 2))), 1),
        (lambda x: np.ones(np.int64(2) * len(x)).reshape(2, np.int64(1) * len(x)) * x, 1),
    ],
)
def test_sizes_that_numpy_computes_with_are_its_numbers(function: Callable[..., Any], programs: int) -> None:
    f = tm.compile(function, dynamic=True, on_recompile="ignore")
    for size in (2, 3, 4, 7, 9):
        x = np.arange(size, dtype="f4")
        want, got = function(x), f(x)
        assert type(got) is type(want)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    assert len(f.signatures()) == programs


@pytest.mark.parametrize(
    ("function", "fits"),
    [
        (lambda x: np.ones(4)[np.arange(len(x))], 4),
        (lambda x: np.ones((4, 1))[np.arange(len(x))[:, None], 0], 4),
        (lambda x: x[1 - np.arange(len(x))], 10),
        (lambda x: np.ones(5)[2 * np.arange(len(x)) - 3], 4),
        (lambda x: np.ones(4)[np.arange(len(x))[::-1]], 4),
        (lambda x: np.ones(4)[np.arange(2 * len(x))[1::2]], 2),
    ],
)
def test_indices_that_follow_from_sizes_are_in_range_or_an_error(
    function: Callable[..., Any], fits: int
) -> None:
    f = tm.compile(function, dynamic=True, on_recompile="ignore")
    for size in range(2, 11):
        x = np.arange(size, dtype="f8")
        if size <= fits:
            np.testing.assert_array_equal(f(x), function(x))
            continue
        for call in (f, function):
            with pytest.raises(IndexError, match="out of bounds"):
                call(x)


def test_sizes_that_are_keys_are_numbers_there() -> None:
    f = tm.compile(lambda x: {x.shape[0]: 1, "a": 2 * x}, backend="numpy")
    g = tm.compile(
        lambda x: tm.scan(lambda c, _: ({n: v + 1 for n, v in c.items()}, None), {len(x): x}, length=2)[0],
        backend="numpy",
    )
    for n in (5, 7, 8):
        assert f(np.ones(n))[n] == 1
        np.testing.assert_array_equal(g(np.ones(n))[n], np.full(n, 3.0))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_what_is_convolved_may_be_shorter_or_longer_than_the_other(mode: Any) -> None:
    f = tm.compile(lambda x: np.convolve(x, np.arange(3.0), mode), dynamic=True)
    for n in (2, 5, 9, 3):
        np.testing.assert_allclose(
            f(np.arange(n) + 1.0), np.convolve(np.arange(n) + 1.0, np.arange(3.0), mode)
        )
    assert shown(f) == ["args[0]: f64[2]", "args[0]: f64[x_0] where x_0 in 2.. and x_0 >= 3"]


def test_shifts_masks_and_lengths_in_bits_of_sizes_need_no_number() -> None:
    f = tm.compile(lambda x: (x[: len(x) >> 1], x * (len(x) & 3), math.ceil(len(x)), ~len(x)), dynamic=True)
    g = tm.compile(lambda x: np.pad(x, (0, (1 << (len(x) - 1).bit_length()) - len(x))), dynamic=True)
    for n in (9, 10, 16, 17, 30):
        first, second, *rest = f(np.ones(n))
        assert (first.shape, second[0], *rest) == ((n >> 1,), n & 3, n, ~n)
        np.testing.assert_array_equal(g(np.ones(n)), [1] * n + [0] * ((16 if n < 17 else 32) - n))
    assert (len(f.signatures()), len(g.signatures())) == (1, 2)


def halved(x: Any) -> Any:
    middle = x.shape[0] // 2
    return x.sum() if x.shape[0] < 2 else halved(x[:middle]) + halved(x[middle:])


@pytest.mark.slow
def test_c_reaches_elements_beyond_the_numbers_of_four_bytes(c_compiler: str) -> None:
    """Of memory that is zero, the system keeps no page before it is written: a call takes few."""

    def places(x: Any, at: Any) -> Any:
        flat = x.reshape(-1)
        return x.argmax(), x.max(axis=1), flat[-1], flat[at]

    f = tm.compile(places, backend="c", dynamic=True)
    f(np.zeros((3, 7), np.int8), np.array([1, 5]))
    x = np.zeros((2, 2**30 + 3), np.int8)
    flat = x.reshape(-1)
    flat[[-1, -3, 5]] = 2, 7, 1
    largest, maxima, last, taken = f(x, np.array([x.size - 3, 5]))
    assert (largest, last) == (x.size - 3, 2)
    np.testing.assert_array_equal(maxima, [1, 7])
    np.testing.assert_array_equal(taken, [7, 1])
    assert len(f.signatures()) == 1


@pytest.mark.slow
def test_what_follows_a_size_by_halves_is_compiled_for_one_size_before_long() -> None:
    f = tm.compile(halved, backend="numpy", on_recompile="ignore")
    for n in (8, 32, 21):
        assert f(np.arange(float(n))) == n * (n - 1) / 2


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, x: rng.normal(size=x.shape),
        lambda rng, x: rng.integers(0, 9, len(x)),
        lambda rng, x: rng.choice(len(x), 2),
    ],
)
def test_numpys_generators_fill_arrays_of_their_own_where_sizes_have_names(
    draw: Callable[[Any, Any], Any],
) -> None:
    def noisy(x: Any) -> Any:
        return x.sum() + draw(np.random.default_rng(0), x)

    f = tm.compile(noisy, backend="numpy", on_recompile="ignore")
    for size in (3, 4, 5):
        np.testing.assert_allclose(f(np.ones(size)), noisy(np.ones(size)))

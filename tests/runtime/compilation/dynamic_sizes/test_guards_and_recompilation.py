"""Guards on sizes, and what is said and done when a function is compiled again."""

import math
import os
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from symbolic.functions_of_any_size import W, clipped, layer, rows, shown
from tracemill.compiler.errors import (
    InternalError,
    InternalWarning,
    RecompileError,
    RecompileWarning,
    UndecidedDimError,
)
from tracemill.runtime.compilation import variant_compiler
from tracemill.runtime.variants.variant import Variant


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
    assert "the program for f64[x_0] is for x_0 >= 9, and x_0 is 3, by functions_of_any_size.py:" in text
    assert "if x.shape[0] > 8:" in text
    assert "\nfix: that line depends on a size" in text


@pytest.mark.parametrize(
    ("function", "fix"),
    [
        (lambda x: x[: min(len(x), 4)], "write np.minimum(n, 8) instead of min(n, 8)"),
        (lambda x: x * int(np.ceil(len(x) / 2)), "write math.ceil(n / 2) or -(-n // 2)"),
        (lambda x: x * math.hypot(len(x), 3), "np.exp(n) instead of math.exp(n)"),
        (lambda x: x[: int(len(x) / 2)], "write n instead of int(n), and n // 2"),
        (lambda x: max(x[i] for i in range(len(x))), "loop with tm.fori_loop(0, n, …)"),
        (lambda x: x.reshape(2, -1) if len(x) % 2 == 0 else x, "avoid this, or accept it"),
    ],
)
def test_the_remedy_is_for_the_line_that_needs_a_size_or_asks(function: Any, fix: str) -> None:
    f: Any = tm.compile(function, dynamic=True, on_recompile="ignore")
    for count in (2, 5):
        np.testing.assert_array_equal(f(np.arange(float(count))), function(np.arange(float(count))))
    assert fix in f.explain_recompile().splitlines()[-1]


def test_a_float_of_a_size_needs_its_value_in_code_that_is_not_converted() -> None:
    f: Any = tm.compile(lambda x: x * float(len(x)), dynamic=True, convert=False, on_recompile="ignore")
    for count in (2, 5):
        np.testing.assert_array_equal(f(np.ones(count)), np.full(count, float(count)))
    assert "write n * 1.0" in f.explain_recompile().splitlines()[-1]


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.usefixtures("c_compiler")
def test_one_program_converts_any_size_to_a_number(backend: Any) -> None:
    def numbers(x: Any, n: Any) -> Any:
        size = len(x)
        return (
            x / float(size),
            x * int(size),
            np.float64(size),
            np.int32(n),
            float(n),
            int(n),
            np.zeros(int(size)),
        )

    f: Any = tm.compile(numbers, backend=backend, dynamic=True)
    for count in (2, 5, 9):
        for one, other in zip(f(np.ones(count), 3 * count), numbers(np.ones(count), 3 * count), strict=True):
            np.testing.assert_array_equal(one, other)
            assert type(one) is type(other)
            assert np.asarray(one).dtype == np.asarray(other).dtype
    assert len(f.signatures()) == 1


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ([rows(3), rows(3).astype("f4")], "args[0]: f64[3, 4] became f32[3, 4]\nfix: convert arguments"),
        ([rows(3), rows(5), rows(5).astype("f4")], "args[0]: f64[x_0, 4] became f32[5, 4]\nfix: convert"),
        ([rows(3), rows(3)[0]], "args[0]: f64[3, 4] became f64[4]\nfix: give arrays the same number of axes"),
        ([rows(3), [rows(3)]], "args[0]: f64[3, 4] is gone\nfix: pass the same containers"),
        ([1.0, 1], "args[0]: float became int\nfix: pass numbers of one type: 1.0 instead of 1"),
        ([rows(3), "text"], "args[0]: f64[3, 4] became static 'text'\nfix: pass data as an array"),
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
    assert "sizes are no longer named, because: x_0 == 6  # test_guards_and_recompilation.py:" in text
    assert (
        "\nfix: none needed: each size gets a program; for one that serves all, loop with tm.fori_loop(0, n, …)"
        in text
    )
    again = tm.compile(unrolled, on_recompile="ignore")
    for count in (3, 4):
        again(rows(count))
    text = again.explain_recompile()
    assert "compiled only for these sizes: x_0 == 4  # test_guards_and_recompilation.py:" in text
    assert "for number in range(x.shape[0]):" in text


def of_sizes(x: Any) -> Any:
    return x + (x.shape[0] * 3 + 1)


@pytest.fixture
def broken_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An internal fault in the arithmetic of named sizes."""
    monkeypatch.delenv("TRACEMILL_CHECK")
    monkeypatch.setattr("tracemill.compiler.shapes.dim.add", None)


@pytest.mark.usefixtures("broken_sizes")
def test_the_warning_that_names_do_not_work_shows_the_error_and_the_lines(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    function = of_sizes
    said = "TypeError: 'NoneType' object is not callable, by test_guards_and_recompilation.py:"
    caplog.set_level("INFO", "tracemill.recompiles")
    said = f"no program for many sizes could be made: {said}"
    f = tm.compile(function)
    f(np.ones(5))
    with pytest.warns(InternalWarning, match="is compiled for each size") as warned:
        assert f(np.ones(7))[0] == function(np.ones(7))[0]
    assert warned[0].filename == __file__
    text = f.explain_recompile()
    for where in (text, str(warned[0].message), caplog.text):
        assert said in where
    assert text.count("\n") == 3
    assert text.startswith(
        f"{function.__name__} was compiled again because\n  args[0]: f64[5] became f64[7]\n"
    )
    assert "please report this: TRACEMILL_CHECK=1 raises the error" in text
    assert re.search(r"raised in \S*compiler/shapes/dim.py:", text)
    f(np.ones(8))
    assert "sizes are no longer named, because: TypeError: " in f.explain_recompile()
    assert "please report this" in f.explain_recompile()
    first = tm.compile(function, dynamic=True)
    with pytest.warns(
        InternalWarning, match="is compiled only for these sizes because\n  no program for many"
    ):
        first(np.ones(5))
    assert said in first.explain_recompile()
    assert "please report this" in first.explain_recompile()
    monkeypatch.setenv("TRACEMILL_CHECK", "1")
    with pytest.raises(TypeError):
        tm.compile(function, dynamic=True)(np.ones(5))


@pytest.mark.usefixtures("broken_sizes")
@pytest.mark.parametrize("on_recompile", ["warn", "ignore", "error", lambda reason: None])
def test_a_fault_is_reported_once_whatever_is_wanted_of_recompilations(on_recompile: Any) -> None:
    f = tm.compile(of_sizes, dynamic=True, on_recompile=on_recompile)
    with pytest.warns(InternalWarning, match="This is a Tracemill bug; please report this"):
        np.testing.assert_array_equal(f(np.ones(5)), of_sizes(np.ones(5)))
    if on_recompile != "error":
        np.testing.assert_array_equal(f(np.ones(7)), of_sizes(np.ones(7)))


def test_a_fault_in_a_package_that_tracemill_calls_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEMILL_CHECK")
    packaged: dict[str, Any] = {}
    exec(compile("def add(*terms): raise LookupError('broken')", os.__file__, "exec"), packaged)
    monkeypatch.setattr("tracemill.compiler.shapes.dim.add", packaged["add"])
    f = tm.compile(of_sizes, dynamic=True, on_recompile="ignore")
    with pytest.warns(InternalWarning, match=r"LookupError: broken.*, raised in os\.py:1"):
        np.testing.assert_array_equal(f(np.ones(5)), of_sizes(np.ones(5)))


def refusing(error: Exception) -> Callable[..., Variant]:
    """`Variant`, but named sizes raise an error."""
    made = Variant

    def refuse(function: Any, called: Any, spec: Any, symbolic: Any) -> Variant:
        if symbolic is not None:
            raise error
        return made(function, called, spec, symbolic)

    return refuse


def test_an_internal_error_is_reported_although_it_has_a_class_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TRACEMILL_CHECK")
    monkeypatch.setattr(variant_compiler, "Variant", refusing(InternalError("a pass has broken the graph")))
    f = tm.compile(lambda x: x + 1, dynamic=True, on_recompile="ignore")
    with pytest.warns(InternalWarning, match="InternalError: a pass has broken the graph"):
        np.testing.assert_array_equal(f(np.ones(5)), np.full(5, 2.0))


def test_an_internal_error_in_a_program_that_follows_its_call_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def by_key(key: int, x: Any) -> Any:
        found: dict[int, Any] = {}
        found[key] = x + 1
        return found

    f = tm.compile(by_key, dynamic=True, on_recompile="ignore")
    f(3, np.ones(5))
    assert all(variant.program.follows for variant in f._compiler.variants)
    monkeypatch.delenv("TRACEMILL_CHECK")
    monkeypatch.setattr(variant_compiler, "Variant", refusing(InternalError("a pass has broken the graph")))
    with pytest.warns(InternalWarning, match="InternalError: a pass has broken the graph"):
        np.testing.assert_array_equal(f(3, np.ones((5, 2)))[3], np.full((5, 2), 2.0))


@pytest.mark.usefixtures("broken_sizes")
def test_a_fault_is_reported_after_another_warning() -> None:
    f = tm.compile(of_sizes, max_variants=1)
    f(np.ones(5, int))
    with pytest.warns(RecompileWarning, match="keeps at most max_variants=1 programs"):
        f(np.ones(5))
    with pytest.warns(InternalWarning, match="is compiled for each size"):
        f(np.ones(7))


def test_a_limit_of_named_sizes_is_not_reported_as_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEMILL_CHECK")
    monkeypatch.setattr(variant_compiler, "Variant", refusing(UndecidedDimError("sizes must be ints here")))
    f = tm.compile(lambda x: x + 1, dynamic=True)
    np.testing.assert_array_equal(f(np.ones(5)), np.full(5, 2.0))
    text = f.explain_recompile()
    assert "UndecidedDimError: sizes must be ints here" in text
    assert "bug" not in text


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
        (
            lambda x: x * math.hypot(x.shape[0], 3),
            r"a single size the last time: x_0 == 10 [^\0]*write a function of NumPy's instead of one of math",
        ),
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
        assert line.startswith("Entries != 0  # test_guards_and_recompilation.py:")

"""`print` in a compiled function prints in each call, in order, with the values of that call."""

import io
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ConcretizationError, RecompileWarning, SideEffectError

X = np.array([1.0, 2.0, 3.0])


def talking(x: Any) -> Any:
    print("shape", x.shape)
    y = x * 2
    print(f"sum {y.sum():.3f} {{x}}", y, sep=" | ")
    for i in range(2):
        print("entry", i, y[i])
    if x[0] > 0:
        print("positive %d of %.2f" % (3, x[0]))  # noqa: UP031 (older code has these)
    print({"a": y[0]}, [1, y[1]])
    print()
    return y.sum()


def printed(function: Callable[[Any], Any], x: Any, capture: pytest.CaptureFixture[str]) -> str:
    function(x)
    return capture.readouterr().out


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_each_call_prints_what_python_prints(backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    compiled = tm.compile(talking, backend=backend)
    for x in (X, -X, 3 * X):
        assert printed(compiled, x, capsys) == printed(talking, x, capsys)


def test_a_differentiated_function_prints_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(tm.grad(talking), X, capsys) == printed(talking, X, capsys)


def test_a_batch_prints_a_line_for_each_example(capsys: pytest.CaptureFixture[str]) -> None:
    def line(x: Any) -> Any:
        print("sum", x.sum())
        return x

    assert printed(tm.vmap(line), np.stack([X, -X]), capsys) == "sum 6.0\nsum -6.0\n"


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_parts_of_lines_and_errors_are_printed_where_they_belong(
    backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def parts(x: Any) -> Any:
        for i in range(3):
            print(i, x[i], sep=":", end=", ")
        print(end="{}")
        print("sum", x.sum(), file=sys.stderr)
        print("done", file=sys.stdout, flush=True)
        if x[0] > 0:
            print("positive", end="", file=sys.stderr)
        return x * 2

    compiled = tm.compile(parts, backend=backend)
    for x in (X, -X):
        parts(x)
        expected = capsys.readouterr()
        compiled(x)
        assert capsys.readouterr() == expected


def test_printing_to_another_file_is_refused_with_a_fix() -> None:
    file = io.StringIO()

    def line(x: Any) -> Any:
        print(x, file=file)
        return x

    with pytest.raises(ConcretizationError, match=r"after the call(.|\n)*test_prints\.py"):
        tm.compile(line)(X)


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_what_is_printed_beside_a_known_result_is_printed(
    backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program that is for an exception which the function handles may have nothing left to compute."""

    def inverse(x: Any) -> Any:
        print("begin")
        try:
            found = 1 / x
        except ZeroDivisionError:
            print("none")
            found = 0.0
        print("end")
        return found

    compiled = tm.compile(inverse, backend=backend, on_recompile="ignore")
    for x in (2.0, 0.0, 0.0, 4.0):
        found, printed = compiled(x), capsys.readouterr().out
        assert found == inverse(x)
        assert printed == capsys.readouterr().out


# ---- prints that are parts of expressions -----------------------------------------------------------------


def in_a_list(x: Any) -> Any:
    [print(x * i) for i in range(2)]
    return x


def in_an_operand(x: Any) -> Any:
    shown: Any = print
    return (shown(1) or x) + len([print(f"value {x}")])


def in_a_branch_of_an_expression(x: Any) -> Any:
    return x if x > 0 else (print("negative"), -x)[1]


def after_and(x: Any) -> Any:
    x > 0 and print("positive")
    return x


def said(text: str) -> bool:
    print(text)
    return True


def in_a_function_after_and(x: Any) -> Any:
    return x if x > 0 and said("positive") else -x


def in_a_function_in_a_chain(x: Any) -> Any:
    def half(y: Any) -> Any:
        print("half")
        return y / 2

    return -1 < x < half(5.0) < half(x + 9)


def in_a_lambda(x: Any) -> Any:
    say: Any = lambda *given: print("it is", *given)  # noqa: E731
    say(1)
    say(x)
    return x


def by_another_name(x: Any) -> Any:
    say = {"print": print}["print"]
    say("it is", x)
    return list(map(print, [x, 1]))


def as_the_message_of_an_assert(x: Any) -> Any:
    assert x > 0, print("negative")  # noqa: RUF030 (as written by a user)
    return x


def as_the_message_of_an_error(x: Any) -> Any:
    if x < 0:
        raise ValueError(print("negative"))
    return x


@pytest.mark.parametrize(
    "function",
    [
        in_a_list, in_an_operand, in_a_branch_of_an_expression, after_and, in_a_function_after_and, in_a_lambda,
        by_another_name, as_the_message_of_an_assert, as_the_message_of_an_error, in_a_function_in_a_chain,
    ],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_prints_in_expressions_happen_whenever_python_evaluates_them(
    function: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    compiled = tm.compile(function, on_recompile="ignore")
    for x in (1.0, 2.0, -1.0, 3.0):
        outcomes = []
        for called in (function, compiled):
            try:
                found = called(x)
            except (AssertionError, ValueError) as error:
                found = repr(error)
            outcomes.append((found, capsys.readouterr().out))
        assert outcomes[0] == outcomes[1]


def test_a_function_that_writes_to_a_standard_stream_runs_uncompiled(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def written(x: Any) -> Any:
        sys.stdout.write("each")
        return x

    compiled = tm.compile(written)
    with pytest.warns(RecompileWarning, match="writes to an open file at test_prints.py"):
        compiled(1.0)
    compiled(2.0)
    assert capsys.readouterr().out == "eacheach"


def in_a_branch(x: Any) -> Any:
    if x[0] > 0:
        print("positive", x[0])
    return x.sum()


def in_cond(x: Any) -> Any:
    def positive(x: Any) -> Any:
        print("positive", x[0])
        return x * 2

    return tm.cond(x[0] > 0, positive, lambda x: x, x)


def in_a_loop(x: Any) -> Any:
    total = x.sum()
    while total > 1:
        print("halved", total)
        total = total / 2
    return total


@pytest.mark.parametrize("function", [in_a_branch, in_cond, in_a_loop])
def test_a_print_that_only_some_examples_reach_is_refused_in_a_batch(
    function: Callable[[Any], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    batch = np.stack([X, -X])
    for mapped in (tm.vmap(function), tm.compile(tm.vmap(function)), tm.vmap(tm.compile(function))):
        with pytest.raises(
            SideEffectError, match=r"prints that only some of the examples may run: print after it"
        ):
            mapped(batch)
    assert capsys.readouterr().out == ""
    assert printed(tm.compile(function), X, capsys) == printed(function, X, capsys) != ""


def test_a_branch_that_all_examples_take_together_prints_in_a_batch(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def f(x: Any, is_shown: Any) -> Any:
        if is_shown > 0:
            print("sum", x.sum())
        return x * 2

    mapped = tm.compile(lambda batch, is_shown: tm.vmap(lambda x: f(x, is_shown))(batch))
    mapped(np.stack([X, -X]), 1.0)
    assert capsys.readouterr().out == "sum 6.0\nsum -6.0\n"
    mapped(np.stack([X, -X]), -1.0)
    assert capsys.readouterr().out == ""

"""NumPy's error state is obeyed at the call: where it asks for more than its default, NumPy's errors are raised."""

import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ErrorStateError, RecompileWarning
from tracemill.runtime.artifact.verification import verified

ZEROS, ONES = np.zeros(3), np.ones(3)


def logs(x: Any) -> Any:
    return np.sum(np.log(x))


def log_in_loop(x: Any) -> Any:
    return tm.scan(lambda total, entry: (total + np.log(entry), ()), 0.0, x)[0]


def saved_and_loaded(function: Callable[..., Any], spec: str, folder: Path) -> Any:
    tm.export(function, spec).save(folder / "logs.tm")
    return tm.load(folder / "logs.tm")


def for_many_sizes() -> Any:
    compiled = tm.compile(logs)
    for count in (3, 4, 5):
        compiled(np.ones(count))
    return compiled


FORMS: dict[str, Callable[[Path], Callable[[Any], Any]]] = {
    "numpy": lambda folder: tm.compile(logs, backend="numpy"),
    "c": lambda folder: tm.compile(logs, backend="c"),
    "many sizes": lambda folder: for_many_sizes(),
    "loaded": lambda folder: saved_and_loaded(logs, "x: f64[3]", folder),
    "loaded for many sizes": lambda folder: saved_and_loaded(logs, "x: f64[N]", folder),
    "loop": lambda folder: log_in_loop,
    "compiled loop": lambda folder: tm.compile(log_in_loop),
    "vmap": lambda folder: tm.vmap(np.log),
    "grad": lambda folder: tm.grad(logs),
    "compiled grad": lambda folder: tm.compile(tm.grad(logs)),
    "jvp": lambda folder: lambda x: tm.jvp(logs, (x,), (x,)),
    "checkpoint": lambda folder: tm.grad(tm.checkpoint(logs)),
    "compiled in compiled": lambda folder: tm.compile(lambda x: tm.compile(logs)(x) + 1),
    "variable": lambda folder: lambda x: logs(tm.autograd.variable(x)).detach(),
}


@pytest.fixture(params=FORMS)
def transformed(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A function that takes logarithms, in each way in which it can run."""
    return FORMS[request.param](tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("state", [{"all": "raise"}, {"divide": "raise"}])
def test_what_numpy_would_raise_is_raised_with_the_line(transformed: Any, state: dict[str, Any]) -> None:
    transformed(ONES)
    with np.errstate(**state), pytest.raises(FloatingPointError) as caught:
        transformed(ZEROS)
    assert str(caught.value) == "divide by zero encountered in log"
    notes = getattr(caught.value, "__notes__", [])
    lines = [entry.name for entry in caught.traceback]  # of functions that are not compiled
    if not any("while running log at test_error_state.py" in note for note in notes):
        assert "logs" in lines or lines[-1] == "<lambda>", "the function of the uncompiled loop"


@pytest.mark.slow
@pytest.mark.parametrize("transformed", [form for form in FORMS if form != "loop"], indirect=True)
@pytest.mark.parametrize("state", [{}, {"all": "ignore"}, {"divide": "warn", "over": "ignore"}])
def test_the_default_error_state_neither_raises_nor_warns(transformed: Any, state: dict[str, Any]) -> None:
    with np.errstate(**state), warnings.catch_warnings():
        warnings.simplefilter("error")
        transformed(ZEROS)


def test_a_loop_of_python_warns_as_numpy_does() -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
        log_in_loop(ZEROS)


def test_results_are_the_same_if_nothing_raises(transformed: Any) -> None:
    expected = transformed(ONES)
    with np.errstate(all="raise"):
        found = transformed(ONES)
    np.testing.assert_allclose(found, expected)
    assert type(found) is type(expected)


@pytest.fixture
def numpys_state() -> Iterator[None]:
    """Undo what a test sets permanently."""
    before = np.geterr()
    called = np.geterrcall()
    yield
    np.seterr(**before)
    np.seterrcall(called)


@pytest.mark.usefixtures("numpys_state")
def test_the_state_is_asked_for_at_each_call() -> None:
    f = tm.compile(logs)
    for _ in range(2):
        np.seterr(all="ignore")
        assert f(ZEROS) == -np.inf
        np.seterr(all="raise")
        with pytest.raises(FloatingPointError, match="divide by zero"):
            f(ZEROS)
        np.seterr(divide="warn")
        assert f(np.full(3, 2.0)) > 2
        with pytest.raises(FloatingPointError, match="invalid value encountered in log"):
            f(-ONES)


@pytest.mark.usefixtures("numpys_state")
def test_the_function_given_to_seterrcall_is_called() -> None:
    called: list[tuple[str, int]] = []
    np.seterrcall(lambda kind, flag: called.append((kind, flag)))
    f = tm.compile(logs)
    with np.errstate(divide="call"):
        assert f(ZEROS) == -np.inf
    assert called == [("divide by zero", 1)]
    f(ZEROS)
    assert len(called) == 1


@pytest.mark.usefixtures("numpys_state")
def test_errors_are_logged_where_seterrcall_says() -> None:
    lines: list[str] = []

    class Log:
        def write(self, text: str) -> None:
            lines.append(text)

    np.seterrcall(Log())
    f = tm.compile(logs)
    with np.errstate(divide="log"):
        f(ZEROS)
    assert lines == ["Warning: divide by zero encountered in log\n"]


def test_underflow_is_warned_of_if_asked_for() -> None:
    f = tm.compile(np.exp)
    with np.errstate(under="warn"), pytest.warns(RuntimeWarning, match="underflow encountered in exp"):
        f(np.array([-1000.0]))


def test_the_state_of_one_thread_is_not_that_of_another() -> None:
    f = tm.compile(logs)
    f(ONES)
    results: list[Any] = []
    with np.errstate(all="raise"):
        thread = threading.Thread(target=lambda: results.append(f(ZEROS)))
        thread.start()
        thread.join()
    assert results == [-np.inf]


def test_a_first_call_that_is_to_raise_compiles_a_program_that_does_not() -> None:
    f = tm.compile(logs)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        f(ZEROS)
    assert f(ZEROS) == -np.inf


def test_arguments_have_what_numpy_writes_before_an_error() -> None:
    @tm.compile
    def update(x: Any) -> Any:
        x += 1
        x[:] = np.log(x - 1)

    x, y = np.zeros(3), np.ones(3)
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError, match="divide by zero"):
            update(x)
        update(y)
    np.testing.assert_array_equal(x, np.ones(3))
    np.testing.assert_array_equal(y, ZEROS)


@pytest.mark.parametrize("first", ["default", "strict"])
@pytest.mark.parametrize("wrap", [lambda f: f, tm.vmap, lambda f: tm.compile(tm.vmap(f))])
def test_errors_that_the_function_itself_ignores_are_not_raised_but_others_are(first: str, wrap: Any) -> None:
    def function(x: Any) -> Any:
        with np.errstate(divide="ignore"):
            y = np.log(x)
        return y + np.sqrt(x)

    f = wrap(tm.compile(function))
    if first == "default":
        f(ONES)
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(f(ZEROS), np.full(3, -np.inf))
        with pytest.raises(FloatingPointError, match="invalid value encountered in log"):
            f(-ONES)
    with np.errstate(divide="raise"):
        np.testing.assert_array_equal(f(ZEROS), np.full(3, -np.inf))


def test_what_a_function_and_its_caller_ignore_is_ignored_together() -> None:
    @tm.custom_rule
    def inner(x: Any) -> Any:
        with np.errstate(divide="ignore"):
            return np.log(x) + np.exp(x)

    @tm.compile
    def outer(x: Any) -> Any:
        with np.errstate(over="ignore"):
            return inner(x)

    with np.errstate(all="raise"):
        np.testing.assert_array_equal(outer(np.array([0.0])), [-np.inf])
        np.testing.assert_array_equal(outer(np.array([1000.0])), [np.inf])
        with pytest.raises(FloatingPointError, match="invalid value encountered in log"):
            outer(np.array([-1.0]))


def test_a_loop_in_a_block_that_ignores_errors_ignores_them() -> None:
    def function(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return log_in_loop(x)

    with np.errstate(all="raise"):
        assert tm.compile(function)(ZEROS) == -np.inf


@pytest.mark.parametrize("state", [{"all": "raise"}, {"divide": "raise"}, {"under": "warn"}])
@pytest.mark.parametrize("transform", [lambda f: f, tm.grad, lambda f: lambda x: tm.value_and_grad(f)(x)[0]])
def test_a_compiled_function_that_asks_for_errors_itself_runs_uncompiled(
    transform: Any, state: dict[str, Any]
) -> None:
    def function(x: Any) -> Any:
        with np.errstate(**state):
            return np.sum(np.log(x))

    expected = transform(function)
    compiled = tm.compile(transform(function))
    with pytest.warns(RecompileWarning, match=r"runs uncompiled: function sets np\.errstate\("):
        np.testing.assert_array_equal(compiled(ONES), expected(ONES))
    np.testing.assert_array_equal(compiled(ONES), expected(ONES))
    if state != {"under": "warn"}:
        with pytest.raises(FloatingPointError, match="divide by zero encountered in log"):
            compiled(ZEROS)


def test_a_handler_in_a_compiled_function_sees_floating_point_errors() -> None:
    @tm.compile(on_recompile="ignore")
    def f(x: Any) -> Any:
        try:
            with np.errstate(all="raise"):
                return np.log(x), ""
        except FloatingPointError as error:
            return x * 2, str(error)

    np.testing.assert_array_equal(f(ONES)[0], np.zeros(3))
    np.testing.assert_array_equal(f(ZEROS)[0], np.zeros(3))
    assert (f(ONES)[1], f(ZEROS)[1]) == ("", "divide by zero encountered in log")


@pytest.mark.parametrize("transform", [tm.vmap, lambda f: lambda x: tm.export(f, "x: f64[3]")])
@pytest.mark.parametrize("state", [{"all": "raise"}, {"divide": "call"}, {"under": "warn"}])
def test_a_function_that_asks_for_errors_itself_is_refused_with_the_fix(
    transform: Any, state: dict[str, Any]
) -> None:
    def function(x: Any) -> Any:
        with np.errstate(**state):
            return np.sum(np.log(x))

    (_, kind), *_ = state.items()
    asked = rf"np\.errstate\(.*='{kind}'\)"
    message = rf"function sets {asked}(.|\n)*`with {asked}:` around the call(.|\n)*at test_error_state\.py"
    with pytest.raises(ErrorStateError, match=message):
        transform(function)(ONES)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (np.nanmean, np.full(2, np.nan)),
        (np.nanvar, np.full(2, np.nan)),
        (np.nanmedian, np.empty(0)),
        (lambda x: np.isclose(x, x[::-1]), np.array([np.inf, 1.0, np.inf])),
        (lambda x: np.allclose(x, x), np.array([np.inf, 1.0])),
        (lambda x: np.convolve(x, x), np.array([1e200, np.inf])),
        (lambda x: np.correlate(x, x), np.array([1e200, 1e200])),
        (np.cumsum, np.array([1.0, np.nan])),
        (np.sinc, np.zeros(2)),
        (lambda x: tm.random.default_rng(0).standard_gamma(x), np.array([0.01, 2.0])),
    ],
)
@pytest.mark.filterwarnings("ignore:.*slice:RuntimeWarning")
def test_nothing_is_raised_that_numpy_does_not_raise(f: Any, x: Any) -> None:
    with np.errstate(all="raise"):
        expected, compiled = f(x), tm.compile(f)
        found: Any = compiled(x)
    np.testing.assert_allclose(found, expected)


def test_uncompiled_transforms_do_not_warn_where_numpy_does() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(tm.vmap(np.mean)(np.empty((2, 0)))).all()
        assert np.isnan(tm.grad(np.sqrt)(-1.0))


def test_a_report_of_nans_is_made_in_a_strict_state_too() -> None:
    with np.errstate(all="raise"):
        report = tm.nan_report(logs, ZEROS)
    assert [found.op for found in report.findings] == ["log"]


def test_a_file_is_verified_in_a_strict_state_too(tmp_path: Path) -> None:
    tm.export(lambda x: np.log(x - x), "x: f64[3]").save(tmp_path / "logs.tm")
    with np.errstate(all="raise"):
        checks = list(verified(tmp_path / "logs.tm"))
        assert np.geterr()["divide"] == "raise"
    assert all(check.is_good for check in checks), checks


@pytest.mark.slow
def test_the_state_is_read_without_numpys_private_variable() -> None:
    program = """
import numpy as np
del np._core.umath._extobj_contextvar
import tracemill as tm

@tm.compile
def f(x):
    with np.errstate(invalid="ignore"):
        return np.log(x)

assert f(np.zeros(1)) == -np.inf
np.seterr(all="ignore")
assert f(np.zeros(1)) == -np.inf
with np.errstate(all="raise"):
    f(-np.ones(1))
    try:
        f(np.zeros(1))
    except FloatingPointError as error:
        print(error)
assert f(np.zeros(1)) == -np.inf
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("divide by zero encountered in log\n", "")

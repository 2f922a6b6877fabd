"""`logging` and `warnings.warn` in a compiled function speak in each call, in order, with the values of that call."""

import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ConcretizationError

X = np.array([1.0, 2.0, 3.0])
log = logging.getLogger("tests.logging_and_warnings")
log.propagate = False


class Kept(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture
def kept() -> Iterator[Kept]:
    handler = Kept()
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield handler
    log.removeHandler(handler)


def said(function: Callable[..., Any], kept: Kept, *args: Any) -> list[tuple[Any, ...]]:
    kept.records.clear()
    function(*args)
    return [(r.name, r.levelname, r.getMessage(), r.lineno, r.funcName, r.pathname) for r in kept.records]


def logging_much(x: Any) -> Any:
    log.info("sum %.2f of %d: %r", x.sum(), len(x), x)
    log.debug("nobody sees %s", x)
    y = x * 2
    log.warning(f"first {y[0]:>8.3f} {{}}")
    for i in range(2):
        log.error("entry %s: %s%%", i, y[i])
    if x[0] > 0:
        log.log(logging.CRITICAL, "positive")
    return y.sum()


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_each_call_logs_what_python_logs(backend: str, kept: Kept) -> None:
    compiled = tm.compile(logging_much, backend=backend)
    for x in (X, -X, 3 * X):
        assert said(compiled, kept, x) == said(logging_much, kept, x)


def test_a_differentiated_function_logs_once_and_a_batch_for_each_example(kept: Kept) -> None:
    assert said(tm.grad(logging_much), kept, X) == said(logging_much, kept, X)

    def one(x: Any) -> Any:
        log.info("x is %.1f", x)
        return x

    assert [line[2] for line in said(tm.vmap(one), kept, X)] == ["x is 1.0", "x is 2.0", "x is 3.0"]


def test_what_nobody_sees_is_not_computed_until_the_level_changes(kept: Kept) -> None:
    def quiet(x: Any) -> Any:
        log.debug("the sine is %.3f", np.sin(x).sum())
        return x + 1

    compiled = tm.compile(quiet)
    assert not said(compiled, kept, X)
    assert "sin_1" not in compiled.lower(X).after("remove_dead_code").code
    log.setLevel(logging.DEBUG)
    assert said(compiled, kept, X) == said(quiet, kept, X) != []
    log.setLevel(logging.INFO)
    assert not said(compiled, kept, X)


def test_the_functions_of_logging_speak_for_the_root(caplog: pytest.LogCaptureFixture) -> None:
    def function(x: Any) -> Any:
        logging.warning("largest %.1f", x.max())
        return x

    tm.compile(function)(X)
    assert caplog.messages == ["largest 3.0"]
    assert caplog.records[0].name == "root"


def test_records_with_more_than_values_are_refused(kept: Kept) -> None:
    def function(x: Any) -> Any:
        log.info("x", extra={"a": x})
        return x

    with pytest.raises(
        ConcretizationError, match=r"info\(\) of a logger cannot be part of a program with extra"
    ):
        tm.compile(function)(X)

    nameless = logging.Logger("of its own")

    def other(x: Any) -> Any:
        nameless.info("x %s", x)
        return x

    with pytest.raises(ConcretizationError, match=r"make it with logging\.getLogger"):
        tm.compile(other)(X)


class OwnWarning(UserWarning):
    """A category of this module."""


def helper(x: Any) -> None:
    warnings.warn(f"far: {x:.1f}", OwnWarning, stacklevel=2)


def warning_much(x: Any) -> Any:
    warnings.warn(f"the sum is {x.sum():.1f}", stacklevel=1)
    if x[0] > 0:
        warnings.warn("positive", RuntimeWarning, stacklevel=1)
    helper(x[1])
    warnings.warn(DeprecationWarning("old"), stacklevel=1)
    return x * 2


def warned(function: Callable[..., Any], x: Any) -> list[tuple[Any, ...]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(x)
    return [(str(one.message), one.category, one.lineno, one.filename) for one in caught]


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_each_call_warns_as_python_does(backend: str) -> None:
    compiled = tm.compile(warning_much, backend=backend)
    for x in (X, -X):
        assert warned(compiled, x) == warned(warning_much, x)


def test_a_warning_may_be_an_error() -> None:
    compiled = tm.compile(warning_much)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=r"the sum is 6\.0"):
            compiled(X)


def test_an_exported_function_logs(kept: Kept) -> None:
    function = tm.export(logging_much, "x: f64[3]").function()
    assert [line[:3] for line in said(function, kept, X)] == [
        line[:3] for line in said(logging_much, kept, X)
    ]


def test_what_is_not_a_logger_is_called_as_always() -> None:
    class Journal:
        def __init__(self) -> None:
            self.lines: list[str] = []

        def info(self, text: str) -> None:
            self.lines.append(text)

    journal = Journal()

    def function(x: Any) -> Any:
        journal.info("traced")
        return x

    tm.compile(function, on_recompile="ignore")(X)
    assert journal.lines == ["traced"]

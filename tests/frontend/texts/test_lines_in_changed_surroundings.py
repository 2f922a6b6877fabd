"""Redirected output, print options and filters of warnings inside a function; lines of its managers and methods."""

import contextlib
import io
import logging
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import RecompileWarning

X = np.array([1.0, 2.0])

# ---- what runs uncompiled --------------------------------------------------------------------------------


def recorded(x: Any) -> Any:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.warn("a", stacklevel=1)
    return x.sum() * len(found)


def as_errors(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            warnings.warn("w", stacklevel=1)
        except UserWarning:
            return 0.0
    return x.sum()


def as_errors_at_once(x: Any) -> Any:
    with warnings.catch_warnings(action="error"):
        try:
            warnings.warn("w", stacklevel=1)
        except UserWarning:
            return 0.0
    return x.sum()


def errors_of_numpy(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=RuntimeWarning)
        try:
            y = np.log(x - 2.0)
        except RuntimeWarning:
            return 0.0
    return y.sum()


def ignored(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("unseen", stacklevel=1)
    return x.sum()


def redirected(x: Any) -> Any:
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        print("inner", x)
    return x.sum() * len(stream.getvalue())


def with_print_options(x: Any) -> Any:
    with np.printoptions(precision=2):
        print(x / 3)
    return x.sum()


def logged_exception(x: Any) -> Any:
    try:
        x[4]
    except IndexError:
        logging.getLogger("of a test").exception("bad %s", x[0])
    return x.sum()


UNCOMPILED: dict[Callable[[Any], Any], str] = {
    recorded: "records warnings",
    as_errors: "makes errors of warnings",
    as_errors_at_once: "makes errors of warnings",
    errors_of_numpy: "makes errors of warnings",
    ignored: "warns with filters of its own",
    redirected: "redirects what it prints",
    with_print_options: r"prints with its own np\.printoptions",
    logged_exception: "logs the exception that it handles",
}


def lines_of(
    function: Callable[[Any], Any], x: Any, capsys: Any, caplog: Any
) -> tuple[float, str, list[str]]:
    caplog.clear()
    capsys.readouterr()
    result = float(function(x))
    return result, capsys.readouterr().out, [one.getMessage() for one in caplog.records]


@pytest.mark.parametrize("function", UNCOMPILED, ids=lambda f: f.__name__)
def test_a_function_with_surroundings_of_its_own_runs_uncompiled(
    function: Callable[[Any], Any], capsys: Any, caplog: Any
) -> None:
    compiled = tm.compile(function)
    expected = lines_of(function, X, capsys, caplog)
    with pytest.warns(RecompileWarning, match=rf"{UNCOMPILED[function]} at test_lines_in_changed") as said:
        assert lines_of(compiled, X, capsys, caplog) == expected
    assert len(said) == 1
    assert lines_of(compiled, X, capsys, caplog) == expected


# ---- what stays compiled ---------------------------------------------------------------------------------


def quiet_logarithm(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = np.log(x - 1.0)
    return np.exp(y).sum()


@contextlib.contextmanager
def section(name: str) -> Any:
    print("begin", name)
    yield name
    print("end", name)


def in_sections(x: Any) -> Any:
    with section("outer"), section("inner") as name:
        print(name, x[0])
        y = x * 2
    return y.sum()


class Talking:
    def __enter__(self) -> "Talking":
        print("enter")
        return self

    def __exit__(self, *failure: object) -> None:
        print("exit", failure[0])

    def __delattr__(self, name: str) -> None:
        print("delattr", name)

    def __setattr__(self, name: str, value: Any) -> None:
        print("setattr", name, value)

    def __delitem__(self, index: Any) -> None:
        print("delitem", index)


def in_a_manager(x: Any) -> Any:
    with Talking():
        y = x * 2
    return y.sum()


def deleted(x: Any) -> Any:
    talking: Any = Talking()
    del talking.entry, talking[3], talking[1:2]
    delattr(talking, "other")
    setattr(talking, "this", 3)  # noqa: B010 (the call is what is tested)
    return x.sum()


@pytest.mark.parametrize(
    "function", [quiet_logarithm, in_sections, in_a_manager, deleted], ids=lambda f: f.__name__
)
def test_lines_of_managers_and_methods_are_printed_in_each_call(
    function: Callable[[Any], Any], capsys: Any, caplog: Any
) -> None:
    compiled = tm.compile(function)
    for x in (X, X, X * 3):
        assert lines_of(compiled, x, capsys, caplog) == lines_of(function, x, capsys, caplog)
    assert len(compiled.signatures()) == 1


def test_a_manager_of_a_generator_swallows_exceptions_and_decorates() -> None:
    @contextlib.contextmanager
    def swallowing(log: list[str]) -> Any:
        try:
            yield
        except ValueError:
            log.append("seen")

    def f(x: Any) -> Any:
        log: list[str] = []
        with swallowing(log):
            if x[0] > 0:
                raise ValueError("positive")
            x = x * 2
        return x.sum() + len(log)

    compiled = tm.compile(f, on_recompile="ignore")
    for x in (X, -X, X):
        assert compiled(x) == f(x)

    @section("decorated")
    def doubled(x: Any) -> Any:
        return x * 2

    assert tm.compile(lambda x: doubled(x).sum())(X) == 6.0


def test_items_and_attributes_are_deleted_as_in_python() -> None:
    class Plain:
        def __init__(self) -> None:
            self.a, self.b = 1, 2

    def f(x: Any) -> Any:
        plain, entries, table = Plain(), [1, 2, 3, 4], {"a": x, "b": 2 * x}
        del plain.a, entries[1:3], table["a"]
        name = 3
        del name
        return table["b"].sum() + len(entries) + len(vars(plain)) + len(table)

    assert tm.compile(f)(X) == f(X)

    def deleted_twice(x: Any) -> Any:
        table = {"c": x}
        del table["c"], table["c"]
        return x

    with pytest.raises(KeyError, match="c"):
        tm.compile(deleted_twice)(X)

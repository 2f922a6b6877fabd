"""Public functions that are called with what they do not take say so, or raise what NumPy raises for the same call."""

import random
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ArgumentTypeError, TracemillError, TransformTypeError

VECTOR = np.ones(3)
WRONG: dict[str, Any] = {
    "None": None,
    "a text": "a",
    "-1": -1,
    "1e300": 1e300,
    "2**70": 2**70,
    "an object": object(),
    "an empty list": [],
    "lists of unequal lengths": [[1], [1, 2]],
    "a function": lambda x: x,
    "an array of objects": np.array([object()]),
    "a dict": {"a": 1},
    "NaN": float("nan"),
    "1j": 1j,
}
ELSEWHERE = {
    "debug_print",  # prints
    "load",  # opens a file
    "set_num_threads",  # would change what runs later
}
OF_NUMPY = (OverflowError, IndexError, ZeroDivisionError, BufferError)
"""What NumPy raises beside TypeError and ValueError."""

Call = tuple[str, Callable[[], Any]]


def public(module: ModuleType, names: list[str]) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in names:
        function = getattr(module, name)
        is_error = isinstance(function, type) and issubclass(function, BaseException)
        if callable(function) and not is_error and name not in ELSEWHERE and not name.startswith("_"):
            yield name, function


def run(function: Callable[..., Any]) -> None:
    tm.compile(function, backend="numpy")(VECTOR)


def traced(function: Callable[..., Any]) -> None:
    tm.compile(function, backend="numpy").lower(VECTOR)


Compile = Callable[[Callable[..., Any]], None]


def calls_of(name: str, function: Any, wrong: Any, compile: Compile | None) -> Iterator[Call]:
    argument_lists = [(wrong,), (VECTOR, wrong), (wrong, VECTOR), (np.sin, wrong)]
    for place, args in enumerate(argument_lists):
        if compile is None:
            yield f"{name}, arguments {place}", partial(function, *args)
        elif any(x is VECTOR for x in args):

            def of_vector(x: Any, args: Any = args) -> Any:
                return function(*(x if y is VECTOR else y for y in args))

            yield f"traced {name}, arguments {place}", partial(compile, of_vector)


def raised_by(call: Callable[[], Any]) -> Exception | None:
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        try:
            call()
        except Exception as error:
            return error
    return None


def unexpected(calls: Iterator[Call], allowed: tuple[type[Exception], ...]) -> list[str]:
    found = [(name, raised_by(call)) for name, call in calls]
    return [f"{name}: {error!r:.200}" for name, error in found if error and not isinstance(error, allowed)]


def check(module: ModuleType, names: list[str], *, compile: Compile | None, count: int) -> None:
    """That functions refuse a number of wrong arguments: compiled in one of two ways, or called as they are."""
    drawn = random.Random(0)
    faults: list[str] = []
    functions = list(public(module, names))
    assert functions
    for name, function in functions:
        for label in drawn.sample(sorted(WRONG), count):
            calls = calls_of(f"{name} of {label}", function, WRONG[label], compile)
            allowed = (TracemillError, TypeError, ValueError, *(OF_NUMPY if compile else ()))
            faults += unexpected(calls, allowed)
    assert not faults, "\n".join(faults)


def namespaces() -> dict[str, tuple[ModuleType, list[str]]]:
    """The modules with functions of arrays; those of ``array_api`` are NumPy's own outside of a trace."""
    modules: list[ModuleType] = [tm.array_api, tm.numpy, tm.nn, tm.linalg]
    return {
        m.__name__: (m, [n for n in getattr(m, "__all__", dir(m)) if not n.startswith("_")]) for m in modules
    }


@pytest.mark.parametrize("count", [2, pytest.param(len(WRONG), marks=pytest.mark.slow)])
def test_public_functions_refuse_wrong_arguments_by_errors_that_say_so(count: int) -> None:
    check(tm, tm.__all__, compile=None, count=count)
    check(tm.random, tm.random.__all__, compile=None, count=count)


@pytest.mark.parametrize(
    ("compile", "count"),
    [
        (run, 2),
        pytest.param(traced, 5, marks=pytest.mark.slow),
        pytest.param(traced, len(WRONG), marks=pytest.mark.exhaustive),
    ],
)
@pytest.mark.parametrize("name", namespaces())
def test_functions_of_traced_arrays_refuse_wrong_arguments_as_numpy_does(
    name: str, compile: Compile, count: int
) -> None:
    """All of them while functions are traced; some in programs that run, if the function takes them."""
    module, names = namespaces()[name]
    check(module, names, compile=compile, count=count)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: tm.CompiledFunction(np.sin, 1), "options must be those of compile, not int"),  # type: ignore[arg-type]
        (lambda: tm.CompiledFunction(1, 1), "CompiledFunction needs a function, not int: 1"),  # type: ignore[arg-type]
        (lambda: tm.LoadedFunction(np.add, "c"), "artifact must be an Artifact, not ufunc"),  # type: ignore[arg-type]
        (lambda: tm.DeviceArray(VECTOR, (3,), VECTOR.dtype), "memory must be memory of a GPU, not ndarray"),  # type: ignore[arg-type]
        (lambda: tm.Graph(np.sin, (), (), ()), "name must be a text, not ufunc"),  # type: ignore[arg-type]
        (lambda: tm.Graph("f", (1,), (), ()), "inputs must be a tuple of Value"),  # type: ignore[arg-type]
        (lambda: tm.Graph("f", (), 1, ()), "calls must be a tuple of Call"),  # type: ignore[arg-type]
        (lambda: tm.Sparsity(1, ()), "pattern must be a matrix of booleans, not int"),
    ],
)
def test_classes_that_functions_return_say_what_they_are_made_of(make: Callable[[], Any], says: str) -> None:
    with pytest.raises((ArgumentTypeError, TransformTypeError), match=says):
        make()


def test_objects_that_are_not_arrays_are_refused_where_they_are_cast() -> None:
    for wrong in (None, 1, [1.0], "a"):
        with pytest.raises(ArgumentTypeError, match="astype: x must be an array"):
            tm.compile(lambda x, y=wrong: tm.array_api.astype(y, x), backend="numpy")(VECTOR)


def test_integers_that_no_dtype_holds_are_refused() -> None:
    with pytest.raises(ArgumentTypeError, match=f"no integer dtype holds {2**70}"):
        tm.compile(lambda x: np.broadcast_arrays(x, 2**70), backend="numpy")(VECTOR)


def test_differences_end_where_no_neighbours_are_left() -> None:
    assert tm.compile(lambda x: np.diff(x, 2**70), backend="numpy")(VECTOR).shape == (0,)

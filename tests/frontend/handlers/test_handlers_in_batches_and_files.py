"""Handlers that cannot run, for some examples of a batch or in an exported file: a named error says so."""

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import BatchedHandlerError, ExportError


def own(x: Any) -> Any:
    try:
        if x < 0:
            raise ValueError("negative")
        return x * 2
    except ValueError:
        return -1.0


def inverse(a: Any) -> Any:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return a * 0


def entry(x: Any, i: Any) -> Any:
    try:
        return x[i]
    except IndexError:
        return -1.0


def in_a_loop(x: Any) -> Any:
    try:
        for _ in range(30):
            x = x - 1
            if x == 0:
                raise KeyError("zero")
        return x
    except KeyError:
        return 9.0


SINGULAR = np.ones((2, 2))
BATCHES: dict[Callable[..., Any], tuple[tuple[Any, ...], tuple[Any, ...], type[Exception]]] = {
    own: ((np.array([1.0, 2.0]),), (np.array([1.0, -2.0]),), ValueError),
    inverse: ((np.stack([np.eye(2)] * 2),), (np.stack([np.eye(2), SINGULAR]),), np.linalg.LinAlgError),
    entry: ((np.ones((2, 3)), np.array([0, 1])), (np.ones((2, 3)), np.array([0, 7])), IndexError),
    in_a_loop: ((np.array([0.5, 0.6]),), (np.array([3.0, 0.5]),), KeyError),
}


@pytest.mark.parametrize(
    "transform", [tm.vmap, lambda f: tm.compile(tm.vmap(f)), lambda f: tm.vmap(f, chunk_size=1)]
)
@pytest.mark.parametrize("function", BATCHES, ids=lambda function: function.__name__)
def test_an_exception_of_some_examples_that_the_function_handles_is_refused(
    function: Callable[..., Any], transform: Callable[..., Any]
) -> None:
    right, wrong, cause = BATCHES[function]
    mapped = transform(function)
    np.testing.assert_allclose(mapped(*right), np.stack([function(*one) for one in zip(*right, strict=True)]))
    with pytest.raises(
        BatchedHandlerError, match=r"an example of the batch raises .* which the function handles"
    ) as found:
        mapped(*wrong)
    assert isinstance(found.value.__cause__, cause)


def test_an_exception_that_the_function_does_not_handle_reaches_the_caller_of_the_batch() -> None:
    def checked(x: Any) -> Any:
        try:
            y = 2 * x
        except KeyError:
            y = x
        if x < 0:
            raise ValueError("negative")
        return y

    for mapped in (tm.vmap(checked), tm.compile(tm.vmap(checked))):
        with pytest.raises(ValueError, match="negative"):
            mapped(np.array([1.0, -1.0]))


def suppressed(x: Any) -> Any:
    with contextlib.suppress(ZeroDivisionError):
        return 1 / x
    return 0.0


def divided(x: Any) -> Any:
    try:
        return 1 / x
    except ArithmeticError:
        return 0.0


@pytest.mark.parametrize(
    ("function", "specs", "error"),
    [
        (own, ["float"], "ValueError"),
        (inverse, ["f64[2, 2]"], "LinAlgError"),
        (entry, ["f64[3]", "i64[]"], "IndexError"),
        (in_a_loop, ["float"], "KeyError"),
        (suppressed, ["float"], "ZeroDivisionError"),
        (divided, ["float"], "ZeroDivisionError"),
    ],
)
def test_a_function_that_handles_what_its_program_raises_is_not_exported(
    function: Callable[..., Any], specs: list[str], error: str
) -> None:
    with pytest.raises(ExportError, match=f"{function.__name__} cannot be exported: it handles {error}"):
        tm.export(function, *specs)
    tm.export(function, *specs, checks=False)


def test_a_function_whose_handler_has_nothing_to_do_is_exported() -> None:
    def scaled(x: Any) -> Any:
        try:
            factor = int("3")
        except ValueError:
            factor = 1
        if x < 0:
            raise ValueError("negative")
        return x * factor

    exported = tm.export(scaled, "float").function()
    assert exported(2.0) == 6.0
    with pytest.raises(ValueError, match="negative"):
        exported(-1.0)

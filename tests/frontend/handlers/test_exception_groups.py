"""``except*`` handles NumPy's own exceptions in compiled functions, as it does in Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

X = np.array([3.0, 1.0, 2.0, 0.5])


def of_shapes(x: Any) -> Any:
    try:
        found = x[:3] + x[:2]
    except* ValueError as group:
        print(type(group.exceptions[0]), group.exceptions[0])
        found = x * 3
    return found


def of_lengths(x: Any) -> Any:
    try:
        found = x[x > 1] + x[:2]
    except* (ValueError, TypeError) as group:
        print(type(group.exceptions[0]), group.exceptions[0])
        found = x * 3
    return found


def of_a_matrix(x: Any) -> Any:
    try:
        np.linalg.cholesky(-np.outer(x, x))
    except* np.linalg.LinAlgError as group:
        print(group.exceptions[0])
        found = x * 3
    return found


def of_a_matrix_in_a_plain_handler(x: Any) -> Any:
    try:
        np.linalg.cholesky(-np.outer(x, x))
    except np.linalg.LinAlgError as error:
        print(error)
        found = x * 3
    return found


def of_two_kinds(x: Any) -> Any:
    found = x
    try:
        if x[0] > 2:
            raise ExceptionGroup("both", [ValueError("a"), TypeError("b")])
    except* ValueError:
        found = found * 2
    except* TypeError:
        found = found + 1
    return found


def left_to_another_handler(x: Any) -> Any:
    try:
        try:
            np.linalg.inv(np.zeros((2, 2)) * x[0])
        except* ValueError:
            found = x
    except* np.linalg.LinAlgError:
        found = x * 2
    return found


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize(
    "function",
    [
        of_shapes, of_lengths, of_a_matrix, of_a_matrix_in_a_plain_handler, of_two_kinds, left_to_another_handler,
    ],
)  # fmt: skip
def test_groups_hold_numpys_exceptions(
    function: Callable[[Any], Any], backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled = tm.compile(function, backend=backend, on_recompile="ignore")
    for x in (X, X + 1, X - 2, X):
        found = compiled(x)
        printed = capsys.readouterr().out
        np.testing.assert_array_equal(found, function(x))
        assert printed == capsys.readouterr().out

"""Linear algebra whose result the function does not use, but that raises `LinAlgError` for some matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

BACKENDS = pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])


def is_positive_definite(a: Any) -> Any:
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return False
    return True


def number_of_definite(a: Any) -> Any:
    count = 0
    for i in range(40):
        try:
            np.linalg.cholesky(a * (i - 3))
            count += 1
        except np.linalg.LinAlgError:
            count += 100
    return count


def refused_unless_definite(a: Any) -> Any:
    np.linalg.cholesky(a)
    return a.sum()


def refused_in_a_branch(a: Any) -> Any:
    if a[0, 0] > 5:
        np.linalg.inv(a)
    return a.sum()


def refused_in_a_loop(a: Any) -> Any:
    total = 0.0
    for i in range(40):
        np.linalg.cholesky(a + i * np.eye(2))
        total += a[0, 0]
    return total


def with_another_result(a: Any) -> Any:
    np.linalg.eig(a)
    np.linalg.cholesky(a)
    return np.linalg.inv(a).sum()


FUNCTIONS = (
    is_positive_definite,
    number_of_definite,
    refused_unless_definite,
    refused_in_a_branch,
    refused_in_a_loop,
    with_another_result,
)
MATRICES = (
    np.eye(2),
    -np.eye(2),
    np.zeros((2, 2)),
    np.full((2, 2), 9.0),
    np.array([[np.inf, 0.0], [0.0, np.nan]]),
)


def outcome(function: Callable[[Any], Any], a: Any) -> str:
    try:
        with np.errstate(all="ignore"):
            return repr(function(a))
    except np.linalg.LinAlgError as error:
        return repr(error)


@BACKENDS
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_call_fails_as_in_numpy(function: Callable[[Any], Any], backend: str) -> None:
    compiled = tm.compile(function, backend=backend)
    for a in MATRICES:
        assert outcome(compiled, a) == outcome(function, a)


def test_a_derivative_fails_too() -> None:
    for transform in (tm.grad, lambda f: tm.compile(tm.grad(f))):
        with pytest.raises(np.linalg.LinAlgError, match="Matrix is not positive definite"):
            transform(refused_unless_definite)(-np.eye(2))
    np.testing.assert_array_equal(tm.compile(tm.grad(refused_unless_definite))(np.eye(2)), np.ones((2, 2)))


def test_without_checks_it_is_left_out() -> None:
    assert tm.compile(refused_unless_definite, checks=False)(-np.eye(2)) == -2.0


def test_a_result_that_is_used_needs_no_check() -> None:
    text = str(tm.compile(np.linalg.inv).lower(np.eye(2)).graph)
    assert "raise_if" not in text
    assert "raise_if" in str(tm.compile(refused_unless_definite).lower(np.eye(2)).graph)

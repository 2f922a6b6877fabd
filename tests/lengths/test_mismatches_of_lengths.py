"""Lengths that values decide and that do not fit: NumPy's own exception, with the lengths of the call."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm

X = np.array([1.0, -2.0, 3.0, 4.0, -5.0])
Y = np.array([1.0, 2.0, -1.0, -1.0, -1.0])


def written_with_a_mask(x: Any, y: Any) -> Any:
    found = np.zeros(5)
    found[x > 0] = y[y > 0]
    return found


def written_to_a_slice(x: Any, y: Any) -> Any:
    found = x[x > 0]
    found[:] = y[y > 0]
    return found


FUNCTIONS = {
    "product": lambda x, y: x[x > 0] * y[y > 0],
    "matmul": lambda x, y: x[x > 0] @ y[y > 0],
    "dot": lambda x, y: np.dot(x[x > 0], y[y > 0]),
    "mask": lambda x, y: x[x > 0][y[y > 0] > 1],
    "stack": lambda x, y: np.stack([x[x > 0], y[y > 0]]),
    "columns": lambda x, y: np.column_stack([x[x > 0], y[y > 0]]),
    "reshape": lambda x, y: x[x > 0].reshape(-1, 2) * y[0],
    "polyfit": lambda x, y: np.polyfit(x[x > 0], y[y > 0], 1),
    "einsum": lambda x, y: np.einsum("i,i", x[x > 0], y[y > 0]),
    "mask_write": written_with_a_mask,
    "slice_write": written_to_a_slice,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_mismatch_has_numpys_message_with_the_lengths_of_the_call(name: str) -> None:
    function = FUNCTIONS[name]
    compiled = tm.compile(function)
    with pytest.raises((ValueError, IndexError, TypeError)) as expected:
        function(X, Y)
    for _ in range(2):
        with pytest.raises(type(expected.value)) as found:
            compiled(X, Y)
        assert str(found.value) == str(expected.value)
    if name != "polyfit":
        four = np.where(X == 3.0, -1.0, X)
        np.testing.assert_array_equal(compiled(four, Y), function(four, Y))


def test_what_was_written_before_a_mismatch_is_written_once(capsys: pytest.CaptureFixture[str]) -> None:
    @tm.compile
    def f(x: Any, y: Any, counts: Any) -> Any:
        counts[0] += 1
        print("before")
        found = x[x > 0] * y[y > 0]
        counts[1] += 1
        return found

    counts = np.zeros(2)
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"operands could not be broadcast together with shapes \(3,\) \(2,\)"
        ):
            f(X, Y, counts)
    f(X, X, counts)
    np.testing.assert_array_equal(counts, [3, 1])
    assert capsys.readouterr().out == "before\n" * 3


@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
def test_a_mask_of_length_0_selects_nothing_of_any_axis(backend: str) -> None:
    def f(x: Any, matrix: Any, mask: Any) -> Any:
        written = x.copy()
        written[mask] = 7.0
        written[x[:0] > 0] += 1.0
        return (
            x[mask],
            x[x[:0] > 0],
            matrix[mask],
            matrix[:, mask],
            matrix[np.zeros((0, 4), bool)],
            matrix[np.zeros((3, 0), bool)],
            written,
        )

    args = X, np.arange(12.0).reshape(3, 4), np.zeros(0, bool)
    for found, expected in zip(tm.compile(f, backend=backend)(*args), f(*args), strict=True):
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(IndexError):
        tm.compile(lambda matrix: matrix[np.zeros((2, 0), bool)])(args[1])


def test_a_mask_that_turns_out_empty_selects_nothing() -> None:
    def f(x: Any, limit: Any) -> Any:
        return x[x[x > limit] > 0]

    compiled = tm.compile(f, on_recompile="ignore")
    for limit in (9.0, -9.0):
        np.testing.assert_array_equal(compiled(X, limit), f(X, limit))

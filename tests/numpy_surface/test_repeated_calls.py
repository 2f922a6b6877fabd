"""A function that is called again on operands of the same types records the same: everything must still be NumPy's."""

import itertools
from typing import Any

import numpy as np
import pytest

import tracemill as tm

SQUARE = np.array([[0.5, 1.25], [2.0, 0.75]])
OTHER = np.array([[1.5, 0.25], [0.125, 3.0]])

OPERANDS: dict[str, tuple[Any, Any]] = {
    "rows": (SQUARE, OTHER),
    "columns": (np.asfortranarray(SQUARE), np.asfortranarray(OTHER)),
    "rows, columns": (SQUARE, np.asfortranarray(OTHER)),
    "gaps": (np.tile(SQUARE, 2)[:, ::2], np.tile(OTHER, 2)[:, ::2]),
    "matrix, vector": (SQUARE, OTHER[0]),
    "vectors": (SQUARE[0], OTHER[0]),
    "f32": (SQUARE.astype("f4"), OTHER.astype("f4")),
    "f32, f64": (SQUARE.astype("f4"), OTHER),
    "ints": (np.array([[1, 2], [3, 4]]), np.array([[3, 2], [5, 1]])),
    "0-d": (np.array(0.5), np.array(0.75)),
}
BINARY = (
    np.add,
    np.subtract,
    np.multiply,
    np.divide,
    np.less,
    np.arctan2,
    np.matmul,
    np.dot,
    np.copysign,
    np.power,
)
UNARY = (np.sin, np.negative, np.sqrt, np.isnan, np.exp)


def assert_same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert np.asarray(found).strides == np.asarray(expected).strides
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "kind"),
    [pair for pair in itertools.product(BINARY, OPERANDS) if pair != (np.matmul, "0-d")],  # an error in NumPy
)
def test_a_function_of_two_arrays_is_numpys_each_time(function: Any, kind: str) -> None:
    x, y = OPERANDS[kind]

    def program(x: Any, y: Any) -> Any:
        return [function(*pair) for pair in ((x, y), (y, y), (y, x), (x, x), (x, y), (y, x), (x + x, y))]

    if kind == "matrix, vector" and function in (np.matmul, np.dot):

        def program(x: Any, y: Any) -> Any:
            return [
                function(x, y),
                function(x, y + y),
                function(x + x, y),
                function(y, x),
                function(y + y, x),
            ]

    for found, expected in zip(tm.compile(program, backend="numpy")(x, y), program(x, y), strict=True):
        assert_same(found, expected)


@pytest.mark.parametrize("kind", OPERANDS)
@pytest.mark.parametrize("function", UNARY)
def test_a_function_of_one_array_is_numpys_each_time(function: Any, kind: str) -> None:
    def program(x: Any, y: Any) -> Any:
        return [function(one) for one in (x, y, x + y, x.T, y.T, x[..., :1] if x.ndim else x)]

    x, y = OPERANDS[kind]
    for found, expected in zip(tm.compile(program, backend="numpy")(x, y), program(x, y), strict=True):
        assert_same(found, expected)


def test_numbers_count_by_their_bits_and_kinds() -> None:
    numbers = (0.0, -0.0, 0, 1, 1.0, True, 2, 2.5, float("nan"), 1j)

    def program(x: Any) -> Any:
        return [np.multiply(x, number) for number in numbers] + [np.copysign(x, n) for n in numbers[:4]]

    for x in (np.array([-1.5, 2.0]), np.array([3, -4])):
        for found, expected in zip(tm.compile(program)(x), program(x), strict=True):
            assert_same(found, expected)
            np.testing.assert_array_equal(np.signbit(found.real), np.signbit(expected.real))


def test_arrays_from_outside_count_by_their_layout_and_may_change() -> None:
    tables = [SQUARE, np.asfortranarray(SQUARE), OTHER.T, np.tile(OTHER, 2)[:, ::2], OTHER]

    def program(x: Any) -> Any:
        found = [np.dot(x, table) for table in tables] + [x + table for table in tables]
        own = np.ones((2, 2))
        for _ in range(3):
            found.append(np.dot(x, own))
            own[0] += x[0]
        return found

    for x in (SQUARE, np.asfortranarray(OTHER)):
        for found, expected in zip(tm.compile(program, backend="numpy")(x), program(x), strict=True):
            assert_same(found, expected)


def test_writes_between_calls_are_seen() -> None:
    def program(x: Any, y: Any) -> Any:
        found = []
        for turn in range(3):
            found.append(np.dot(x, y).copy())
            found.append(np.sin(x))
            x[0] = turn
            found[-1][0] += 1
        return found

    compiled = tm.compile(program, backend="numpy")
    for found, expected in zip(compiled(SQUARE.copy(), OTHER), program(SQUARE.copy(), OTHER), strict=True):
        assert_same(found, expected)


def test_results_are_written_to_out_each_time() -> None:
    def program(x: Any, y: Any) -> Any:
        outs = [np.zeros((2, 2)) for _ in range(6)]
        np.dot(x, y, outs[0])
        np.dot(y, x, outs[1])
        np.dot(x, y, out=outs[2])
        np.dot(a=y, b=x, out=outs[3])
        np.add(x, y, outs[4])
        np.add(y, x + x, outs[5])
        return outs

    for found, expected in zip(tm.compile(program)(SQUARE, OTHER), program(SQUARE, OTHER), strict=True):
        assert_same(found, expected)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_order_of_an_argument_is_asked_for_in_repeats_too(order: Any) -> None:
    @tm.compile(backend="numpy")
    def program(x: Any, y: Any) -> Any:
        first, second = x + 1.0, y + 1.0
        return np.exp(first), np.exp(second), np.add(first, second)

    def plain(x: Any, y: Any) -> Any:
        return np.exp(x + 1.0), np.exp(y + 1.0), np.add(x + 1.0, y + 1.0)

    for x, y in itertools.product((SQUARE, np.asfortranarray(SQUARE)), repeat=2):
        given = np.array(x, order=order), y
        for found, expected in zip(program(*given), plain(*given), strict=True):
            assert_same(found, expected)


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_repeats_have_derivatives_and_batches(backend: str) -> None:
    def steps(x: Any, y: Any) -> Any:
        for _ in range(4):
            x = np.tanh(np.dot(x, y) * 0.5)
            y = y - np.dot(y, x)
        return np.sum(x * y)

    def slopes(x: Any, y: Any) -> Any:
        return tm.grad(steps, argnums=(0, 1))(x, y)

    for found, expected in zip(
        tm.compile(slopes, backend=backend)(SQUARE, OTHER), slopes(SQUARE, OTHER), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    batch = np.stack([SQUARE, OTHER, OTHER.T])
    found = tm.compile(tm.vmap(steps, in_dims=(0, None)), backend=backend)(batch, OTHER)
    np.testing.assert_allclose(found, [steps(x, OTHER) for x in batch], rtol=1e-12)


def test_every_call_has_its_own_line() -> None:
    def program(x: Any) -> Any:
        y = np.sin(x)
        return np.sin(y)

    first, second = tm.compile(program).lower(SQUARE).graph.calls
    assert first.location is not None
    assert second.location is not None
    assert second.location.line == first.location.line + 1


def test_sizes_that_differ_are_different_operands() -> None:
    @tm.compile(dynamic=True)
    def program(x: Any, y: Any) -> Any:
        return np.sum(np.sin(x)) + np.sum(np.sin(y)) + np.sum(np.sin(x * 2.0))

    for n, m in ((3, 4), (5, 5), (1, 7)):
        x, y = np.arange(float(n)), np.arange(float(m))
        expected = np.sum(np.sin(x)) + np.sum(np.sin(y)) + np.sum(np.sin(x * 2.0))
        np.testing.assert_allclose(program(x, y), expected)

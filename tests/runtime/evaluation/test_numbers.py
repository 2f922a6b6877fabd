"""Python floats under uncompiled derivatives: numbers that take the dtype of the arrays that they meet."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import TracemillError
from tracemill.runtime.eager.transform_log import seen_transforms

NARROW = np.array([0.5, -1.5], np.float32)


def updates(x: Any) -> Any:
    y = x
    y += x * 2
    y *= np.float32(1.5)
    return y - x


def writes(x: Any) -> Any:
    z = np.zeros(3, np.float32)
    z[0] = x
    z[1:] = x * x
    return np.sum(z**2)


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "x + x": lambda x: x + x,
    "x - 2": lambda x: x - 2,
    "3 * x": lambda x: 3 * x,
    "x / x": lambda x: x / x,
    "-x": lambda x: -x,
    "x**2": lambda x: x**2,
    "x**0.5": lambda x: x**0.5,
    "x**x": lambda x: x**x,
    "2.0**x": lambda x: 2.0**x,
    "x * 1j": lambda x: abs(x * 1j),
    "x * True": lambda x: x * True,
    "sin": lambda x: np.sin(x) * x,
    "np.add": lambda x: np.add(x, x) + np.multiply(x, 2.0),
    "maximum": lambda x: np.maximum(x, 0.1),
    "abs": lambda x: abs(x) + abs(-x),
    "f32 scalar": lambda x: x * np.float32(1.1) + x,
    "f64 scalar": lambda x: x * np.float64(1.1) + x,
    "f32 array": lambda x: np.sum(x * NARROW / (x + NARROW)),
    "int array": lambda x: np.sum(x * np.arange(3) + np.arange(3) / x),
    "where": lambda x: np.sum(np.where(NARROW > 0, x, NARROW)),
    "stack": lambda x: np.sum(np.stack([x, x * x]) ** 2),
    "array": lambda x: np.sum(np.array([x, 1.0, x * 2]) ** 3),
    "comparison": lambda x: (x * 3 if x > 0.2 else x) * (x == 0.3),
    "sum": lambda x: sum([x, x * x], 1.0),
    "in place": updates,
    "written": writes,
    "math": lambda x: float(x) * max(x, 0.1) + min(2.0, x * x),
}


def facts(y: Any) -> tuple[Any, ...]:
    return y.weak, y.dtype, y.shape, y.is_scalar


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_on_a_float_are_those_of_its_graph(name: str) -> None:
    seen: list[tuple[Any, ...]] = []

    def program(x: Any) -> Any:
        y = OPERATIONS[name](x)
        seen.append(facts(y))
        return y

    found = tm.value_and_grad(program)(0.3), tm.jvp(program, (0.3,), (0.7,))
    with seen_transforms():
        wanted = tm.value_and_grad(program)(0.3), tm.jvp(program, (0.3,), (0.7,))
    assert seen[0] == seen[1] == seen[2]
    tolerance = 1e-6 if seen[0][1] == np.float32 else 1e-14
    for one, other in zip(np.ravel(found), np.ravel(wanted), strict=True):
        assert type(one) is type(other)
        np.testing.assert_allclose(one, other, rtol=tolerance)


@pytest.mark.parametrize("name", ["3 * x", "x**2", "f32 array", "written", "in place"])
def test_second_derivatives_at_a_float_are_those_of_its_graph(name: str) -> None:
    found = tm.hessian(OPERATIONS[name])(0.3), tm.grad(tm.grad(OPERATIONS[name]))(0.3)
    with seen_transforms():
        wanted = tm.hessian(OPERATIONS[name])(0.3), tm.grad(tm.grad(OPERATIONS[name]))(0.3)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_a_matrix_product_with_a_float_is_refused_by_name() -> None:
    with pytest.raises(TracemillError, match="matmul"):
        tm.grad(lambda x: np.sum(x @ np.ones(3)))(0.3)

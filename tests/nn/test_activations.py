"""Activations on NumPy arrays, on traced ones, and their values and corners."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import tracemill as tm
from numpy_surface.differential import check
from tracemill import nn

ACTIVATIONS: list[Callable[..., Any]] = [
    nn.relu, nn.relu6, nn.leaky_relu, nn.elu, nn.selu, nn.sigmoid, nn.log_sigmoid, nn.softplus, nn.silu, nn.mish,
    nn.gelu, nn.hard_tanh, nn.hard_sigmoid, nn.hard_swish,
]  # fmt: skip
each = pytest.mark.parametrize("function", ACTIVATIONS, ids=lambda function: function.__name__)
NUMBERS = np.array([-1000.0, -1.0, -0.0, 0.0, 0.5, 3.0, 1000.0])


@each
def test_activations_do_the_same_traced_and_not(function: Callable[[Any], Any]) -> None:
    check(function, NUMBERS, rtol=1e-15)
    check(function, NUMBERS.astype(np.float32), rtol=1e-6)
    check(function, np.arange(-2, 3), rtol=1e-15)
    with np.errstate(all="ignore"):
        assert np.isnan(function(np.array([np.nan]))).all()


@each
def test_an_activation_keeps_shape_and_dtype(function: Callable[[Any], Any]) -> None:
    for dtype in ("f2", "f4", "f8"):
        assert function(np.zeros((2, 0, 3), dtype)).shape == (2, 0, 3)
        assert function(np.ones(2, dtype)).dtype == dtype
    assert type(function(1.0)) is type(np.float64(1))
    assert type(function(np.float32(1))) is type(np.float32(1))


def test_activations_have_their_known_values() -> None:
    x = np.array([-2.0, 0.0, 1.0])
    np.testing.assert_array_equal(nn.relu(x), [0, 0, 1])
    np.testing.assert_allclose(nn.sigmoid(x), special.expit(x), rtol=1e-15)
    np.testing.assert_allclose(nn.log_sigmoid(x), special.log_expit(x), rtol=1e-15)
    np.testing.assert_allclose(nn.gelu(x), x * special.ndtr(x), rtol=1e-14)
    np.testing.assert_allclose(nn.gelu(x, approximate=True), nn.gelu(x), atol=1e-3)
    np.testing.assert_allclose(nn.silu(x), x * special.expit(x), rtol=1e-15)
    np.testing.assert_allclose(nn.softplus(x), np.log1p(np.exp(x)), rtol=1e-15)
    np.testing.assert_allclose(nn.softplus(x, beta=3), np.log1p(np.exp(3 * x)) / 3, rtol=1e-15)
    np.testing.assert_allclose(nn.elu(x, alpha=2), [2 * np.expm1(-2), 0, 1], rtol=1e-15)
    np.testing.assert_array_equal(nn.leaky_relu(x, 0.5), [-1, 0, 1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "derivatives"),
    [
        (nn.relu, (0, 0)),
        (nn.log_sigmoid, (0.5, -0.25, 0, 0.125)),
        (nn.softplus, (0.5, 0.25, 0, -0.125)),
        (nn.sigmoid, (0.25, 0, -0.125, 0)),
        (nn.silu, (0.5, 0.5, 0, -0.5)),
        (nn.elu, (1, 1, 1)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_derivatives_of_all_orders_at_0_are_those_of_the_function(
    function: Callable[[Any], Any], derivatives: tuple[float, ...]
) -> None:
    for expected in derivatives:
        function = tm.grad(function)
        np.testing.assert_allclose(function(0.0), expected, atol=1e-15)
        np.testing.assert_allclose(tm.compile(function)(np.float32(0)), expected, atol=1e-7)


def test_saturated_activations_have_derivative_0_or_1_and_never_nan() -> None:
    far = np.array([-1e4, 1e4])
    for function in ACTIVATIONS:
        slopes = tm.vmap(tm.grad(function))(far)
        assert np.isfinite(slopes).all(), function.__name__


def test_a_graph_knows_an_activation_by_its_name() -> None:
    def layer(x: Any, w: Any) -> Any:
        return nn.gelu(x @ w)

    text = str(tm.compile(tm.vmap(layer, in_dims=(0, None))).lower(np.ones((4, 2)), np.ones((2, 3))).graph)
    assert "gelu_1: f64[4, 3] = gelu(" in text

"""Normalisation: running statistics, zero sizes, what flows through statistics, names in graphs, misuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill import nn
from tracemill.compiler.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ConcretizationError,
    DTypeError,
    ShapeError,
)

RNG = np.random.default_rng(0)


def test_layer_norm_gives_mean_0_and_variance_1_and_keeps_single_precision() -> None:
    x = RNG.normal(3, 5, (4, 6)).astype(np.float32)
    for function in (nn.layer_norm, tm.compile(nn.layer_norm, static_argnums=1)):
        out: Any = function(x, (6,))
        assert out.dtype == np.float32
        np.testing.assert_allclose(out.mean(1), 0, atol=1e-6)
        np.testing.assert_allclose(out.std(1), 1, rtol=1e-4)


def test_the_backward_function_has_the_derivatives_of_the_gradient_to_any_order() -> None:
    """Although it is given the statistics as numbers, as a framework saves them."""
    x, ct, direction = RNG.normal(size=(3, 3, 5))
    weight = RNG.normal(size=5)

    def by_vjp(ct: Any, x: Any, weight: Any) -> Any:
        return tm.vjp(lambda x: nn.layer_norm(x, 5, weight), x)[1](ct)[0]

    def by_hand(ct: Any, x: Any, weight: Any) -> Any:
        held = tm.stop_gradient(x)
        mean, rstd = np.mean(held, -1, keepdims=True), 1 / np.sqrt(np.var(held, -1, keepdims=True) + 1e-5)
        return nn.layer_norm_backward(ct, x, 5, mean, rstd, weight, None, (True, False, False))[0]

    def again(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: tm.vjp(function, *args)[1](direction if function in (by_vjp, by_hand) else args)

    given = (ct, x, weight)
    for ours, theirs in ((again(by_hand), again(by_vjp)), (again(again(by_hand)), again(again(by_vjp)))):
        for left, right in zip(ours(*given), theirs(*given), strict=True):
            np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)


def test_in_inference_the_backward_function_of_batch_norm_takes_the_running_statistics_for_constants() -> (
    None
):
    x, ct = RNG.normal(size=(2, 4, 3))
    mean, var, weight = RNG.normal(size=3), RNG.uniform(0.5, 2, 3), RNG.normal(size=3)
    _, pull = tm.vjp(lambda x, w, b: nn.batch_norm(x, mean, var, w, b)[0], x, weight, np.zeros(3))
    ours = nn.batch_norm_backward(ct, x, weight, mean, var, None, None, False)
    for left, right in zip(ours, pull(ct), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-12)


@pytest.mark.parametrize("wrap", [lambda f: f, tm.compile], ids=["interpreted", "compiled"])
def test_running_statistics_move_towards_those_of_the_batch(wrap: Callable[..., Any]) -> None:
    x = RNG.normal(2, 3, (8, 2, 5))
    mean, var = np.zeros(2), np.ones(2)

    @wrap
    def train(x: Any, mean: Any, var: Any) -> Any:
        out, mean[...], var[...] = nn.batch_norm(x, mean, var, training=True, momentum=0.25)
        return out

    out = train(x, mean, var)
    np.testing.assert_allclose(out.mean((0, 2)), 0, atol=1e-12)
    np.testing.assert_allclose(mean, 0.25 * x.mean((0, 2)))
    np.testing.assert_allclose(var, 0.75 + 0.25 * x.var((0, 2), ddof=1))


def test_the_arrays_of_running_statistics_stay_as_they_are_and_inference_returns_them() -> None:
    x, mean, var = RNG.normal(size=(4, 2)), np.zeros(2), np.ones(2)
    _, new_mean, _ = nn.batch_norm(x, mean, var, training=True)
    assert not mean.any()
    assert new_mean.any()
    _, same_mean, same_var = nn.batch_norm(x, mean, var)
    assert same_mean is mean
    assert same_var is var
    assert nn.batch_norm(x, training=True)[1:] == (None, None)


def test_a_gradient_flows_through_the_statistics_of_the_batch() -> None:
    x = RNG.normal(size=(5, 2))
    ct = RNG.normal(size=(5, 2))
    (dx,) = tm.vjp(lambda x: nn.batch_norm(x, training=True, eps=0.0)[0], x)[1](ct)
    np.testing.assert_allclose(dx.sum(0), 0, atol=1e-12)  # the output does not see a shift
    np.testing.assert_allclose((dx * x).sum(0), 0, atol=1e-12)  # nor a scale


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_arrays_without_entries_are_normalised_and_have_gradients(shape: tuple[int, int]) -> None:
    x, weight = np.ones(shape), np.ones(shape[1])

    @tm.compile
    def both(x: Any, weight: Any, bias: Any) -> Any:
        out, pull = tm.vjp(lambda *args: nn.layer_norm(args[0], shape[1:], *args[1:]), x, weight, bias)
        return out, pull(np.ones(shape))

    out, gradients = both(x, weight, weight)
    assert out.shape == gradients[0].shape == shape
    np.testing.assert_array_equal(gradients[1], np.zeros(shape[1]))
    statistics = np.zeros((shape[0], 1))
    backward = nn.layer_norm_backward(x, x, shape[1:], statistics, statistics, weight, weight)
    assert [one.shape for one in backward] == [shape, weight.shape, weight.shape]
    trained, *_ = tm.compile(lambda x: nn.batch_norm(x, training=True))(x)
    assert trained.shape == shape


def test_the_mask_of_outputs_says_which_gradients_are_computed() -> None:
    x, statistics = np.ones((2, 3)), np.ones((2, 1))
    for mask in ((True, False, False), (False, True, False), (False, False, True), (True, True, True)):
        found = nn.layer_norm_backward(x, x, 3, statistics, statistics, None, None, mask)
        assert tuple(one is not None for one in found) == mask
    with pytest.raises(ArgumentValueError, match="output_mask is three booleans"):
        nn.layer_norm_backward(x, x, 3, statistics, statistics, None, None, (True, False))


def test_what_a_backward_function_returns_shares_no_memory_with_its_arguments() -> None:
    ct, one = np.ones(3), np.ones(1)
    *_, dbias = nn.layer_norm_backward(ct, ct, 3, one, one, None, None)
    assert not np.may_share_memory(dbias, ct)


def test_normalisation_stays_one_call_when_mapped() -> None:
    x, weight = np.ones((2, 4, 3)), np.ones(3)
    text = str(tm.compile(tm.vmap(lambda x: nn.layer_norm(x, 3, weight, weight))).lower(x).graph)
    assert "= layer_norm(" in text
    assert "sqrt" not in text
    text = str(tm.compile(tm.vmap(lambda x: nn.batch_norm(x, training=True)[0])).lower(x).graph)
    assert "= batch_norm(" in text


def test_lists_are_arrays_and_lengths_may_be_numpys() -> None:
    np.testing.assert_array_equal(nn.instance_norm([[[1.0, 3.0]]], eps=0.0), [[[-1, 1]]])
    length: Any = np.int8(2)
    np.testing.assert_array_equal(nn.layer_norm([1.0, 3.0], length, eps=0.0), [-1, 1])
    assert nn.instance_norm(np.zeros((2, 0, 3))).shape == (2, 0, 3)


def test_misuse_is_named() -> None:
    x = np.ones((2, 3))
    with pytest.raises(ShapeError, match=r"its last axes are not \(2,\), the normalised shape"):
        nn.layer_norm(x, 2)
    with pytest.raises(ShapeError, match="the shapes must be"):
        nn.layer_norm(x, 3, np.ones(2))
    with pytest.raises(ArgumentValueError, match="running_mean and running_var unless training"):
        nn.batch_norm(x)
    with pytest.raises(ShapeError, match="training needs more than one value per channel"):
        nn.batch_norm(x[:1], training=True)
    with pytest.raises(
        ShapeError, match=r"running_var must have the shape \(3,\), one number per channel, not \(2,\)"
    ):
        nn.batch_norm(x, np.ones(3), np.ones(2), training=True)
    with pytest.raises(ShapeError, match="axis 1 must be the channels"):
        nn.batch_norm(x[0], np.ones(3), np.ones(3))
    with pytest.raises(ShapeError, match=r"save_mean must have the shape \(3,\)"):
        nn.batch_norm_backward(x, x, None, None, None, np.ones(2), np.ones(3), True)
    with pytest.raises(
        ArgumentTypeError, match="normalized_shape must be a length, or one for each axis, not float"
    ):
        nn.layer_norm(x, 3.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="eps must be a number, not str: 'small'"):
        nn.rms_norm(x, 3, eps="small")  # type: ignore[arg-type]
    with pytest.raises(ConcretizationError, match="eps must be known while tracing"):
        tm.grad(lambda eps: np.sum(nn.rms_norm(x, 3, eps=eps)))(0.1)
    with pytest.raises(ArgumentTypeError, match="training must be True or False, not str: 'no'"):
        nn.batch_norm(x, training="no")  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="expected an array of real numbers, not c128"):
        nn.layer_norm(x + 1j, 3)
    with pytest.raises(ShapeError, match="3 channels are not 2 groups"):
        tm.compile(lambda x: nn.group_norm(x, 2))(x)

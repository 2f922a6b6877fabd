"""Losses: large logits, ignored and wrong targets, reductions, dtypes, names in graphs."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill import nn
from tracemill.compiler.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DTypeError,
    OutOfBoundsError,
    ShapeError,
)

LOGITS = np.array([[2.0, -1.0, 0.5], [0.0, 3.0, 1.0]])
TARGET = np.array([0, 2])


def test_cross_entropy_is_exact_for_large_logits_and_its_gradient_finite() -> None:
    x = np.array([[1000.0, -1000.0], [-1000.0, 1000.0]])
    for function in (nn.cross_entropy, tm.compile(nn.cross_entropy)):
        assert function(x, np.array([1, 1])) == 1000
    slopes = tm.grad(nn.cross_entropy)(x, np.array([1, 1]))
    np.testing.assert_array_equal(slopes, [[0.5, -0.5], [0, 0]])


def test_the_gradient_of_cross_entropy_is_softmax_less_the_target() -> None:
    slopes = tm.compile(tm.grad(nn.cross_entropy))(LOGITS, TARGET)
    np.testing.assert_allclose(slopes, (nn.softmax(LOGITS, 1) - np.eye(3)[TARGET]) / 2, rtol=1e-12)


def test_classes_and_their_probabilities_give_the_same() -> None:
    for smoothing in (0.0, 0.2):
        by_class = nn.cross_entropy(LOGITS, TARGET, label_smoothing=smoothing)
        by_probability = nn.cross_entropy(LOGITS, np.eye(3)[TARGET], label_smoothing=smoothing)
        np.testing.assert_allclose(by_class, by_probability, rtol=1e-14)


def test_ignored_targets_count_nothing_whatever_their_number() -> None:
    logs = nn.log_softmax(LOGITS, 1)
    for ignored in (-100, 7):
        target = np.array([0, ignored])
        assert nn.nll_loss(logs, target, ignore_index=ignored) == -logs[0, 0]
        slopes = tm.grad(nn.nll_loss)(logs, target, ignore_index=ignored)
        np.testing.assert_array_equal(slopes, [[-1, 0, 0], [0, 0, 0]])
    with np.errstate(invalid="ignore"):
        assert np.isnan(nn.nll_loss(logs, np.array([-100, -100])))
    assert nn.nll_loss(logs, np.array([-100, -100]), reduction="sum") == 0


def test_targets_may_be_of_any_integer_dtype() -> None:
    for dtype in (np.uint8, np.int8, np.int32, np.uint64):
        assert nn.cross_entropy(LOGITS, TARGET.astype(dtype)) == nn.cross_entropy(LOGITS, TARGET)


def test_losses_keep_single_precision() -> None:
    x = LOGITS.astype(np.float32)
    weight = np.ones(3, np.float32)
    assert nn.cross_entropy(x, TARGET, weight, label_smoothing=0.1).dtype == np.float32
    assert nn.nll_loss(x, TARGET, weight).dtype == np.float32
    assert nn.huber_loss(x, 0.0).dtype == np.float32
    assert nn.mse_loss(x, x).dtype == nn.l1_loss(x, x).dtype == np.float32
    assert nn.binary_cross_entropy_with_logits(x, x).dtype == np.float32


def test_the_backward_function_is_the_gradient_and_finds_the_total_weight_itself() -> None:
    weight = np.array([1.0, 2.0, 3.0])
    for reduction in ("mean", "sum"):
        slopes = tm.grad(nn.nll_loss)(LOGITS, TARGET, weight, reduction=reduction)
        ours = nn.nll_loss_backward(1.0, LOGITS, TARGET, weight, reduction=reduction)
        np.testing.assert_allclose(ours, slopes, rtol=1e-15)


def test_the_huber_loss_has_the_slope_of_its_corner_from_both_sides() -> None:
    slope = tm.grad(lambda x: nn.huber_loss(x, 0.0, delta=2.0))
    assert [float(slope(x)) for x in (-3.0, -2.0, 0.0, 1.0, 2.0, 3.0)] == [-2, -2, 0, 1, 2, 2]
    assert tm.grad(tm.grad(lambda x: nn.huber_loss(x, 0.0)))(0.5) == 1


def test_binary_cross_entropy_is_exact_for_large_logits() -> None:
    x, target = np.array([1000.0, -1000.0, 0.0]), np.array([0.0, 1.0, 1.0])
    losses = nn.binary_cross_entropy_with_logits(x, target, reduction="none")
    np.testing.assert_allclose(losses, [1000, 1000, np.log(2)], rtol=1e-15)
    slopes = tm.grad(lambda x: nn.binary_cross_entropy_with_logits(x, target, reduction="sum"))(x)
    np.testing.assert_array_equal(slopes, [1, -1, -0.5])
    curvature = tm.hessian(lambda x: nn.binary_cross_entropy_with_logits(x, 1.0))(0.0)
    assert curvature == 0.25


def test_a_mapped_loss_is_the_loss_of_each_example() -> None:
    each = tm.compile(tm.vmap(nn.cross_entropy))(LOGITS, TARGET)
    np.testing.assert_allclose(each, nn.cross_entropy(LOGITS, TARGET, reduction="none"), rtol=1e-15)


def test_a_graph_knows_a_loss_by_its_name() -> None:
    text = str(tm.compile(nn.cross_entropy).lower(LOGITS, TARGET).graph)
    assert "cross_entropy_1: f64[] = cross_entropy(" in text


def test_misuse_is_named() -> None:
    with pytest.raises(OutOfBoundsError, match="target 3 is not one of the 3 classes"):
        nn.nll_loss(LOGITS, np.array([0, 3]))
    with pytest.raises(OutOfBoundsError, match="target -1 is not one of the 3 classes"):
        tm.compile(lambda x: nn.cross_entropy(x, np.array([0, -1])))(LOGITS)
    with pytest.raises(DTypeError, match="target must be integers, not float64"):
        nn.nll_loss(LOGITS, np.ones(2))
    with pytest.raises(ArgumentValueError, match="one of none, sum, mean, not 'max'"):
        nn.mse_loss(LOGITS, LOGITS, "max")
    with pytest.raises(ShapeError, match=r"mse_loss: the shapes \(2, 3\) and \(2,\) do not broadcast"):
        nn.mse_loss(LOGITS, TARGET)
    with pytest.raises(DTypeError, match="expected an array of numbers, not NoneType"):
        nn.binary_cross_entropy_with_logits(LOGITS, None, pos_weight=LOGITS)
    with pytest.raises(DTypeError, match="expected an array of numbers, not NoneType"):
        tm.compile(lambda x: nn.l1_loss(x, None))(LOGITS)
    with pytest.raises(ArgumentTypeError, match="ignore_index must be an integer, not float"):
        nn.nll_loss(LOGITS, TARGET, ignore_index=0.5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="label_smoothing must be a number, not NoneType"):
        nn.cross_entropy(LOGITS, TARGET, label_smoothing=None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentValueError, match="one of none, sum, mean, not 1"):
        nn.nll_loss(LOGITS, TARGET, reduction=1)  # type: ignore[arg-type]
    with pytest.raises(ArgumentValueError, match="delta must be positive, not 0"):
        nn.huber_loss(LOGITS, LOGITS, delta=0)
    with pytest.raises(ShapeError, match="one per class"):
        nn.cross_entropy(LOGITS, TARGET, np.ones(2))

    def wrong(x: Any, target: Any) -> Any:
        return nn.cross_entropy(x, target[:1])

    with pytest.raises(ShapeError, match=r"the target must have the shape \(2,\), not \(1,\)"):
        tm.compile(wrong)(LOGITS, TARGET)


def test_a_traced_target_outside_reads_the_nearest_class() -> None:
    function = tm.compile(lambda x, target: nn.nll_loss(x, target, reduction="none"))
    np.testing.assert_array_equal(function(LOGITS, np.array([5, -1])), [-0.5, 0])

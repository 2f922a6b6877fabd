"""Attention: masks, rows that see nothing, broadcasting, large scores, names in graphs."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill import nn
from tracemill.compiler.errors import ArgumentTypeError, DTypeError, ShapeError

RNG = np.random.default_rng(0)
Q, K, V = RNG.normal(size=(4, 3)), RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2))


def test_large_scores_do_not_overflow() -> None:
    out = nn.attention(1e4 * Q, K, V)
    np.testing.assert_allclose(out, V[np.argmax(Q @ K.T, 1)], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("additive", [False, True])
def test_a_query_that_sees_no_key_gives_zeros_and_has_no_derivative(additive: bool, dtype: Any) -> None:
    seen = np.ones((4, 5), bool)
    seen[1] = False
    mask = np.where(seen, dtype(0), dtype(-np.inf)) if additive else seen
    q, k, v = (x.astype(dtype) for x in (Q, K, V))

    def both(q: Any, k: Any, v: Any) -> Any:
        out, pull = tm.vjp(lambda q, k, v: nn.attention(q, k, v, mask), q, k, v)
        return out, pull(np.ones((4, 2), dtype))

    for out, (dq, dk, dv) in (both(q, k, v), tm.compile(both)(q, k, v)):
        assert out.dtype == dq.dtype == dtype
        np.testing.assert_array_equal(out[1], 0)
        np.testing.assert_array_equal(dq[1], 0)
        assert np.isfinite(dk).all()
        np.testing.assert_allclose(dv.sum(0), 3, rtol=1e-5)  # the weights of three queries
    hessian = tm.hessian(lambda q: np.sum(nn.attention(q, k, v, mask)))(q)
    assert np.isfinite(hessian).all()


def test_the_causal_order_and_a_mask_both_hide() -> None:
    mask = np.array([True, False, True, True, True])
    out = nn.attention(Q, K, V, mask, causal=True)
    np.testing.assert_allclose(out[:2], V[[0, 0]], rtol=1e-15)
    same = nn.attention(Q, K, V, np.tri(4, 5, dtype=bool) & mask)
    np.testing.assert_allclose(out, same, rtol=1e-15)


def test_axes_in_front_broadcast() -> None:
    q, k = RNG.normal(size=(2, 1, 4, 3)), RNG.normal(size=(6, 5, 3))
    out = nn.attention(q, k, V, scale=1.0)
    assert out.shape == (2, 6, 4, 2)
    np.testing.assert_allclose(out[1, 3], nn.attention(q[1, 0], k[3], V, scale=1.0), rtol=1e-13)


def test_mapped_attention_is_one_call_and_equals_the_loop() -> None:
    q = RNG.normal(size=(3, 4, 3))
    masks = RNG.integers(0, 2, (3, 4, 5)).astype(bool)
    mapped = tm.compile(tm.vmap(nn.attention, in_dims=(0, None, None, 0)))
    expected = [nn.attention(one, K, V, mask) for one, mask in zip(q, masks, strict=True)]
    np.testing.assert_allclose(mapped(q, K, V, masks), expected, rtol=1e-13)
    assert "attention_1: f64[3, 4, 2] = attention(" in str(mapped.lower(q, K, V, masks).graph)


def test_attention_to_nothing_is_zero() -> None:
    np.testing.assert_array_equal(nn.attention(Q, K[:0], V[:0]), np.zeros((4, 2)))


def test_misuse_is_named() -> None:
    with pytest.raises(ShapeError, match="need two axes at least"):
        nn.attention(Q[0], K, V)
    with pytest.raises(ShapeError, match="last axes of one length"):
        nn.attention(Q[:, :2], K, V)
    with pytest.raises(ShapeError, match=r"the mask must broadcast to the shape \(4, 5\)"):
        tm.compile(lambda q: nn.attention(q, K, V, np.ones((2, 4, 5), bool)))(Q)
    with pytest.raises(DTypeError, match="expected an array of real numbers"):
        nn.attention(Q + 1j, K, V)
    with pytest.raises(DTypeError, match="expected an array of numbers, not NoneType"):
        nn.attention(None, K, V)
    with pytest.raises(ArgumentTypeError, match="scale must be a number, not str: 'half'"):
        nn.attention(Q, K, V, scale="half")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="causal must be True or False, not str: 'no'"):
        nn.attention(Q, K, V, causal="no")  # type: ignore[arg-type]


def test_a_mask_may_be_one_boolean() -> None:
    np.testing.assert_array_equal(nn.attention(Q, K, V, True), nn.attention(Q, K, V))
    np.testing.assert_array_equal(nn.attention(Q, K, V, False), np.zeros((4, 2)))


@pytest.mark.parametrize("call", [nn.attention, tm.compile(nn.attention)])
def test_nan_in_a_mask_or_in_every_key_is_seen_in_the_result(call: Any) -> None:
    assert np.isnan(call(Q, K, V, np.full((4, 5), np.nan))).all()
    assert np.isnan(call(Q, np.full_like(K, np.nan), V, np.ones((4, 5), bool))).all()

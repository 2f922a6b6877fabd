"""Results may use the memory of donated arguments; what cannot be overwritten is copied first."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import DonationError


def step(weights: Any, gradient: Any) -> Any:
    return weights - 0.1 * gradient


donating = tm.compile(step, donate_argnums=0, backend="numpy")
W, G = np.arange(6.0).reshape(2, 3), np.ones((2, 3))


def test_a_result_reuses_the_memory_of_a_donated_argument() -> None:
    for _ in range(2):  # the general way, then the generated entry
        weights = W.copy()
        result = donating(weights, G)
        np.testing.assert_array_equal(result, step(W, G))
        assert np.shares_memory(result, weights)


def test_without_donation_arguments_stay_as_they_are() -> None:
    weights = W.copy()
    result = tm.compile(step, backend="numpy")(weights, G)
    assert not np.shares_memory(result, weights)
    np.testing.assert_array_equal(weights, W)


@pytest.mark.parametrize("backend", ["numpy", "auto"])
def test_every_backend_takes_donated_arguments(backend: str) -> None:
    f = tm.compile(
        lambda x, y: (np.cumsum(np.sin(x) * y, axis=0), x + y), donate_argnums=(0, 1), backend=backend
    )
    for _ in range(3):
        first, second = f(W.copy(), G.copy())
        np.testing.assert_allclose(first, np.cumsum(np.sin(W) * G, axis=0), rtol=1e-15)
        np.testing.assert_array_equal(second, W + G)


def softmax(x: Any, bias: Any) -> Any:
    x = x + bias
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", [step, softmax, lambda w, g: (w - g, np.sum(g * g))])
def test_kernels_of_c_write_to_donated_arguments(function: Any, dtype: type, c_compiler: str) -> None:
    w: Any = np.random.default_rng(0).normal(size=(300, 70)).astype(dtype)
    g = np.cos(w)
    donating_kernel: Any = tm.compile(function, donate_argnums=0, backend="c")
    keeping_kernel: Any = tm.compile(function, backend="c")
    for _ in range(2):
        expected = keeping_kernel(w, g)
        weights = w.copy()
        result = donating_kernel(weights, g)
        first, first_expected = (result[0], expected[0]) if isinstance(result, tuple) else (result, expected)
        np.testing.assert_array_equal(first, first_expected)
        assert np.shares_memory(first, weights)


@pytest.mark.slow
@pytest.mark.parametrize(
    "function",
    [
        lambda w, g: w[:, ::-1] - g,
        lambda w, g: np.take(w, [2, 0, 1], axis=0) * g,
        lambda w, g: w[:1] + g * np.sum(w),
    ],
    ids=["reversed", "rows in another order", "one row"],
)
def test_kernels_of_c_write_to_no_argument_that_they_still_read(function: Any, c_compiler: str) -> None:
    w = np.arange(12.0).reshape(3, 4)
    weights = w.copy()
    compiled: Any = tm.compile(function, donate_argnums=0, backend="c")
    result = compiled(weights, w)
    np.testing.assert_array_equal(result, function(w, w))
    assert not np.shares_memory(result, weights)
    np.testing.assert_array_equal(weights, w)


def filled(x: Any, number: Any) -> Any:
    def step(i: Any, x: Any) -> Any:
        x[i] = x[i - 1] * 0.5 + number
        return x

    return tm.fori_loop(1, 6, step, x)


def filled_while(x: Any, number: Any) -> Any:
    def step(state: Any) -> Any:
        x, i, number = state
        x[i] += number
        return x, i + 1, number

    return tm.while_loop(lambda state: state[1] < 6, step, (x, 0, number))[0]


@pytest.mark.parametrize("function", [filled, filled_while])
def test_loops_of_c_write_to_donated_arguments(function: Any, c_compiler: str) -> None:
    donating_loop: Any = tm.compile(function, donate_argnums=(0, 1), backend="c")
    keeping_loop: Any = tm.compile(function, backend="c")
    for number in (np.array(0.25), np.float64(0.25), 0.25):
        x = W.ravel().copy()
        expected = keeping_loop(x, number)
        np.testing.assert_array_equal(x, W.ravel())
        result = donating_loop(x, number)
        np.testing.assert_array_equal(result, expected)
        assert np.shares_memory(result, x)
        result = donating_loop(np.arange(12.0)[::2], number)
        np.testing.assert_array_equal(result, keeping_loop(np.arange(12.0)[::2], number))


def test_arrays_in_containers_are_donated_too() -> None:
    f = tm.compile(lambda p, x: {"w": p["w"] * 2.0, "b": p["b"] + x}, donate_argnums=0, backend="numpy")
    given = {"b": np.ones(3), "w": W.copy()}
    result = f(given, np.ones(3))
    assert np.shares_memory(result["w"], given["w"])
    assert np.shares_memory(result["b"], given["b"])


@pytest.mark.parametrize("kind", ["read-only", "strided", "shared"])
def test_what_cannot_be_overwritten_is_copied(kind: str) -> None:
    for _ in range(2):
        weights = W.copy()
        gradient = G
        if kind == "read-only":
            weights.flags.writeable = False
        elif kind == "strided":
            weights = np.repeat(weights, 2, axis=1)[:, ::2]
        else:
            gradient = weights
        result = donating(weights, gradient)
        np.testing.assert_array_equal(result, step(W, W if kind == "shared" else G))
        np.testing.assert_array_equal(weights, W)


def test_arguments_given_by_name_are_not_donated() -> None:
    weights = W.copy()
    donating(weights=weights, gradient=G)
    np.testing.assert_array_equal(weights, W)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"donate_argnums": 2}, r"donate_argnums has 2, but .*step.* it has weights, gradient"),
        ({"donate_argnums": -1}, "donate_argnums has -1: it must be a position"),
        ({"donate_argnums": "x"}, "donate_argnums has 'x': it must be a position"),
        ({"donate_argnums": 0, "static_argnums": 0}, "donate_argnums and static_argnums both have 0"),
    ],
)
def test_positions_that_cannot_be_donated_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DonationError, match=message):
        tm.compile(step, **options)


def test_a_program_that_overwrites_its_arguments_is_one_of_its_own() -> None:
    weights = W.copy()
    donating(weights.copy(), G)
    tm.compile(step, backend="numpy")(weights, G)
    np.testing.assert_array_equal(weights, W)

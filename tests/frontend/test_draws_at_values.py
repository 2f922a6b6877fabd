"""Draws from generators that a function seeds itself, in branches and loops that depend on values: NumPy's numbers."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import check
from tracemill.compiler.errors import RandomStateError

BACKENDS = pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])


def until_above(draw: Any, limit: Any) -> Any:
    """Draws until the sum exceeds a limit. Returns the number of draws and the last one."""
    total, count, last = 0.0, 0, 0.0
    while total < limit:
        last = draw()
        total += abs(last) + 0.5
        count += 1
    return count, last


@pytest.mark.sampled(every=6)
@BACKENDS
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.random(),
        lambda rng: rng.uniform(-1.0, 3.0),
        lambda rng: rng.integers(10) * 1.0,
        lambda rng: rng.integers(0, 7, size=2).sum() * 1.0,
        lambda rng: rng.normal(0.5, 2.0),
        lambda rng: rng.standard_normal((2, 2)).sum(),
        lambda rng: rng.exponential(2.0) + rng.gamma(2.0) + rng.poisson(3.0),
        lambda rng: rng.choice([1.0, 2.0, 4.0], p=[0.5, 0.25, 0.25]),
        lambda rng: rng.permutation(4)[1] + rng.random(dtype=np.float32) * 1.0,
    ],
)
def test_draws_in_a_loop_match_numpy(backend: str, draw: Any) -> None:
    def function(limit: Any) -> Any:
        rng = np.random.default_rng(3)
        first = draw(rng)
        found = until_above(lambda: draw(rng), limit)
        return first, *found, draw(rng)

    check(function, (9.0,), (0.0,), (31.0,), backend=backend)


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_every_bit_generator_is_carried(bits: Any) -> None:
    def function(limit: Any) -> Any:
        rng = np.random.Generator(bits(7))
        return until_above(lambda: rng.random() + rng.integers(3), limit)

    check(function, (9.0,), (20.0,))


@BACKENDS
def test_legacy_and_global_generators_are_carried(backend: str) -> None:
    def made(limit: Any) -> Any:
        rng = np.random.RandomState(5)
        return until_above(lambda: rng.randn() + rng.rand() + rng.randint(3), limit)

    def global_one(limit: Any) -> Any:
        np.random.seed(5)
        first = np.random.rand(2)
        return *first, *until_above(lambda: np.random.normal() + np.random.uniform(), limit)

    check(made, (9.0,), (20.0,), backend=backend)
    state = np.random.get_state()
    try:
        check(global_one, (9.0,), (20.0,), backend=backend)
    finally:
        np.random.set_state(state)


class Walker:
    def __init__(self, seed: int) -> None:
        self.rng, self.position = np.random.default_rng(seed), 0.0

    def step(self) -> None:
        self.position += self.rng.choice([-1.0, 1.0])


@BACKENDS
def test_objects_branches_and_calls_draw(backend: str) -> None:
    def function(x: Any, limit: Any) -> Any:
        walker, steps = Walker(11), 0
        while abs(walker.position) < limit:
            walker.step()
            steps += 1
        if x > 0 and walker.rng.random() < 0.5:
            x = x + walker.rng.random()
        return steps, x, walker.rng.random()

    check(function, (1.0, 3.0), (-1.0, 3.0), (1.0, 5.0), backend=backend)


@BACKENDS
def test_traced_arrays_are_shuffled_and_sampled(backend: str) -> None:
    def function(x: Any, rounds: Any) -> Any:
        rng = np.random.default_rng(0)
        x = x.copy()
        while rounds > 0:
            rng.shuffle(x)
            x[0] += rng.choice(x)
            x = rng.permutation(x)
            rounds -= 1
        entries = list(x)
        rng.shuffle(entries)
        return x, np.array(entries), rng.integers(0, 3 + np.argmax(x))

    x = np.arange(5.0)
    check(function, (x, 3.0), (x, 0.0), backend=backend)


def test_parameters_of_draws_have_derivatives() -> None:
    def function(scale: Any, n: int) -> Any:
        rng = np.random.default_rng(2)
        total = 0.0
        while total < n:
            total += abs(rng.normal(1.0, scale)) + rng.uniform(0.0, scale) + rng.exponential(scale)
        return total

    for backend in ("numpy", "c"):
        check(function, (0.5, 4), backend=backend)
        found = tm.compile(tm.grad(function), backend=backend)(0.5, 4)
        expected = (function(0.5 + 1e-6, 4) - function(0.5 - 1e-6, 4)) / 2e-6
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@BACKENDS
def test_each_example_of_a_batch_draws_as_if_alone(backend: str) -> None:
    def function(limit: Any) -> Any:
        rng = np.random.default_rng(4)
        return until_above(rng.random, limit)

    limits = np.array([3.0, 0.0, 11.0, 5.0])
    for mapped in (tm.vmap(function), tm.compile(tm.vmap(function), backend=backend)):
        found = np.stack(mapped(limits), axis=1)
        np.testing.assert_array_equal(found, [function(limit) for limit in limits])


def test_threads_draw_independently() -> None:
    def function(limit: Any) -> Any:
        rng = np.random.default_rng(4)
        return until_above(rng.normal, limit)

    compiled = tm.compile(function)
    limits = [float(k % 9) for k in range(60)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(compiled, limits)) == [function(limit) for limit in limits]


def test_draws_from_generators_without_a_seed_are_refused() -> None:
    outside = np.random.default_rng(0)

    def closed_over(x: Any) -> Any:
        while x > 1:
            x = x * outside.random()
        return x

    def unseeded(x: Any) -> Any:
        rng = np.random.default_rng()
        while x > 1:
            x = x * rng.random()
        return x

    def passed_on(x: Any) -> Any:
        rng = np.random.default_rng(outside)
        while x > 1:
            x = x * rng.random()
        return x

    def seeded_again(x: Any) -> Any:
        while x > 1:
            np.random.seed(0)
            x = x * np.random.rand()
        return x

    for function in (closed_over, unseeded, passed_on):
        with pytest.raises(RandomStateError, match="frozen into the graph"):
            tm.compile(function)(8.0)
    with pytest.raises(RandomStateError, match="seed once, at the beginning"):
        tm.compile(seeded_again)(8.0)

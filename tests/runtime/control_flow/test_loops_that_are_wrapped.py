"""Loops that change objects, inside of what is traced even without `compile`, and in compiled functions."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import SideEffectError

X = np.array([1.0, 2.0, 3.0])


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def next(self) -> int:
        self.count += 1
        return self.count


def counted(x: Any, counter: Counter) -> Any:
    return tm.fori_loop(0, 3, lambda i, total: total + x[i] * counter.next(), 0.0)


def scanned(x: Any, counter: Counter) -> Any:
    return tm.scan(lambda total, entry: (total + entry * counter.next(), ()), 0.0, x)[0]


def mapped(x: Any, counter: Counter) -> Any:
    return np.sum(tm.map(lambda entry: entry * counter.next(), x))


def repeated(x: Any, counter: Counter, **limit: int) -> Any:
    def body(carry: Any) -> Any:
        i, total = carry
        return i + 1, total + x[i] * counter.next()

    return tm.while_loop(lambda carry: carry[0] < 3, body, (0, 0.0), **limit)[1]


def limited(x: Any, counter: Counter) -> Any:
    return repeated(x, counter, max_steps=5)


def with_rule(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A rule beside which derivatives are derived."""
    return tm.custom_rule(f).batch(lambda size, mapped, x: np.stack([f(one) for one in x]))


LOOPS = [counted, scanned, mapped, repeated, limited]
CALLS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "value": (lambda f: f(X), 14),
    "grad": (lambda f: tm.grad(f)(X), [1, 2, 3]),
    "vjp": (lambda f: tm.vjp(f, X)[1](1.0)[0], [1, 2, 3]),
    "jvp": (lambda f: tm.jvp(f, (X,), (np.ones(3),)), [14, 6]),
    "jacfwd": (lambda f: tm.jacfwd(f)(X), [1, 2, 3]),
    "grad of grad": (lambda f: tm.grad(lambda x: np.sum(tm.grad(f)(x) * x))(X), [1, 2, 3]),
}
IN_BATCHES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "vmap": (lambda f: tm.vmap(f)(np.stack([X, 2 * X])), [14, 28]),
    "vmap of grad": (lambda f: tm.vmap(tm.grad(f))(np.stack([X, X])), [[1, 2, 3], [1, 2, 3]]),
    "grad of vmap": (lambda f: tm.grad(lambda x: np.sum(tm.vmap(f)(x)))(np.stack([X])), [[1, 2, 3]]),
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("call", [*CALLS, *IN_BATCHES])
def test_a_checkpoint_runs_each_step_once(call: str, loop: Any) -> None:
    transform, wanted = (CALLS | IN_BATCHES)[call]
    counter = Counter()
    np.testing.assert_array_equal(transform(tm.checkpoint(lambda x: loop(x, counter))), wanted)
    assert counter.count == 3


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("call", CALLS)
def test_a_function_with_a_rule_runs_each_step_once(call: str, loop: Any) -> None:
    transform, wanted = CALLS[call]
    counter = Counter()
    np.testing.assert_array_equal(transform(with_rule(lambda x: loop(x, counter))), wanted)
    assert counter.count == 3


@pytest.mark.parametrize("loop", [repeated, limited])
@pytest.mark.parametrize("call", IN_BATCHES)
def test_a_while_loop_runs_each_step_once_if_all_examples_take_as_many(call: str, loop: Any) -> None:
    transform, wanted = IN_BATCHES[call]
    counter = Counter()
    np.testing.assert_array_equal(transform(lambda x: loop(x, counter)), wanted)
    assert counter.count == 3


def test_a_rule_for_derivatives_runs_each_step_once() -> None:
    counter = Counter()

    @tm.custom_rule
    def f(x: Any) -> Any:
        return np.sum(x)

    f.vjp(lambda x: (scanned(x, counter), x), lambda x, ct: (ct * x * scanned(np.ones(3), counter),))
    value, slope = tm.value_and_grad(f)(X)
    assert counter.count == 6
    assert value == 14
    np.testing.assert_array_equal(slope, X * 15)


@pytest.mark.filterwarnings("ignore:.*runs uncompiled")
@pytest.mark.parametrize("loop", LOOPS)
def test_a_compiled_function_runs_each_step_in_each_call(loop: Any) -> None:
    counter = Counter()
    slope = tm.compile(tm.grad(lambda x: loop(x, counter)))
    np.testing.assert_array_equal(slope(X), [1, 2, 3])
    np.testing.assert_array_equal(slope(X), [4, 5, 6])


def test_a_loop_with_another_number_of_steps_in_each_example_is_refused() -> None:
    counter = Counter()

    def doubled(x: Any) -> Any:
        return tm.while_loop(lambda c: c < 8, lambda c: c * 2 + 0 * counter.next(), x)

    assert list(map(doubled, X)) == [8, 8, 12]
    with pytest.raises(
        SideEffectError, match=r"changes `.*count`.* in each step of a loop that is traced once"
    ):
        tm.vmap(doubled)(X)


def test_steps_in_which_examples_differ_follow_those_that_are_the_same_in_all() -> None:
    weights = [2.0]  # may be changed, as far as can be told

    def f(x: Any, **limit: int) -> Any:
        return tm.while_loop(lambda c: c < 30, lambda c: c * x * weights.copy().pop(), 1.0, **limit)

    assert list(map(f, X)) == [32, 64, 36]
    np.testing.assert_array_equal(tm.vmap(f)(X), [32, 64, 36])
    np.testing.assert_array_equal(tm.vmap(lambda x: f(x, max_steps=4))(X), [16, 64, 36])
    np.testing.assert_allclose(tm.vmap(tm.grad(lambda x: f(x, max_steps=9)))(X), [160, 96, 24])


def test_a_loop_that_keeps_not_all_steps_is_refused() -> None:
    counter = Counter()

    def f(x: Any) -> Any:
        step = lambda total, entry: (total + entry * counter.next(), ())  # noqa: E731
        return tm.scan(step, 0.0, x, checkpoint_every=2)[0]

    with pytest.raises(SideEffectError, match="carry it from step to step"):
        tm.grad(f)(X)


def test_a_cache_that_a_step_fills_is_no_change() -> None:
    from functools import lru_cache

    @lru_cache
    def weight(n: int) -> float:
        return 2.0 * n

    f = lambda x: tm.scan(lambda t, e: (t + e * weight(1), ()), 0.0, x, checkpoint_every=2)[0]  # noqa: E731
    np.testing.assert_array_equal(tm.grad(f)(X), [2, 2, 2])


def test_a_checkpoint_calls_only_the_chosen_function() -> None:
    seen: list[str] = []

    def noting(mark: str) -> Callable[[Any], Any]:
        def square(x: Any) -> Any:
            seen.append(mark)
            return x * x

        return square

    f = tm.checkpoint(lambda x: tm.cond(x > 0, noting("positive"), noting("negative"), x))
    assert tm.grad(f)(3.0) == 6
    assert seen == ["positive"]

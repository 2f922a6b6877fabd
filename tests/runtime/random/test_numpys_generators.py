"""Draws from NumPy's own generators in functions that are traced."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    RandomStateError,
)

same = np.testing.assert_array_equal
rng_of = tm.random.default_rng


@pytest.mark.parametrize("name", ["rand", "normal", "randint", "permutation", "random"])
@pytest.mark.parametrize(
    "transform",
    [
        tm.compile,
        tm.vmap,
        lambda f: tm.compile(tm.grad(f)),
        lambda f: tm.compile(tm.vmap(f)),
        lambda f: tm.vmap(tm.grad(f)),
        lambda f: tm.grad(tm.vmap(f)),
    ],
)
def test_numpys_global_state_is_refused_with_the_line(name: str, transform: Any) -> None:
    def f(x: Any) -> Any:
        getattr(np.random, name)(2)
        return np.sum(x) * np.random.normal()

    with pytest.raises(
        RandomStateError, match=r"np\.random\.\w+ was called while tracing(.|\n)*test_numpys_generators\.py"
    ):
        transform(f)(np.ones((2, 2)))


@pytest.mark.parametrize(
    "transform",
    [
        tm.grad,
        tm.jacfwd,
        lambda f: lambda x: tm.vjp(f, x)[1](1.0)[0],
        lambda f: lambda x: tm.hvp(lambda x: f(x) * np.sum(x) / 2, (x,), (np.ones(2) / 2,)),
    ],
)
def test_an_uncompiled_derivative_takes_numbers_of_the_global_state_for_constants(transform: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(x * np.random.normal(size=2)) + np.random.rand()

    before: Any = np.random.get_state()
    try:
        np.random.seed(7)
        found = transform(f)(np.ones(2))
        after = np.random.rand()
        np.random.seed(7)
        drawn = np.random.normal(size=2)
        if transform in (tm.grad, tm.jacfwd):
            np.testing.assert_array_equal(found, drawn)
        np.random.rand()
        assert np.random.rand() == after
    finally:
        np.random.set_state(before)


NUMPYS = np.random.default_rng(0)
OLD = np.random.RandomState(0)


def drawing_from_numpys(x: Any) -> Any:
    return x + NUMPYS.normal()


def sum_of_drawing(x: Any) -> Any:
    return np.sum(drawing_from_numpys(x))


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (drawing_from_numpys, "NUMPYS"),
        (lambda x: x * OLD.rand(), "OLD"),
        (lambda x: drawing_from_numpys(x) + 1, "NUMPYS"),
        (partial(drawing_from_numpys), "NUMPYS"),
        (tm.grad(sum_of_drawing), "NUMPYS"),
    ],
)
def test_numpys_generators_are_refused_while_compiling(f: Callable[..., Any], name: str) -> None:
    with pytest.raises(RandomStateError, match=rf"drew from {name}, a generator of NumPy's(.|\n)*frozen"):
        tm.compile(f)(np.ones(2))


LOOPS: list[Callable[[Any], Any]] = [
    lambda x: tm.map(drawing_from_numpys, x),
    lambda x: tm.scan(lambda c, x: (c, drawing_from_numpys(x)), (), x),
    lambda x: tm.fori_loop(0, 2, lambda i, c: drawing_from_numpys(c), x),
    lambda x: tm.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, drawing_from_numpys(c[1])), (1, x))[1],
]


@pytest.mark.parametrize(
    "looped",
    [
        tm.vmap(drawing_from_numpys),
        lambda x: tm.map(drawing_from_numpys, x, batch_size=1),
        *map(tm.compile, LOOPS),
    ],
)
def test_numpys_generators_are_refused_in_what_is_traced_once_and_runs_often(looped: Any) -> None:
    with pytest.raises(RandomStateError, match=r"drew from NUMPYS, a generator of NumPy's(.|\n)*frozen"):
        looped(np.ones(2))


@pytest.mark.parametrize("looped", LOOPS)
def test_each_turn_of_an_uncompiled_loop_draws(looped: Any) -> None:
    state = NUMPYS.bit_generator.state
    found = looped(np.ones(2))
    NUMPYS.bit_generator.state = state
    drawn = NUMPYS.normal(size=2)
    expected = 1 + drawn if looped in LOOPS[:2] else 1 + drawn[0] + drawn[1]
    np.testing.assert_allclose(found if looped not in LOOPS[1:2] else found[1], expected)


class Sampler:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def draw(self, x: Any) -> Any:
        return x + self.rng.normal(size=2)


SAMPLER = Sampler()


@pytest.mark.parametrize(
    ("wrap", "name"),
    [
        (lambda: (lambda x, rng: x + rng.normal(size=2), np.random.default_rng(0)), "rng"),
        (lambda: (lambda x, rng: x + rng.rand(), np.random.RandomState(0)), "rng"),
        (lambda: (lambda x, sampler: sampler.draw(x), Sampler()), "sampler.rng"),
        (lambda: (lambda x: SAMPLER.draw(x) + 1,), "SAMPLER.rng"),
        (lambda: (Sampler().draw,), "self.rng"),
        (lambda: (tm.vmap(Sampler().draw),), "self.rng"),
        (lambda: (tm.jacobian(Sampler().draw),), "self.rng"),
    ],
)
def test_generators_of_numpys_that_are_given_are_refused_as_those_that_are_named(
    wrap: Any, name: str
) -> None:
    function, *given = wrap()
    compiled: Any = tm.compile(function)
    with pytest.raises(RandomStateError, match=rf"drew from {name}, a generator of NumPy's"):
        compiled(np.ones(2), *given)


NORMAL, RAND = NUMPYS.normal, np.random.rand


def draws_by_default(x: Any, draw: Callable[[], Any] = NUMPYS.normal) -> Any:
    return x + draw()


def draws_by_keyword(x: Any, *, rng: Any = NUMPYS) -> Any:
    return x + rng.normal()


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: x + NORMAL(), "NORMAL"),
        (draws_by_default, "draw"),
        (lambda x: x + sum(NORMAL() for _ in range(2)), "NORMAL"),
        (draws_by_keyword, "rng"),
    ],
)
def test_methods_of_numpys_generators_are_refused_under_any_name(f: Callable[..., Any], name: str) -> None:
    with pytest.raises(RandomStateError, match=rf"drew from {name}, a generator of NumPy's"):
        tm.compile(f)(np.ones(2))


@pytest.mark.slow
def test_random_numbers_of_map_do_not_depend_on_the_batch_size() -> None:
    def drawn(batch_size: int) -> Any:
        rng = tm.random.default_rng(0)
        return tm.map(lambda x: x + rng.normal(), np.zeros(5), batch_size)

    for size in (1, 2, 5, 9):
        np.testing.assert_array_equal(drawn(size), drawn(3))


def test_a_generator_of_numpys_in_a_closure_is_refused_only_if_it_draws() -> None:
    numpys = np.random.default_rng(0)
    with pytest.raises(RandomStateError, match="drew from numpys"):
        tm.compile(lambda x: np.multiply(x, numpys.random()))(1.0)
    assert tm.compile(lambda x: x if x.ndim == 0 else np.multiply(x, numpys.random()))(np.array(1.0)) == 1
    assert tm.grad(lambda x: np.multiply(x, numpys.random()))(1.0) < 1  # each call draws anew


def test_draws_without_axes_agree_compiled_and_not_to_the_last_bit() -> None:
    draws: list[Callable[[Any], Any]] = [
        lambda rng: rng.standard_gamma(2.5),
        lambda rng: rng.weibull(2.5),
        lambda rng: rng.beta(2.0, 2.5),
    ]
    for draw in draws:
        plain, compiled = rng_of(0), rng_of(0)
        call = tm.compile(draw)
        same([draw(plain) for _ in range(50)], [call(compiled) for _ in range(50)])


def test_the_largest_counts_are_those_of_int64() -> None:
    assert rng_of(0).geometric(1e-300) > 9e18
    assert rng_of(0).poisson(9.2e18) > 9e18


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (5, ArgumentTypeError),
        ({"key": [1, 2]}, ArgumentTypeError),
        ({"key": 1, "counter": 2}, ArgumentTypeError),
        ({"key": [1, 2, 3], "counter": 2}, ArgumentTypeError),
        ({"key": [1, 2], "counter": 1.5}, ArgumentTypeError),
        ({"key": [1, 2], "counter": -1}, ArgumentValueError),
        ({"key": [1, 2**32], "counter": 1}, ArgumentValueError),
        ({"key": [1, 2], "counter": 2**70}, ArgumentTypeError),
    ],
)
def test_an_invalid_state_is_refused_and_changes_nothing(state: Any, error: Any) -> None:
    rng = rng_of(0)
    before = rng.state
    with pytest.raises(error, match="a generator"):
        rng.state = state
    same(rng.state["key"], before["key"])
    assert rng.state["counter"] == before["counter"]

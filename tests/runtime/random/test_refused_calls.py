"""A call that is refused leaves the random generators from outside of the function as they were."""

import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import RecompileWarning, TracemillError

X = np.array([1.0, 2.0, 3.0])
GENERATORS: dict[str, Callable[[], Any]] = {
    "Generator": lambda: np.random.default_rng(0),
    "RandomState": lambda: np.random.RandomState(0),
    "Random": lambda: random.Random(0),
}


def state(generator: Any) -> bytes:
    if isinstance(generator, random.Random):
        return pickle.dumps(generator.getstate())
    if isinstance(generator, np.random.RandomState):
        return pickle.dumps(generator.get_state())
    return pickle.dumps(generator.bit_generator.state)


def refused(generator: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        drawn = generator.gauss(0.0, 1.0) if isinstance(generator, random.Random) else generator.normal()
        if x[0] > 0:
            drawn = drawn + generator.uniform(0.0, 1.0)
        return (x + drawn).byteswap().sum()

    return f


TRANSFORMS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "compile": lambda f: tm.compile(f)(X),
    "grad": lambda f: tm.grad(f)(X),
    "jvp": lambda f: tm.jvp(f, (X,), (X,)),
    "hessian": lambda f: tm.hessian(f)(X),
    "compiled grad": lambda f: tm.compile(tm.grad(f))(X),
    "vmap": lambda f: tm.vmap(f)(np.ones((2, 3))),
    "export": lambda f: tm.export(f, X),
    "lower": lambda f: tm.compile(f).lower(X),
}


@pytest.mark.parametrize("kind", GENERATORS)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_refused_call_draws_nothing(name: str, kind: str) -> None:
    generator = GENERATORS[kind]()
    before = state(generator)
    with pytest.raises(TracemillError):
        TRANSFORMS[name](refused(generator))
    assert state(generator) == before


@pytest.mark.parametrize("kind", ["Generator", "RandomState"])
def test_a_function_that_draws_and_runs_uncompiled_draws_once(kind: str, tmp_path: Any) -> None:
    generator, same = GENERATORS[kind](), GENERATORS[kind]()
    path = str(tmp_path / "a.npy")

    def f(x: Any) -> Any:
        y = x + generator.uniform(0.0, 1.0)
        np.save(path, y)
        return y

    compiled = tm.compile(f)
    with pytest.warns(RecompileWarning, match="saves an array"):
        found = [compiled(X) for _ in range(3)]
    np.testing.assert_array_equal(found, [X + same.uniform(0.0, 1.0) for _ in range(3)])


def test_an_exception_of_the_function_itself_leaves_what_it_has_drawn() -> None:
    generator, same = np.random.default_rng(0), np.random.default_rng(0)

    def f(x: Any) -> Any:
        generator.normal()
        raise ValueError("no such luck")

    with pytest.raises(ValueError, match="no such luck"):
        tm.grad(f)(X)
    same.normal()
    assert state(generator) == state(same)

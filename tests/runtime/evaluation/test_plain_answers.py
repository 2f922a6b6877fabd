"""What Python and NumPy answer in a function that is differentiated without `compile` is what they answer outside."""

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

X = np.array([2.0, 3.0])
SEEN: list[Any] = []
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: tm.grad(f)(X),
    "jvp": lambda f: tm.jvp(f, (X,), (X,)),
    "hessian": lambda f: tm.hessian(f)(X),
}


def texts(x: Any) -> Any:
    SEEN.append(np.format_float_positional(x[0] / 3, precision=3))
    SEEN.append(np.format_float_scientific(x[1] / 3, trim="k"))
    SEEN.append(np.format_float_positional(np.float32(0.1) * x.astype(np.float32)[0]))
    return x.sum()


def classes(x: Any) -> Any:
    made = type("Made", (), {})
    placed = type("Placed", (), {"__module__": "elsewhere"})
    SEEN.extend([made.__module__, placed.__module__, made.__qualname__])
    return x.sum()


def noting(entry: Any) -> Any:
    SEEN.append("asked")
    return -float(entry)


def ordered(x: Any) -> Any:
    listed = [x[0], x[1], x[0] * 3]
    found = sorted(listed, key=noting)[1] + sorted(listed, key=noting, reverse=True)[1] * 2
    listed.sort(key=noting)
    found = found + listed[-1] * 3 + heapq.nlargest(1, listed, key=noting)[0] * 5
    SEEN.append(float(found))
    return found


def states(x: Any) -> Any:
    SEEN.append(np.geterr())
    with np.errstate(divide="raise"):
        SEEN.append(np.geterr()["divide"])
    before = np.seterr(over="raise")
    SEEN.append((before, np.geterr()["over"]))
    np.seterr(**before)
    SEEN.append(np.geterr())
    return x.sum()


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("function", [texts, classes, ordered, states])
def test_answers_are_those_of_a_plain_call(function: Any, transform: Any) -> None:
    SEEN.clear()
    function(X)
    expected = list(SEEN)
    SEEN.clear()
    transform(function)
    assert expected == SEEN


@pytest.mark.parametrize("kinds", [{"over": "ignore"}, {"divide": "raise"}, {"all": "ignore"}, {}])
def test_the_error_state_around_the_call_is_what_the_function_sees(kinds: Any) -> None:
    with np.errstate(**kinds):
        SEEN.clear()
        states(X)
        expected = list(SEEN)
        SEEN.clear()
        tm.grad(states)(X)
        assert expected == SEEN
        before = np.geterr()
        tm.grad(np.sum)(X)
        assert np.geterr() == before


def test_keys_are_asked_once_for_numbers_that_are_known_late() -> None:
    def f(x: Any) -> Any:
        calls = []

        def key(i: Any) -> Any:
            calls.append(i)
            return x[i]

        order = sorted(range(3), key=key)
        assert len(calls) == 3
        return x[order[0]]

    x = np.array([3.0, 1.0, 2.0])
    assert tm.compile(f)(x) == 1
    np.testing.assert_array_equal(tm.grad(f)(x), [0, 1, 0])

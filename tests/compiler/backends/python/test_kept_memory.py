"""The steps of loops keep memory for large arrays from call to call; nothing that they return is in it."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tracemill as tm

SIZE = 4096


def steps(x: Any) -> Any:
    """The values of each step are views of what it computes."""
    kept = []
    for number in range(100):
        y = np.concatenate((np.sin(x)[1:], np.cos(x)[:1])) * number
        x = y[::-1] * 0.5 + x
        kept.append(x[::512])
    return x, np.stack(kept)


def branch(x: Any) -> Any:
    if np.sum(x) > 0:
        y = np.concatenate((np.sin(x)[1:], x[:1]))
        return np.exp(y) + y
    return x


FUNCTIONS = [steps, branch]


def arrays() -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=SIZE) + 0.1 for _ in range(8)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_calls_one_after_another_do_not_change_earlier_results(function: Any) -> None:
    compiled = tm.compile(function, backend="numpy")
    results = [compiled(x) for x in arrays()]
    for x, found in zip(arrays(), results, strict=True):
        expected = function(x)
        if not isinstance(expected, tuple):
            found, expected = (found,), (expected,)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    assert "idle_" in str(compiled.lower(arrays()[0]).source)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_threads_have_memory_of_their_own(function: Any) -> None:
    compiled = tm.compile(function, backend="numpy")
    expected = [compiled(x) for x in arrays()]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(compiled, 5 * arrays()))
    for ours, theirs in zip(found, 5 * expected, strict=True):
        for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (ours, theirs)), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_function_that_calls_itself_through_python_has_memory_for_each_call() -> None:
    """The step of the outer call waits for the inner call with its memory in use."""
    depth = 0

    def again(x: Any) -> Any:
        nonlocal depth
        depth += 1
        return compiled(x) if depth < 3 else np.asarray(x)

    def loop(x: Any) -> Any:
        for _ in range(20):
            y = np.concatenate((x[1:], x[:1]))
            x = y * 0.5 + tm.pure_callback(again, x, x) * 0.25
        return x

    compiled = tm.compile(loop, backend="numpy")
    (x, *_) = arrays()
    depth = 0
    found = compiled(x)
    depth = 0

    def plain(x: Any) -> Any:
        nonlocal depth
        for _ in range(20):
            y = np.concatenate((x[1:], x[:1]))
            depth += 1
            x = y * 0.5 + (plain(x) if depth < 3 else x) * 0.25
        return x

    np.testing.assert_allclose(found, plain(x), rtol=1e-12, atol=1e-14)

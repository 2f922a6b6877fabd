"""Compares compiled functions, gradients and batches with Python."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tracemill as tm


def check(
    function: Callable[..., Any],
    *calls: tuple[Any, ...],
    backend: str = "numpy",
    programs: int = 1,
    **options: Any,
) -> None:
    """Check that the compiled function returns and writes the same as in Python, with the given number of programs."""
    compiled = tm.compile(function, backend=backend, on_recompile="ignore", **options)
    for args in calls:
        ours, theirs = ([x.copy() if isinstance(x, np.ndarray) else x for x in args] for _ in range(2))
        found, expected = compiled(*ours), function(*theirs)
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for x, y in [*pairs, *zip(ours, theirs, strict=True)]:
            np.testing.assert_allclose(x, y, rtol=1e-12)
            assert np.shape(x) == np.shape(y)
    assert len(compiled.signatures()) == programs


def parts(result: Any) -> tuple[Any, ...]:
    """The results of a function that returns one or several."""
    return result if isinstance(result, tuple) else (result,)


def assert_same(found: Any, expected: Any) -> None:
    """Check that results have the same types, dtypes and values."""
    for one, wanted in zip(parts(found), parts(expected), strict=True):
        assert type(one) is type(wanted)
        assert np.asarray(one).dtype == np.asarray(wanted).dtype
        np.testing.assert_allclose(one, wanted, rtol=1e-12)


def check_gradient(function: Callable[[Any], Any], x: Any) -> None:
    """Check the gradient of a sum of all results, without compilation, along one direction against differences."""

    def loss(x: Any) -> Any:
        return sum(np.sum(np.sin(part)) for part in parts(function(x)) if not isinstance(part, int))

    direction, step = np.random.default_rng(1).normal(size=x.shape), 1e-6
    expected = (loss(x + step * direction) - loss(x - step * direction)) / (2 * step)
    assert abs(tm.grad(loss)(x) @ direction - expected) < 1e-5 * max(1, abs(expected))


def check_batch(function: Callable[[Any], Any], examples: Any) -> None:
    """Check that a batch is a loop over its examples."""
    each = [parts(function(example)) for example in examples]
    for found, *wanted in zip(parts(tm.vmap(function)(examples)), *each, strict=True):
        np.testing.assert_allclose(found, np.stack(wanted), rtol=1e-12)

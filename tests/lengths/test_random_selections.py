"""Batches and derivatives of random functions of selections are those of a loop."""

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

import tracemill as tm
from lengths.random_selections import random_batch, random_function

pytestmark = pytest.mark.usefixtures("lightly_optimised")

FAST, SLOW = range(4), range(4, 12)


@pytest.fixture(autouse=True)
def without_warnings() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def check(seed: int, backend: str | None) -> None:
    function, batch = random_function(seed), random_batch(seed)
    examples = list(zip(*batch, strict=True))
    mapped = tm.vmap(function)
    gradients = tm.vmap(tm.grad(function, (0, 1)))
    total = tm.grad(lambda *batch: mapped(*batch).sum(), (0, 1))
    if backend is not None:
        mapped, gradients, total = (tm.compile(one, backend=backend) for one in (mapped, gradients, total))
    np.testing.assert_allclose(mapped(*batch), [function(*one) for one in examples], rtol=1e-9, atol=1e-12)
    wanted = [tm.grad(function, (0, 1))(*one) for one in examples]
    for found in (gradients(*batch), total(*batch)):
        for part in (0, 1):
            np.testing.assert_allclose(found[part], [one[part] for one in wanted], rtol=1e-8, atol=1e-10)


def check_one(seed: int, backend: str) -> None:
    """One example after the other, by one function."""
    function, batch = random_function(seed), random_batch(seed)
    gradient = tm.compile(tm.grad(function, (0, 1)), backend=backend, on_recompile="ignore")
    for one in zip(*batch, strict=True):
        for found, wanted in zip(gradient(*one), tm.grad(function, (0, 1))(*one), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", FAST)
def test_a_batch_of_a_random_function_is_the_loop(seed: int) -> None:
    check(seed, None)


@pytest.mark.sampled(slow=7)
@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("seed", SLOW)
def test_a_compiled_batch_of_a_random_function_is_the_loop(seed: int, backend: str) -> None:
    check(seed, backend)


@pytest.mark.sampled(slow=7)
@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize("seed", SLOW)
def test_a_compiled_derivative_of_a_random_function_is_that_of_its_operations(
    seed: int, backend: str
) -> None:
    check_one(seed, backend)

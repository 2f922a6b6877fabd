"""Every use of mathematics, statistics, products and sorting differentiates, forwards and backwards, and maps."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from samples.grouping import Case, in_groups
from samples.numpy_math import CHAPTERS, Use

POINT = np.linspace(-1.9, 2.3, 12)[[7, 2, 9, 4, 0, 11, 5, 1, 8, 3, 10, 6]].reshape(3, 4) + 0.01
"""No two entries are near each other, or near where something jumps."""
DIRECTION = np.random.default_rng(5).normal(size=POINT.shape)
CORNERS = {"nanstd-5", "std-5"}
"""The spread of a single number has a corner: 0, whichever way it moves."""
OF_INTEGERS = {"packbits"}


def floating(use: Use) -> Callable[[Any], list[Any]]:
    """The floating arrays among what a use gives."""

    def function(x: Any) -> list[Any]:
        leaves: list[Any] = optree.tree_leaves(use(x))
        return [leaf for leaf in leaves if hasattr(leaf, "dtype") and leaf.dtype.kind in "fc"]

    return function


def differentiable() -> list[Case]:
    """The uses that take a floating array and give one; those after the first of each function are slow."""
    cases = []
    for chapter, table in CHAPTERS.items():
        for name, (kinds, uses) in table.items():
            for number, use in enumerate(uses):
                label = f"{name}-{number}"
                if {"f", "i"} & set(kinds) and label not in CORNERS and name not in OF_INTEGERS:
                    cases.append(Case(chapter, label, (floating(use),), is_slow=number > 0))
    return cases


def quotients(function: Callable[[Any], list[Any]], step: float = 1e-6) -> list[Any]:
    """Central differences."""
    ahead, behind = (function(POINT + sign * step * DIRECTION) for sign in (1, -1))
    return [(np.asarray(a) - b) / (2 * step) for a, b in zip(ahead, behind, strict=True)]


@pytest.mark.sampled("polynomials", every=7, slow=2)
@in_groups(differentiable())
def test_derivatives_are_those_of_differences(function: Callable[[Any], list[Any]]) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = quotients(function)
        values, tangents = tm.jvp(function, (POINT.copy(),), (DIRECTION,))
        for want, got in zip(expected, tangents, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
        weighted = [value.real for value in values]
        weights = [np.cos(np.arange(value.size)).reshape(value.shape) for value in weighted]
        if not weighted:
            return

        def loss(x: Any) -> Any:
            return sum(np.sum(value.real * w) for value, w in zip(function(x), weights, strict=True))

        total = sum(float(np.sum(tangent.real * w)) for tangent, w in zip(tangents, weights, strict=True))
        assert float(np.sum(tm.grad(loss)(POINT.copy()) * DIRECTION)) == pytest.approx(
            total, rel=1e-8, abs=1e-10
        )


@pytest.mark.slow
@in_groups(differentiable())
def test_mapping_is_looping(function: Callable[[Any], list[Any]]) -> None:
    batch = np.stack([POINT, POINT[::-1] * 1.1, POINT + 0.3])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        looped = [function(x.copy()) for x in batch]
        mapped = tm.vmap(function)(batch)
        for got, *want in zip(mapped, *looped, strict=True):
            np.testing.assert_allclose(got, np.stack(want), rtol=1e-10, atol=1e-12)

"""Answers for `programs.dynamic_programming`: by recursion, or by trying everything."""

from bisect import bisect_left
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from programs.checks.outcomes import Outcome


def edit_distance(got: Outcome, a: Any, b: Any) -> None:
    @cache
    def distance(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return i + j
        replaced = distance(i - 1, j - 1) + (a[i - 1] != b[j - 1])
        return int(min(replaced, distance(i - 1, j) + 1, distance(i, j - 1) + 1))

    assert got.result == distance(len(a), len(b))


def longest_common_subsequence(got: Outcome, a: Any, b: Any) -> None:
    @cache
    def longest(i: int, j: int) -> int:
        if i == len(a) or j == len(b):
            return 0
        if a[i] == b[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    length, kept = got.result
    assert length == kept.sum() == longest(0, 0)
    letters = iter(b.tolist())
    assert all(letter in letters for letter in a[kept].tolist())


def knapsack(got: Outcome, weights: Any, values: Any, capacity: int) -> None:
    best, taken = got.result
    choices = np.array(list(product((False, True), repeat=len(weights))))
    fitting = choices[choices @ weights <= capacity]
    assert_allclose(best, (fitting @ values).max())
    assert_allclose(values[taken].sum(), best)
    assert weights[taken].sum() <= capacity


def align(got: Outcome, a: Any, b: Any, match: float, mismatch: float, gap: float) -> None:
    @cache
    def best(i: int, j: int) -> float:
        if i == len(a) or j == len(b):
            return gap * (len(a) - i + len(b) - j)
        pair = match if a[i] == b[j] else mismatch
        return max(pair + best(i + 1, j + 1), gap + best(i + 1, j), gap + best(i, j + 1))

    score, steps = got.result
    assert_allclose(score, best(0, 0))
    assert_allclose(steps @ np.array([match, mismatch, gap]), score)
    assert 2 * (steps[0] + steps[1]) + steps[2] == len(a) + len(b)


def coin_change(got: Outcome, coins: Any, amount: int) -> None:
    counts = [range(amount // coin + 1) for coin in coins]
    purses = [purse for purse in product(*counts) if np.dot(purse, coins) == amount]
    assert got.result == (min(map(sum, purses), default=-1), len(purses))


def best_stretch(got: Outcome, x: Any) -> None:
    best, first, last = got.result
    sums = [x[i:j].sum() for i in range(len(x)) for j in range(i + 1, len(x) + 1)]
    assert_allclose(best, max(sums))
    assert_allclose(x[first:last].sum(), best)


def longest_rise(got: Outcome, x: Any) -> None:
    ends: list[float] = []
    for value in x:
        place = bisect_left(ends, value)
        ends[place : place + 1] = [value]
    assert got.result == len(ends)


def matrix_chain(got: Outcome, sizes: Any) -> None:
    @cache
    def cost(i: int, j: int) -> int:
        if j - i < 2:
            return 0
        return min(cost(i, k) + cost(k, j) + int(sizes[i] * sizes[k] * sizes[j]) for k in range(i + 1, j))

    assert got.result == cost(0, len(sizes) - 1)


def seam(got: Outcome, energy: Any) -> None:
    total, path = got.result
    ways = energy[0].astype(float)
    for row in energy[1:]:
        wide = np.pad(ways, 1, constant_values=np.inf)
        ways = row + np.minimum(np.minimum(wide[:-2], wide[1:-1]), wide[2:])
    assert_allclose(total, ways.min())
    assert_allclose(energy[np.arange(len(path)), path].sum(), total)
    assert all(abs(c - d) <= 1 for c, d in pairwise(path))

"""Answers for `programs.tables`."""

import re
from collections import Counter, deque
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

from programs.checks.outcomes import Outcome


def interpolate(got: Outcome, x: Any, xs: Any, ys: Any) -> None:
    assert_allclose(got.result, np.interp(x, xs, ys), atol=1e-12)


def income_tax(got: Outcome, income: float, children: int) -> None:
    before = np.interp(income, [0, 10_000, 40_000, 90_000, 190_000], [0, 0, 6_000, 21_000, 66_000])
    if income > 190_000:
        before += 0.45 * (income - 190_000)
    assert_allclose(got.result, max(before - [0, 500, 1000, 1750, 2500, 3250][children], 0))


def steam_pressure(got: Outcome, temperatures: Any) -> None:
    t = np.array(temperatures)
    cold = np.polyval([2.7e-7, 1.4e-5, 4.4e-4, 6.1e-3], t)
    warm = np.polyval([3.0e-9, 1.5e-7, 2.0e-5, 3.0e-4, 7.0e-3], t)
    assert_allclose(got.result, np.where(t < 0, 6.1e-3 * np.exp(0.08 * t), np.where(t < 50, cold, warm)))


def tree_predict(
    got: Outcome, X: Any, feature: Any, threshold: Any, left: Any, right: Any, value: Any
) -> None:
    y, depths = got.result
    if len(feature) == 1:
        assert y.tolist() == [value[0]] * len(X)
        assert not depths.any()
        return
    a, b = X.T
    low = np.where(b <= -0.5, 1.5, -2.0)
    assert np.array_equal(y, np.where(a <= 0, low, np.where(a <= 1, 3.0, 7.0)))
    assert depths.tolist() == [2] * len(X)


def boosted_stumps(got: Outcome, x: Any, rate: float) -> None:
    chance, used = got.result
    steps = [-1.0 if x[0] < 0.5 else 1.0, 0.5 if x[1] < -0.2 else -0.5, 0.25 if x[0] < 1.5 else -0.75]
    scores = rate * np.cumsum(steps)
    is_decided = np.abs(scores) > 1.2
    expected = int(np.argmax(is_decided)) + 1 if is_decided.any() else 3
    assert used == expected
    assert_allclose(np.log(chance / (1 - chance)), scores[expected - 1])


def door_code(got: Outcome, moves: Any) -> None:
    at = 1 + 1j
    for line, digit in zip(moves, got.result, strict=True):
        for move in line:
            new = at + (-1, 1j, 1, -1j)[move]
            at = complex(min(max(new.real, 0), 2), min(max(new.imag, 0), 2))
        assert digit == 3 * at.real + at.imag + 1


def virtual_machine(got: Outcome, program: Any, memory: Any, max_steps: int) -> None:
    after = got.arguments[1].tolist()
    if len(memory) == 4 and memory[0] == 6:
        assert after == [47, 7, 42, 5]
        assert got.result == 4
        return
    doublings = min(int(np.ceil(np.log2(memory[2]))), -(-max_steps // 3))
    assert after == [
        2.0**doublings,
        doublings if 3 * doublings < max_steps + 2 else doublings - 1,
        memory[2],
        1,
    ]
    assert got.result == min(3 * doublings + 1, max_steps)


def parse_numbers(got: Outcome, text: Any) -> None:
    words = "".join(map(chr, text))
    found = [int(number) for number in re.findall(r"-?\d+", words)]
    assert got.result == (sum(found), len(found))


def hash_table(got: Outcome, keys: Any, queries: Any, size: int) -> None:
    places = got.result
    assert np.array_equal(places >= 0, np.isin(queries, keys))
    taken = {int(q): int(p) for q, p in zip(queries, places, strict=True) if p >= 0}
    assert len(set(taken.values())) == len(taken)
    assert all(0 <= place < size for place in taken.values())
    first = int(keys[0])  # which found an empty table
    assert taken.get(first, first * 2654435761 % size) == first * 2654435761 % size


def a_star(got: Outcome, blocked: Any, start: Any, goal: Any) -> None:
    distance = {tuple(start.tolist()): 0}
    queue = deque(distance)
    while queue:
        row, column = queue.popleft()
        for r, c in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            is_inside = 0 <= r < len(blocked) and 0 <= c < len(blocked[0])
            if is_inside and not blocked[r, c] and (r, c) not in distance:
                distance[r, c] = distance[row, column] + 1
                queue.append((r, c))
    length, visited = got.result
    assert length == distance.get(tuple(goal.tolist()), -1)
    assert 0 < visited <= len(distance)


def event_queue(got: Outcome, arrivals: Any, durations: Any, servers: int) -> None:
    waits, longest = got.result
    starts = arrivals + waits
    assert (waits >= 0).all()
    assert (np.diff(starts) >= 0).all()
    busy = [np.sum((starts <= t) & (t < starts + durations)) for t in starts]
    assert max(busy) <= servers
    assert longest == max(np.sum((arrivals <= t) & (starts > t)) for t in arrivals)


def order_book(got: Outcome, prices: Any, quantities: Any) -> None:
    _, traded, left = got.result
    assert np.isclose(np.abs(quantities).sum() - 2 * traded.sum(), np.abs(left).sum())
    assert (left * quantities >= 0).all()
    buying, selling = prices[left > 0], prices[left < 0]
    assert not (len(buying) and len(selling)) or buying.max() < selling.min()


def words(got: Outcome, text: Any) -> None:
    starts, ends, longest = got.result
    letters = "".join(chr(code) if chr(code).isalpha() else " " for code in text)
    found = [letters[a:b] for a, b in zip(starts, ends, strict=True)]
    assert found == letters.split()
    assert longest == max(map(len, found), default=0)


def linked_groups(got: Outcome, links: Any, n: int) -> None:
    groups = {node: {node} for node in range(n)}
    for a, b in links.tolist():
        both = groups[a] | groups[b]
        groups.update(dict.fromkeys(both, both))
    label, sizes = got.result
    for a in range(n):
        assert {b for b in range(n) if label[b] == label[a]} == groups[a]
        assert sizes[label[a]] == len(groups[a])


def merged_intervals(got: Outcome, starts: Any, ends: Any) -> None:
    first, last = got.result
    assert (first[1:] > last[:-1]).all()
    points = np.linspace(-1, 15, 997)[:, None]
    inside = ((starts <= points) & (points <= ends)).any(axis=1)
    assert np.array_equal(((first <= points) & (points <= last)).any(axis=1), inside)


def joined(got: Outcome, left_keys: Any, right_keys: Any) -> None:
    pairs = [(i, j) for i, a in enumerate(left_keys) for j, b in enumerate(right_keys) if a == b]
    assert list(zip(*map(np.ndarray.tolist, got.result), strict=True)) == pairs


def best_of_groups(got: Outcome, groups: Any, scores: Any, k: int) -> None:
    expected: list[int] = []
    for group in sorted(set(groups.tolist())):
        members = [i for i in range(len(groups)) if groups[i] == group]
        expected += sorted(members, key=lambda i: -scores[i])[:k]
    assert got.result.tolist() == expected


def summed_entries(got: Outcome, rows: Any, columns: Any, values: Any, shape: tuple[int, int]) -> None:
    dense, found = np.zeros(shape), np.zeros(shape)
    np.add.at(dense, (rows, columns), values)
    total, column, starts = got.result
    for row in range(shape[0]):
        part = slice(starts[row], starts[row + 1])
        found[row, column[part]] = total[part]
    assert np.allclose(dense, found)
    assert total.all()


def robust_line(got: Outcome, x: Any, y: Any, pairs: Any, reach: float) -> None:
    slope, intercept, count = got.result
    assert np.isclose(slope, 2, atol=0.2)
    assert np.isclose(intercept, 1, atol=1)
    assert count >= len(x) / 2


def peak_of_histogram(got: Outcome, x: Any) -> None:
    middle, most, bins = got.result
    edges = np.histogram_bin_edges(x, "auto")
    places = Counter(np.clip(np.searchsorted(edges, x, "right") - 1, 0, bins - 1).tolist())
    assert len(edges) == bins + 1
    assert most == max(places.values())
    assert x.min() <= middle <= x.max() or bins == 1

"""Answers for `programs.selections`."""

from itertools import groupby, pairwise
from typing import Any

import numpy as np

from programs.checks.outcomes import Outcome


def csr_product(got: Outcome, data: Any, columns: Any, starts: Any, x: Any) -> None:
    dense = np.zeros((len(starts) - 1, len(x)))
    dense[np.repeat(np.arange(len(dense)), np.diff(starts)), columns] = data
    assert np.allclose(got.result, dense @ x)


def particle_filter(got: Outcome, particles: Any, observations: Any, steps: Any, offsets: Any) -> None:
    means, resampled = got.result
    assert means.shape == observations.shape
    assert np.abs(means - observations).max() < 4
    assert 0 <= resampled <= len(steps)


def attraction(got: Outcome, positions: Any, masses: Any, reach: float) -> None:
    for p, pull in zip(positions, got.result, strict=True):
        away = [
            (q - p, m) for q, m in zip(positions, masses, strict=True) if 0 < np.linalg.norm(q - p) < reach
        ]
        assert np.allclose(pull, sum((m * d / np.linalg.norm(d) ** 3 for d, m in away), start=0 * p))


def escape_times(got: Outcome, c: Any, limit: int) -> None:
    for point, escaped_after in zip(c.tolist(), got.result.tolist(), strict=True):
        z = 0j
        sizes: list[float] = []
        while len(sizes) < limit and abs(z) <= 2:
            z = z * z + point
            sizes.append(abs(z))
        assert escaped_after == (len(sizes) if abs(z) > 2 else 0)


def flood_fill(got: Outcome, image: Any, row: int, col: int, colour: Any) -> None:
    seen, stack = set(), [(row, col)]
    while stack:
        i, j = cell = stack.pop()
        inside = 0 <= i < image.shape[0] and 0 <= j < image.shape[1]
        if inside and cell not in seen and image[cell] == image[row, col]:
            seen.add(cell)
            stack += [(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)]
    painted = image.copy()
    painted[tuple(zip(*seen, strict=True))] = colour
    assert got.result == len(seen)
    assert np.array_equal(got.arguments[0], painted)


def without_outliers(got: Outcome, x: Any, limit: float) -> None:
    rest, mean = got.result
    assert set(rest) <= set(x)
    assert np.isclose(mean, rest.mean())
    assert (np.abs(rest - mean) <= limit * rest.std()).all()
    assert all(abs(dropped - mean) > limit * rest.std() for dropped in set(x) - set(rest))


def runs_of_values(got: Outcome, x: Any) -> None:
    values, lengths = got.result
    runs = [(value, len(list(run))) for value, run in groupby(x.tolist())]
    assert list(zip(values.tolist(), lengths.tolist(), strict=True)) == runs


def nearest_neighbours(got: Outcome, points: Any, values: Any, queries: Any, k: int, reach: float) -> None:
    for query, estimate in zip(queries, got.result, strict=True):
        ranked = sorted((float(np.linalg.norm(p - query)), v) for p, v in zip(points, values, strict=True))
        near = [v for distance, v in ranked[:k] if distance < reach]
        assert np.isclose(estimate, np.mean(near)) if near else np.isnan(estimate)


def fill_gaps(got: Outcome, times: Any, values: Any) -> None:
    known = ~np.isnan(values)
    filled = got.arguments[1]
    assert got.result == len(values) - np.count_nonzero(known)
    assert np.array_equal(filled[known], values[known])
    for k, t in enumerate(times):
        before, after = times[known & (times <= t)], times[known & (times >= t)]
        a, b = before[-1:].tolist() or after[:1].tolist(), after[:1].tolist() or before[-1:].tolist()
        (low,), (high,) = values[times == a[0]], values[times == b[0]]
        share = (t - a[0]) / (b[0] - a[0]) if b > a else 0
        assert np.isclose(filled[k], low + share * (high - low))


def find_peaks(got: Outcome, x: Any, height: float, distance: int) -> None:
    candidates = [i for i in range(1, len(x) - 1) if x[i] > x[i - 1] and x[i] >= x[i + 1] and x[i] > height]
    peaks = got.result.tolist()
    assert set(peaks) <= set(candidates)
    assert all(b - a >= distance for a, b in pairwise(peaks))
    for i in set(candidates) - set(peaks):
        assert any(abs(i - p) < distance and x[p] >= x[i] for p in peaks)


def group_totals(got: Outcome, groups: Any, values: Any, n: int) -> None:
    totals, largest = got.result
    assert np.allclose(totals, np.bincount(groups, weights=values, minlength=n))
    for g in range(n):
        members = [v for group, v in zip(groups, values, strict=True) if group == g]
        assert largest[g] == max(members) if members else np.isnan(largest[g])


def sessions(got: Outcome, times: Any, gap: float) -> None:
    session, durations = got.result
    for k, (a, b) in enumerate(pairwise(times)):
        assert session[k + 1] == session[k] + (b - a > gap)
    spans = [times[session == s] for s in range(session[-1] + 1)]
    assert np.array_equal(durations, [span[-1] - span[0] for span in spans])


def match_order(got: Outcome, prices: Any, sizes: Any, limit: float, quantity: int) -> None:
    if quantity <= 0:
        assert isinstance(got.raised, ValueError)
        return
    cost, wanted, book = 0.0, quantity, []
    for price, size in sorted(zip(prices.tolist(), sizes.tolist(), strict=True)):
        taken = min(size, wanted) if price <= limit else 0
        cost, wanted = cost + taken * price, wanted - taken
        book += [(price, size - taken)] if size > taken else []
    assert np.isclose(got.result[0], cost)
    assert got.result[1] == wanted
    assert list(zip(*(part.tolist() for part in got.result[2:]), strict=True)) == book


def suppress_overlaps(got: Outcome, boxes: Any, scores: Any, threshold: float) -> None:
    def overlap(a: Any, b: Any) -> float:
        width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
        common = width * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
        share: float = common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)
        return share

    keep: list[int] = []
    for i in sorted(range(len(boxes)), key=lambda i: -scores[i]):
        if all(overlap(boxes[i], boxes[k]) <= threshold for k in keep):
            keep.append(i)
    assert got.result.tolist() == keep


def convex_hull(got: Outcome, points: Any) -> None:
    hull = got.result
    assert {tuple(corner) for corner in hull} <= {tuple(p) for p in points}
    assert tuple(hull[0]) == min(tuple(p) for p in points)
    for a, b in zip(hull, np.roll(hull, -1, axis=0), strict=True):
        side = (b[0] - a[0]) * (points[:, 1] - a[1]) - (b[1] - a[1]) * (points[:, 0] - a[0])
        assert (side >= -1e-12).all()


def dbscan(got: Outcome, points: Any, eps: float, min_points: int) -> None:
    labels = got.result
    near = [[float(np.hypot(*(p - q))) <= eps for q in points] for p in points]
    dense = [sum(row) >= min_points for row in near]
    for i, label in enumerate(labels):
        neighbours = {int(labels[j]) for j in range(len(points)) if near[i][j] and dense[j]}
        assert label in neighbours if neighbours else label == -1
        assert not dense[i] or neighbours == {int(label)}
    assert set(labels[dense]) == set(range(labels.max() + 1))


def integrate_adaptively(got: Outcome, rate: float, tol: float) -> None:
    total, count = got.result
    roots = (np.arange(100_000) + 0.5) / 100_000  # with x = u**2, the integrand is smooth
    assert np.isclose(total, np.mean(2 * roots**2 * np.exp(-rate * roots**2)), atol=count * tol)


def geometric_mean(got: Outcome, x: Any, weights: Any) -> None:
    used = [(value, w) for value, w in zip(x.tolist(), weights.tolist(), strict=True) if w > 0]
    if not used or min(used)[0] <= 0:
        assert isinstance(got.raised, ValueError)
        return
    product = float(np.prod([value**w for value, w in used]))
    assert np.isclose(got.result, product ** (1 / sum(w for _, w in used)))


def quicksort(got: Outcome, a: Any) -> None:
    assert np.array_equal(got.result, np.sort(a))
    assert np.array_equal(got.arguments[0], a)

# mypy: ignore-errors
# pyright: basic
"""Masks and slices that leave as many entries as the values say."""

import numpy as np


def csr_product(data, columns, starts, x):
    """A sparse matrix times a vector, by row pointers."""
    y = np.zeros(len(starts) - 1)
    for i in range(len(y)):
        row = slice(starts[i], starts[i + 1])
        y[i] = data[row] @ x[columns[row]]
    return y


def particle_filter(particles, observations, steps, offsets):
    """Follow a drifting level; resample when few particles carry the weight. Returns means and number of resamples."""
    weights = np.full(len(particles), 1 / len(particles))
    means = []
    resampled = 0
    for y, step, offset in zip(observations, steps, offsets, strict=True):
        particles = particles + step
        weights = weights * np.exp(-0.5 * (y - particles) ** 2)
        weights[np.abs(y - particles) > 4] = 0
        weights /= weights.sum()
        means.append(weights @ particles)
        if 1 / np.sum(weights**2) < len(particles) / 2:
            points = (np.arange(len(particles)) + offset) / len(particles)
            chosen = np.searchsorted(np.cumsum(weights)[:-1], points)
            particles = particles[chosen]
            weights = np.full(len(particles), 1 / len(particles))
            resampled += 1
    return np.array(means), resampled


def attraction(positions, masses, reach):
    """The pull on each body of those within reach."""
    pull = np.zeros_like(positions)
    for i in range(len(positions)):
        others = np.arange(len(positions)) != i
        towards = positions[others] - positions[i]
        distance = np.sqrt(np.sum(towards**2, axis=1))
        near = distance < reach
        pull[i] = np.sum((masses[others, None] * towards / distance[:, None] ** 3)[near], axis=0)
    return pull


def escape_times(c, limit):
    """The number of steps after which each point escapes, 0 if it never does; escaped points are dropped."""
    escaped_after = np.zeros(len(c), dtype=int)
    index = np.arange(len(c))
    z = 0 * c
    for step in range(1, limit + 1):
        z = z * z + c
        escaped = np.abs(z) > 2
        escaped_after[index[escaped]] = step
        index, z, c = index[~escaped], z[~escaped], c[~escaped]
        if len(index) == 0:
            break
    return escaped_after


def flood_fill(image, row, col, colour):
    """Paint the connected patch of one colour, in place; returns its size."""
    same = image == image[row, col]
    patch = np.zeros(image.shape, dtype=bool)
    patch[row, col] = True
    while True:
        grown = patch.copy()
        grown[1:] |= patch[:-1]
        grown[:-1] |= patch[1:]
        grown[:, 1:] |= patch[:, :-1]
        grown[:, :-1] |= patch[:, 1:]
        grown &= same
        if np.array_equal(grown, patch):
            break
        patch = grown
    image[patch] = colour
    return len(image[patch])


def without_outliers(x, limit):
    """Drop points far from the mean until none is left; returns the rest and its mean."""
    while True:
        far = np.abs(x - x.mean()) > limit * x.std()
        if not far.any():
            return x, x.mean()
        x = x[~far]


def runs_of_values(x):
    """Each value that repeats, and how often."""
    first = np.ones(len(x), dtype=bool)
    first[1:] = x[1:] != x[:-1]
    starts = np.arange(len(x))[first]
    return x[first], np.diff(np.append(starts, len(x)))


def nearest_neighbours(points, values, queries, k, reach):
    """The mean over up to `k` neighbours within reach of each query; NaN where there is none."""
    estimates = np.full(len(queries), np.nan)
    for i, query in enumerate(queries):
        distances = np.linalg.norm(points - query, axis=1)
        nearest = np.argsort(distances)[:k]
        nearest = nearest[distances[nearest] < reach]
        if len(nearest) > 0:
            estimates[i] = values[nearest].mean()
    return estimates


def fill_gaps(times, values):
    """Replace NaNs by straight lines between their neighbours, in place; returns their number."""
    missing = np.isnan(values)
    values[missing] = np.interp(times[missing], times[~missing], values[~missing])
    return missing.sum()


def find_peaks(x, height, distance):
    """The positions of the highest peaks that are at least `distance` apart."""
    is_peak = (x[1:-1] > x[:-2]) & (x[1:-1] >= x[2:]) & (x[1:-1] > height)
    left = np.arange(1, len(x) - 1)[is_peak]
    left = left[np.argsort(-x[left])]
    peaks = []
    while len(left) > 0:
        peaks.append(left[0])
        left = left[np.abs(left - left[0]) >= distance]
    return np.sort(np.array(peaks, dtype=int))


def group_totals(groups, values, n):
    """The sum and the largest value of each group; 0 and NaN for empty ones."""
    totals, largest = np.zeros(n), np.full(n, np.nan)
    for g in range(n):
        members = values[groups == g]
        if members.size == 0:
            continue
        totals[g], largest[g] = members.sum(), members.max()
    return totals, largest


def sessions(times, gap):
    """Split sorted time stamps at long pauses; returns each one's session, and each session's duration."""
    pauses = np.diff(times) > gap
    session = np.concatenate([[0], np.cumsum(pauses)])
    return session, times[np.append(pauses, True)] - times[np.append(True, pauses)]


def match_order(prices, sizes, limit, quantity):
    """Buy from the cheapest offers up to a limit; returns the cost, the amount not filled, and the offers left."""
    if quantity <= 0:
        raise ValueError(f"a quantity must be positive, got {quantity}")
    order = np.argsort(prices)
    prices, sizes = prices[order], sizes[order]
    open_to_us = np.where(prices <= limit, sizes, 0)
    filled = np.clip(quantity - (np.cumsum(open_to_us) - open_to_us), 0, open_to_us)
    left = sizes - filled
    return filled @ prices, quantity - filled.sum(), prices[left > 0], left[left > 0]


def suppress_overlaps(boxes, scores, threshold):
    """Keep the best of boxes that overlap: non-maximum suppression."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    order = np.argsort(scores)[::-1]
    keep = []
    while order.size > 0:
        best, rest = order[0], order[1:]
        keep.append(best)
        low = np.maximum(boxes[best, :2], boxes[rest, :2])
        high = np.minimum(boxes[best, 2:], boxes[rest, 2:])
        overlap = np.prod(np.maximum(0, high - low), axis=1)
        order = rest[overlap / (areas[best] + areas[rest] - overlap) <= threshold]
    return np.array(keep)


def convex_hull(points):
    """The corners, counterclockwise from the leftmost one, by Andrew's monotone chain."""
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    hull = np.zeros((2 * len(points), 2))
    k = 0
    for p in points:
        while k >= 2 and np.linalg.det(np.array([hull[k - 1] - hull[k - 2], p - hull[k - 1]])) <= 0:
            k -= 1
        hull[k], k = p, k + 1
    lower = k + 1
    for p in points[-2::-1]:
        while k >= lower and np.linalg.det(np.array([hull[k - 1] - hull[k - 2], p - hull[k - 1]])) <= 0:
            k -= 1
        hull[k], k = p, k + 1
    return hull[: k - 1]


def dbscan(points, eps, min_points):
    """Label clusters of dense points from 0; -1 for noise."""
    near = np.linalg.norm(points[:, None] - points[None], axis=2) <= eps
    dense = near.sum(axis=1) >= min_points
    labels = np.full(len(points), -1)
    cluster = 0
    for i in range(len(points)):
        if not dense[i] or labels[i] >= 0:
            continue
        front = np.arange(len(points)) == i
        while front.any():
            labels[front] = cluster
            front = near[front & dense].any(axis=0) & (labels < 0)
        cluster += 1
    return labels


def integrate_adaptively(rate, tol):
    """Simpson's rule for exp(-rate * x) * sqrt(x) from 0 to 1, on a list of intervals; returns their number, too."""

    def f(x):
        return np.exp(-rate * x) * np.sqrt(x)

    def simpson(a, b):
        return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))

    intervals = [(0.0, 1.0)]
    total, count = 0.0, 0
    while intervals:
        a, b = intervals.pop()
        middle = (a + b) / 2
        whole, halves = simpson(a, b), simpson(a, middle) + simpson(middle, b)
        if abs(whole - halves) > tol and b - a > 1e-3:
            intervals += [(a, middle), (middle, b)]
        else:
            total += halves
            count += 1
    return total, count


def geometric_mean(x, weights):
    """Of the weighted numbers; refuses those that are not positive."""
    used = weights > 0
    x, weights = x[used], weights[used]
    if len(x) == 0:
        raise ValueError("no number has a weight")
    if (x <= 0).any():
        raise ValueError(f"{np.sum(x <= 0)} of {len(x)} numbers are not positive")
    return np.exp(np.average(np.log(x), weights=weights))


def quicksort(a):
    """By recursion on what is smaller and what is larger than the middle one."""
    if len(a) <= 1:
        return a
    pivot = a[len(a) // 2]
    return np.concatenate([quicksort(a[a < pivot]), a[a == pivot], quicksort(a[a > pivot])])

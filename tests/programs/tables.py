# mypy: ignore-errors
# pyright: basic
"""Tables that are looked up: curves, tariffs, trees, parsers; and texts, events and rows, as many as the data say."""

import numpy as np


def interpolate(x, xs, ys):
    """Linear between the points of a curve, which is found by halving, and level beyond its ends."""
    out = np.empty(len(x))
    for k in range(len(x)):
        v = x[k]
        if v <= xs[0]:
            out[k] = ys[0]
        elif v >= xs[-1]:
            out[k] = ys[-1]
        else:
            lo, hi = 0, len(xs) - 1
            while hi - lo > 1:
                mid = (lo + hi) // 2
                if xs[mid] <= v:
                    lo = mid
                else:
                    hi = mid
            t = (v - xs[lo]) / (xs[hi] - xs[lo])
            out[k] = (1 - t) * ys[lo] + t * ys[hi]
    return out


LIMITS = [0.0, 10_000.0, 40_000.0, 90_000.0]
RATES = [0.0, 0.2, 0.3, 0.45]


def income_tax(income, children):
    """Tax by brackets, less an allowance for each child, never below zero."""
    tax = 0.0
    for i in range(len(LIMITS)):
        upper = LIMITS[i + 1] if i + 1 < len(LIMITS) else np.inf
        if income > LIMITS[i]:
            tax += RATES[i] * (min(income, upper) - LIMITS[i])
    allowance = 500.0 * children
    if children > 2:
        allowance += 250.0 * (children - 2)
    return max(tax - allowance, 0.0)


def steam_pressure(temperatures):
    """Piecewise polynomials by Horner's scheme: each range has its coefficients."""
    cold = (6.1e-3, 4.4e-4, 1.4e-5, 2.7e-7)
    warm = (7.0e-3, 3.0e-4, 2.0e-5, 1.5e-7, 3.0e-9)
    result = []
    for t in temperatures:
        if t < 0:
            result.append(6.1e-3 * np.exp(0.08 * t))
            continue
        coefficients = cold if t < 50 else warm
        p = 0.0
        for c in coefficients[::-1]:
            p = p * t + c
        result.append(p)
    return np.array(result)


class Tree:
    """A decision tree as arrays: a node with feature -1 is a leaf."""

    def __init__(self, feature, threshold, left, right, value):
        self.feature = feature
        self.threshold = threshold
        self.left = left
        self.right = right
        self.value = value

    def predict_one(self, row):
        node = 0
        depth = 0
        while self.feature[node] >= 0:
            if row[self.feature[node]] <= self.threshold[node]:
                node = self.left[node]
            else:
                node = self.right[node]
            depth += 1
        return self.value[node], depth


def tree_predict(X, feature, threshold, left, right, value):
    """The prediction for each row and how deep it went."""
    tree = Tree(feature, threshold, left, right, value)
    y = np.zeros(len(X))
    depths = np.zeros(len(X), dtype=int)
    for i, row in enumerate(X):
        y[i], depths[i] = tree.predict_one(row)
    return y, depths


STUMPS = [(0, 0.5, -1.0, 1.0), (1, -0.2, 0.5, -0.5), (0, 1.5, 0.25, -0.75)]


def boosted_stumps(x, rate):
    """The sum of stumps, stopped as soon as it is decided."""
    score = 0.0
    used = 0
    for feature, threshold, below, above in STUMPS:
        score += rate * (below if x[feature] < threshold else above)
        used += 1
        if abs(score) > 1.2:
            break
    return 1 / (1 + np.exp(-score)), used


KEYPAD = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])


def door_code(moves):
    """The digits under a finger that moves up, right, down and left, and stops at the edge."""
    r, c = 1, 1
    code = np.zeros(len(moves), dtype=int)
    for i, line in enumerate(moves):
        for move in line:
            if move == 0 and r > 0:
                r -= 1
            elif move == 1 and c < 2:
                c += 1
            elif move == 2 and r < 2:
                r += 1
            elif move == 3 and c > 0:
                c -= 1
        code[i] = KEYPAD[r, c]
    return code


ADD, MULTIPLY, JUMP_IF, STORE, HALT = range(5)


def virtual_machine(program, memory, max_steps):
    """A small machine: rows of (operation, a, b, to) on a memory of numbers; overwrites the memory."""
    at = 0
    steps = 0
    while steps < max_steps:
        operation, a, b, to = program[at]
        steps += 1
        if operation == HALT:
            break
        if operation == ADD:
            memory[to] = memory[a] + memory[b]
        elif operation == MULTIPLY:
            memory[to] = memory[a] * memory[b]
        elif operation == STORE:
            memory[to] = a
        elif operation == JUMP_IF and memory[a] < memory[b]:
            at = to
            continue
        at += 1
    return steps


def parse_numbers(text):
    """The sum of the whole numbers in a text of character codes, and how many there are."""
    total = count = 0
    current = 0
    inside = negative = False
    previous = 32
    for code in text:
        if 48 <= code <= 57:
            if not inside:
                inside = True
                negative = previous == 45
                current = 0
            current = 10 * current + (code - 48)
        elif inside:
            total += -current if negative else current
            count += 1
            inside = False
        previous = code
    if inside:
        total += -current if negative else current
        count += 1
    return total, count


def hash_table(keys, queries, size):
    """Put numbers into a table with open addressing; tell the place of each query, or -1."""
    table = np.full(size, -1, dtype=np.int64)
    for key in keys:
        slot = key * 2654435761 % size
        while table[slot] != -1 and table[slot] != key:
            slot = (slot + 1) % size
        table[slot] = key
    places = []
    for q in queries:
        slot = q * 2654435761 % size
        place = -1
        for _ in range(size):
            if table[slot] == q:
                place = slot
                break
            if table[slot] == -1:
                break
            slot = (slot + 1) % size
        places.append(place)
    return np.array(places)


def a_star(blocked, start, goal):
    """The length of the shortest path on a grid, or -1, and how many cells were visited; by A*."""
    rows, columns = blocked.shape
    cost = np.full(blocked.shape, np.inf)
    cost[start[0], start[1]] = 0.0
    is_open = np.zeros(blocked.shape, dtype=bool)
    is_open[start[0], start[1]] = True
    is_done = np.zeros(blocked.shape, dtype=bool)
    ahead = np.abs(np.arange(rows)[:, None] - goal[0]) + np.abs(np.arange(columns)[None, :] - goal[1])
    while is_open.any():
        place = np.argmin(np.where(is_open, cost + ahead, np.inf))
        row, column = place // columns, place % columns
        if row == goal[0] and column == goal[1]:
            return cost[row, column], is_done.sum()
        is_open[row, column] = False
        is_done[row, column] = True
        for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            r, c = row + down, column + right
            if r < 0 or r >= rows or c < 0 or c >= columns:
                continue
            if blocked[r, c] or is_done[r, c]:
                continue
            if cost[row, column] + 1 < cost[r, c]:
                cost[r, c] = cost[row, column] + 1
                is_open[r, c] = True
    return -1.0, is_done.sum()


def event_queue(arrivals, durations, servers):
    """Customers at a few counters, event by event; returns how long each waits, and the longest queue."""
    free_at = np.zeros(servers)
    waits = np.zeros(len(arrivals))
    started = np.zeros(len(arrivals))
    longest = 0
    for i in range(len(arrivals)):
        counter = np.argmin(free_at)
        start = max(arrivals[i], free_at[counter])
        waits[i] = start - arrivals[i]
        started[i] = start
        free_at[counter] = start + durations[i]
        queue = np.sum(started[: i + 1] > arrivals[i])
        if queue > longest:
            longest = queue
    return waits, longest


def order_book(prices, quantities):
    """Match orders by price, then time; positive quantities buy. Returns prices and sizes of trades, and the rest."""
    left = np.zeros(len(prices))
    traded_prices, traded = np.zeros(len(prices) ** 2), np.zeros(len(prices) ** 2)
    count = 0
    for i in range(len(prices)):
        wanted = abs(quantities[i])
        buys = quantities[i] > 0
        while wanted > 0:
            if buys:
                offers = np.where(left < 0, prices, np.inf)
                best = np.argmin(offers)
                if offers[best] > prices[i]:
                    break
            else:
                offers = np.where(left > 0, prices, -np.inf)
                best = np.argmax(offers)
                if offers[best] < prices[i]:
                    break
            size = min(wanted, abs(left[best]))
            traded_prices[count], traded[count] = prices[best], size
            count += 1
            wanted -= size
            left[best] -= np.sign(left[best]) * size
        left[i] = wanted if buys else -wanted
    return traded_prices[:count], traded[:count], left


def words(text):
    """Where the words of a text begin and end, and how long the longest is; the text is an array of codes."""
    is_letter = ((text >= ord("a")) & (text <= ord("z"))) | ((text >= ord("A")) & (text <= ord("Z")))
    padded = np.concatenate([[0], is_letter.astype(int), [0]])
    change = np.diff(padded)
    starts = np.flatnonzero(change == 1)
    ends = np.flatnonzero(change == -1)
    lengths = ends - starts
    return starts, ends, lengths.max(initial=0)


def linked_groups(links, n):
    """The connected components of a graph: each node's, numbered from 0, and their sizes."""
    label = np.arange(n)
    while True:
        lowest = np.minimum(label[links[:, 0]], label[links[:, 1]])
        new = label.copy()
        np.minimum.at(new, links[:, 0], lowest)
        np.minimum.at(new, links[:, 1], lowest)
        new = new[new]
        if np.array_equal(new, label):
            break
        label = new
    _, numbered, sizes = np.unique(label, return_inverse=True, return_counts=True)
    return numbered, sizes


def merged_intervals(starts, ends):
    """The union of intervals, as few disjoint ones."""
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    reach = np.maximum.accumulate(ends)
    is_first = np.concatenate([[True], starts[1:] > reach[:-1]])
    is_last = np.concatenate([is_first[1:], [True]])
    return starts[is_first], reach[is_last]


def joined(left_keys, right_keys):
    """An inner join: the rows of both tables for every pair with the same key, in the order of the left ones."""
    order = np.argsort(right_keys, kind="stable")
    ranked = right_keys[order]
    first = np.searchsorted(ranked, left_keys, side="left")
    count = np.searchsorted(ranked, left_keys, side="right") - first
    left = np.repeat(np.arange(len(left_keys)), count)
    within = np.arange(len(left)) - np.repeat(np.cumsum(count) - count, count)
    return left, order[first[left] + within]


def best_of_groups(groups, scores, k):
    """The rows of the `k` best scores of each group, group by group, the best first."""
    order = np.lexsort((-scores, groups))
    ranked = groups[order]
    is_first = np.ones(len(ranked), dtype=bool)
    is_first[1:] = ranked[1:] != ranked[:-1]
    start = np.maximum.accumulate(np.where(is_first, np.arange(len(ranked)), 0))
    rank = np.arange(len(ranked)) - start
    return order[rank < k]


def summed_entries(rows, columns, values, shape):
    """A sparse matrix by rows, from entries in any order; those at the same place are added, and zeros dropped."""
    place, inverse = np.unique(rows * shape[1] + columns, return_inverse=True)
    total = np.bincount(inverse, weights=values, minlength=len(place))
    kept = total != 0
    place, total = place[kept], total[kept]
    starts = np.searchsorted(place // shape[1], np.arange(shape[0] + 1))
    return total, place % shape[1], starts


def robust_line(x, y, pairs, reach):
    """A line through most points: the one of the given pairs with the most points near it, fitted to these."""
    best = np.zeros(len(x), dtype=bool)
    for i, j in pairs:
        if x[i] == x[j]:
            continue
        slope = (y[j] - y[i]) / (x[j] - x[i])
        near = np.abs(y - y[i] - slope * (x - x[i])) < reach
        if near.sum() > best.sum():
            best = near
    a, b = x[best], y[best]
    slope = np.sum((a - a.mean()) * (b - b.mean())) / np.sum((a - a.mean()) ** 2)
    return slope, b.mean() - slope * a.mean(), len(a)


def peak_of_histogram(x):
    """The middle of the fullest bin of a histogram that NumPy chooses, how full it is, and how many bins there are."""
    counts, edges = np.histogram(x, bins="auto")
    fullest = np.argmax(counts)
    return (edges[fullest] + edges[fullest + 1]) / 2, counts[fullest], len(counts)

# mypy: ignore-errors
# pyright: basic
"""Tables that are filled row by row."""

import numpy as np


def edit_distance(a, b):
    """The number of letters to change to turn one word, given as codes, into the other."""
    m, n = len(a), len(b)
    d = np.zeros((m + 1, n + 1), dtype=int)
    d[:, 0] = np.arange(m + 1)
    d[0, :] = np.arange(n + 1)
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            if a[i - 1] == b[j - 1]:
                d[i, j] = d[i - 1, j - 1]
            else:
                d[i, j] = 1 + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
    return d[m, n]


def longest_common_subsequence(a, b):
    """Its length, and which letters of `a` belong to one."""
    m, n = len(a), len(b)
    table = np.zeros((m + 1, n + 1), dtype=np.int64)
    for i in range(m):
        for j in range(n):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    kept = np.zeros(m, dtype=bool)
    i, j = m, n
    while i > 0 and j > 0:
        if a[i - 1] == b[j - 1]:
            kept[i - 1] = True
            i -= 1
            j -= 1
        elif table[i - 1, j] >= table[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return table[m, n], kept


def knapsack(weights, values, capacity):
    """The best value within a capacity, and which things to take."""
    n = len(weights)
    best = np.zeros((n + 1, capacity + 1))
    for i in range(1, n + 1):
        for c in range(capacity + 1):
            best[i, c] = best[i - 1, c]
            if weights[i - 1] <= c:
                with_it = best[i - 1, c - weights[i - 1]] + values[i - 1]
                if with_it > best[i, c]:
                    best[i, c] = with_it
    taken = np.zeros(n, dtype=bool)
    c = capacity
    for i in range(n, 0, -1):
        if best[i, c] != best[i - 1, c]:
            taken[i - 1] = True
            c -= weights[i - 1]
    return best[n, capacity], taken


def align(a, b, match, mismatch, gap):
    """The best global alignment score of Needleman and Wunsch, and how often each kind of step is taken."""
    m, n = len(a), len(b)
    score = np.zeros((m + 1, n + 1))
    for i in range(m + 1):
        score[i, 0] = i * gap
    for j in range(n + 1):
        score[0, j] = j * gap
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            diagonal = score[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch)
            score[i, j] = max(diagonal, score[i - 1, j] + gap, score[i, j - 1] + gap)
    matches = mismatches = gaps = 0
    i, j = m, n
    while i > 0 or j > 0:
        same = i > 0 and j > 0 and a[i - 1] == b[j - 1]
        if i > 0 and j > 0 and score[i, j] == score[i - 1, j - 1] + (match if same else mismatch):
            if same:
                matches += 1
            else:
                mismatches += 1
            i, j = i - 1, j - 1
        elif i > 0 and score[i, j] == score[i - 1, j] + gap:
            gaps += 1
            i -= 1
        else:
            gaps += 1
            j -= 1
    return score[m, n], np.array([matches, mismatches, gaps])


def coin_change(coins, amount):
    """The fewest coins that make an amount, or -1, and how many ways there are."""
    fewest = np.full(amount + 1, amount + 1)
    fewest[0] = 0
    ways = np.zeros(amount + 1, dtype=np.int64)
    ways[0] = 1
    for coin in coins:
        for a in range(coin, amount + 1):
            ways[a] += ways[a - coin]
            if fewest[a - coin] + 1 < fewest[a]:
                fewest[a] = fewest[a - coin] + 1
    if fewest[amount] > amount:
        return -1, ways[amount]
    return fewest[amount], ways[amount]


def best_stretch(x):
    """The stretch with the largest sum: its sum, its first place and the one after its last."""
    best = current = x[0]
    start = first = 0
    last = 1
    for i in range(1, len(x)):
        if current < 0:
            current = x[i]
            start = i
        else:
            current += x[i]
        if current > best:
            best = current
            first, last = start, i + 1
    return best, first, last


def longest_rise(x):
    """The length of the longest rising subsequence, with a list of smallest ends and a binary search."""
    tails = np.zeros(len(x))
    size = 0
    for value in x:
        lo, hi = 0, size
        while lo < hi:
            mid = (lo + hi) // 2
            if tails[mid] < value:
                lo = mid + 1
            else:
                hi = mid
        tails[lo] = value
        if lo == size:
            size += 1
    return size


def matrix_chain(sizes):
    """The fewest multiplications for a product of matrices of these sizes."""
    n = len(sizes) - 1
    cost = np.zeros((n, n), dtype=np.int64)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            cost[i, j] = np.iinfo(np.int64).max
            for k in range(i, j):
                c = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if c < cost[i, j]:
                    cost[i, j] = c
    return cost[0, n - 1]


def seam(energy):
    """The vertical path of least energy, and where it runs in each row."""
    rows, cols = energy.shape
    total = energy.astype(float)
    for r in range(1, rows):
        for c in range(cols):
            best = total[r - 1, c]
            if c > 0 and total[r - 1, c - 1] < best:
                best = total[r - 1, c - 1]
            if c < cols - 1 and total[r - 1, c + 1] < best:
                best = total[r - 1, c + 1]
            total[r, c] += best
    path = np.zeros(rows, dtype=int)
    path[-1] = np.argmin(total[-1])
    for r in range(rows - 2, -1, -1):
        c = path[r + 1]
        lo, hi = max(c - 1, 0), min(c + 1, cols - 1)
        path[r] = lo
        for k in range(lo + 1, hi + 1):
            if total[r, k] < total[r, path[r]]:
                path[r] = k
    return total[-1].min(), path

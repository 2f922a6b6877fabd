# mypy: ignore-errors
# pyright: basic
"""Tables that are looked up: curves, tariffs, trees, parsers."""

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

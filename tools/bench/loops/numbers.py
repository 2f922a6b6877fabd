"""Programs that loop over numbers with few array accesses, in ordinary plain NumPy."""

from typing import Any

import numpy as np


def bisection(targets: Any) -> Any:
    """The sum of the roots of x³ + x = t."""
    total = 0.0
    for i in range(targets.shape[0]):
        t, low, high = targets[i], -10.0, 10.0
        while high - low > 1e-12:
            middle = 0.5 * (low + high)
            if middle * middle * middle + middle < t:
                low = middle
            else:
                high = middle
        total += 0.5 * (low + high)
    return total


def checksum(data: Any) -> Any:
    """The cyclic redundancy check of a network packet, bit by bit."""
    crc = 0xFFFFFFFF
    for i in range(data.shape[0]):
        crc = crc ^ data[i]
        for _ in range(8):
            if crc & 1 == 1:
                crc = (crc >> 1) ^ 0xEDB88320
            else:
                crc = crc >> 1
    return crc ^ 0xFFFFFFFF


def viterbi(start: Any, step: Any, emit: Any, seen: Any) -> Any:
    """The log probability of the most likely path of hidden states."""
    n, states = len(seen), start.shape[0]
    score = start + emit[:, seen[0]]
    new = np.zeros(states)
    for t in range(1, n):
        for j in range(states):
            best = -np.inf
            for i in range(states):
                candidate = score[i] + step[i, j]
                best = max(best, candidate)
            new[j] = best + emit[j, seen[t]]
        for j in range(states):
            score[j] = new[j]
    return np.max(score)


def collatz(starts: Any) -> Any:
    """The length of the longest chain."""
    longest = 0
    for i in range(starts.shape[0]):
        n, length = starts[i], 1
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            length += 1
        longest = max(longest, length)
    return longest


def gcd(a: Any, b: Any) -> Any:
    """The sum of greatest common divisors."""
    total = 0
    for i in range(a.shape[0]):
        x, y = a[i], b[i]
        while y != 0:
            x, y = y, x % y
        total += x
    return total


def newton(values: Any) -> Any:
    """The sum of cube roots."""
    total = 0.0
    for i in range(values.shape[0]):
        a = values[i]
        x = a
        while abs(x * x * x - a) > 1e-12 * a:
            x = x - (x * x * x - a) / (3.0 * x * x)
        total += x
    return total


def mandelbrot(re: Any, im: Any, limit: int) -> Any:
    """The total number of steps that the points take to leave the disc of radius 2."""
    total = 0
    for i in range(re.shape[0]):
        x, y, steps = 0.0, 0.0, 0
        while x * x + y * y <= 4.0 and steps < limit:
            x, y = x * x - y * y + re[i], 2.0 * x * y + im[i]
            steps += 1
        total += steps
    return total


def random_walk(seed: int, steps: int) -> Any:
    """How far a walk driven by a linear congruential generator gets."""
    state, place, furthest = seed, 0, 0
    for _ in range(steps):
        state = (1103515245 * state + 12345) % 2147483648
        if state < 1073741824:
            place += 1
        else:
            place -= 1
        furthest = max(furthest, abs(place))
    return place, furthest


def binary_search(table: Any, wanted: Any) -> Any:
    """The sum of the positions at which sorted numbers would be inserted."""
    total = 0
    for i in range(wanted.shape[0]):
        x, low, high = wanted[i], 0, table.shape[0]
        while low < high:
            middle = (low + high) // 2
            if table[middle] < x:
                low = middle + 1
            else:
                high = middle
        total += low
    return total


def fibonacci(n: int, modulus: int) -> Any:
    """A Fibonacci number modulo a number."""
    a, b = 0, 1
    while n > 0:
        a, b = b, (a + b) % modulus
        n -= 1
    return a

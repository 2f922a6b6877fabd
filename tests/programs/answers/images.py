"""Answers for `programs.images`."""

from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from scipy import ndimage

from programs.checks.outcomes import Outcome

label: Any = ndimage.label


def mandelbrot(got: Outcome, width: int, height: int, limit: int) -> None:
    x = -2.0 + 3.0 * np.arange(width) / width
    y = -1.2 + 2.4 * np.arange(height) / height
    c = x + 1j * y[:, None]
    z = np.zeros_like(c)
    expected = np.zeros(c.shape, int)
    for _ in range(limit):
        inside = np.abs(z) <= 2
        expected[inside] += 1
        z[inside] = z[inside] ** 2 + c[inside]
    assert np.array_equal(got.result, expected)


def escape_time(got: Outcome, c: complex, limit: int) -> None:
    z = [0j]
    while len(z) <= limit and abs(z[-1]) <= 100:
        z.append(z[-1] ** 2 + c)
    expected = len(z) - 1 - np.log2(np.log(abs(z[-1]))) if abs(z[-1]) > 100 else limit
    assert_allclose(got.result, expected)


def game_of_life(got: Outcome, board: Any, generations: int) -> None:
    final, age = got.result
    boards = [board]
    while len(boards) <= generations and not (len(boards) > 1 and np.array_equal(boards[-1], boards[-2])):
        last = boards[-1]
        around = ndimage.convolve(last, np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]]), mode="constant")
        boards.append(((around == 3) | (around == 2) & (last == 1)).astype(board.dtype))
    assert age == len(boards) - 1
    assert np.array_equal(final, boards[-1])


def elementary_automaton(got: Outcome, start: Any, rule: int, generations: int) -> None:
    answers = np.array([rule >> k & 1 for k in range(8)])
    row = start
    for t in range(generations + 1):
        assert np.array_equal(got.result[t], row)
        row = answers[4 * np.roll(row, 1) + 2 * row + np.roll(row, -1)]


def forest_fire(got: Outcome, trees: Any, spark: Any) -> None:
    final, hours = got.result
    regions, _ = label(trees == 1)
    lit = (
        (regions == regions[spark]) & (trees == 1) if trees[spark] == 1 else np.zeros(trees.shape, dtype=bool)
    )
    assert np.array_equal(final, np.where(lit, 3, trees))
    burnt, expected = np.zeros(trees.shape, dtype=bool), 0
    burnt[spark] = lit[spark]
    while burnt.sum() < lit.sum():
        burnt = ndimage.binary_dilation(burnt) & lit
        expected += 1
    assert hours == expected + bool(lit.any())


def sobel(got: Outcome, image: Any, border: str) -> None:
    mode = {"repeat": "nearest", "mirror": "mirror", "zero": "constant"}[border]
    expected = np.hypot(ndimage.sobel(image, 0, mode=mode), ndimage.sobel(image, 1, mode=mode))
    assert_allclose(got.result, expected, atol=1e-12)


def dither(got: Outcome, image: Any) -> None:
    (after,) = got.arguments
    assert set(np.unique(after)) <= {0.0, 1.0}
    work = np.pad(image, ((0, 1), (1, 1)))
    spread = np.array([[0, 0, 7], [3, 5, 1]]) / 16
    for y in range(image.shape[0]):
        for x in range(1, image.shape[1] + 1):
            assert after[y, x - 1] == (work[y, x] >= 0.5)
            work[y : y + 2, x - 1 : x + 2] += (work[y, x] - after[y, x - 1]) * spread


def otsu_threshold(got: Outcome, image: Any) -> None:
    values = image.ravel().astype(float)

    def spread_within(t: int) -> float:
        parts = [values[values <= t], values[values > t]]
        return float(sum(part.var() * part.size for part in parts if part.size))

    spreads = [spread_within(t) for t in range(256)]
    assert_allclose(spreads[got.result], min(spreads))


def label_regions(got: Outcome, mask: Any) -> None:
    labels, count = got.result
    regions, expected = label(mask)
    assert count == expected
    assert np.array_equal(labels > 0, mask)
    for region in range(1, expected + 1):
        assert set(labels[regions == region]) == {1 + np.flatnonzero(regions == region)[-1]}


def line(got: Outcome, image: Any, x0: int, y0: int, x1: int, y1: int) -> None:
    rows, cols = np.nonzero(got.arguments[0])
    n = max(abs(x1 - x0), abs(y1 - y0))
    assert got.result == len(rows) == n + 1
    assert {(y0, x0), (y1, x1)} <= set(zip(rows.tolist(), cols.tolist(), strict=True))
    away = (cols - x0) * (y1 - y0) - (rows - y0) * (x1 - x0)
    assert np.all(np.abs(away) <= n / 2)

"""Answers for `programs.signals`."""

from itertools import groupby
from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from scipy.signal import find_peaks

from programs.checks.outcomes import Outcome


def fft(got: Outcome, x: Any) -> None:
    assert_allclose(got.result, np.fft.fft(x), atol=1e-12)


def fft_in_place(got: Outcome, x: Any) -> None:
    assert_allclose(got.arguments[0], np.fft.fft(x), atol=1e-12)


def haar_denoise(got: Outcome, signal: Any, threshold: float) -> None:
    n = len(signal)
    rows, width = [np.full(n, 1 / np.sqrt(n))], n
    while width > 1:
        for start in range(0, n, width):
            row = np.zeros(n)
            row[start : start + width // 2] = 1 / np.sqrt(width)
            row[start + width // 2 : start + width] = -1 / np.sqrt(width)
            rows.append(row)
        width //= 2
    basis = np.array(rows)
    assert_allclose(basis @ basis.T, np.eye(n), atol=1e-12)
    coefficients = basis @ signal
    shrunk = np.sign(coefficients) * np.maximum(np.abs(coefficients) - threshold, 0)
    shrunk[0] = coefficients[0]
    assert_allclose(got.result, basis.T @ shrunk, atol=1e-12)


def median_filter(got: Outcome, x: Any, width: int) -> None:
    half = width // 2
    assert_allclose(got.result, [np.median(x[max(0, i - half) : i + half + 1]) for i in range(len(x))])


def moving_statistics(got: Outcome, x: Any, width: int) -> None:
    windows = [x[max(0, i + 1 - width) : i + 1] for i in range(len(x))]
    assert_allclose(got.result["mean"], [w.mean() for w in windows], atol=1e-12)
    assert np.array_equal(got.result["low"], [w.min() for w in windows])
    assert np.array_equal(got.result["high"], [w.max() for w in windows])


def schmitt_trigger(got: Outcome, x: Any, low: float, high: float) -> None:
    out, switches = got.result
    decided = np.flatnonzero((x > high) | (x < low))
    last = np.searchsorted(decided, np.arange(len(x)), side="right") - 1
    expected = np.array([k >= 0 and x[decided[k]] > high for k in last])
    assert np.array_equal(out, expected)
    assert switches == np.count_nonzero(np.diff(expected, prepend=False))


def heat_a_room(got: Outcome, target: float, gains: Any, steps: int) -> None:
    kp, ki, kd = gains
    after = got.result
    before = np.array([15.0, *after[:-1]])
    u = (after - before) / 0.1 + 0.2 * (before - 10)
    error = target - before
    slope = np.diff(error, prepend=error[0]) / 0.1
    is_free = np.abs(u) < 5 - 1e-9
    integral = np.concatenate([[0], np.cumsum(error * is_free * 0.1)[:-1]])
    wanted = kp * error + ki * integral + kd * slope
    assert len(after) == steps
    assert_allclose(u, np.clip(wanted, -5, 5), atol=1e-9)


def adaptive_filter(got: Outcome, x: Any, d: Any, taps: int, mu: float) -> None:
    errors, w = got.result
    lagged = np.lib.stride_tricks.sliding_window_view(np.pad(x, (taps - 1, 0)), taps)[:, ::-1]
    expected = np.zeros(taps)
    for row, wanted, error in zip(lagged, d, errors, strict=True):
        assert_allclose(error, wanted - row @ expected, atol=1e-12)
        if row.any():
            expected = expected + mu * error * row / (row**2).sum()
    assert_allclose(w, expected)
    if mu == 1.0:
        assert_allclose(w[:2], [0.5, -0.3], atol=0.01)


def run_lengths(got: Outcome, x: Any) -> None:
    longest, of, runs, run = got.result
    groups = [(value, len(list(group))) for value, group in groupby(x)]
    assert runs == len(groups)
    assert (of, longest) == max(groups, key=lambda group: group[1])
    assert np.array_equal(run, np.repeat(np.arange(runs), [n for _, n in groups]))


def count_peaks(got: Outcome, x: Any, prominence: float) -> None:
    count, mean = got.result
    peaks, _ = find_peaks(x, prominence=prominence)
    assert count == len(peaks)
    assert_allclose(mean, x[peaks].mean() if count else np.nan)


def limiter(got: Outcome, samples: Any, threshold: Any, attack: Any, release: Any) -> None:
    assert got.result.dtype == np.float32
    gains = [1.0]
    for wanted in np.minimum(1, threshold / np.abs(samples.astype(float))):
        speed = attack if wanted < gains[-1] else release
        gains.append((1 - speed) * gains[-1] + speed * wanted)
    assert_allclose(got.result, samples * gains[1:], rtol=1e-4)

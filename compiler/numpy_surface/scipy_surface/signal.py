"""Recursive filters of `scipy.signal` on traced arrays: a loop over the samples, which is staged as the user's are."""

from typing import Any

import numpy as np

from ...tracing.registry import stands_in_for


@stands_in_for("signal.lfilter", has_loops=True)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """The transposed direct form II, as in SciPy: the state holds what earlier samples add to the next ones."""
    b, a, x = np.atleast_1d(b), np.atleast_1d(a), np.asarray(x)
    dtype = np.result_type(b.dtype, a.dtype, x.dtype, *([] if zi is None else [np.asarray(zi).dtype]))
    dtype = dtype if dtype.kind in "fc" else np.dtype(np.float64)
    count = max(b.shape[0], a.shape[0])
    feed = np.pad(b / a[0], (0, count - b.shape[0])).astype(dtype)
    back = np.pad(a / a[0], (0, count - a.shape[0])).astype(dtype)
    samples = np.moveaxis(x, axis, 0).astype(dtype)
    columns = (slice(None), *[None] * (samples.ndim - 1))
    state = np.zeros((count - 1, *samples.shape[1:]), dtype)
    if zi is not None:
        state = state + np.moveaxis(np.asarray(zi), axis, 0)
    filtered = np.zeros_like(samples)
    for i in range(samples.shape[0]):
        if count == 1:
            filtered[i] = feed[0] * samples[i]
        else:
            now = state[0] + feed[0] * samples[i]
            later = np.concatenate([state[1:], np.zeros_like(state[:1])])
            state = later + feed[1:][columns] * samples[i] - back[1:][columns] * now
            filtered[i] = now
    found = np.moveaxis(filtered, 0, axis)
    return found if zi is None else (found, np.moveaxis(state, 0, axis))


@stands_in_for("signal.sosfilt", has_loops=True)
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """One section of second order after another, each as in `lfilter`."""
    sos, x = np.asarray(sos), np.asarray(x)
    dtype = np.result_type(sos.dtype, x.dtype, *([] if zi is None else [np.asarray(zi).dtype]))
    samples = np.moveaxis(x, axis, 0).astype(dtype if dtype.kind in "fc" else np.float64)
    states: list[Any] = []
    for section in range(sos.shape[0]):
        feed = (sos[section, :3] / sos[section, 3]).astype(samples.dtype)
        back = (sos[section, 3:] / sos[section, 3]).astype(samples.dtype)
        first = second = np.zeros_like(samples[0])
        if zi is not None:
            start = np.moveaxis(np.asarray(zi)[section], axis, 0).astype(samples.dtype)
            first, second = start[0], start[1]
        filtered = np.zeros_like(samples)
        for i in range(samples.shape[0]):
            now = feed[0] * samples[i] + first
            first = second + feed[1] * samples[i] - back[1] * now
            second = feed[2] * samples[i] - back[2] * now
            filtered[i] = now
        samples = filtered
        states.append(np.moveaxis(np.stack([first, second]), 0, axis))
    found = np.moveaxis(samples, 0, axis)
    return found if zi is None else (found, np.stack(states))

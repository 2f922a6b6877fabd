"""Taking entries along an axis at positions that are known while tracing."""

from collections.abc import Sequence

import numpy as np

from ...dtypes import INT64, Array
from ...ir import Value
from ...value_ops import concatenate, constant, flip, gather, moveaxis, slice_axis

_MOST_RUNS = 4
"""Up to this many slices are joined; otherwise one gather is used."""


def take_known(x: Value, positions: Array, axis: int) -> Value:
    """``np.take(x, positions, axis)`` for known positions in [0, length): a few slices, or a gather."""
    positions = np.asarray(positions, INT64)
    runs = _runs(positions)
    if len(runs) <= _MOST_RUNS:
        return concatenate([_slice_run(x, run, axis) for run in runs], axis)
    unique = len(set(positions.tolist())) == positions.size
    return moveaxis(gather(x, [constant(positions)], (axis,), unique=unique), 0, axis)


def _runs(positions: Array) -> Sequence[Array]:
    """The positions split into pieces of constant step."""
    if not positions.size:
        return [positions]
    runs: list[Array] = []
    start = 0
    while start < positions.size and len(runs) <= _MOST_RUNS:
        steps = np.diff(positions[start:])
        stop = start + 1
        if steps.size and steps[0] != 0:
            changes = np.flatnonzero(steps != steps[0])
            stop = start + 1 + (int(changes[0]) if changes.size else steps.size)
        runs.append(positions[start:stop])
        start = stop
    return runs


def _slice_run(x: Value, run: Array, axis: int) -> Value:
    """Positions of constant step as a slice; the step is negative if they decrease."""
    if not run.size:
        return slice_axis(x, 0, 0, axis)
    first, last = int(run[0]), int(run[-1])
    step = int(run[1]) - first if run.size > 1 else 1
    if step > 0:
        return slice_axis(x, first, last + 1, axis, step)
    return flip(slice_axis(x, last, first + 1, axis, -step), (axis,))

"""Undamaged bundles: arguments and results of each kind, arrays, control flow, and strings that look like code."""

from collections import OrderedDict
from functools import cache
from typing import Any, Final

import numpy as np

import tracemill as tm
from tracemill.runtime.bundle.writing import bundle_bytes

TABLE: Final = np.sin(np.arange(24.0)).reshape(12, 2)


def scale(w: Any, x: Any, factor: float, *, mode: str) -> Any:
    """Scales, and counts."""
    w += 1
    return {"y": x @ TABLE * w, "n": (factor * 2, x.shape[0]), "mode": mode}


def loops(x: Any, tree: Any) -> Any:
    total, rows = tm.scan(lambda total, row: (total + row, np.tanh(total)), x[0], x)
    last = tm.while_loop(lambda y: np.sum(y) < 5, lambda y: y * 2 + 1, tree["a"])
    chosen = tm.cond(np.sum(x) > 0, np.sin, np.cos, tree["b"][0])
    return [total, rows], last, OrderedDict(chosen=chosen), np.argsort(x, axis=1), None


def statistics(x: Any, z: Any, n: int) -> Any:
    return (
        np.mean(x, axis=0),
        np.linalg.norm(z),
        np.concatenate([x, x[:, ::-1]]).astype(np.float32),
        n + 1,
        x.T,
    )


@cache
def bundles() -> tuple[bytes, ...]:
    """The files."""
    artifacts = (
        tm.export(scale, "w: f64[2]", "x: f64[4, 12]", "factor: float", "mode = 'up'"),
        tm.export(loops, np.ones((3, 2)), {"a": np.ones(2), "b": (np.ones(()), np.ones(4))}),
        tm.export(tm.grad(lambda x: np.sum(np.sin(x) * x)), "f32[3]"),
        tm.export(statistics, "x: f32[2, 3]", "z: c64[2]", "n: int"),
    )
    return tuple(map(bundle_bytes, artifacts))

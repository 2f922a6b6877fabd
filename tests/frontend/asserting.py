"""Functions with `assert`, in a module whose assertions pytest does not rewrite."""

from typing import Any

import numpy as np


def asserted(x: Any) -> Any:
    assert x > 0, "not positive"
    assert np.isfinite(x)
    return np.sqrt(x)


class OutsideError(ValueError):
    """An exception with a constructor of its own."""

    def __init__(self, value: Any, limit: float) -> None:
        super().__init__(f"{value} is beyond {limit}")
        self.value = value


def messages(x: Any, n: Any, v: Any) -> Any:
    if x < 0:
        raise ValueError(f"bad {x} {x!r:>8} {x:.2f} {n:3d}|" + str(x) + " %s %.1f %d%%" % (x, x, n))  # noqa: UP031 (as people write it)
    if x > 10:
        raise OutsideError(x * 2, 10.0)
    if n > 5:
        raise KeyError("many", n, x)
    for k in range(n):
        while x < k:
            x += 1
            if v[k] > 1:
                raise RuntimeError(f"row {k} of {v} at {x}: {v[k]}, {np.float32(v[0])}")
    assert v[0] != 7, f"{v.sum():.1f}"
    return x


def shows_a_selection(x: Any) -> Any:
    fine = x >= 0
    assert fine.all(), f"{x[~fine]} at {np.flatnonzero(~fine)}"
    return x.sum()


def holds_a_selection(x: Any) -> Any:
    assert x.min() >= 0, ("negative", x[x < 0], {"at": np.argmin(x)})
    return x.sum()

"""A list to which both branches append equally many entries, which are chosen like variables."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm
from frontend.comparing import check
from tracemill.compiler.errors import SideEffectError

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "c"])
X = np.array([3.0, 1.0, -2.0, 5.0])


def kept_or_zero(x: Any) -> Any:
    out = []
    for v in x:
        if v > 2:
            out.append(v)
        elif v < 0:
            out.append(-v)
            continue
        else:
            out.append(0.0)
        out[-1] += 1.0
    return np.array(out)


def nested(x: Any) -> Any:
    out: list[Any] = [7.0]
    same = out
    if x[0] > 1:
        if x[1] > 2:
            out.append(1.0)
        else:
            out.append(x[0])
        out.extend([x[1], 2.0])
    else:
        out[0] = x[2]
        out += [0.0, 1.0, x[3]]
    same.append(9.0)
    return np.array(out)


def returned(x: Any) -> Any:
    out: list[Any] = [0.0]
    if x[0] > 1:
        out[0] = x[1]
        out.append(x[2])
        return np.array(out), {"a": out}["a"][1]
    out.append(1.0)
    return np.array(out), {"a": out}["a"][0]


class Log:
    def __init__(self) -> None:
        self.entries: list[Any] = []

    def note(self, v: Any) -> list[Any]:
        if v > 0:
            self.entries.append(v)
            return self.entries
        self.entries.append(-v)
        return self.entries


def logged(x: Any) -> Any:
    log = Log()
    for v in x:
        entries = log.note(v)
    return np.array(log.entries), len(entries)  # pyright: ignore[reportPossiblyUnboundVariable]


@pytest.mark.sampled("logged-numpy", every=8)
@BACKENDS
@pytest.mark.parametrize("function", [kept_or_zero, nested, returned, logged])
def test_both_branches_append(function: Any, backend: str) -> None:
    check(function, (X,), (X[::-1].copy(),), (-X,), backend=backend)


def test_appended_entries_have_derivatives_and_batches() -> None:
    found = tm.compile(tm.grad(lambda x: kept_or_zero(x) @ X))(X)
    np.testing.assert_allclose(found, [3.0, 0.0, 2.0, 5.0])
    batch = np.stack([X, -X])
    np.testing.assert_array_equal(tm.compile(tm.vmap(kept_or_zero))(batch), [kept_or_zero(x) for x in batch])


def test_appending_in_one_branch_is_refused_in_a_batch() -> None:
    def alone(x: Any) -> Any:
        out = []
        if x[0] > 1:
            out.append(x[0])
        return out

    def unequal(x: Any) -> Any:
        out = []
        if x[0] > 1:
            out.append(x[0])
        else:
            out.extend([1.0, 2.0])
        return out

    for function in (alone, unequal):
        with pytest.raises(
            SideEffectError, match=r"changes `out`, a list.*append to the list in both branches"
        ):
            tm.vmap(function)(np.stack([X, X]))  # a batch goes both ways


def test_appending_to_a_list_from_outside_happens_in_each_call() -> None:
    outside: list[Any] = []

    def noting(x: Any) -> Any:
        if x[0] > 1:
            outside.append(x[0])
        else:
            outside.append(0.0)
        return x

    compiled = tm.compile(noting, on_recompile="ignore")
    for value in (2.0, 0.5, 3.0):
        compiled(np.full(2, value))
    assert outside == [2.0, 0.0, 3.0]

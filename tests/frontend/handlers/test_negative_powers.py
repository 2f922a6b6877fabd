"""Integers to negative integer powers raise NumPy's `ValueError`, whatever becomes of the result."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "c"])
ROW = np.arange(3)


def updated(k: Any) -> Any:
    y = k.copy()
    y **= k
    return k


def overwritten(k: Any) -> Any:
    y = ROW**k
    y[...] = 4
    return y


def nothing_but_a_loop(k: Any) -> Any:
    total = 0
    for i in range(40):
        ROW ** (k + i)
        total += i
    return total


def carried_and_dropped(k: Any) -> Any:
    y = 0 * k
    for _ in range(40):
        y = y + 2**k
    return k


def in_a_branch(k: Any) -> Any:
    if k[0] > 0:
        ROW**k
    return k.sum()


def handled(k: Any) -> Any:
    try:
        ROW**k
    except ValueError:
        return -1
    return k.sum()


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "used": lambda k: ROW**k,
    "unused": lambda k: (ROW**k, k)[1],
    "unused power of a Python int": lambda k: (2**k, k)[1],
    "unused power of a number": lambda k: (k[0] ** k[1], k)[1],
    "unused np.power": lambda k: (np.power(k, k), k)[1],
    "unused reduce": lambda k: (np.power.reduce(k), k)[1],
    "unused outer": lambda k: (np.power.outer(k, k), k)[1],
    "a part": lambda k: np.take(ROW**k, [0, 2]),
    "beside it": lambda k: np.concatenate([ROW**k, k])[4],
    "padding": lambda k: np.pad(ROW**k, 1)[0],
    "times zero": lambda k: (ROW**k) * 0,
    "to the power 0": lambda k: (ROW**k) ** 0,
    "shape": lambda k: len(ROW**k),
    "of small integers": lambda k: (k.astype("i1") ** k.astype("i1"), k)[1],
    "of none": lambda k: np.arange(0) ** k[:1],
    "unused, of none": lambda k: (np.arange(0) ** k[:1], k)[1],
    **{
        f.__name__: f
        for f in (updated, overwritten, nothing_but_a_loop, carried_and_dropped, in_a_branch, handled)
    },
}
EXPONENTS = [np.array(k) for k in ([1, 0, 2], [1, -1, 2], [-1, 3, 2], [2, 2, -9], [-60, -60, -60])]


def outcome(function: Callable[..., Any], *args: Any) -> str:
    try:
        return str(function(*args))
    except ValueError as error:
        return f"ValueError: {error}"


@BACKENDS
@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_negative_exponent_raises_as_in_numpy(function: Callable[[Any], Any], backend: str) -> None:
    compiled = tm.compile(function, backend=backend, on_recompile="ignore")
    for k in EXPONENTS:
        assert outcome(compiled, k) == outcome(function, k)


@pytest.mark.parametrize("name", ["unused", "times zero", "a part"])
def test_it_raises_in_batches_and_files(name: str) -> None:
    function = FUNCTIONS[name]
    exported = tm.export(function, "k: i64[3]").function()
    batched = tm.vmap(function), tm.compile(tm.vmap(function))
    for k in EXPONENTS[:2]:
        expected = outcome(function, k)
        assert outcome(exported, k) == expected
        for one in batched:
            assert outcome(lambda k, one=one: one(np.stack([k, k]))[1], k) == expected


def test_a_file_cannot_handle_it() -> None:
    with pytest.raises(tm.errors.ExportError, match="handles ValueError"):
        tm.export(handled, "k: i64[3]")


def test_without_checks_an_unused_power_is_left_out() -> None:
    assert tm.compile(lambda k: (2**k, k)[1], checks=False)(np.int64(-1)) == -1


@BACKENDS
def test_a_mask_keeps_negative_exponents_away(backend: str) -> None:
    def chosen(k: Any) -> Any:
        return np.where(k >= 0, 2 ** np.where(k >= 0, k, 0), -1)

    def masked(k: Any) -> Any:
        return np.power(2, k, where=k >= 0, out=np.zeros(3, int))

    for function in (chosen, masked):
        compiled = tm.compile(function, backend=backend)
        for k in EXPONENTS:
            np.testing.assert_array_equal(compiled(k), function(k))


def test_a_known_negative_power_has_numpys_text() -> None:
    with pytest.raises(ValueError, match=r"^Integers to negative integer powers are not allowed\.$"):
        ROW**-1
    with pytest.raises(ValueError, match=r"^Integers to negative integer powers are not allowed\.(\n|$)"):
        tm.compile(lambda k: k**-1)(ROW)

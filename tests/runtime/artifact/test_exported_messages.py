"""Exceptions of exported Python files show the values that the program computed, as the function's own do."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm


def checked(x: Any, s: Any) -> Any:
    if x[0] < 0:
        raise ValueError(f"negative {x[0]:.2f} {{a}} {x[1]!r} {x!s} %.1f" % s)
    if s > 3:
        raise ValueError(s)
    if s < -3:
        raise RuntimeError(f"{s:>8.2f}|{s!r:>9}|{x.mean():.3e}")
    total = 0.0
    for i in range(5):
        if x[2] * i > 100:
            raise ArithmeticError(f"at {i}: {x[2] * i}")
        total += x[2]
    if x[1] > 9:
        raise OverflowError("too large")
    return x * 2 + total


@tm.compile(check_bounds=True)
def entry(x: Any, place: Any) -> Any:
    return x[place]


def looked_up(x: Any, place: Any) -> Any:
    return entry(x, place) + 1.0


def in_file(function: Any, folder: Path, *args: Any) -> Any:
    """The function of an exported file."""
    file = folder / "model.py"
    tm.export(function, *args).save(file, format="python")
    spec = importlib.util.spec_from_file_location("model", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function.__name__)


@pytest.mark.parametrize(
    ("x", "s"),
    [((-1.5, 1, 1), 1.0), ((1, 1, 1), 4.5), ((1, 1, 1), -4.0), ((1, 1, 60), 0.0), ((1, 10, 1), 0.0)],
)
def test_messages_show_the_values_of_the_call(x: Any, s: float, tmp_path: Path) -> None:
    exported = in_file(checked, tmp_path, np.ones(3), 1.0)
    outcomes = []
    for function in (checked, exported):
        with pytest.raises((ValueError, ArithmeticError, RuntimeError)) as error:
            function(np.array(x, float), s)
        outcomes.append((type(error.value), str(error.value)))
    assert outcomes[0] == outcomes[1]


def test_what_raises_nothing_returns(tmp_path: Path) -> None:
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(in_file(checked, tmp_path, x, 1.0)(x, 1.0), checked(x, 1.0))


def test_an_index_out_of_bounds_is_named(tmp_path: Path) -> None:
    x = np.arange(3.0)
    exported = in_file(looked_up, tmp_path, x, np.int64(1))
    assert exported(x, np.int64(2)) == 3.0
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 3"):
        exported(x, np.int64(7))

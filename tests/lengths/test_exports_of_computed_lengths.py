"""Exported functions with lengths that depend on values: one program serves all lengths, or the error names the fix."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import UndecidedDimError

X = np.arange(5.0)
GRID = np.array([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]])


def _corner(x: Any, k: Any, n: Any) -> Any:
    return x[:k, :n]


def _steps(k: Any, end: Any) -> Any:
    return np.linspace(0, end, k), np.linspace(end, 1, k, endpoint=False)


def _trimmed(x: Any) -> Any:
    return np.trim_zeros(x)


def _first_two(x: Any) -> Any:
    v = x[x > 2]
    return v[0] + v[1] if len(v) > 1 else x.sum()


def _doubled_while_small(x: Any) -> Any:
    v = x[x > 2]
    while len(v) >= 2 and v.sum() < 9:
        v = v * 2
    return v.sum() if len(v) == 2 else len(v) * 1.0


def _written(x: Any, places: Any) -> Any:
    y, v = np.zeros(10), x[x > 2]
    n = min(len(v), len(places))
    y[places[:n]] = v[:n]
    return y


CALLS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (_corner, [(GRID, np.int64(k), np.int64(n)) for k, n in ((2, 2), (4, 3), (0, 1), (1, 3), (4, 1))]),
    (_steps, [(np.int64(k), 2.5) for k in (5, 0, 1, 2)]),
    (_trimmed, [(GRID,), (GRID + 1,), (GRID * 0,)]),
    (_first_two, [(X,), (X - 1,), (X * 0,)]),
    (_doubled_while_small, [(X,), (X - 1,), (X * 0,), (X + 2,)]),
    (_written, [(X, np.array([7, 1, 0])), (X + 9, np.array([7, 1, 0])), (X * 0, np.array([7, 1, 0]))]),
]


@pytest.mark.parametrize(("function", "calls"), CALLS)
def test_one_program_serves_all_lengths(
    function: Callable[..., Any], calls: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    tm.export(function, *calls[0]).save(tmp_path / "function.tmill")
    loaded = tm.load(tmp_path / "function.tmill")
    for args in calls:
        found, wanted = loaded(*args), function(*args)
        for one, other in zip(np.atleast_1d(found), np.atleast_1d(wanted), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("function", "calls"),
    [(_corner, CALLS[0][1]), (lambda k: np.linspace(0, 1, k), [(np.int64(5),), (np.int64(1),)])],
)
def test_one_compiled_program_serves_all_lengths(
    function: Callable[..., Any], calls: list[tuple[Any, ...]]
) -> None:
    compiled = tm.compile(function)
    for args in calls:
        found, wanted = compiled(*args), function(*args)
        np.testing.assert_array_equal(found, wanted)
        assert found.flags.c_contiguous == wanted.copy(order="K").flags.c_contiguous
    assert len(compiled.signatures()) == 1


def test_a_question_about_a_computed_length_names_a_fix_that_works() -> None:
    def written(x: Any, places: Any) -> Any:
        y, v = np.zeros(10), x[x > 2]
        y[places] = v[: len(places)]
        return y

    def listed(x: Any) -> Any:
        return [2 * one for one in x[x > 2]]

    with pytest.raises(
        UndecidedDimError, match=r"depends on values: .* n = min\(len\(a\), len\(b\)\)"
    ) as refused:
        tm.export(written, X, np.array([7, 1, 0]))
    assert "constraint" not in str(refused.value)  # there is none on a length that the program computes
    with pytest.raises(UndecidedDimError, match="an int is needed, and n_1 depends on values") as refused:
        tm.export(listed, X)
    assert "constraint" not in str(refused.value)


@pytest.mark.parametrize("number", [float, int, np.float64, np.int32])
def test_a_length_is_converted_in_one_program_and_in_a_batch(number: Callable[..., Any]) -> None:
    def counted(x: Any) -> Any:
        return x.sum() / number(len(x[x > 0]) + 1)

    compiled = tm.compile(counted)
    rows = np.stack([X, -X, X - 3, X * 0])
    for row in rows:
        np.testing.assert_array_equal(compiled(row), counted(row))
    assert len(compiled.signatures()) == 1
    np.testing.assert_allclose(tm.vmap(counted)(rows), [*map(counted, rows)])
    assert tm.export(counted, X).function()(X) == counted(X)

"""With `dynamic=`, one program serves arrays of many sizes."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm
from symbolic.functions_of_any_size import W, layer, rows, shown
from tracemill.runtime.programs.built import statistics


@pytest.mark.slow
@pytest.mark.parametrize(("dynamic", "programs"), [(None, 2), (True, 1), ({"x": "[B, 4]"}, 1)])
def test_a_thousand_sizes_are_served_by_one_program(dynamic: Any, programs: int) -> None:
    f = tm.compile(layer, dynamic=dynamic)
    before = statistics.compiled
    for count in range(2, 1002):
        np.testing.assert_allclose(f(rows(count), W), layer(rows(count), W), rtol=1e-12)
    assert len(f.signatures()) == statistics.compiled - before == programs


def test_never_is_a_program_for_each_size() -> None:
    f = tm.compile(layer, dynamic=False)
    for count in (2, 3, 4, 3):
        f(rows(count), W)
    assert len(f.signatures()) == 3


def test_the_second_size_that_an_axis_shows_gives_it_a_name() -> None:
    f = tm.compile(layer)
    f(rows(5), W)
    f(rows(7), W)
    assert shown(f) == [
        "args[0]: f64[5, 4], args[1]: f64[4, 3]",
        "args[0]: f64[x_0, 4], args[1]: f64[4, 3] where x_0 in 2..",
    ]
    f(np.ones((9, 6)), np.ones((6, 3)))  # now others differ, and they are equal: they share a name
    assert shown(f)[2:] == ["args[0]: f64[x_0, x_1], args[1]: f64[x_1, 3] where x_0 in 2.. and x_1 in 2.."]
    f(np.ones((2, 3)), np.ones((3, 3)))
    assert len(f.signatures()) == 3


@pytest.mark.sampled("dynamic2")
@pytest.mark.parametrize("dynamic", [None, True, {"x": "[N, _]"}])
def test_sizes_0_and_1_are_right_too(dynamic: Any) -> None:
    def normalised(x: Any, y: Any) -> Any:
        return (x + y) / (1 + x.sum(axis=0)), y * len(y.T)

    f = tm.compile(normalised, dynamic=dynamic)
    for n, m in [(3, 3), (5, 5), (5, 1), (1, 1), (1, 6), (0, 0), (0, 1), (1, 0), (8, 8)]:
        x, y = np.arange(2.0 * n).reshape(n, 2), np.arange(2.0 * m).reshape(m, 2)
        for got, expected in zip(f(x, y), normalised(x, y), strict=True):
            np.testing.assert_array_equal(got, expected)


def test_axes_that_were_equal_and_differ_later_get_a_program_of_their_own() -> None:
    f = tm.compile(lambda x, y: (x.sum() + y, y.shape[0]), dynamic=True)
    f(np.ones(3), np.ones(3))
    f(np.ones(5), np.ones(5))
    assert len(f.signatures()) == 1
    for n, m in [(5, 4), (7, 9), (2, 2)]:
        total, size = f(np.ones(n), np.ones(m))
        assert (total.tolist(), size) == ([n + 1.0] * m, m)
    assert [text.split(" where")[0] for text in shown(f)] == [
        "args[0]: f64[x_0], args[1]: f64[x_0]",
        "args[0]: f64[x_0], args[1]: f64[y_0]",
    ]

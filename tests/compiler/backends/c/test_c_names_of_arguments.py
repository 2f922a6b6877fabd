"""Arguments may have the names that a C kernel gives to its accumulators, loops and tiles, and to their parts."""

import re
from typing import Any

import numpy as np
import pytest

import tracemill as tm

X = np.linspace(-1.3, 2.1, 16)
SOURCE = """
def reductions({name}):
    y = np.sin({name})
    return (
        y.max() + {name}.min(), np.argmax(y * {name}), {name}.reshape(4, 4).max(0), np.prod({name}),
        np.sum({name} + 2j * {name}), {name}.astype("f4").mean(), y.sum(), ({name} > 0).all(),
    )
"""


def function_of(name: str) -> Any:
    """A function with an argument of this name."""
    made: dict[str, Any] = {"np": np}
    exec(SOURCE.format(name=name), made)
    return made["reductions"]


def in_program(name: str) -> tuple[str, ...]:
    """The names in the C program of that function."""
    text = tm.compile(function_of(name), backend="c").lower(X).c_source
    assert text is not None
    return tuple(sorted(set(re.findall(r"\w+_so_far\w*", text))))


def test_an_argument_is_no_accumulator() -> None:
    names = in_program("x")
    assert {"max_1_so_far", "max_1_so_far_is_nan", "argmax_1_so_far_at", "sum_1_so_far_re"} <= {*names}
    for name in names:
        assert set(in_program(name)) == {*names}


@pytest.mark.parametrize(
    "name",
    ["max_1_so_far", "max_1_so_far_is_nan", "argmax_1_so_far_at", "argmax_1_so_far_values", "x_so_far_sofar"],
)
def test_a_program_with_such_a_name_computes_what_numpy_does(name: str) -> None:
    function = function_of(name)
    for found, expected in zip(tm.compile(function, backend="c")(X), function(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["i_block", "i_end", "i_near", "i_near_end", "j_block", "j_end"])
def test_an_argument_is_no_part_of_a_loop(name: str) -> None:
    made: dict[str, Any] = {"np": np}
    exec(f"def sums({name}): return np.sin({name}), {name}.sum(), np.exp({name}.reshape(3, -1)).sum(1)", made)
    x = np.linspace(-1.3, 2.1, 60000)
    for found, expected in zip(tm.compile(made["sums"], backend="c")(x), made["sums"](x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["i_first", "i_last", "tm_tile_0", "tm_column", "tm_column_end", "x_tile", "tile_end"]
)
def test_an_argument_is_no_part_of_a_tile(name: str) -> None:
    made: dict[str, Any] = {"np": np}
    exec(f"def added(x, {name}): return x.T + {name} * {name}", made)
    x, y = np.arange(60000.0).reshape(200, 300), np.arange(60000.0).reshape(300, 200)
    np.testing.assert_array_equal(tm.compile(made["added"], backend="c")(x, y), made["added"](x, y))

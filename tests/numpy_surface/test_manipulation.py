"""Shapes, axes, joining, splitting, padding, matrices: every use of the table as in NumPy, misuse refused."""
# ruff: noqa: PLW0108  (lambdas look NumPy's functions up while they are traced)

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from numpy_surface.differential import check, check_both_raise, run_traced
from samples.grouping import in_groups
from samples.numpy_functions import Use, arguments_of, uses_of
from tracemill.compiler.errors import (
    AxisError,
    DTypeError,
    ShapeError,
    TracemillError,
    UnsupportedFunctionError,
)

untyped: Any = np
"""NumPy for calls that its type hints do not allow."""
MATRIX = np.arange(12.0).reshape(3, 4)


@in_groups(uses_of("shapes", "joining", "rearranging", "padding", "matrices", "methods", "types"))
def test_this_use_does_what_numpy_does(use: Use) -> None:
    check(use, *arguments_of(use))


@pytest.mark.parametrize(
    "use",
    [
        lambda m: np.reshape(m, (5, -1)),
        lambda m: np.reshape(m, (-1, -1)),
        lambda m: np.reshape(m, (2, 7)),
        lambda m: np.reshape(m.T, -1, copy=False),
        lambda m: m.transpose(0),
        lambda m: m.transpose(0, 0),
        lambda m: np.transpose(m, (0, 2)),
        lambda m: np.matrix_transpose(m[0]),
        lambda m: np.moveaxis(m, [0, 1], [0]),
        lambda m: np.moveaxis(m, [0, 0], [0, 1]),
        lambda m: np.swapaxes(m, 0, 2),
        lambda m: np.rollaxis(m, 0, 5),
        lambda m: np.squeeze(m, 0),
        lambda m: np.expand_dims(m, (0, 0)),
        lambda m: np.expand_dims(m, 5),
        lambda m: np.broadcast_to(m, (3, 5)),
        lambda m: np.broadcast_arrays(m, m.T),
        lambda m: np.concatenate([m, m.T]),
        lambda m: np.concatenate([m[0], m]),
        lambda m: np.concatenate([m[0, 0], m[0, 0]]),
        lambda m: np.concatenate([m, m], axis=2),
        lambda m: np.concatenate([m, m], dtype=int),
        lambda m: np.concatenate([m, m], out=np.empty(3)),
        lambda m: np.stack([m, m[0]]),
        lambda m: np.stack([m, m], axis=3),
        lambda m: np.hstack([m, m[0]]),
        lambda m: np.block([m, [m]]),
        lambda m: np.block([[], [m]]),
        lambda m: np.block((m, m)),
        lambda m: np.append(m, m[0], axis=0),
        lambda m: np.split(m, 2),
        lambda m: np.array_split(m, 0),
        lambda m: np.hsplit(m[0, 0], 1),
        lambda m: np.vsplit(m[0], 2),
        lambda m: np.dsplit(m, 2),
        lambda m: np.unstack(m[0, 0]),
        lambda m: np.flip(m, 2),
        lambda m: np.fliplr(m[0]),
        lambda m: np.rot90(m, axes=(0, 0)),
        lambda m: np.roll(m, 1, axis=3),
        lambda m: np.roll(m, (1, 2, 3), axis=(0, 1)),
        lambda m: np.tile(m, -1),
        lambda m: np.repeat(m, [1, 2], axis=0),
        lambda m: np.repeat(m, -1),
        lambda m: np.resize(m, (-1, 2)),
        lambda m: np.insert(m, 9, 0.0, axis=0),
        lambda m: np.insert(m, 1, [1.0, 2.0], axis=0),
        lambda m: np.delete(m, 9, axis=0),
        lambda m: np.copyto(m, 1j),
        lambda m: np.copyto(m, m[:, :2]),
        lambda m: np.pad(m, -1),
        lambda m: untyped.pad(m, 1.5),
        lambda m: np.pad(m, ((1, 2), (3, 4), (5, 6))),
        lambda m: untyped.pad(m, 1, "nearest"),
        lambda m: np.pad(m, 1, "edge", constant_values=3),
        lambda m: np.pad(m[:0], 1, "edge"),
        lambda m: np.diag(m[None]),
        lambda m: np.diagonal(m[0]),
        lambda m: np.diagonal(m, 0, 1, 1),
        lambda m: np.vander(m),
        lambda m: np.fill_diagonal(m[0], 1),
        lambda m: np.fill_diagonal(m[None], 1),
    ],
)
def test_what_numpy_refuses_is_refused_with_the_line(use: Callable[[Any], Any]) -> None:
    check_both_raise(use, MATRIX.copy())
    with pytest.raises(TracemillError, match=r"at test_manipulation\.py:\d+"):
        run_traced(use, MATRIX.copy())


def test_a_missing_axis_is_numpys_axis_error() -> None:
    with pytest.raises(AxisError, match="axis 2 is out of bounds for array of dimension 2") as caught:
        run_traced(lambda m: np.concatenate([m, m], axis=2), MATRIX)
    assert isinstance(caught.value, (ShapeError, IndexError, ValueError))


def test_bits_can_be_read_as_a_dtype_of_the_same_size_only() -> None:
    with pytest.raises(DTypeError, match=r"x\.view\(float32\) of f64\[3, 4\].*same size"):
        run_traced(lambda m: m.view(np.float32), MATRIX)


def test_a_padding_function_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedFunctionError, match="function as its mode"):
        run_traced(lambda m: np.pad(m, 1, lambda *line: None), MATRIX)


def test_methods_about_memory_are_refused_by_name() -> None:
    for name in (
        "byteswap",
        "resize",
        "getfield",
        "setfield",
    ):
        with pytest.raises(
            UnsupportedFunctionError, match=rf"x\.{name} cannot be traced: .*(\n|.)*at test_manip"
        ):
            run_traced(lambda m, name=name: getattr(m, name)(), MATRIX)


def test_the_elements_can_be_walked_over() -> None:
    places: list[Any] = []

    def walk(m: Any) -> Any:
        flat = m.flat
        first, second = next(flat), next(flat)
        places.append((flat.index, flat.coords, len(flat)))
        total = sum(x for x in m.flat)
        by_place = [x * (i + 10 * j) for (i, j), x in np.ndenumerate(m)]
        by_index = [m[place] for place in np.ndindex(m.shape)]
        rows = [row.sum() for row in m]
        a, b, c = m
        return (
            first,
            second,
            total,
            np.stack(by_place),
            np.stack(by_index),
            rows,
            a + b + c,
            len(m),
            a.size,
        )

    check(walk, MATRIX)
    assert places == [(2, (0, 2), 12)] * len(places)


def test_writing_through_flat_repeats_what_is_too_short() -> None:
    def write(m: Any) -> Any:
        m.flat = [1.0, 2.0, 3.0]
        m.T.flat[1:5] = [7.0, 8.0]
        elements: Any = m.flat
        elements[[0, 11]] = -1
        m.flat[5] = m.flat[0] * 3
        return m

    check(write, MATRIX)


def test_a_number_that_is_broadcast_can_be_flattened() -> None:
    def use(x: Any) -> Any:
        wide = np.broadcast_to(x[0], (2, 3))
        return np.ravel(wide), wide.ravel("K"), wide.reshape(-1), wide.ravel("F")

    check(use, np.arange(3.0))

    def added(x: Any) -> Any:
        np.add.at(x, [0, 0, 2], np.float64(1.5))
        return x

    check(added, np.arange(3, dtype=np.float32))


def test_numbers_that_are_copied_or_chosen_take_the_dtype_of_the_arrays() -> None:
    x = np.arange(3, dtype=np.float32)
    check(lambda x: np.choose([0, 1, 0], [x, 2.5]), x)

    def copied(x: Any, number: float) -> Any:
        np.copyto(x, number, casting="unsafe")
        return x

    for number in (np.float64(2.5), 2.5):
        check(lambda x, number=number: copied(x, number), x.astype(int))
        check_both_raise(lambda x, number=number: np.copyto(x, number), x.astype(int))


def test_lists_of_traced_arrays_are_arrays() -> None:
    def use(v: Any) -> Any:
        a, b, c = v[0], v[1], v[2]
        return (
            np.max([a, b, c]),
            np.sum([a, b]),
            np.mean([[a, b], [b, c]], axis=0),
            np.reshape([a, b, c, a], (2, 2)),
        )

    check(use, np.array([3.0, 1.0, 2.0]))


@pytest.mark.skipif(not hasattr(np, "unstack"), reason="since NumPy 2.1")
def test_many_slices_record_nothing_before_they_are_used() -> None:
    def first_and_last(x: Any) -> Any:
        rows = np.unstack(x)
        x[0] = 5.0
        return rows[0] + rows[-1], x

    x, y = np.arange(5000.0), np.arange(5000.0)
    compiled = tm.compile(first_and_last)
    found, expected = compiled(x), first_and_last(y)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])
    assert len(compiled.lower(x).graph.calls) < 20

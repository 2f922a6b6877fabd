"""Colours: those of one colour never meet, checked on random patterns; few colours on the classical ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracemill.compiler.dtypes import Array
from tracemill.passes.sparsity.colouring import colour_columns, colour_neighbours, colour_stars


@st.composite
def patterns(draw: st.DrawFn) -> Array:
    rows, columns = draw(st.integers(0, 8)), draw(st.integers(0, 8))
    return np.array(
        draw(st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns)), bool
    ).reshape(rows, columns)


@st.composite
def symmetric_patterns(draw: st.DrawFn) -> Array:
    size = draw(st.integers(0, 9))
    marks = np.array(draw(st.lists(st.booleans(), min_size=size**2, max_size=size**2)), bool).reshape(
        size, size
    )
    return np.asarray(np.triu(marks) | np.triu(marks).T)


def rows_of(pattern: Array) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in pattern]


def banded(size: int, width: int) -> Array:
    lower: Array = np.tri(size, k=width, dtype=bool)
    return np.asarray(lower & lower.T)


def arrow(size: int, head: int) -> Array:
    pattern = np.eye(size, dtype=bool)
    pattern[head] = pattern[:, head] = True
    return pattern


@given(patterns())
def test_columns_of_one_colour_share_no_row(pattern: Array) -> None:
    colours = colour_columns(rows_of(pattern), pattern.shape[1])
    for row in pattern:
        used = colours[row]
        assert len(set(used.tolist())) == len(used)


@given(symmetric_patterns())
def test_neighbours_differ(pattern: Array) -> None:
    colours = colour_neighbours(rows_of(pattern))
    assert not any(
        pattern[i, j] and i != j and colours[i] == colours[j] for i in range(len(pattern)) for j in range(i)
    )


@given(symmetric_patterns())
def test_stars_leave_every_entry_alone_in_its_row_or_in_its_mirror_images(pattern: Array) -> None:
    colours = colour_stars(rows_of(pattern))
    for i, j in zip(*np.nonzero(pattern), strict=True):
        alone_in_row = np.sum(pattern[i] & (colours == colours[j])) == 1
        alone_in_mirror = np.sum(pattern[j] & (colours == colours[i])) == 1
        assert alone_in_row or alone_in_mirror


@pytest.mark.parametrize(
    ("width", "columns", "stars", "neighbours"), [(0, 1, 1, 1), (1, 3, 3, 2), (2, 5, 5, 3)]
)
def test_a_band_needs_as_many_colours_as_it_is_wide(
    width: int, columns: int, stars: int, neighbours: int
) -> None:
    rows = rows_of(banded(50, width))
    assert colour_columns(rows, 50).max() + 1 == columns
    assert colour_stars(rows).max() + 1 <= stars
    assert colour_neighbours(rows).max() + 1 == neighbours


@pytest.mark.parametrize("head", [0, 7, 19])
def test_an_arrow_needs_two_colours_if_it_is_symmetric(head: int) -> None:
    rows = rows_of(arrow(20, head))
    assert colour_stars(rows).max() + 1 == 2
    assert colour_columns(rows, 20).max() + 1 == 20

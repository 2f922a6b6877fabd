"""Arrays of computed lengths become arrays of the greatest length, of which the first entries count."""

import pytest

from tracemill.compiler.ir import Graph
from tracemill.compiler.text.parser import parse
from tracemill.passes.simplification.pad_lengths import differing_lengths, pad_lengths

HEAD = """\
# tracemill ir 1
def head(x: f64[7], k: i64[]) -> {result}:
    maximum_1: i64[] = maximum(k, i64(0))
    minimum_1: i64[] = minimum(maximum_1, i64({most}))
    length_1: bool[n_1] = length(minimum_1, dim=n_1)
    iota_1: i64[n_1] = iota(length=n_1, dtype=i64)
    gather_1: f64[n_1] = gather(x, iota_1, axes=(0,))
    square_1: f64[n_1] = square(gather_1)
    {calls}
    return {name}
"""


def head(*calls: str, most: str = "7") -> Graph:
    name, rest = calls[-1].split(": ", 1)
    text = HEAD.format(calls="\n    ".join(calls), name=name, result=rest.split(" =")[0], most=most)
    return parse(text)


SUM = "sum_1: f64[] = sum(square_1, axes=(0,))"


def test_an_array_of_computed_length_has_the_greatest_length_that_is_possible() -> None:
    padded = pad_lengths(head(SUM, most="5"))
    assert padded == parse(
        """\
# tracemill ir 1
def head(x: f64[7], k: i64[]) -> f64[]:
    maximum_1: i64[] = maximum(k, i64(0))
    minimum_1: i64[] = minimum(maximum_1, i64(5))
    iota_1: i64[5] = iota(length=5, dtype=i64)
    gather_1: f64[5] = gather(x, iota_1, axes=(0,))
    square_1: f64[5] = square(gather_1)
    iota_2: i64[5] = iota(length=5, dtype=i64)
    less_1: bool[5] = less(iota_2, minimum_1)
    where_1: f64[5] = where(less_1, square_1, f64(0.0))
    sum_1: f64[] = sum(where_1, axes=(0,))
    return sum_1
"""
    )


def test_where_derivatives_may_be_asked_for_what_does_not_count_is_sheltered_from_them() -> None:
    padded = pad_lengths(head(SUM), is_differentiated=True)
    assert "where_1: f64[7] = where(less_1, gather_1, f64(1.0))" in str(padded)
    assert "square_1: f64[7] = square(where_1)" in str(padded)


HALF = "slice_1: f64[n_1 // 2] = slice(square_1, start=(0,), stop=(n_1 // 2,), step=(1,))"


def test_what_lies_behind_a_part_of_an_array_is_sheltered_from_derivatives_too() -> None:
    """In the longer array, the entry after ``x[:n // 2]`` is one of `x` that counts."""
    graph = head(HALF, "sum_1: f64[] = sum(slice_1, axes=(0,))")
    part = "slice_1: f64[3] = slice(square_1, start=(0,), stop=(3,), step=(1,))"
    assert part in str(pad_lengths(graph))
    padded = str(pad_lengths(graph, is_differentiated=True))
    assert part in padded
    assert "where_2: f64[3] = where(less_2, slice_1, f64(1.0))" in padded


KEPT = {
    "a_result": head("negative_1: f64[n_1] = negative(square_1)"),
    "no_bound": head(SUM, most=str(2**63 - 1)),
    "no_rule": head('expect_size(dim=n_1 - 3, relation=">=")', SUM),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_length_that_cannot_be_replaced_stays_as_it_is(name: str) -> None:
    assert pad_lengths(KEPT[name]) is KEPT[name]


def test_only_lengths_that_differ_between_examples_are_replaced() -> None:
    assert differing_lengths(head(SUM), [True, False]) == set()
    assert differing_lengths(head(SUM), [False, True]) == {"n_1"}
    assert pad_lengths(graph := head(SUM), names=set()) is graph

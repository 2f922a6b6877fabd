"""Dims compute as ints do, in one canonical form that reads back."""

import copy
import math
import pickle
from functools import reduce
from operator import add, floordiv, mul
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracemill as tm
from graphs.size_expressions import SIGNS, SIZES, holds, meaning, texts, value
from tracemill.compiler.errors import DimSpecError
from tracemill.compiler.shapes.dim import Extent, answering, compared
from tracemill.compiler.shapes.reading import Sizes, read_constraint, read_dim
from tracemill.compiler.shapes.scope import Observed

B = tm.Dim("B", min=1, max=4096, multiple_of=16)
K, M, N = tm.Dim("K"), tm.Dim("M", min=1), tm.Dim("N", min=1)


def declared() -> Sizes:
    return {"A": tm.Dim("A"), "B": tm.Dim("B", min=1, max=6), "C": tm.Dim("C", max=12, multiple_of=4)}


@given(texts)
def test_an_expression_has_the_values_that_python_gives_it(text: str) -> None:
    found = read_dim(text, declared())
    for sizes in SIZES[::3]:
        assert value(found, sizes) == meaning(text, sizes)


@given(texts)
def test_an_expression_reads_back_as_the_same_object(text: str) -> None:
    found = read_dim(text, declared())
    assert read_dim(str(found), declared()) is found or found == int(str(found))


@given(texts, st.sampled_from(SIGNS), texts)
def test_a_comparison_has_the_truth_that_python_gives_it_and_reads_back(
    left: str, sign: str, right: str
) -> None:
    found = read_constraint(f"{left} {sign} {right}", declared())
    for sizes in SIZES[::5]:
        assert holds(found, sizes) == bool(meaning(f"{left} {sign} {right}", sizes))
        if not isinstance(found, bool):
            assert holds(found.negated, sizes) != holds(found, sizes)
    if not isinstance(found, bool):
        assert read_constraint(repr(found), declared()) == found


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ((4 * B) // 2, 2 * B),
        ((B * N) // N, B),
        ((16 * K) % 16, 0),
        (B % 16, 0),
        (B // 16 * 16, B),
        ((2 * K + 1) // 2, K),
        ((6 * K + 4) // 4, K + (K + 2) // 2),
        ((K // 2) // 3, K // 6),
        ((M * N + N) // N, M + 1),
        ((M * M + M * N + 2 * M + N + 1) // (M + 1), M + N + 1),
        ((M * N) % (3 * N), N * (M % 3)),
        (tm.Dim("S", max=15) % 16, tm.Dim("S", max=15)),
        (tm.Dim("S", max=15) // 16, 0),
        (tm.Dim.minimum(N, 0), 0),
        (tm.Dim.maximum(N, N + 2, 1), N + 2),
        (K - K, 0),
        (B * N - N * B, 0),
    ],
)
def test_what_is_exact_simplifies(found: Extent, expected: Extent) -> None:
    assert found is expected or (isinstance(found, int) and found == expected)


def test_division_of_a_difference_needs_to_know_that_it_is_not_0() -> None:
    with pytest.raises(tm.errors.UndecidedDimError, match="M == N"):
        floordiv(M * M - N * N, M - N)


def test_expressions_print_as_in_specs() -> None:
    assert [str(one) for one in (2 * K + 1, B * N // 32, 1 - K, (K + 1) // 2 * 3, -K // 2, K // 2 - N)] == [
        "2*K + 1",
        "(B // 16)*N // 2",
        "-K + 1",
        "3*((K + 1) // 2)",
        "-K + K // 2",
        "K // 2 - N",
    ]


def test_bits_are_those_of_an_int() -> None:
    shifted = [K >> 2, K << 3, K & 7, 1 & K, ~K, round(K), math.floor(K), math.ceil(K), math.trunc(K)]
    assert list(map(repr, shifted)) == ["K // 4", "8*K", "K % 8", "K % 2", "-K - 1", "K", "K", "K", "K"]
    with answering(Observed({"K": 11})):
        assert [K >> 1, 1 << (K - 1).bit_length(), K & 6, K | 4, K ^ 1] == [5, 16, 2, 15, 10]


def test_shapes_are_computed_as_with_ints() -> None:
    shape: tuple[Any, ...] = (N, 3, K)
    assert math.prod(shape) is reduce(mul, shape) is 3 * N * K
    assert sum(shape) is N + K + 3
    assert divmod(2 * K + 1, 2) == (K, 1)
    assert divmod(7, N) == (7 // N, 7 % N)
    assert N**2 is N * N
    assert abs(N) is N
    assert np.int64(3) * N is N * np.int64(3) is 3 * N
    assert tuple(shape) == shape
    assert f"{N:>3}" == "  N"


def test_looking_one_up_asks_nothing_though_python_hashes_minus_1_and_minus_2_alike() -> None:
    assert {-K: 1, -2 * K: 2, K - 1: 3, K - 2: 4}[K - 2] == 4


def test_equal_expressions_are_one_object_also_after_a_copy() -> None:
    expression = (N + K) * M // 3
    assert pickle.loads(pickle.dumps(expression)) is copy.deepcopy(expression) is expression
    assert {expression: 1}[(K + N) * M // 3] == 1


def test_other_operands_are_refused_as_python_does() -> None:
    for other in (1.5, "N", None, np.ones(2)):
        with pytest.raises(TypeError):
            add(N, other)
    with pytest.raises(ZeroDivisionError, match="divided by 0"):
        floordiv(N, 0)


@pytest.mark.parametrize(
    ("name", "limits", "match"),
    [
        ("2B", {}, "identifier"),
        ("for", {}, "is reserved"),
        ("min", {}, "is reserved"),
        ("B", {"min": -1}, "min is an int"),
        ("B", {"min": 1.0}, "min is an int"),
        ("B", {"max": 2**48}, "max is an int"),
        ("B", {"multiple_of": 0}, "1 or more"),
        ("B", {"min": 5, "max": 4}, "no size from 5 to 4"),
        ("B", {"min": 17, "max": 31, "multiple_of": 16}, "multiple of 16"),
        (3, {}, "identifier"),
    ],
)
def test_limits_that_no_size_meets_are_refused(name: str, limits: dict[str, int], match: str) -> None:
    with pytest.raises(DimSpecError, match=match):
        tm.Dim(name, **limits)


def test_an_expression_may_not_grow_without_bound() -> None:
    total: Extent = sum(tm.Dim(f"D{i}") for i in range(40))
    with pytest.raises(DimSpecError, match="at most 512"):
        mul(total, total)


def test_a_comparison_that_needs_no_sizes_is_a_bool() -> None:
    assert compared("==", 2 * K + 1, 784) is False
    assert compared("!=", 2 * K, 1) is True
    assert repr(2 * K >= 5) == "K >= 3"
    assert repr(B > 0) == "B >= 16"

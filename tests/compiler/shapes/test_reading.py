"""Texts of dims are read strictly."""

import pytest

from tracemill.compiler.errors import DimSpecError
from tracemill.compiler.shapes.reading import read_constraint, read_declarations, read_dim, split_sizes


def test_declarations_give_dims_their_limits_and_the_rest_are_relations() -> None:
    sizes, relations = read_declarations(["B in 1..4096", "B % 16 == 0", "N == 3*M", "A <= B", "M in 2.."])
    size = sizes["B"].size
    assert size is not None
    assert (size.min, size.max, size.multiple_of) == (1, 4096, 16)
    assert [repr(relation) for relation in relations] == ["N == 3*M", "A <= B"]
    assert sorted(sizes) == ["A", "B", "M", "N"]
    joined = "B in 1..4096 and B % 16 == 0, N == 3*M and A <= max(B, M), M in 2.."
    assert [repr(relation) for relation in read_declarations([joined])[1]] == ["N == 3*M", "A <= max(B, M)"]


def test_sizes_between_commas_may_hold_commas() -> None:
    assert split_sizes("2*K, max(A, min(B, 3)) , 4") == ["2*K", "max(A, min(B, 3))", "4"]
    assert split_sizes(" ") == []


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "the text ends"),
        ("2*", "the text ends"),
        ("2 K", "expected the end, found 'K'"),
        ("K.shape", "there is '.'"),
        ("(K", r"expected '\)'"),
        ("min K", r"expected '\('"),
        ("K ** 2", "found '\\*'"),
        ("K // 0", "divides by 0"),
        ("1" * 16, "at most 15 digits"),
        ("(" * 40 + "K" + ")" * 40, "nested more than 32"),
        ("-" * 40 + "K", "nested more than 32"),
        ("K" * 65, "identifier"),
        ("K + " * 400 + "K", "at most 1000 characters"),
        ("Kä", "there is 'ä'"),
        ("for", "is reserved"),
    ],
)
def test_what_is_not_a_dim_is_refused_with_the_reason(text: str, match: str) -> None:
    with pytest.raises(DimSpecError, match=match):
        read_dim(text, {})


def test_products_of_long_sums_are_refused() -> None:
    text = "*".join(["(A + B + C + D + E + F + 1)"] * 30)
    with pytest.raises(DimSpecError, match="at most 512 products"):
        read_dim(text, {})


@pytest.mark.parametrize(
    "text", ["A", "A <= ", "A = B", "A <= B <= C", "A <= B and B <= C", "A in 5..", "A in B"]
)
def test_what_is_not_a_constraint_is_refused(text: str) -> None:
    with pytest.raises(DimSpecError):
        read_constraint(text, {})


@pytest.mark.parametrize(
    "texts", [["B in 1..4", "B in 1..5"], ["B in 5..4"], ["B % 0 == 0"], ["B in 1..", 3]]
)
def test_declarations_that_cannot_be_are_refused(texts: list[str]) -> None:
    with pytest.raises(DimSpecError):
        read_declarations(texts)

"""Random expressions and constraints of a few dims, and all the small sizes that they may have."""

from collections.abc import Iterator, Mapping
from itertools import product

from hypothesis import strategies as st

from tracemill.compiler.shapes.dim import Comparison, Dim, Extent, Sign, compared, terms_of
from tracemill.compiler.shapes.terms import evaluated

A, B, C = Dim("A"), Dim("B", min=1, max=6), Dim("C", max=12, multiple_of=4)
DIMS = (A, B, C)
LARGEST = 13
SIGNS: tuple[Sign, ...] = ("==", "!=", "<", "<=", ">", ">=")

Text = str


def all_sizes() -> Iterator[dict[str, int]]:
    """Every small size that the dims' own limits allow."""
    for a, b, c in product(range(LARGEST), range(1, 7), range(0, 13, 4)):
        yield {"A": a, "B": b, "C": c}


SIZES = list(all_sizes())


def value(extent: Extent, sizes: Mapping[str, int]) -> int:
    """Of an expression that Python has simplified."""
    return evaluated(terms_of(extent), sizes)


def holds(comparison: Comparison | bool, sizes: Mapping[str, int]) -> bool:
    """Of a comparison that Python has simplified."""
    if isinstance(comparison, bool):
        return comparison
    found = evaluated(comparison.terms, sizes)
    return {"==": found == 0, "!=": found != 0, ">=": found >= 0}[comparison.relation]


def _leaves() -> st.SearchStrategy[Text]:
    return st.one_of(st.sampled_from("ABC"), st.integers(-5, 9).map(str))


def _extended(inner: st.SearchStrategy[Text]) -> st.SearchStrategy[Text]:
    numbers = st.sampled_from([-3, -1, 1, 2, 3, 4, 6])
    divisors = st.one_of(numbers.map(str), st.sampled_from(["B", "2*B", "(B + 1)", "(A + 1)", "A*B + 1"]))
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
        st.builds("({} {} ({}))".format, inner, st.sampled_from(["//", "%"]), divisors),
        st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner),
    )


texts = st.recursive(_leaves(), _extended, max_leaves=6)
"""Expressions in Python's words."""


def meaning(text: Text, sizes: Mapping[str, int]) -> int:
    """What Python makes of a text where the dims are ints."""
    return int(eval(text, {"min": min, "max": max}, dict(sizes)))


@st.composite
def simple_constraints(draw: st.DrawFn) -> Comparison | bool:
    """Comparisons that users write: of sums with small coefficients, and of remainders."""
    coefficients = draw(st.lists(st.integers(-2, 3), min_size=3, max_size=3))
    total: Extent = draw(st.integers(-6, 6))
    for dim, coefficient in zip(DIMS, coefficients, strict=True):
        total = total + coefficient * dim
    if draw(st.booleans()):
        total = total % draw(st.sampled_from([2, 3, 4]))
    elif draw(st.booleans()):
        total = total // draw(st.sampled_from([2, 3]))
    return compared(draw(st.sampled_from(SIGNS)), total, draw(st.integers(-2, 4)))

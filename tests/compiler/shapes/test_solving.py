"""The sizes of dims are read off the shapes of a call, and what does not fit is named."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import tracemill as tm
from graphs.size_expressions import SIZES, texts, value
from tracemill.compiler.errors import ContradictoryConstraintsError, DimMismatchError, UndeterminedDimError
from tracemill.compiler.shapes.arguments.solving import SizeReader
from tracemill.compiler.shapes.arguments.unpacking import unpacking
from tracemill.compiler.shapes.dim import Extent
from tracemill.compiler.shapes.reading import read_dim

A, B, K = tm.Dim("A"), tm.Dim("B", min=1, max=64, multiple_of=16), tm.Dim("K")


def test_sizes_are_read_off_sums_products_and_multiples() -> None:
    assert SizeReader(["x"], [(2 * K + 1,)]).read([(785,)]) == {"K": 392}
    assert SizeReader(["x", "y"], [(A + K,), (A,)]).read([(7,), (3,)]) == {"A": 3, "K": 4}
    assert SizeReader(["x", "y"], [(B * K,), (B,)]).read([(96,), (32,)]) == {"B": 32, "K": 3}
    assert SizeReader(["x"], [(B // 16,)]).read([(3,)]) == {"B": 48}
    assert SizeReader(["x", "y"], [(A + K, A - K), (2 * A + K,)], [K == 2]).read([(5, 1), (8,)]) == {
        "A": 3,
        "K": 2,
    }


@pytest.mark.parametrize(
    ("shapes", "actual", "message"),
    [
        ([(2 * K + 1,)], [(784,)], r"axis 0 of x is 784, which is not of the form 2\*K \+ 1"),
        ([(K + 5,)], [(4,)], r"axis 0 of x is 4, which is not of the form K \+ 5"),
        ([(B,)], [(80,)], r"dim B is 80 in this call, and its limits are B in 1..64, B % 16 == 0"),
        ([(B,)], [(0,)], r"dim B is 0 in this call, and its limits are B in 1..64"),
        ([(B,)], [(17,)], r"dim B is 17 in this call, and its limits are B in 1..64, B % 16 == 0"),
        ([(K, K)], [(3, 4)], r"axis 1 of x is 4, and it must be K = 3\n"),
        ([(K, 2 * K)], [(3, 4)], r"axis 1 of x is 4, and it must be 2\*K = 6, as K = 3\n"),
        ([(K, 3)], [(3, 4)], r"axis 1 of x is 4, and it must be 3\n"),
        ([(K,), (A + K,)], [(3,), (2,)], r"axis 0 of y is 2, which is not of the form A \+ K with K = 3"),
        ([(K,)], [(3, 4)], r"x has 2 axes, \[3, 4\], and 1 are declared: \[K\]"),
    ],
)
def test_what_does_not_fit_is_named(
    shapes: list[tuple[Extent, ...]], actual: list[tuple[int, ...]], message: str
) -> None:
    reader = SizeReader(["x", "y"][: len(shapes)], shapes)
    with pytest.raises(DimMismatchError, match=message):
        reader.read(actual)


def test_relations_are_checked_by_name() -> None:
    reader = SizeReader(["x"], [(A, K)], [A <= K])
    assert reader.read([(3, 3)]) == {"A": 3, "K": 3}
    with pytest.raises(
        DimMismatchError, match="the constraint A <= K does not hold in this call, where A = 4, K = 3"
    ):
        reader.read([(4, 3)])


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(A + K,)], r"dim A cannot be determined from the shapes of the arguments: axis 0 of x is A \+ K"),
        ([(A * K, K)], r"dim A cannot be determined from .* axis 0 of x is A\*K"),
        ([(K // 2,)], r"dim K cannot be determined from .* axis 0 of x is K // 2"),
    ],
)
def test_a_dim_that_no_shape_determines_is_named(shapes: list[tuple[Extent, ...]], message: str) -> None:
    with pytest.raises(UndeterminedDimError, match=message):
        SizeReader(["x"], shapes)


def test_a_dim_of_a_constraint_alone_is_named() -> None:
    with pytest.raises(UndeterminedDimError, match=r"dim K .* no argument's shape has it"):
        SizeReader(["x"], [(A,)], [A <= K])


def test_two_dims_with_one_name_are_refused() -> None:
    with pytest.raises(ContradictoryConstraintsError, match="called K"):
        SizeReader(["x"], [(K, tm.Dim("K", min=1))])


@settings(deadline=None)
@given(st.lists(texts, min_size=1, max_size=4), st.sampled_from(SIZES))
def test_sizes_that_made_the_shapes_are_found_again(shape: list[str], sizes: dict[str, int]) -> None:
    known = {"A": tm.Dim("A"), "B": tm.Dim("B", min=1, max=6), "C": tm.Dim("C", max=12, multiple_of=4)}
    dims = [read_dim(text, dict(known)) for text in shape]
    actual = [value(dim, sizes) for dim in dims]
    assume(all(size >= 0 for size in actual))
    try:
        reader = SizeReader(["x"], [dims])
    except UndeterminedDimError:  # this does not happen if the sizes themselves are in the shape
        dims, actual = [*dims, *known.values()], [*actual, *(sizes[name] for name in known)]
        reader = SizeReader(["x"], [dims])
    found = reader.read([actual])
    assert all(sizes[name] == size for name, size in found.items())
    variables: dict[str, int] = {}
    for name, text in unpacking(reader, ["x"], {name: name.lower() for name in sizes}).items():
        variables[name.lower()] = eval(text, {"x": actual, "min": min, "max": max}, variables)
    assert {name: variables[name.lower()] for name in found} == found

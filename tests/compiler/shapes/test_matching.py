"""Generated checks of a call take the calls that `SizeReader.read` takes, and no other ones."""

from itertools import product
from typing import Any

import pytest

import tracemill as tm
from tracemill.compiler.errors import DimMismatchError
from tracemill.compiler.shapes.arguments.matching import matching
from tracemill.compiler.shapes.arguments.solving import SizeReader
from tracemill.compiler.shapes.dim import Extent
from tracemill.compiler.shapes.reading import read_constraint, read_dim

SHAPES = {
    "two axes of each": (["A", "B"], ["B", "C"]),
    "expressions": (["A", "2*B + 1"], ["A*B", "C"]),
    "a known axis": (["A", "3", "B"], ["C", "A"]),
}
RELATIONS = [
    [],
    ["A >= 3", "A <= 9", "A % 2 == 0"],
    ["A == 4", "B != 3"],
    ["A >= 3", "A > 2*B", "A + B <= 9"],
    ["B >= 3", "A % B == 1", "C // 4 == 2"],
    ["B <= 4", "A // (B + 1) >= 2"],
    ["A == 2*B", "B >= 3", "C == 8"],
    ["A*B <= 20", "C >= 5", "C <= 11"],
]


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_generated_checks_take_what_is_read(shape: str) -> None:
    known = {"A": tm.Dim("A"), "B": tm.Dim("B", min=1, max=6), "C": tm.Dim("C", max=12, multiple_of=4)}
    declared: list[list[Extent]] = [[read_dim(text, known) for text in axes] for axes in SHAPES[shape]]
    lengths = [len(axes) for axes in declared]
    taken = 0
    for texts in RELATIONS:
        reader = SizeReader(["x", "y"], declared, [read_constraint(text, known) for text in texts])
        lines = matching(reader, ["x", "y"], {name: name.lower() for name in known}, "return None")
        source = "def read(x, y):\n" + "".join(f"    {line}\n" for line in lines) + "    return a, b, c\n"
        made: dict[str, Any] = {}
        exec(source, made)
        for sizes in product((0, 1, 3, 4, 8, 9), repeat=sum(lengths)):
            shapes = sizes[: lengths[0]], sizes[lengths[0] :]
            try:
                expected = tuple(reader.read(shapes).values())
                taken += 1
            except DimMismatchError:
                expected = None
            assert made["read"](*shapes) == expected, (texts, shapes, source)
    assert taken > 50


def test_a_size_is_compared_once_with_all_that_is_known_of_it_alone() -> None:
    known = {"A": tm.Dim("A", min=2), "B": tm.Dim("B", min=2)}
    facts = ("A >= 9", "A <= 64", "B <= 7", "A % 6 == 0", "A > 2*B", "A != 12")
    reader = SizeReader(
        ["x"], [(known["A"], known["B"])], [read_constraint(text, dict(known)) for text in facts]
    )
    assert matching(reader, ["x"], {"A": "a", "B": "b"}, "return None") == [
        "try:",
        "    a, b = x",
        "    if not (9 <= a <= 60 and 2 <= b <= 7 and a % 6 == 0 and a > 2*b and a != 12): return None",
        "except ZeroDivisionError: return None",
    ]

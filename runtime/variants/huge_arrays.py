"""Arrays that a program makes and that are too large for the sizes of a call: the function runs, and NumPy says so."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...compiler.dtypes import BOOL
from ...compiler.frontend.program import Program
from ...compiler.shapes.dim import Dim
from ...compiler.shapes.spelling import spelled
from ...compiler.symbolic_size import HUGE


def bytes_of_new_arrays(program: Program, names: Collection[str]) -> tuple[Dim, ...]:
    """The bytes of the arrays that a program makes, by the sizes of its arguments, which have these names."""
    types = [one.type for one in program.arguments]
    given = {
        type.shape for type in types if type.dtype != BOOL
    }  # an int is passed as the length of an array of bools
    counts: list[Any] = [
        math.prod(shape) * itemsize for shape, itemsize in program.new_shapes if shape not in given
    ]
    found = {
        repr(count): count
        for count in counts
        if isinstance(count, Dim) and all(str(size) in names for size in count.sizes)
    }
    return tuple(found[text] for text in sorted(found))


def are_huge(counts: Sequence[Dim], sizes: Mapping[str, int]) -> bool:
    """Whether an array is too large for these sizes."""
    return any(count.at(sizes) >= HUGE for count in counts)


def condition(counts: Sequence[Dim], names: Mapping[str, str]) -> str:
    """The same as a Python expression, with these variables of the sizes; empty if there are no counts."""
    return " or ".join(f"{spelled(count.terms, names)} >= {HUGE}" for count in counts)

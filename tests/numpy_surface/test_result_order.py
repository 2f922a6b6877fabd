"""Every use of NumPy's functions gives results in NumPy's memory order, and views where NumPy gives views.

The uses are those of the samples, on arguments in Fortran order.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import optree

import tracemill as tm
from numpy_surface.layout_programs import different_order, quiet
from samples import numpy_functions, numpy_linalg, numpy_math
from samples.grouping import Case, in_groups
from tracemill.compiler.dtypes import Array

Use = Callable[..., Any]
Layout = Callable[[Array], Array]


def in_fortran_order(x: Array) -> Array:
    return x.copy(order="F")


def uses() -> Iterator[tuple[str, int, Use, list[Any]]]:
    """Each use of the tables: the function's name, the number of the use, and the arrays that it takes."""
    for table, arrays_of in (
        (numpy_functions.all_uses(), numpy_functions.arguments_of),
        (numpy_linalg.USES, numpy_linalg.arguments_of),
    ):
        for name, of_name in table.items():
            for number, use in enumerate(of_name):
                yield name, number, use, arrays_of(use)
    for chapter in numpy_math.CHAPTERS.values():
        for name, (kinds, functions) in chapter.items():
            x = numpy_math.X[numpy_math.OF_KIND[kinds[0]][0]]
            for number, use in enumerate(functions):
                yield name, number, use, [x]


def cases() -> Iterator[Case]:
    """The first use of each function with arrays in Fortran order."""
    for name, number, use, arrays in uses():
        if number == 0:
            yield Case(name, name, (use, arrays, (in_fortran_order,)))


CASES = list(cases())


def arranged(layout: Layout, arrays: list[Any]) -> list[Any]:
    return [layout(x) if isinstance(x, np.ndarray) else x for x in arrays]


def array_leaves(results: Any) -> list[Array]:
    return [x for x in optree.tree_leaves(results) if isinstance(x, np.ndarray)]


def overwriting(use: Use) -> Use:
    """The use, whose results are then written to."""

    def overwritten(*args: Any) -> None:
        for result in optree.tree_leaves(use(*args)):
            if isinstance(result, np.ndarray) and result.ndim:
                if any(s == 0 and n > 1 for s, n in zip(result.strides, result.shape, strict=True)):
                    raise ValueError(
                        "read-only: NumPy warns that it will refuse to write to a broadcast array"
                    )
                result[...] = 1

    return overwritten


def outcome(function: Use, arguments: list[Any]) -> Any:
    """What the function makes of its arguments, or that the view to which it writes is read-only, or will be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", FutureWarning)  # of np.broadcast_arrays
            function(*arguments)
    except (ValueError, FutureWarning) as error:
        if "read-only" not in str(error) and "writeable" not in str(error):
            raise
        return "read-only"
    return arguments


@in_groups(CASES)
def test_results_have_numpys_memory_order(use: Use, arrays: list[Any], layouts: Sequence[Layout]) -> None:
    problems = []
    for layout in layouts:
        ours, theirs = arranged(layout, arrays), arranged(layout, arrays)
        with quiet():
            expected = array_leaves(use(*theirs))
            found = array_leaves(tm.compile(use, backend="numpy")(*ours))
        for want, got in zip(expected, found, strict=True):
            shared = any(want is not x and np.may_share_memory(want, x) for x in [*theirs, *expected])
            if want.size and (problem := different_order(got, want, shared)):
                problems.append(f"{layout.__name__}: {problem[1]}, strides {got.strides} for {want.strides}")
    assert not problems, "\n".join(problems)


@in_groups(CASES)
def test_writes_to_results_are_seen_in_arguments_where_numpy_gives_views(
    use: Use, arrays: list[Any], layouts: Sequence[Layout]
) -> None:
    problems = []
    for layout in layouts:
        ours, theirs = arranged(layout, arrays), arranged(layout, arrays)
        expected = outcome(overwriting(use), theirs)
        found = outcome(tm.compile(overwriting(use), backend="numpy"), ours)
        if isinstance(expected, str) or isinstance(found, str):
            if expected != found:
                problems.append(f"{layout.__name__}: {found} for {expected}")
            continue
        for want, got in zip(expected, found, strict=True):
            if not np.array_equal(got, want, equal_nan=np.asarray(want).dtype.kind in "fc"):
                problems.append(f"{layout.__name__}: an argument is\n{got}\ninstead of\n{want}")
    assert not problems, "\n".join(problems)


def test_the_walk_covers_the_functions_that_are_sampled() -> None:
    assert len({case.group for case in CASES}) >= 250

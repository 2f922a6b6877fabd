"""What calls do, and whether two do the same."""

import copy
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

from programs.program import Arguments


@dataclass(frozen=True)
class Outcome:
    """What a call gave, or what it raised, and its arguments afterwards."""

    result: Any
    raised: Exception | None
    arguments: Arguments


def outcome(function: Callable[..., Any], arguments: Arguments) -> Outcome:
    """Call the function on a copy of the arguments."""
    arguments = copy.deepcopy(arguments)
    try:
        return Outcome(function(*arguments), None, arguments)
    except Exception as error:
        return Outcome(None, error, arguments)


def leaves(tree: Any) -> list[Any]:
    """The arrays and numbers in a result; None is one, too."""
    return optree.tree_leaves(tree, none_is_leaf=True)


def assert_same_tree(actual: Any, expected: Any, rtol: float) -> None:
    """The same containers of arrays and numbers, of the same types and, but for rounding, values."""
    structure = optree.tree_structure(expected, none_is_leaf=True)
    assert optree.tree_structure(actual, none_is_leaf=True) == structure
    for ours, theirs in zip(leaves(actual), leaves(expected), strict=True):
        if isinstance(theirs, (str, type(None))):
            assert ours == theirs
            continue
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        tolerance = rtol if theirs.dtype.kind in "fc" else 0.0
        np.testing.assert_allclose(ours, theirs, tolerance, tolerance)


def assert_same_outcome(actual: Outcome, expected: Outcome, rtol: float) -> None:
    """Equal results and equally changed arguments, or the same exception with the same message."""
    if expected.raised is None:
        if actual.raised is not None:
            raise actual.raised
        assert_same_tree(actual.result, expected.result, rtol)
        assert_same_tree(actual.arguments, expected.arguments, rtol)
    else:
        assert actual.raised is not None, f"no exception, but {actual.result}"
        assert (type(actual.raised), str(actual.raised)) == (type(expected.raised), str(expected.raised))


@contextmanager
def named(case: str) -> Generator[None]:
    """Say in a failure what it happened in."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in {case}")
        raise

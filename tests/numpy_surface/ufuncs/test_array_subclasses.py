"""Subclasses of NumPy's arrays have rules of their own, which a graph does not know."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

pytestmark = pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")


class Length(np.ndarray):
    """An array with a unit, say."""


ARRAYS = {
    "masked": np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]]),
    "matrix": np.asarray([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix),
    "own": np.array([[1.0, 2.0], [3.0, 4.0]]).view(Length),
}
MEETINGS: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda x, other: x * other,
    "sum": np.add,
    "product from the left": lambda x, other: other * x,
    "choice": lambda x, other: np.where(x > 0, other, x),
    "number": lambda x, other: x[0, 0] * other,
    "in place": lambda x, other: np.multiply(x, other, out=x * 1),
}


@pytest.mark.parametrize("meet", MEETINGS.values(), ids=MEETINGS)
@pytest.mark.parametrize("other", ARRAYS.values(), ids=ARRAYS)
def test_a_subclass_does_not_meet_a_traced_array(other: Any, meet: Callable[[Any, Any], Any]) -> None:
    x = np.ones((2, 2))
    for transformed in (tm.compile(lambda x: meet(x, other)), tm.grad(lambda x: np.sum(meet(x, other)))):
        with pytest.raises(tm.errors.TracemillError):
            transformed(x)


@pytest.mark.parametrize("other", ARRAYS.values(), ids=ARRAYS)
def test_the_error_names_the_class_and_the_fix(other: Any) -> None:
    fix = (
        r"x\.filled" if isinstance(other, np.ma.MaskedArray) else r"np\.asarray"
    )  # which would drop the mask
    with pytest.raises(
        tm.errors.ArgumentTypeError, match=rf"a {type(other).__name__} has other rules .* {fix}"
    ):
        tm.compile(lambda x: x + other)(np.ones((2, 2)))


@pytest.mark.parametrize("other", ARRAYS.values(), ids=ARRAYS)
def test_what_is_computed_from_it_alone_keeps_its_rules(other: Any) -> None:
    def scaled(x: Any) -> Any:
        return x * float((other * other).sum())

    np.testing.assert_array_equal(tm.compile(scaled)(np.ones(2)), scaled(np.ones(2)))


def test_a_memory_map_is_a_plain_array(tmp_path: Any) -> None:
    other = np.memmap(tmp_path / "numbers", dtype=np.float64, mode="w+", shape=(2,))
    other[:] = 3.0
    np.testing.assert_array_equal(tm.compile(lambda x: x * other)(np.ones(2)), [3.0, 3.0])

"""``flag is True`` of a traced bool: Python's own if it comes of Python's numbers, otherwise refused.

The result of a comparison of NumPy's numbers is neither True nor False, and a program cannot tell the two kinds apart.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ConcretizationError


def compared(x: Any) -> Any:
    return 1 if (x > 0) is True else 0


def not_false(x: Any) -> Any:
    positive = x > 0
    if positive is not False:
        return 1
    return 0


def flagged(x: Any) -> Any:
    flag = True
    if x > 1:
        flag = False
    return flag is True, flag is not True, flag is False


def unset_at_first(x: Any) -> Any:
    found = None
    if x > 1:
        found = True
    return found is None, found is True


def with_another(x: Any) -> Any:
    same = (x > 0) is (x > 1)
    return same, (x > 0) is not (x > 1)


def with_a_variable(x: Any) -> Any:
    wanted, positive = True, x > 0
    if positive is wanted:
        return wanted is positive, True is (x > 1)
    return positive is None, positive is not wanted


def by_function(x: Any) -> Any:
    return operator.is_(x > 0, True), operator.is_not(x > 0, False)


def with_itself(x: Any) -> Any:
    positive, other = x > 0, x
    again = positive
    return positive is again, other is x, x is not other


@pytest.mark.parametrize(
    "function",
    [compared, not_false, flagged, unset_at_first, with_another, with_a_variable, by_function, with_itself],
)
def test_a_bool_of_pythons_numbers_is_true_or_false(function: Callable[[Any], Any]) -> None:
    compiled = tm.compile(function, backend="numpy", on_recompile="ignore")
    for x in (2.0, 0.5, -1.0):
        assert compiled(x) == function(x)


@pytest.mark.parametrize("function", [compared, not_false, with_another, with_a_variable, by_function])
def test_a_bool_of_elements_may_be_neither_and_is_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(ConcretizationError, match=r"is neither: write `if flag:`"):
        tm.compile(lambda x: function(x[0]), backend="numpy")(np.ones(2))


@pytest.mark.parametrize("flag", [True, False])
def test_a_bool_is_compared_with_a_bool_argument(flag: bool) -> None:
    def function(x: float, flag: bool) -> Any:
        return (x > 0) is flag, flag is not (x > 0)

    compiled = tm.compile(function, backend="numpy", on_recompile="ignore")
    for x in (2.0, -1.0):
        assert compiled(x, flag) == function(x, flag)


@pytest.mark.parametrize("function", [lambda x, y: min(x, y) is x, lambda x, y: (x if x > 0 else y) is not y])
def test_whether_two_numbers_are_one_object_is_refused(function: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(ConcretizationError, match="asks whether they are one object"):
        tm.compile(function, backend="numpy")(1.0, 2.0)


def test_a_flag_that_elements_decide_is_pythons() -> None:
    compiled = tm.compile(lambda x: flagged(x[0]), backend="numpy", on_recompile="ignore")
    for x in (2.0, 0.5, -1.0):
        assert compiled(np.array([x])) == flagged(x)


def test_a_flag_of_a_loop_is_pythons() -> None:
    def passes(v: Any) -> int:
        done, count = False, 0
        while done is False:
            done = True
            for i in range(len(v) - 1):
                if v[i] > v[i + 1]:
                    v[i], v[i + 1] = v[i + 1], v[i]
                    done = False
            count += 1
        return count

    compiled = tm.compile(passes, backend="numpy", on_recompile="ignore")
    for x in ([3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [3.0, 2.0, 1.0]):
        ours, theirs = np.array(x), np.array(x)
        assert compiled(ours) == passes(theirs)
        np.testing.assert_array_equal(ours, theirs)
    rows = np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(tm.compile(tm.vmap(passes))(rows.copy()), [passes(row) for row in rows])

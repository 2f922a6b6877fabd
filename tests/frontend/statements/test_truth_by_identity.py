"""``flag is True`` of a traced bool: Python's own if it comes of Python's numbers, otherwise refused.

The result of a comparison of NumPy's numbers is neither True nor False, and a program cannot tell the two kinds apart.
"""

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


@pytest.mark.parametrize("function", [compared, not_false, flagged, unset_at_first])
def test_a_bool_of_pythons_numbers_is_true_or_false(function: Callable[[Any], Any]) -> None:
    compiled = tm.compile(function, backend="numpy", on_recompile="ignore")
    for x in (2.0, 0.5, -1.0):
        assert compiled(x) == function(x)


@pytest.mark.parametrize("function", [compared, not_false, flagged])
def test_a_bool_of_elements_may_be_neither_and_is_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(ConcretizationError, match=r"is neither: write `if flag:`"):
        tm.compile(lambda x: function(x[0]), backend="numpy")(np.ones(2))


def test_a_flag_of_a_loop_is_refused_rather_than_false() -> None:
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

    with pytest.raises(ConcretizationError, match="is neither"):
        tm.compile(passes, backend="numpy")(np.array([3.0, 1.0, 2.0]))

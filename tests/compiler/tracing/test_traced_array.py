"""What Python asks of a traced array beside operators and methods: numbers, copies, pickles, another dtype."""

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from numpy_surface.differential import check, check_both_raise, run_traced
from tracemill.compiler.errors import ConcretizationError

X = np.array([1.5, -2.5, 3.0])


@pytest.mark.filterwarnings("ignore:Setting the (shape|dtype):DeprecationWarning")
def test_the_dtype_can_be_set_and_writes_reach_the_base() -> None:
    def use(x: Any) -> Any:
        y = x[:]
        y.dtype = np.int64
        y[0] = 0
        return x, y

    check(use, X)


def with_python_numbers(x: Any) -> Any:
    return complex(x[0]) * x, math.trunc(x[1]) * x, int(x[2]) * x, float(x[0]) * x


@pytest.mark.parametrize(
    "use",
    [
        with_python_numbers,
        lambda x: copy.copy(x[0]) * x,
        lambda x: copy.deepcopy(x)[0] * x,
        lambda x: np.arange(3.0)[x > 0],
    ],
)
def test_what_python_makes_of_values_is_what_it_makes_in_numpy(use: Callable[[Any], Any]) -> None:
    check(use, X)
    for ours, theirs in zip(tm.compile(use)(X), use(X), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("use", [lambda x: np.ones(3)[x], lambda x: np.ones(2)[x > 0]])
def test_what_numpy_does_not_take_as_an_index_is_refused(use: Callable[[Any], Any]) -> None:
    check_both_raise(use, X)


def test_a_traced_array_cannot_be_pickled() -> None:
    with pytest.raises(ConcretizationError, match="cannot be pickled: return it from the function instead"):
        run_traced(pickle.dumps, X)

"""Objects with ``__index__`` are indices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import IndexTypeError

X = np.array([1.0, 2.0, 5.0, 7.0])


class At:
    def __init__(self, place: Any) -> None:
        self.place = place

    def __index__(self) -> Any:
        return self.place


def written(x: Any) -> Any:
    y = x.copy()
    y[At(1)] = 3.0
    y[At(0)] += 2.0
    return y


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[At(1)],
        lambda x: x[At(-1)] * x[At(2)],
        lambda x: x[At(0) : At(2)].sum(),
        lambda x: x.reshape(2, 2)[At(1), At(0)],
        lambda x: x.reshape(2, 2)[:, At(1)],
        written,
    ],
)
def test_a_compiled_function_reads_and_writes_at_them(function: Callable[[Any], Any]) -> None:
    np.testing.assert_array_equal(tm.compile(function)(X), function(X))
    np.testing.assert_array_equal(tm.vmap(function)(X[None])[0], function(X))
    np.testing.assert_array_equal(tm.grad(lambda x: function(x).sum())(X).shape, X.shape)


def test_the_number_may_be_an_argument() -> None:
    compiled = tm.compile(lambda x, k: x[At(k)], on_recompile="ignore")
    for k in (0, 2, 3, -1):
        assert compiled(X, k) == X[k]


@pytest.mark.parametrize("wrong", [object(), At("a"), At(None), At(1.0), At(True)])
def test_other_objects_are_refused(wrong: Any) -> None:
    def read(x: Any) -> Any:
        return x[wrong]

    with pytest.raises(IndexError, match="only integers, slices"):
        read(X)
    with pytest.raises(IndexTypeError, match="only integers, slices"):
        tm.compile(read)(X)

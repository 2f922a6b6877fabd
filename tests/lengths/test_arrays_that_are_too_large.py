"""Arrays that no machine can hold: NumPy's own exception, with NumPy's text."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

BACKENDS = pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
HUGE = 2_000_000_000

OF_INTS: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda n: np.zeros((n, n)),
    "three axes": lambda n: np.zeros((n, n, n), complex),
    "ones": lambda n: np.ones((n, n)) * 2.0,
    "full": lambda n: np.full((n, n, n), 2.5).sum(),
    "arange": lambda n: np.arange(n * n * 4),
    "linspace": lambda n: np.linspace(0, 1, n * n * 8),
    "broadcast_to": lambda n: np.broadcast_to(np.float64(1), (n, n, n)).sum(),
}
OF_VALUES: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda x: np.zeros((int(x.sum()), int(x.sum()))),
    "ones": lambda x: np.ones((len(x[x > 0]) * HUGE, HUGE)),
    "full": lambda x: np.full((int(x[0]), HUGE, HUGE), 0.5),
}


def text_of_error(function: Callable[..., Any], *given: Any) -> tuple[type[BaseException], str]:
    with pytest.raises((ValueError, MemoryError)) as found:
        function(*given)
    return type(found.value), str(found.value)


@BACKENDS
@pytest.mark.parametrize("name", OF_INTS)
def test_a_huge_int_has_numpys_error(name: str, backend: str) -> None:
    function = OF_INTS[name]
    expected = text_of_error(function, HUGE)
    assert text_of_error(tm.compile(function, backend=backend), HUGE) == expected
    compiled = tm.compile(function, backend=backend, on_recompile="ignore")
    for n in (3, 4):
        np.testing.assert_array_equal(compiled(n), function(n))
    assert text_of_error(compiled, HUGE) == expected
    np.testing.assert_array_equal(compiled(5), function(5))


@BACKENDS
@pytest.mark.parametrize("name", OF_VALUES)
def test_a_huge_computed_length_has_numpys_error(name: str, backend: str) -> None:
    function, x = OF_VALUES[name], np.array([3e9, 4e9])
    expected = text_of_error(function, x)
    assert text_of_error(tm.compile(function, backend=backend), x) == expected
    assert text_of_error(tm.grad(lambda x: function(x).sum() * x[0]), x) == expected

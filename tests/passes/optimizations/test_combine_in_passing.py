"""Whether any element is true, and the largest one, are found in the loops that go over the elements anyway."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from graphs.row_programs import softmax
from tracemill.runtime.machine.toolchain import Toolchain


def layer_norm(x: Any) -> Any:
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "elementwise": lambda x: (np.any(x < -2.5), np.sin(x)),
    "after": lambda x: (np.tanh(x), np.all(x < 2.5), x.max()),
    "rows": lambda x: (np.any(x < -2.5), softmax(x)),
    "sums of rows": lambda x: (layer_norm(x), np.all(np.isfinite(x)), np.min(x)),
    "decided": lambda x: (np.where(np.any(x < -2.5), 1, 0), layer_norm(x)),
}
"""Each with an exact reduction of all elements beside what is computed for each element or row."""

SHAPES = [(40_000,), (300, 200), (2000, 3), (30, 4, 500), (70, 1, 600), (100_000, 1)]


@pytest.mark.sampled("after-numpy-(30, 4, 500)", slow=4)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_elements_are_combined_beside_what_goes_over_them(
    name: str, backend: str, shape: tuple[int, ...], c_toolchain: Toolchain
) -> None:
    function = FUNCTIONS[name]
    x = np.random.default_rng(0).normal(size=shape).clip(-2.4, 2.4)
    compiled = tm.compile(function, backend=backend)
    for place in (None, (0,) * len(shape), (-1,) * len(shape), tuple(n // 2 for n in shape)):
        for value in (-3.0, 3.0, np.nan) if place else (0.0,):
            args = x.copy()
            args[place or ...] = value if place else args
            with np.errstate(all="ignore"):
                expected = function(args)
            for found, wanted in zip(compiled(args), expected, strict=True):
                assert np.asarray(found).dtype == np.asarray(wanted).dtype
                np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_kernel_reads_the_elements_once(name: str) -> None:
    lowered = tm.compile(FUNCTIONS[name], backend="numpy").lower(np.ones((300, 200)))
    assert len(lowered.fusion.kernels) == 1


@pytest.mark.parametrize("name", ["rows", "sums of rows", "decided"])
def test_rows_are_checked_in_their_own_loops(name: str, c_toolchain: Toolchain) -> None:
    (kernel,) = tm.compile(FUNCTIONS[name], backend="c").lower(np.ones((3000, 200))).kernels
    assert kernel.source.count("tm_share(") == 1


def test_one_program_does_so_for_all_sizes(c_toolchain: Toolchain) -> None:
    function = FUNCTIONS["rows"]
    compiled = tm.compile(function, backend="c", dynamic=True)
    for shape in [(300, 200), (5, 7000), (1, 40_000), (40_000, 1)]:
        x = np.random.default_rng(1).normal(size=shape)
        for found, wanted in zip(compiled(x), function(x), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_failed_check_beside_rows_is_raised(c_toolchain: Toolchain) -> None:
    def checked(x: Any) -> Any:
        if np.any(x < 0):
            raise ValueError("a weight is negative")
        return softmax(x)

    compiled = tm.compile(checked, backend="c")
    x = np.ones((300, 200))
    np.testing.assert_allclose(compiled(x), softmax(x))
    x[299, 199] = -1
    with pytest.raises(ValueError, match="a weight is negative"):
        compiled(x)

"""Arrays that are read by columns beside arrays that are read by rows are copied in tiles."""

import re
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import tracemill as tm

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "added": lambda x, y: x + y,
    "chosen": lambda x, y: np.where(y > 0, x, y),
    "joined": lambda x, y: np.concatenate([x[:, 1:], y], axis=1),
    "functions": lambda x, y: np.sqrt(np.abs(x)) * np.cos(y),
    "twice": lambda x, y: x[::-1] * x + y,
    "stored before its sum": lambda x, y: (x + y, np.sum(x + y, axis=1)),
}


def drawn(shape: tuple[int, ...], dtype: str) -> Any:
    return (50 * np.random.default_rng(0).normal(size=shape)).astype(dtype)


@pytest.mark.sampled(every=4, slow=4)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dynamic", [False, True], ids=["sizes", "symbols"])
def test_results_are_numpys_at_the_edges_of_tiles(name: str, dynamic: bool) -> None:
    def function(x: Any, y: Any) -> Any:
        return FUNCTIONS[name](x.T, y)

    compiled = tm.compile(function, backend="c", dynamic=dynamic)
    for shape in ((300, 200), (128, 64), (257, 131), (9, 1000), (1000, 9), (5, 3)):
        x, y = drawn(shape[::-1], "f8"), drawn(shape, "f8")
        for found, wanted in zip(compiled(x, y), function(x, y), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16"])
@pytest.mark.parametrize("axes", [*permutations(range(3))], ids=str)
def test_axes_in_any_order(axes: tuple[int, int, int], dtype: str) -> None:
    x = drawn((70, 9, 133), dtype)
    y = drawn(tuple(x.shape[axis] for axis in axes), dtype)
    found = tm.compile(lambda x, y: x.transpose(axes) + y, backend="c", dynamic=False)(x, y)
    np.testing.assert_array_equal(found, x.transpose(axes) + y)


def test_results_are_the_same_for_any_number_of_threads() -> None:
    x = drawn((700, 700), "f4")
    compiled = tm.compile(lambda x: 0.5 * (x + x.T), backend="c", dynamic=False)
    before = tm.get_num_threads()
    try:
        for threads in (1, 2, 3, 8):
            tm.set_num_threads(threads)
            np.testing.assert_array_equal(compiled(x), 0.5 * (x + x.T))
    finally:
        tm.set_num_threads(before)


@pytest.mark.parametrize(("shape", "is_tiled"), [((700, 700), True), ((60, 60), False), ((3, 9000), False)])
def test_short_columns_are_read_where_they_are(shape: tuple[int, int], is_tiled: bool) -> None:
    compiled = tm.compile(lambda x, y: x.T + y, backend="c", dynamic=False)
    text = str(compiled.lower(np.zeros(shape), np.zeros(shape[::-1])).c_source)
    assert ("tm_tile_0[" in text) == is_tiled


@pytest.mark.parametrize("dynamic", [False, True], ids=["sizes", "symbols"])
def test_elements_at_indices_that_the_loop_reads_stay_where_they_are(dynamic: bool) -> None:
    def function(x: Any, places: Any, y: Any) -> Any:
        return np.take_along_axis(x, places, axis=0)[0].T + y

    x, y = drawn((4, 200, 300), "f8"), drawn((300, 200), "f8")
    places = np.random.default_rng(1).integers(0, 4, size=(1, 200, 300))
    found = tm.compile(function, backend="c", dynamic=dynamic)(x, places, y)
    np.testing.assert_array_equal(found, function(x, places, y))


def test_tiles_of_many_arrays_fit_on_the_stack_of_a_thread() -> None:
    def function(arrays: Any, mask: Any, y: Any) -> Any:
        total = y
        for x in arrays:
            total = total + x.T
        return np.where(mask.T, total, y)

    arrays = [drawn((300, 20), "c16") for _ in range(40)]
    mask, y = drawn((300, 20), "f4") > 0, drawn((20, 300), "c16")
    compiled = tm.compile(function, backend="c", dynamic=False)
    text = str(compiled.lower(arrays, mask, y).c_source)
    sizes = [16 * int(size) for size in re.findall(r"complex tm_tile_\d+\[(\d+)\]", text)]
    assert 0 < sum(sizes) <= 1 << 18
    np.testing.assert_allclose(compiled(arrays, mask, y), function(arrays, mask, y), rtol=1e-12)

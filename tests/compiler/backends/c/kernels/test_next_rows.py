"""Where loops go over the rows of a large array several times, the next row is requested after the first time."""

import re
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.backends.c.kernels import next_rows


def softmax(x: Any) -> Any:
    exponentials = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


def weighted(x: Any, y: Any) -> Any:
    """Rows of two arrays, of which the first loop reads both."""
    return x - np.sum(x * y, axis=-1, keepdims=True) * y


def requests(function: Any, *arrays: Any) -> list[str]:
    lowered = tm.compile(function, backend="c").lower(*arrays)
    lines = "\n".join(kernel.source for kernel in lowered.kernels).splitlines()
    return [line.strip() for line in lines if re.match(r"__builtin_prefetch\(.* \+ c, 0, 3\);", line.strip())]


def test_the_next_row_of_each_array_is_requested_once() -> None:
    x = np.zeros((2048, 1024), "f4")
    assert requests(softmax, x) == ["__builtin_prefetch(x + 1024 * i + 1024 + c, 0, 3);"]
    assert len(requests(weighted, x, x.copy())) == 2


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (softmax, (512, 1024)),
        (softmax, (16384, 256)),
        (softmax, (512, 8192)),
        (lambda x: np.sum(np.exp(x), axis=-1), (4096, 1024)),
        (lambda x: softmax(x.T), (1024, 4096)),
    ],
    ids=["an array in the cache", "short rows", "long rows", "one loop", "columns"],
)
def test_other_rows_are_not_requested(function: Any, shape: tuple[int, int]) -> None:
    assert not requests(function, np.zeros(shape, "f4"))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_results_are_numpys_with_the_last_row_of_each_chunk(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_rows, "IN_MEMORY", 0)
    monkeypatch.setattr(next_rows, "SHORTEST", 0)
    rng = np.random.default_rng(0)
    before = tm.get_num_threads()
    for shape in ((1, 5), (7, 33), (300, 1031)):
        x = rng.normal(size=shape).astype(dtype)
        x[-1, -1] = np.nan
        assert requests(softmax, x) or shape[0] == 1
        for dynamic in (False, True):
            program = tm.compile(softmax, backend="c", dynamic=dynamic)
            results = []
            for threads in (1, 2, 3, 8):
                tm.set_num_threads(threads)
                results.append(program(x))
            np.testing.assert_allclose(results[0], softmax(x), 1e-6 if dtype == "f4" else 1e-14)
            assert len({result.tobytes() for result in results}) == 1
    tm.set_num_threads(before)


def test_gradients_of_views_are_those_of_numpy_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_rows, "IN_MEMORY", 0)
    monkeypatch.setattr(next_rows, "SHORTEST", 0)
    slope = tm.grad(lambda x: np.sum(softmax(x[::-1, 1:]) ** 2))
    x = np.random.default_rng(1).normal(size=(40, 130))
    ours, numpys = (tm.compile(slope, backend=backend)(x) for backend in ("c", "numpy"))
    np.testing.assert_allclose(ours, numpys, 1e-12, 1e-15)

"""Ints among the arguments as sizes, counts, axes and exponents: NumPy's results and exceptions, whatever they are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

X = np.arange(3.0)
SIZES: dict[str, Callable[[Any, int], Any]] = {
    "eye": lambda x, n: np.eye(n),
    "identity": lambda x, n: np.identity(n),
    "indices": lambda x, n: np.indices((n, 2)),
    "tri": lambda x, n: np.tri(n),
    "wide tri": lambda x, n: np.tri(3, n),
    "triu_indices": lambda x, n: np.stack(np.triu_indices(n)),
    "tile": lambda x, n: np.tile(x, (n, 1)),
    "repeat": np.repeat,
    "linspace": lambda x, n: np.linspace(x[0], x[1], n),
    "resize": np.resize,
    "pad": np.pad,
    "reshape": lambda x, n: x.reshape(3, n),
    "rest": lambda x, n: x.reshape(n, -1),
    "hamming": lambda x, n: np.hamming(n),
    "kaiser": lambda x, n: np.kaiser(n, x[2]),
    "bincount": lambda x, n: np.bincount(np.array([0, 1]), minlength=n),
    "array_split": lambda x, n: np.array_split(x, n)[0],
    "split": lambda x, n: np.split(x, n)[0],
    "ones": lambda x, n: np.ones((n, 3)) * x,
    "matrix_power": lambda x, n: np.linalg.matrix_power(np.eye(2) * x[2], n),
    "axis": lambda x, n: np.stack([x, x]).sum(axis=n),
    "two axes": lambda x, n: np.swapaxes(np.stack([x, x]), 0, n),
    "new axis": np.expand_dims,
    "moved axis": lambda x, n: np.moveaxis(np.stack([x, x]), 0, n),
}


def outcome(function: Callable[[Any, int], Any], n: int) -> Any:
    try:
        result = function(X, n)
    except (ValueError, ZeroDivisionError) as error:
        kind = next(one for one in (np.exceptions.AxisError, ValueError, Exception) if isinstance(error, one))
        return kind, str(error).split("\n")[0]
    return result.dtype, result.tolist()


@pytest.mark.parametrize("name", SIZES)
def test_every_int_does_what_it_does_in_numpy(name: str) -> None:
    function = SIZES[name]
    for order in ((2, -1, 0, -2, 3, 1, 5), (-1, 2)):
        compiled = tm.compile(function, max_variants=16)
        for n in order:
            assert repr(outcome(compiled, n)) == repr(outcome(function, n)), n


def test_an_axis_error_says_which_axis_and_of_how_many() -> None:
    with pytest.raises(
        np.exceptions.AxisError, match="axis 2 is out of bounds for array of dimension 1"
    ) as caught:
        tm.compile(lambda x: x.sum(axis=2))(X)
    assert (caught.value.axis, caught.value.ndim) == (2, 1)


# ---- numbers that no array has as a size ------------------------------------------------------------------

FAR: dict[str, Callable[[Any, int], Any]] = {
    "trace": np.trace,
    "diagonal": np.diagonal,
    "diag of a matrix": np.diag,
    "eye": lambda x, n: np.eye(3, k=n) + x[0, 0],
    "tri": lambda x, n: np.tri(3, k=n) + x[0, 0],
    "tril": np.tril,
    "triu": np.triu,
    "axis": lambda x, n: np.sum(x, axis=n),
    "two axes": lambda x, n: np.swapaxes(x, 0, n),
    "new axis": np.expand_dims,
    "sorting": lambda x, n: np.sort(x, axis=n),
    "joining": lambda x, n: np.concatenate([x, x], axis=n),
    "flip": np.flip,
    "roll": np.roll,
    "resize": np.resize,
}


@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FAR)
@pytest.mark.parametrize("n", [2**63, -(2**63) - 1])
def test_ints_beyond_64_bits_have_numpys_results_and_exceptions(name: str, backend: str, n: int) -> None:
    function, x = FAR[name], np.arange(12.0).reshape(3, 4)
    if name in ("tri", "tril", "triu") and n < 0:
        n = -(2**62)  # NumPy's sums with sizes stay in 64 bits
    compiled = tm.compile(lambda x: function(x, n), backend=backend)
    expected, found = (outcome_of(one, x) for one in (lambda x: function(x, n), compiled))
    np.testing.assert_array_equal(found, expected)


def outcome_of(function: Callable[[Any], Any], x: Any) -> Any:
    try:
        return function(x)
    except (OverflowError, MemoryError, ValueError) as error:
        return f"{isinstance(error, OverflowError)}: {error}".partition("\n")[0]


def test_arrays_resized_beyond_memory_have_numpys_error() -> None:
    for shape in (2**60, (2**40, 2**20)):
        with pytest.raises(MemoryError):
            np.resize(np.ones(3), shape)
        with pytest.raises(MemoryError):
            tm.compile(lambda x, shape=shape: np.resize(x, shape), backend="numpy")(np.ones(3))

"""What shares memory in a function that is differentiated without compile: what NumPy says, for each function."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

Array = np.ndarray[Any, np.dtype[Any]]

SQUARE = np.arange(9.0).reshape(3, 3)

VIEWS_OR_COPIES: dict[str, Callable[[Array], Array]] = {
    "einsum ii->i": lambda x: np.einsum("ii->i", x),
    "einsum ij->ji": lambda x: np.einsum("ij->ji", x),
    "einsum i...->...i": lambda x: np.einsum("i...->...i", x),
    "einsum by lists": lambda x: np.einsum(x, [0, 0], [0]),
    "einsum i,i->i": lambda x: np.einsum("ij,ij->ij", x, np.ones((3, 3))),
    "diff of no order": lambda x: np.diff(x, n=0),
    "diff": np.diff,
    "tile once": lambda x: np.tile(x, 1),
    "repeat once": lambda x: np.repeat(x, 1, axis=0),
    "roll by nothing": lambda x: np.roll(x, 0),
    "sum of no axis": lambda x: np.sum(x, axis=()),
    "max of no axis": lambda x: np.max(x, axis=()),
    "concatenate one": lambda x: np.concatenate([x]),
    "where": lambda x: np.where(True, x, x),
    "triu of all": lambda x: np.triu(x, -9),
    "atleast_2d": np.atleast_2d,
    "squeeze": np.squeeze,
    "ravel": np.ravel,
    "ravel of a transpose": lambda x: np.ravel(x.T),
    "reshape of a transpose": lambda x: np.reshape(x.T, -1),
    "real": np.real,
    "asarray": np.asarray,
    "array": np.array,
    "asarray in F order": lambda x: np.asarray(x, order="F"),
}


def written_through(function: Callable[[Array], Array], before: Callable[[Array], Array]) -> Any:
    """Write to what the function gives, and return the array that it was given."""

    def program(x: Array) -> Array:
        array = before(x)
        found = function(array)
        found[0] = 7
        product: Array = array * x
        return product

    return program


def seen_through(function: Callable[[Array], Array], before: Callable[[Array], Array]) -> Any:
    """Write to the array, and return what the function had given."""

    def program(x: Array) -> Array:
        array = before(x)
        found = function(array)
        array[0, 0] = 7
        product: Array = found * np.sum(x)
        return product

    return program


@pytest.mark.parametrize("programs", [written_through, seen_through])
@pytest.mark.parametrize("name", VIEWS_OR_COPIES)
def test_functions_share_memory_as_in_numpy(name: str, programs: Any) -> None:
    arrays = (
        lambda x: 2 * x,  # depends on what is differentiated
        lambda x: np.zeros((3, 3)),
        lambda x: np.floor(x).astype(int),
        lambda x: x > 3,
    )
    for before in arrays:
        program = programs(VIEWS_OR_COPIES[name], before)
        expected = program(SQUARE.copy())
        for _ in range(2):  # the first call prepares the second
            value, slope = tm.jvp(program, (SQUARE,), (np.ones((3, 3)),))
            np.testing.assert_array_equal(value, expected)
            assert slope.flags.writeable
            assert slope.flags.c_contiguous
    program = programs(VIEWS_OR_COPIES[name], arrays[0])
    np.testing.assert_allclose(tm.jacrev(program)(SQUARE), tm.jacfwd(program)(SQUARE))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: -np.sum(x),
        lambda x: np.mean(x, 0)[1],
        lambda x: np.sum(np.cumsum(x, 1)),
        lambda x: np.sum(x.T * np.arange(3.0)),
        lambda x: np.sum(x[::-1]),
    ],
)
def test_gradients_are_own_memory_in_c_order(function: Any) -> None:
    for x in (SQUARE, np.asfortranarray(SQUARE)):
        gradient = tm.grad(function)(x)
        assert gradient.flags.c_contiguous
        assert gradient.flags.writeable
        np.testing.assert_allclose(gradient, tm.compile(tm.grad(function))(x))

"""Arrays of other byte orders and in files are taken like others. Subclasses with rules of their own are refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ArgumentTypeError, DTypeError, ReadOnlyError

X: Final = np.array([1.0, 2.0, 3.0])
SWAPPED: Final = np.dtype(np.float64).newbyteorder("S")
TRANSFORMS: Final[dict[str, Callable[[Any], Any]]] = {
    "compile": tm.compile,
    "vmap": tm.vmap,
    "grad": lambda f: tm.grad(lambda x: np.sum(f(x))),
    "compiled grad": lambda f: tm.compile(tm.grad(lambda x: np.sum(f(x)))),
    "jacrev": tm.jacrev,
    "jacfwd": tm.jacfwd,
    "jvp": lambda f: lambda x: tm.jvp(f, (x,), (x,))[1],
    "vjp": lambda f: lambda x: tm.vjp(f, x)[1](x)[0],
}


def times(x: Any) -> Any:
    return x * x


@pytest.mark.parametrize("name", TRANSFORMS)
def test_swapped_bytes_give_the_results_of_native_ones(name: str) -> None:
    f = TRANSFORMS[name](times)
    found = f(X.astype(SWAPPED))
    assert found.dtype == np.float64
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, f(X))


@pytest.mark.parametrize("dtype", "i2 u4 i8 f2 f4 f8 c8 c16".split())
def test_each_dtype_with_swapped_bytes(dtype: str) -> None:
    native = np.arange(4).astype(dtype)
    found = tm.compile(times)(native.astype(native.dtype.newbyteorder("S")))
    assert found.dtype is native.dtype
    np.testing.assert_array_equal(found, native * native)


def test_both_byte_orders_share_a_program_and_containers_hold_either() -> None:
    f = tm.compile(lambda p: p["a"] * p["b"])
    for a, b in ((X, X), (X.astype(SWAPPED), X), (X, X.astype(SWAPPED)[::-1][::-1])):
        np.testing.assert_array_equal(f({"a": a, "b": b}), X * X)
    assert len(f.signatures()) == 1


def test_swapped_bytes_from_outside_are_read_in_each_call() -> None:
    scale = X.astype(SWAPPED)
    f = tm.compile(lambda x: x * scale)
    np.testing.assert_array_equal(f(X), X * X)
    scale[0] = 7.0
    np.testing.assert_array_equal(f(X), [7.0, 4.0, 9.0])
    np.testing.assert_array_equal(tm.grad(lambda x: np.sum(x * scale))(X), [7.0, 2.0, 3.0])


def test_an_argument_with_swapped_bytes_is_not_written_to() -> None:
    def write(x: Any) -> None:
        x[0] = 5.0

    x = X.astype(SWAPPED)
    with pytest.raises(ReadOnlyError, match=r"args\[0\] is read-only"):
        tm.compile(write)(x)
    assert x[0] == 1.0


def test_a_memory_map_is_an_argument_and_a_constant(tmp_path: Path) -> None:
    X.tofile(tmp_path / "x")
    for mode in ("r", "r+", "c"):
        stored: Any = np.memmap(tmp_path / "x", np.float64, mode)
        for transform in TRANSFORMS.values():
            np.testing.assert_array_equal(transform(times)(stored), transform(times)(X))
        np.testing.assert_array_equal(tm.compile(lambda x, m=stored: x * m)(X), X * X)
        np.testing.assert_array_equal(tm.grad(lambda x, m=stored: np.sum(x * m))(X), X)


def test_a_memory_map_is_written_in_place(tmp_path: Path) -> None:
    X.tofile(tmp_path / "x")
    stored = np.memmap(tmp_path / "x", np.float64, "r+")

    def write(x: Any) -> None:
        x[1:] = 5.0

    tm.compile(write)(stored)
    stored.flush()
    np.testing.assert_array_equal(np.fromfile(tmp_path / "x"), [1.0, 5.0, 5.0])


class Positions(np.ndarray):
    """A subclass of the user."""


SUBCLASSES: Final[dict[str, tuple[Any, str]]] = {
    "masked": (np.ma.masked_array(X, [False, True, False]), r"is a MaskedArray.*use x\.filled\(fill_value\)"),
    "matrix": (X.reshape(1, 3).view(np.matrix), r"is a matrix.*use np\.asarray\(x\)"),
    "record": (X.view(np.recarray), r"is a recarray.*use np\.asarray\(x\)"),
    "subclass": (X.view(Positions), r"is a Positions.*use np\.asarray\(x\)"),
}


@pytest.mark.parametrize("kind", SUBCLASSES)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_subclass_with_rules_of_its_own_names_the_fix(kind: str, name: str) -> None:
    x, text = SUBCLASSES[kind]
    with pytest.raises(ArgumentTypeError, match=rf"(args\[0\]|tangents\[0\]) {text}"):
        TRANSFORMS[name](times)(x)


def test_a_masked_array_from_outside_names_the_fix() -> None:
    with pytest.raises(ArgumentTypeError, match=r"x\.filled\(fill_value\)"):
        tm.grad(lambda x: np.sum(np.multiply(x, SUBCLASSES["masked"][0])))(X)


def test_structured_arrays_and_texts_are_refused_by_name() -> None:
    for x in (np.zeros(2, [("a", "f8")]), np.array(["a"]), np.array([1, "a"], object)):
        with pytest.raises(DTypeError, match=r"args\[0\]: arrays of dtype"):
            tm.compile(times)(x)

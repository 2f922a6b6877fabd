"""Constructors in a traced function: with traced arguments, without any, and with ``like=``."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from numpy_surface.differential import check, check_both_raise, run_traced
from samples.grouping import in_groups
from samples.numpy_functions import Use, arguments_of, uses_of
from tracemill.compiler.errors import (
    ArgumentTypeError,
    DTypeError,
)

untyped: Any = np
"""NumPy for calls that its type hints do not allow."""
ROW = np.arange(1.0, 5.0)


@in_groups(uses_of("creation"))
def test_this_use_does_what_numpy_does(use: Use) -> None:
    check(use, *arguments_of(use))


LIKE: list[Callable[[Any], Any]] = [
    lambda x: np.zeros((2, 2), like=x),
    lambda x: np.ones(3, np.int8, like=x),
    lambda x: np.full((2,), 7, like=x),
    lambda x: np.empty((0, 3), like=x),
    lambda x: np.arange(2, 8, 3, like=x),
    lambda x: np.array([1, 2], like=x),
    lambda x: np.asarray([1.5], like=x),
    lambda x: np.asanyarray(2, like=x),
    lambda x: np.ascontiguousarray([1], like=x),
    lambda x: np.asfortranarray([1], like=x),
    lambda x: np.require([1], np.float32, like=x),
    lambda x: np.eye(2, 3, like=x),
    lambda x: np.identity(2, like=x),
    lambda x: np.tri(2, k=1, like=x),
    lambda x: np.fromfunction(lambda i: i * 2, (3,), like=x),
]


@pytest.mark.parametrize("use", LIKE)
def test_like_makes_a_traced_array(use: Callable[[Any], Any]) -> None:
    check(use, ROW)
    check(lambda x: use(x) + x[0], ROW)


def test_made_arrays_can_be_written_to() -> None:
    def use(x: Any) -> Any:
        made = [
            np.zeros(3), np.ones((2, 2)), np.full(3, 2.5), np.arange(3.0), np.linspace(0, 1, 3), np.eye(2),
            np.array([1.0, 2.0]), np.zeros_like(x), np.tri(2), np.identity(2), np.meshgrid([1.0, 2.0])[0],
            np.indices((2,), float), np.array(0.0), np.mgrid[0:3.0], np.r_[1.0, 2.0], np.geomspace(1, 4, 3),
        ]  # fmt: skip
        for array in made:
            array[...] = array + x[0]
        return made

    check(use, ROW)


def test_shapes_of_traced_arrays_are_sizes() -> None:
    def use(x: Any, m: Any) -> Any:
        n, k = m.shape
        return (
            np.zeros((n, len(x))),
            np.arange(x.size),
            np.ones(m.ndim),
            np.eye(*m.shape),
            np.zeros(k, m.dtype),
        )

    check(use, ROW, np.ones((2, 3), np.float32))


def test_a_known_number_is_a_size() -> None:
    def use(x: Any) -> Any:
        n = np.array(3)
        sizes = np.array([2, 1]) + 1
        return (
            np.zeros(n),
            np.zeros(sizes),
            untyped.arange(n),
            np.eye(sizes[0]),
            np.reshape(x, sizes - np.array([1, 0])),
        )

    check(use, ROW)


def test_a_number_that_the_program_computes_is_a_size() -> None:
    check(lambda n: (np.zeros(n), np.arange(n), np.eye(n)), np.int64(3))
    for ends in ((), (5.0,), (5, 0.5)):
        check(lambda x, ends=ends: np.arange(x, *ends), np.float64(3.0))


def test_an_array_of_traced_arrays_has_numpys_dtype() -> None:
    def use(f: Any, d: Any, i: Any, u: Any) -> Any:
        return (
            np.array([f, f]),
            np.array([f, d]),
            np.array([f, i]),
            np.array([u, 1]),
            np.array([[f], [True]]),
            np.array([f, 1j]),
        )

    check(use, np.float32(1.5), np.float64(2.5), np.int64(3), np.uint8(4))


@pytest.mark.parametrize(
    "use",
    [
        lambda x: np.array([x, x[:2]]),
        lambda x: np.linspace(0, x, -1),
        lambda x: np.geomspace(0.0, x[0], 3),
        lambda x: untyped.meshgrid(x, x, indexing="yx"),
        lambda x: np.zeros(-1) + x,
        lambda x: np.full((3, 2), x),
        lambda x: np.full(3, 300, np.int8) + x[:3],
        lambda x: np.full_like(x, -1, np.uint32),
    ],
)
def test_what_cannot_be_made_is_refused(use: Callable[[Any], Any]) -> None:
    check_both_raise(use, ROW)


def test_a_matrix_cannot_be_made() -> None:
    with pytest.raises(ArgumentTypeError, match=r"np\.matrix"):
        run_traced(lambda x: np.r_["c", x], ROW)


def test_dtypes_that_cannot_be_traced_are_refused_by_name() -> None:
    for dtype in ("datetime64[s]", "U3", object, ">f8"):
        with pytest.raises(DTypeError, match=r"cannot be traced(.|\n)*at test_creation\.py"):
            run_traced(lambda x, dtype=dtype: np.zeros(3, dtype), ROW)
    for other in (np.datetime64("2020-01-01"), np.str_("a"), ["a"]):
        with pytest.raises(DTypeError, match=r"cannot be traced(.|\n)*at test_creation\.py"):
            run_traced(lambda x, other=other: np.add(x, other), ROW)
    with pytest.raises(ArgumentTypeError, match="objects"):
        run_traced(lambda x: np.array([None, "a"], object) + x, ROW)

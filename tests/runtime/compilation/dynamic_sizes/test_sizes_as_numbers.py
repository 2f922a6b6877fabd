"""Named sizes are ints to the function, wherever numbers are."""

import collections
import contextlib
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracemill as tm
from symbolic.functions_of_any_size import shown
from tracemill.compiler.errors import (
    UndecidedDimError,
)


def test_a_size_is_an_int_to_the_function() -> None:
    def checked(x: Any) -> Any:
        n = x.shape[0]
        assert isinstance(n, int)
        assert isinstance(n, (float, np.integer, int))
        assert not isinstance(n, float)
        match n:
            case int():
                return x / n
            case _:
                return x

    f = tm.compile(checked)
    for count in (3, 5, 8):
        np.testing.assert_array_equal(f(np.ones(count)), np.ones(count) / count)
    assert len(f.signatures()) == 2
    exported = tm.export(checked, "x: f64[B]", constraints="B >= 1").function()
    np.testing.assert_array_equal(exported(np.ones(7)), np.ones(7) / 7)
    assert not isinstance(tm.Dim("B"), int)


def test_a_call_that_fails_takes_no_names_away() -> None:
    f = tm.compile(lambda x: 2 * x[4], dynamic=True)
    for n in (3, 7, 2, 9):
        with pytest.raises(IndexError) if n < 5 else contextlib.nullcontext():
            assert f(np.ones(n)) == 2
    assert shown(f) == ["args[0]: f64[x_0] where x_0 in 2.. and x_0 >= 5"]
    assert repr(f.signatures()) == f"(<{shown(f)[0]}>,)"


def test_what_is_left_of_a_shape_is_refused_beside_a_length_of_0() -> None:
    def rest(x: Any) -> Any:
        return x[:-3].reshape(len(x) - 3, -1)

    f = tm.compile(rest, dynamic=True)
    for n in (3, 5, 9):
        with pytest.raises(ValueError, match="cannot reshape") if n == 3 else contextlib.nullcontext():
            assert f(np.ones((n, 2))).shape == (n - 3, 2)
    assert len(shown(f)) == 1
    loaded = tm.export(rest, "x: f64[N, 2]", constraints="N >= 3").function()
    assert loaded(np.ones((3, 2))).shape == (0, 2)


def test_results_hold_sizes_and_what_is_asked_of_them() -> None:
    f = tm.compile(lambda x: (x.shape, x.size, 2 * len(x) + 1, x.shape[0] > 3), dynamic={"x": "[N, M]"})
    for shape in [(2, 3), (4, 5), (5, 1)]:
        for _ in range(2):  # the general way, then the generated entry
            found = f(np.zeros(shape))
            assert found == (shape, shape[0] * shape[1], 2 * shape[0] + 1, shape[0] > 3)
            assert all(type(size) is int for size in (*found[0], *found[1:3]))
            assert type(found[3]) is bool


@functools.lru_cache
def weight(n: int) -> int:
    return 2 if n > 4 else 3


@pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")
@pytest.mark.parametrize(
    "look",
    [
        lambda n: n in {2, 4, 6},
        lambda n: {2: 5, 6: 7}.get(n, 1),
        lambda n: weight(n),  # noqa: PLW0108
        lambda n: {n: 4}[n] + len({n, 3, n}),
        lambda n: max(collections.Counter([n, 4, n]).values()),
        lambda n: n in (2, 4) or n in [3, 7],
        lambda n: f"{n} rows",
        lambda n: {f"w{k}": 2 * k for k in range(9)}[f"w{n}"] + len(str(n)),
        lambda n: types.SimpleNamespace(rows=n).rows,
        lambda n: [5, 7][n > 4] + 2 * (n > 3) + sum([n > 2, n == 4]),
        lambda n: {True: 1, False: 2}[np.int64(4) < n] if (n > 2) & (n < 6.5) else ~(n > 4) + 3,
        lambda n: (n > 4) is True or (n <= 4) is not True,
        lambda n: (n & (n - 1), n | 1, n ^ 5, 6 & n, 1 << n, n & n),
    ],
)
def test_sizes_are_found_where_numbers_are(look: Any) -> None:
    f = tm.compile(lambda x: (x.sum(), look(x.shape[0])), dynamic=True, on_recompile="ignore")
    for n in (3, 6, 2, 4, 5, 6, 3):
        for _ in range(2):
            assert f(np.ones(n)) == (n, look(n))


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "compute",
    [
        lambda n: 2**n,
        lambda n: 10**n - 1,
        lambda n: n**12,
        lambda n: n**n,
        lambda n: n * (n * n - 1) * 10**14,
        lambda n: 2 ** (5 - n),
    ],
)
def test_numbers_of_sizes_are_as_large_as_pythons(compute: Callable[[int], float]) -> None:
    f = tm.compile(lambda x: (x * compute(x.shape[0]), x + compute(len(x)) / 3), on_recompile="ignore")
    for n in (3, 5, 70, 7, 100, 3):
        scaled, moved = f(np.ones(n))
        np.testing.assert_allclose(scaled, np.full(n, float(compute(n))))
        np.testing.assert_allclose(moved, np.full(n, 1 + compute(n) / 3))


def test_a_size_below_what_an_integer_dtype_holds_is_refused_as_numpy_does() -> None:
    f = tm.compile(lambda x: x + (8 - x.shape[0]), on_recompile="ignore")
    for dtype, largest in ((np.uint8, 8), (np.uint64, 8), (np.int8, 136)):
        for n in (3, 5, largest):
            np.testing.assert_array_equal(f(np.ones(n, dtype)), np.ones(n, dtype) + (8 - n))
        with pytest.raises(OverflowError, match="out of bounds"):
            f(np.ones(largest + 1, dtype))


def _changed(x: np.ndarray, change: Callable[[np.ndarray], None]) -> np.ndarray:
    x = x.copy()
    change(x)
    return x


_MEETING_PIXELS: list[Callable[[np.ndarray, int], Any]] = [
    lambda x, n: n * x,
    lambda x, n: n - x,
    lambda x, n: np.maximum(n, x),
    lambda x, n: (40 - n) * x,
    lambda x, n: 2 ** (n // 9) * x,
    lambda x, n: x[0] + n * 2 // 2,
    lambda x, n: np.array(n, x.dtype) + np.array([[n, 1]], x.dtype),
    lambda x, n: _changed(x, lambda y: y.__setitem__(slice(1, 3), [n, 1])),
    lambda x, n: _changed(x, lambda y: np.put(y, [0, 1], [n, 2])),
    lambda x, n: _changed(x, lambda y: np.putmask(y, y > 3, (n, n))),
    lambda x, n: np.insert(x, 0, n),
    lambda x, n: np.piecewise(x, [x > 3], [n, 0]),  # pyright: ignore[reportCallIssue]
    lambda x, n: np.arange(n - 2, n + 2, dtype=x.dtype),
    lambda x, n: np.arange(0, 3 * n, n, dtype=x.dtype),
    lambda x, n: tm.vmap(lambda row: n * row)(x),
    lambda x, n: n < x,
]


@pytest.mark.sampled(every=4, slow=4)
@pytest.mark.parametrize("meet", _MEETING_PIXELS)
def test_what_an_integer_dtype_cannot_hold_is_refused_as_numpy_does(
    meet: Callable[[np.ndarray, int], Any],
) -> None:
    functions: list[Callable[..., Any]] = [lambda x: meet(x, 9 * len(x)), lambda x: meet(x, 90)]
    for compiled in functions:
        f = tm.compile(compiled, dynamic=True, on_recompile="ignore")
        for dtype in (np.uint8, np.int8, np.uint64):
            for n in (10, 4, 40):
                x = np.arange(1, n + 1).astype(dtype)
                try:
                    expected = compiled(x)
                except OverflowError as error:
                    with pytest.raises(OverflowError, match=str(error)):
                        f(x)
                else:
                    found = f(x)
                    assert found.dtype == expected.dtype
                    np.testing.assert_array_equal(found, expected)


def test_sizes_ask_nothing_of_dtypes_that_hold_them_and_are_declared_for_others() -> None:
    for dtype in (np.int64, np.float16, np.complex64):
        f = tm.compile(lambda x: 9 * len(x) * x + np.array([len(x)], x.dtype), dynamic=True)
        assert not f.lower(np.ones(5, dtype)).guards.guards
    scaled = tm.export(lambda x: 9 * len(x) * x, "x: u8[N]", constraints="N in 1..28").function()
    np.testing.assert_array_equal(scaled(np.ones(28, np.uint8)), np.full(28, 252, np.uint8))
    with pytest.raises(UndecidedDimError, match="N <= 28"):
        tm.export(lambda x: 9 * len(x) * x, "x: u8[N]", constraints="N in 1..100")
    with pytest.raises(OverflowError, match=r"integer 9\*N out of bounds for uint8"):
        tm.export(lambda x: 9 * len(x) * x, "x: u8[N]", constraints="N in 29..100")


@pytest.mark.slow
@pytest.mark.usefixtures("c_toolchain")
def test_arrays_without_elements_have_axes_of_many_sizes() -> None:
    f = tm.compile(lambda x: (x @ x.T, np.sort(x, axis=0), np.cumsum(x, axis=1)), backend="c")
    for columns in (3, 4, 9):
        assert [found.shape for found in f(np.ones((0, columns)))] == [(0, 0), (0, columns), (0, columns)]


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: bool(a < b),
    "==": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    ">=": lambda a, b: bool(a >= b),
    "%": lambda a, b: bool(a % 3 == b % 2),
    "//": lambda a, b: bool(a // 2 < b),
    "*": lambda a, b: bool(a * b > 12),
    "-": lambda a, b: bool(2 * a - b == 3),
    "min": lambda a, b: bool(tm.Dim.minimum(a, 4) == tm.Dim.minimum(b, 5)),
}


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.sampled_from(sorted(_COMPARISONS)), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=8),
    st.sampled_from([None, True, "declared"]),
)
def test_whatever_is_asked_of_sizes_results_are_right_for_all(
    asked: list[str], sizes: list[tuple[int, int]], dynamic: Any
) -> None:
    def answers(x: Any) -> Any:
        weight = 0
        for number, name in enumerate(asked):
            if _COMPARISONS[name](*x.shape):
                weight += 2**number
        return x.sum() * 0 + weight

    f = tm.compile(
        answers, dynamic={"x": "[A, B]"} if dynamic == "declared" else dynamic, on_recompile="ignore"
    )
    for shape in sizes * 2:
        assert f(np.ones(shape)) == answers(np.ones(shape)), (asked, shape, f.signatures())


@pytest.mark.parametrize("of_size", [False, True])
def test_an_index_may_come_of_a_long_chain_of_integers(of_size: bool) -> None:
    """Each step uses the one before twice, so that a walk back must not go through any of them twice."""

    def entry(n: int, x: Any) -> Any:
        for _ in range(60):
            n = (n + n) % 1000
        for _ in range(40):
            n, m = n * 3 + 1, n
            n = n // 2 % 9 + m - m
        return x[(n + (len(x) if of_size else 0)) % 3]

    f = tm.compile(entry)
    for n, count in ((3, 4), (5, 4), (5, 7)):
        x = np.arange(float(count))
        assert f(n, x) == entry(n, x)

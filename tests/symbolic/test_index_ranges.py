"""Index arrays that follow from sizes: what NumPy takes is taken, by one program, and what it refuses is refused."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracemill as tm
from tracemill.compiler.errors import UndecidedDimError

V = np.arange(12.0)


def _called(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except IndexError as error:
        return error


def agree(function: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> int:
    """Compare with NumPy for several sizes; how many programs there are in the end."""
    f = tm.compile(function, dynamic=True, backend="numpy", on_recompile="ignore", max_variants=100)
    for args in arguments:
        expected, found = _called(function, *args), _called(f, *args)
        if isinstance(expected, IndexError):
            assert isinstance(found, IndexError), (args[0].shape, found)
        else:
            np.testing.assert_array_equal(found, expected)
    return len(f.signatures())


def twice(i: Any, row: Any) -> Any:
    """Indices from outside of the mapped function."""
    return row[2 * i[:, None] - i] + row[i]


@pytest.mark.parametrize(
    "function",
    [
        lambda v: v[np.arange(len(v) - 2)[:, None] + np.arange(3)],
        lambda v: v[abs(np.arange(len(v))[:, None] - np.arange(len(v)))],
        lambda v: v[np.arange(len(v))[:, None] - np.arange(len(v))],
        lambda v: v[(np.arange(2 * len(v)) + 3) % len(v)],
        lambda v: v[np.clip(np.arange(len(v)) + np.arange(-2, 3)[:, None], 0, len(v) - 1)],
        lambda v: v[np.where((np.arange(len(v)) <= 1) | (np.arange(len(v)) == 2), 0, np.arange(len(v)) - 2)],
        lambda v: v[np.repeat(np.arange(len(v) // 2), 2)],
        lambda v: v[np.arange(2 * len(v)) // 2],
        lambda v: v[np.cumsum(np.arange(len(v))) % len(v)] + v[np.clip(np.cumsum(v >= 0), 0, len(v) - 1)],
        lambda v: v[np.linspace(0, len(v) - 1, 5).astype(int)],
        lambda v: v[np.rint(np.linspace(0, len(v) - 1, 7)).astype(int)],
        lambda v: v[np.concatenate([np.arange(len(v)), np.arange(len(v) - 1, -1, -1)])],
        lambda v: v[np.argsort(-v)][np.argsort(v)[::2]],
        lambda v: (
            np.outer(v, v)[np.triu_indices(len(v), 1)] + np.outer(v, v)[np.tril_indices(len(v), -1)[::-1]]
        ),
        lambda v: np.outer(v, v)[np.diag_indices(len(v))] - v[np.triu_indices(len(v))[0][: len(v)]],
        lambda v: np.outer(v, v)[tuple(np.indices((len(v), len(v))))],
        lambda v: np.outer(v, v)[np.unravel_index(np.arange(v.size**2), (len(v), len(v)))],
        lambda v: np.outer(v, v)[np.ix_(np.arange(len(v))[::2], np.arange(1, len(v)))],
        lambda v: tm.vmap(lambda row: row[(1 + np.arange(len(v))) % len(v)])(np.outer(v, v)),
        lambda v: tm.vmap(functools.partial(twice, np.arange(len(v) // 2)))(np.outer(v, v)),
    ],
)
def test_one_program_serves_indices_that_are_in_range_for_all_sizes(function: Callable[..., Any]) -> None:
    assert agree(function, [(V[:size],) for size in range(2, 9)]) == 1


@pytest.mark.sampled(every=5, slow=2)
@pytest.mark.parametrize(
    "function",
    [
        lambda v: v[np.where(np.arange(len(v)) < len(v) - 1, np.arange(len(v)) + 1, 0)],
        lambda v: v[(np.arange(2 * len(v)) / 2).astype(int)],
        lambda v: v[(np.arange(2 * len(v)) * 0.5).astype(np.int64)],
        lambda v: v[~np.arange(len(v))] + v[np.arange(len(v)) >> 1] + v[(np.arange(len(v)) & 5) % 2],
        lambda v: v[np.arange((len(v) - 1) // 2 + 1) << 1] + v[np.fmod(np.arange(3), len(v))[0]],
        lambda v: v[np.where((np.arange(9) >= 4) & (np.arange(9) < len(v)), np.arange(9) - 4, -1)],
        lambda v: (
            v[np.floor(np.arange(len(v)) * 0.7).astype(int)] + v[np.rint(np.arange(len(v)) / 2).astype(int)]
        ),
        lambda v: v[((np.arange(5) + 0.5) * (len(v) / 5)).astype(int)],
        lambda v: np.outer(v, np.ones(3 * len(v)))[
            (np.arange(3 * len(v)) * len(v) / (3 * len(v))).astype(int)
        ],
    ],
)
def test_indices_by_choices_or_floats_or_bits_are_looked_at_for_each_size(
    function: Callable[..., Any],
) -> None:
    assert agree(function, [(V[:size],) for size in range(2, 9)]) > 1


@pytest.mark.parametrize(
    "function",
    [
        lambda v, n: v[np.arange(n)[:, None] + np.arange(n)],
        lambda v, n: v[np.triu_indices(n)[1]],
        lambda v, n: v[np.minimum(np.arange(n) * 2, n)],
        lambda v, n: v[(np.arange(n) * np.arange(n)) % 7],
        lambda v, n: v[np.arange(n, dtype=np.int32) - 3],
        lambda v, n: v[np.cumsum(np.ones(n, int))],
        lambda v, n: v[np.full(n, 4)],
        lambda v, n: tm.vmap(lambda row: row[np.cumsum(np.arange(n))])(v[None]),
    ],
)
def test_indices_that_are_out_of_range_for_some_sizes_are_an_error_there(
    function: Callable[..., Any],
) -> None:
    sizes = [(5, 3), (6, 4), (9, 2), (9, 3), (4, 7), (12, 12), (3, 2), (8, 5)]
    agree(lambda v, w: function(v, len(w)), [(V[:size], V[:n]) for size, n in sizes])


def test_one_program_serves_indices_that_follow_from_each_other_over_many_calls() -> None:
    def walked(v: Any) -> Any:
        places, total = np.arange(len(v)), v
        for step in range(60):
            places = (places + 1) % len(v)
            places = np.minimum(places + step % 2, len(v) - 1)
            total = total + v[places]
        return total

    assert agree(walked, [(V[:size],) for size in range(2, 9)]) == 1


def test_a_size_that_wraps_in_few_bits_is_the_number_that_it_becomes() -> None:
    agree(
        lambda v: v[np.asarray(len(v) - 1).astype(np.uint8)],
        [(np.arange(size),) for size in (5.0, 300.0, 9.0)],
    )
    agree(lambda v: np.ones(np.asarray(len(v)).astype(np.uint8) + np.uint8(9)), [(V,), (np.arange(250.0),)])


def test_what_is_written_past_the_end_is_an_error() -> None:
    def paired(v: Any) -> Any:
        out = np.zeros(6)
        out[2 * np.arange(len(v) // 2) % 5 + np.arange(len(v) // 2)] = 1.0
        return out

    agree(paired, [(V[:size],) for size in range(2, 12)])


def test_for_declared_sizes_an_index_that_may_be_out_of_range_is_named() -> None:
    def windows(v: Any, k: Any) -> Any:
        return v[np.arange(len(k)) + np.arange(3)[:, None]]

    loaded = tm.export(windows, "v: f64[N]", "k: f64[K]", constraints=("N in 3..", "K <= N - 2")).function()
    np.testing.assert_array_equal(loaded(V[:6], V[:4]), windows(V[:6], V[:4]))
    with pytest.raises(UndecidedDimError, match=r'Add the constraint "K'):
        tm.export(windows, "v: f64[N]", "k: f64[K]", constraints="N in 3..")
    f32 = np.float32
    halves = tm.compile(
        lambda v: v[np.ceil((np.arange(2 * len(v)) / 2).astype(f32)).astype(int)],
        dynamic={"v": "[N]"},
        constraints="N in 2..99",
    )
    with pytest.raises(IndexError, match="out of bounds"):
        halves(V)
    mirrored = tm.export(lambda v: v[np.clip(np.arange(len(v)) + 1, 0, len(v) - 1)], "v: f64[N]").function()
    np.testing.assert_array_equal(mirrored(V[:3]), V[[1, 2, 2]])


# ---- random ones ----------------------------------------------------------------------------------------

_SIZES = st.sampled_from(["n", "n", "m", "n // 2", "2 * n", "n - 1", "n + 1", "3", "1"])
_NUMBERS = st.sampled_from(["1", "2", "3", "(-1)", "n", "m", "(n - 1)", "(n // 2)"])
_RANGES = st.builds(
    str.format,
    st.sampled_from(
        """np.arange({0}); np.arange(1, {0}); np.arange({0})[::-1]; np.arange({0})[::2]; np.arange({0} - 1, -1, -1)
        np.arange({0}, dtype=np.int32); np.arange({0}, dtype=np.int8); np.linspace(0, {0}, 4).astype(int)
        (np.arange({0}) / 2).astype(int); np.triu_indices({0})[0]; np.tril_indices({0}, -1)[1]""".replace(
            "\n", ";"
        ).split(";")
    ).map(str.strip),
    _SIZES,
)
_CHANGES = """({0} + {1}); ({0} - {1}); ({1} * {0}); ({0} // 2); ({0} % {1}); abs({0}); np.minimum({0}, {1}); {0}[::-1]
    np.maximum({0}, {1}); np.clip({0}, 0, {1}); np.repeat({0}, 2); np.stack([{0}, {0} + 1]).ravel()
    (lambda i: np.where(i < {1}, i + 1, {1}))({0}); (lambda i: np.where(i != {1}, i, 0))({0})
    (lambda i: np.where({1} >= i, i - 1, i * 2))({0})"""
_SHARES = """(({0} + 0.5) * {1} / {2}).astype(int); ({0} * ({1} / {2})).astype(int); np.floor({0} * 0.7).astype(int)
    np.rint({0} / {1}).astype(int); (({0} + 1.5) / {2}).astype(np.int32); (np.fmod({0}, {1}) // {2}); (({0} >> 1) & {1})
    np.clip(np.cumsum({0}), {1}, {2})"""
_PAIRS = """({0}[:, None] + {1}).ravel(); ({0}[:, None] - {1}).ravel(); np.concatenate([{0}, {1}])"""


def _forms(text: str) -> st.SearchStrategy[str]:
    return st.sampled_from([form.strip() for form in text.replace("\n", ";").split(";")])


_INDICES = st.recursive(
    _RANGES,
    lambda inner: st.one_of(
        st.builds(str.format, _forms(_CHANGES), inner, _NUMBERS),
        st.builds(str.format, _forms(_SHARES), inner, _NUMBERS, _NUMBERS),
        st.builds(str.format, _forms(_PAIRS), inner, inner),
    ),
    max_leaves=4,
)


@pytest.mark.slow
@settings(max_examples=2 * settings().max_examples, deadline=None)
@given(_INDICES)
def test_random_indices_are_as_numpy_takes_them(index: str) -> None:
    function = eval(f"lambda x, y: (lambda n, m: x[{index}])(len(x), len(y))", {"np": np})
    sizes = [(5, 3), (6, 4), (4, 7), (12, 12), (7, 2)]
    agree(function, [(V[:n], V[:m]) for n, m in sizes])

"""Functions compiled for arrays of many sizes compute what NumPy computes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from samples.thinning import one_in
from symbolic.functions_of_any_size import shown
from symbolic.programs import OBSERVED, OTHERS, PROGRAMS


def _parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple | list) else [result]


@pytest.mark.sampled(
    "arithmetic:roots-by-math",
    "shapes:deleted-slice",
    "indexing:diagonal-written",
    "creation:frequencies",
    "creation:linspace",
    "products:tensordot-of-axes",
    "order:histogram",
    every=7,
    slow=4,
)
@pytest.mark.parametrize("name", one_in(5, PROGRAMS))
def test_what_is_compiled_for_many_sizes_gives_what_numpy_gives(name: str) -> None:
    program = PROGRAMS[name]
    f = tm.compile(program.function, dynamic=True, on_recompile="ignore")
    for sizes in (OBSERVED, *OTHERS, OBSERVED):
        arrays, plain = program.arrays(sizes), program.arrays(sizes)
        with np.errstate(all="ignore"):
            try:
                expected = _parts(program.function(*plain))
            except (ValueError, IndexError):  # it is not for these sizes
                with pytest.raises((ValueError, IndexError)):
                    f(*arrays)
                continue
            for got, wanted in zip(_parts(f(*arrays)), expected, strict=True):
                assert (got is None) == (wanted is None)
                if wanted is not None:
                    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)
        for got, wanted in zip(arrays, plain, strict=True):
            np.testing.assert_array_equal(got, wanted)
    assert program.guards != "True" or len(f.signatures()) <= 2  # the second where sizes were equal by chance


@pytest.mark.parametrize(
    ("function", "programs"),
    [
        (lambda x: np.sum(x) / np.maximum(len(x), 1), 1),
        (lambda x: x * (np.int64(2) * len(x)), 1),
        (lambda x: x * (len(x) * np.int64(2)), 1),
        (lambda x: x + (len(x) + np.uint8(3)), 1),
        (lambda x: x + np.negative(len(x)) * np.abs(len(x)), 1),
        (lambda x: x * (np.int64(70) // len(x)), 1),
        (lambda x: np.maximum(len(x), 3), 1),
        (lambda x: np.zeros(np.maximum(len(x), 3)) + x[0], 1),
        (lambda x: x[: np.minimum(len(x), 3)], 1),
        (lambda x: x[np.int64(0) + len(x) - 1], 1),
        (lambda x: x if np.minimum(len(x), 8) > 4 else -x, 2),
        (lambda x: x if np.int64(2) * len(x) == 8 else -x, 2),
        (lambda x: sum(x[i] for i in range(np.minimum(len(x), 2))), 1),
        (lambda x: np.ones(np.int64(2) * len(x)).reshape(2, np.int64(1) * len(x)) * x, 1),
    ],
)
def test_sizes_that_numpy_computes_with_are_its_numbers(function: Callable[..., Any], programs: int) -> None:
    f = tm.compile(function, dynamic=True, on_recompile="ignore")
    for size in (2, 3, 4, 7, 9):
        x = np.arange(size, dtype="f4")
        want, got = function(x), f(x)
        assert type(got) is type(want)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    assert len(f.signatures()) == programs


@pytest.mark.parametrize(
    ("function", "fits"),
    [
        (lambda x: np.ones(4)[np.arange(len(x))], 4),
        (lambda x: np.ones((4, 1))[np.arange(len(x))[:, None], 0], 4),
        (lambda x: x[1 - np.arange(len(x))], 10),
        (lambda x: np.ones(5)[2 * np.arange(len(x)) - 3], 4),
        (lambda x: np.ones(4)[np.arange(len(x))[::-1]], 4),
        (lambda x: np.ones(4)[np.arange(2 * len(x))[1::2]], 2),
    ],
)
def test_indices_that_follow_from_sizes_are_in_range_or_an_error(
    function: Callable[..., Any], fits: int
) -> None:
    f = tm.compile(function, dynamic=True, on_recompile="ignore")
    for size in range(2, 11):
        x = np.arange(size, dtype="f8")
        if size <= fits:
            np.testing.assert_array_equal(f(x), function(x))
            continue
        for call in (f, function):
            with pytest.raises(IndexError, match="out of bounds"):
                call(x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * (x.shape[0] / x.shape[1]),
        lambda x: x * (1.0 / x.shape[1]),
        lambda x: x * (1.5 // x.shape[1]),
        lambda x: x * (x.shape[0] % (x.shape[1] * 1.0)) if x.shape[1] else x * (x.shape[0] % 0.0),
        lambda x: x * x.shape[1] ** -1,
        lambda x: x * x.shape[1] ** -0.5,
        lambda x: np.average(x, axis=0),
        lambda x: x + np.fft.fftfreq(x.shape[1]),
    ],
)
@pytest.mark.parametrize("dynamic", [True, False])
def test_a_number_divided_by_the_length_of_an_empty_axis_is_an_error(
    function: Callable[..., Any], dynamic: bool
) -> None:
    f = tm.compile(function, dynamic=dynamic, on_recompile="ignore")
    for rows, columns in ((3, 4), (5, 7), (6, 0), (7, 0)):
        x = np.ones((rows, columns))
        if columns:
            np.testing.assert_allclose(f(x), function(x), rtol=1e-12)
            continue
        for call in (f, function):
            with pytest.raises(ZeroDivisionError):
                call(x)


def test_sizes_that_are_keys_are_numbers_there() -> None:
    f = tm.compile(lambda x: {x.shape[0]: 1, "a": 2 * x}, backend="numpy")
    g = tm.compile(
        lambda x: tm.scan(lambda c, _: ({n: v + 1 for n, v in c.items()}, None), {len(x): x}, length=2)[0],
        backend="numpy",
    )
    for n in (5, 7, 8):
        assert f(np.ones(n))[n] == 1
        np.testing.assert_array_equal(g(np.ones(n))[n], np.full(n, 3.0))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_what_is_convolved_may_be_shorter_or_longer_than_the_other(mode: Any) -> None:
    f = tm.compile(lambda x: np.convolve(x, np.arange(3.0), mode), dynamic=True)
    for n in (2, 5, 9, 3):
        np.testing.assert_allclose(
            f(np.arange(n) + 1.0), np.convolve(np.arange(n) + 1.0, np.arange(3.0), mode)
        )
    assert shown(f) == ["args[0]: f64[2]", "args[0]: f64[x_0] where x_0 in 2.. and x_0 >= 3"]


def test_shifts_masks_and_lengths_in_bits_of_sizes_need_no_number() -> None:
    f = tm.compile(lambda x: (x[: len(x) >> 1], x * (len(x) & 3), math.ceil(len(x)), ~len(x)), dynamic=True)
    g = tm.compile(lambda x: np.pad(x, (0, (1 << (len(x) - 1).bit_length()) - len(x))), dynamic=True)
    for n in (9, 10, 16, 17, 30):
        first, second, *rest = f(np.ones(n))
        assert (first.shape, second[0], *rest) == ((n >> 1,), n & 3, n, ~n)
        np.testing.assert_array_equal(g(np.ones(n)), [1] * n + [0] * ((16 if n < 17 else 32) - n))
    assert (len(f.signatures()), len(g.signatures())) == (1, 2)


def halved(x: Any) -> Any:
    middle = x.shape[0] // 2
    return x.sum() if x.shape[0] < 2 else halved(x[:middle]) + halved(x[middle:])


@pytest.mark.slow
def test_c_reaches_elements_beyond_the_numbers_of_four_bytes(c_compiler: str) -> None:
    """Of memory that is zero, the system keeps no page before it is written: a call takes few."""

    def places(x: Any, at: Any) -> Any:
        flat = x.reshape(-1)
        return x.argmax(), x.max(axis=1), flat[-1], flat[at]

    f = tm.compile(places, backend="c", dynamic=True)
    f(np.zeros((3, 7), np.int8), np.array([1, 5]))
    x = np.zeros((2, 2**30 + 3), np.int8)
    flat = x.reshape(-1)
    flat[[-1, -3, 5]] = 2, 7, 1
    largest, maxima, last, taken = f(x, np.array([x.size - 3, 5]))
    assert (largest, last) == (x.size - 3, 2)
    np.testing.assert_array_equal(maxima, [1, 7])
    np.testing.assert_array_equal(taken, [7, 1])
    assert len(f.signatures()) == 1


@pytest.mark.slow
def test_what_follows_a_size_by_halves_is_compiled_for_one_size_before_long() -> None:
    f = tm.compile(halved, backend="numpy", on_recompile="ignore")
    for n in (8, 32, 21):
        assert f(np.arange(float(n))) == n * (n - 1) / 2


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, x: rng.normal(size=x.shape),
        lambda rng, x: rng.integers(0, 9, len(x)),
        lambda rng, x: rng.choice(len(x), 2),
    ],
)
def test_numpys_generators_fill_arrays_of_their_own_where_sizes_have_names(
    draw: Callable[[Any, Any], Any],
) -> None:
    def noisy(x: Any) -> Any:
        return x.sum() + draw(np.random.default_rng(0), x)

    f = tm.compile(noisy, backend="numpy", on_recompile="ignore")
    for size in (3, 4, 5):
        np.testing.assert_allclose(f(np.ones(size)), noisy(np.ones(size)))

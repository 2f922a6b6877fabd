"""The functions that C programs compute themselves: their errors in units in the last place, and special values."""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import mpmath
import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.backends.c.definitions import source_of
from tracemill.compiler.backends.c.flags import FLAGS
from tracemill.compiler.dtypes import Array

POSITIVE: Final = (0.0, np.inf)
RANGES: Final[dict[str, list[tuple[float, float]]]] = {
    "exp": [(-750, 715), (-105, 90), (-1, 1)],
    "exp2": [(-1080, 1030), (-151, 130), (-1, 1)],
    "expm1": [(-60, 712), (-20, 90), (-2, 2), (-1e-5, 1e-5)],
    "sinh": [(-712, 712), (-92, 92), (-5, 5), (-0.4, 0.4), (-1e-5, 1e-5)],
    "cosh": [(-712, 712), (-92, 92), (-5, 5)],
    "tanh": [(-25, 25), (-1, 1), (-0.1, 0.1), (-1e-5, 1e-5)],
    "log": [POSITIVE, (0.5, 2), (0.99, 1.01)],
    "log2": [POSITIVE, (0.5, 2), (0.99, 1.01)],
    "log10": [POSITIVE, (0.5, 2), (0.99, 1.01)],
    "log1p": [POSITIVE, (-1, 2), (-0.1, 0.1)],
    "sin": [POSITIVE, (-4, 4), (-1e4, 1e4), (-1e-5, 1e-5), (-1e12, 1e12)],
    "cos": [POSITIVE, (-4, 4), (-1e4, 1e4), (-1e12, 1e12)],
    "tan": [POSITIVE, (-4, 4), (-1e4, 1e4), (-1e-5, 1e-5), (-1e12, 1e12)],
    "arcsin": [(-1.01, 1.01), (-0.5, 0.5), (0.99, 1)],
    "arccos": [(-1.01, 1.01), (-0.5, 0.5), (0.99, 1)],
    "arctan": [POSITIVE, (-3, 3), (-0.5, 0.5), (-1e3, 1e3)],
    "arcsinh": [POSITIVE, (-3, 3), (-0.4, 0.4), (-1e-7, 1e-7)],
    "arccosh": [POSITIVE, (0.99, 3), (1, 1.01)],
    "cbrt": [POSITIVE, (-3, 3), (-1e-5, 1e-5)],
    "arctanh": [(-1.01, 1.01), (-0.5, 0.5), (0.99, 1), (-1e-7, 1e-7)],
}
"""The functions, and where they are tested; `POSITIVE` numbers have random bits."""

LARGEST_ERRORS: Final = {("tanh", "float32"): 2.7}
"""Of the others it is 1."""

HAS_FMA: Final = bool(np._core._multiarray_umath.__cpu_features__.get("FMA3", False))  # type: ignore[attr-defined]
HAS_LONG_DOUBLE: Final = np.finfo(np.longdouble).nmant >= 63

SPECIAL: Final = [
    0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, -5e-324, 1e-310, 2.2250738585072014e-308, 1e-45, -1e-40,
    1.1754943508222875e-38, 1.7976931348623157e308, -1.7976931348623157e308, 3.4028234663852886e38, 709.782712893384,
    709.8, 710.4, 710.48, -745.1, -745.2, 88.72283, 88.73, 89.41, 89.42, -103.97, -103.98, 1023.9, 1024.0, -1074.0,
    -1075.1, 127.9, 128.0, -149.0, -150.1, 2.0, 8.0, 10.0, 1000.0, 1e15, 0.5, 1e-20, -1e-20, -0.9999999, 40.0, -40.0,
]  # fmt: skip


def numbers(name: str, dtype: Any, count: int) -> Array:
    rng = np.random.default_rng(7)
    kind = np.dtype(dtype)
    bits = np.dtype(f"i{kind.itemsize}")
    parts = [
        rng.integers(1, np.array(np.inf, kind).view(bits), count).astype(bits).view(kind)
        if bounds == POSITIVE
        else rng.uniform(*bounds, count)
        for bounds in RANGES[name]
    ]
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(SPECIAL).astype(kind), *(part.astype(kind) for part in parts)])


def errors(name: str, x: Array, found: Array) -> Array:
    """The errors of finite results in units in the last place. Infinite results and NaN must be right."""
    exact = np.longdouble if x.dtype == np.float64 else np.float64
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x.astype(exact))
    return errors_to(expected, found)


def errors_to(expected: Array, found: Array) -> Array:
    """The same for expected results of more digits."""
    with np.errstate(all="ignore"):
        rounded = expected.astype(found.dtype)
        finite = np.isfinite(rounded) & np.isfinite(found)
        np.testing.assert_array_equal(found[~finite], rounded[~finite])
        zero = rounded == 0
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(rounded[zero]))
        unit = np.spacing(np.maximum(np.abs(rounded), np.finfo(found.dtype).tiny))
        difference: Array = (np.abs(found.astype(expected.dtype) - expected) / unit)[finite]
    return difference


def assert_exact(name: str, dtype: Any, count: int) -> None:
    x = numbers(name, dtype, count)
    found = tm.compile(getattr(np, name), backend="c")(x)
    assert found.dtype == x.dtype
    assert errors(name, x, found).max() <= LARGEST_ERRORS.get((name, str(x.dtype)), 1)


pytestmark = [
    pytest.mark.skipif(not HAS_FMA, reason="the C library computes them on this processor"),
    pytest.mark.skipif(not HAS_LONG_DOUBLE, reason="NumPy has no longer numbers here"),
]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", RANGES)
def test_errors_are_at_most_one_unit_in_the_last_place(name: str, dtype: str) -> None:
    assert_exact(name, dtype, 20_000)


def pairs(dtype: Any, count: int) -> tuple[Array, Array]:
    """Pairs of special values, of numbers of about the same size, and of numbers of any size."""
    rng = np.random.default_rng(11)
    kind = np.dtype(dtype)
    bits = np.dtype(f"i{kind.itemsize}")
    with np.errstate(all="ignore"):
        special = [x.ravel() for x in np.meshgrid(*[np.array(SPECIAL).astype(kind)] * 2)]
    highest = np.array(np.inf, kind).view(bits)
    any_size = [
        rng.integers(1, highest, count).astype(bits).view(kind) * rng.choice(np.array([-1, 1], kind), count)
        for _ in range(2)
    ]
    near = [rng.uniform(-3, 3, count).astype(kind) for _ in range(2)]
    first, second = (np.concatenate(parts) for parts in zip(special, any_size, near, strict=True))
    return first, second


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["arctan2", "hypot"])
def test_functions_of_two_numbers(name: str, dtype: str) -> None:
    x, y = pairs(dtype, 20_000)
    exact = np.longdouble if dtype == "float64" else np.float64
    found = tm.compile(getattr(np, name), backend="c")(x, y)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x.astype(exact), y.astype(exact))
    assert errors_to(expected, found).max() <= 1


def near_multiples(dtype: Any, count: int) -> Array:
    """Numbers next to multiples of π/2, where the angle has few digits left, and the numbers nearest to any."""
    rng = np.random.default_rng(13)
    largest = np.log(float(np.finfo(dtype).max) / 2)
    steps = np.concatenate([np.arange(1, count), np.exp(rng.uniform(0, largest, count))])
    nearest = (
        [5.319372648326541e255, 6381956970095103.0 * 2.0**797] if dtype == "float64" else [16367173.0 * 2**72]
    )
    found: Array = np.concatenate([steps * (np.pi / 2), nearest]).astype(dtype)
    return np.concatenate([found, -found])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_next_to_quarters_of_a_turn_have_all_digits(name: str, dtype: str) -> None:
    x = near_multiples(dtype, 20_000)
    found = tm.compile(getattr(np, name), backend="c")(x)
    with mpmath.workprec(1200):
        for place in [*range(0, x.size, 257), x.size // 2 - 1, x.size - 1]:
            exact = getattr(mpmath, name)(mpmath.mpf(float(x[place])))
            unit = mpmath.mpf(float(np.spacing(np.abs(found[place]))))
            assert abs(mpmath.mpf(float(found[place])) - exact) <= unit, x[place]
    assert errors(name, x, found).max() <= 1


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_far_angles_leave_the_bits_of_near_ones(dtype: str) -> None:
    """Vectors compute the second thousand of numbers alone."""

    def f(x: Array) -> tuple[Array, Array, Array]:
        return np.sin(3 * x), np.cos(x) * np.tan(x), np.sum(np.sin(x).reshape(-1, 64), axis=1)

    x = np.random.default_rng(5).uniform(-9, 9, 2048).astype(dtype)
    far = x.copy()
    far[:1024:100] *= np.array(1e20, dtype)
    compiled = tm.compile(f, backend="c")
    near_results, results = compiled(x), compiled(far)
    source = compiled.lower(x).c_source
    assert source is not None
    assert "if (!tm_far)" in source
    kept = far == x
    for one, other in zip(near_results[:2], results[:2], strict=True):
        np.testing.assert_array_equal(other[kept], one[kept])
    np.testing.assert_array_equal(results[2][16:], near_results[2][16:])
    precise = f(far.astype(np.longdouble if dtype == "float64" else np.float64))
    for found, expected in zip(results, precise, strict=True):
        # 3x itself is rounded.
        chosen = kept if found.size == kept.size else np.full(found.size, True)
        np.testing.assert_allclose(
            found[chosen], expected[chosen], rtol=0, atol=2000 * float(np.finfo(dtype).eps)
        )


def test_angles_that_other_statements_of_a_loop_decide_are_computed_one_by_one() -> None:
    def f(x: Array) -> Array:
        parts = np.stack([x[:-2], x[1:-1], x[2:]])
        found: Array = np.cos(np.sum(parts * 1e15, axis=0))
        return found

    x = np.random.default_rng(6).uniform(-9, 9, 300)
    with np.errstate(all="ignore"):
        expected = f(x)
    found = tm.compile(f, backend="c")(x)
    assert np.abs(found - expected).max() < 2


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", RANGES)
def test_errors_at_ten_million_points(name: str, dtype: str) -> None:
    assert_exact(name, dtype, 10_000_000 // len(RANGES[name]))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", RANGES)
def test_fast_math_changes_the_last_digits_alone(name: str, dtype: str) -> None:
    x = numbers(name, dtype, 20_000)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x.astype(np.float64)).astype(dtype)
    found = tm.compile(getattr(np, name), backend="c", fast_math=True)(x)
    info = np.finfo(dtype)
    np.testing.assert_allclose(found, expected, rtol=8 * float(info.eps), atol=float(info.tiny))


@pytest.mark.parametrize("name", ["log2", "log10", "exp2"])
def test_exact_results_are_exact(name: str) -> None:
    whole = np.arange(-20.0, 21.0) if name != "log10" else np.arange(0.0, 23.0)
    base = 10.0 if name == "log10" else 2.0
    x, expected = (whole, base**whole) if name == "exp2" else (base**whole, whole)
    np.testing.assert_array_equal(tm.compile(getattr(np, name), backend="c")(x), expected)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_two_vectors_at_once_give_the_same_bits_as_one_number(dtype: str) -> None:
    def f(x: Array) -> Array:
        found: Array = np.exp(x) * np.log(x + 2)
        return found

    x = np.random.default_rng(3).uniform(-1, 1, 301).astype(dtype)
    one_by_one = np.concatenate([tm.compile(f, backend="c")(x[i : i + 1]) for i in range(x.size)])
    for count in (255, 256, 257, 301):
        compiled = tm.compile(f, backend="c", dynamic=False)
        np.testing.assert_array_equal(compiled(x[:count]), one_by_one[:count])
        source = compiled.lower(x[:count]).c_source
        assert source is not None
        assert ("tm_lanes |= tm_lane++;" in source) == (count >= 256)


def in_c(name: str) -> str:
    """``asin`` for ``arcsin``."""
    return name.replace("arc", "a")


def library(folder: Path, flags: list[str]) -> Callable[[str, Array], Array]:
    """All functions, compiled with these flags."""
    names = [f"tm_{in_c(name)}_{dtype}" for name in RANGES for dtype in ("f64", "f32")]
    loops = [
        f"void all_{name}(const {kind} *x, {kind} *y, long n)\n"
        f"{{\n    for (long i = 0; i < n; i++) y[i] = {name}(x[i]);\n}}\n"
        for name in names
        for kind in (["double"] if name.endswith("f64") else ["float"])
    ]
    head = "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n"
    source = folder / f"functions{len(flags)}.c"
    source.write_text(head + source_of(names) + "\n".join(loops))
    made = source.with_suffix(".so")
    subprocess.run(["cc", *FLAGS, *flags, str(source), "-o", str(made), "-lm"], check=True)
    loaded = ctypes.CDLL(str(made))

    def run(name: str, x: Array) -> Array:
        y = np.empty_like(x)
        suffix = "f64" if x.dtype == np.float64 else "f32"
        pointers = (ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data))
        getattr(loaded, f"all_tm_{in_c(name)}_{suffix}")(*pointers, ctypes.c_long(x.size))
        return y

    return run


def test_bits_do_not_depend_on_optimisation(tmp_path: Path) -> None:
    plain = library(tmp_path, ["-O1", "-mfma"])
    wide = library(tmp_path, ["-O3", "-march=native", "-mprefer-vector-width=512"])
    for name in RANGES:
        for dtype in (np.float64, np.float32):
            x = numbers(name, dtype, 5_000)
            one, other = plain(name, x), wide(name, x)
            same = (one == other) & (np.signbit(one) == np.signbit(other)) | (np.isnan(one) & np.isnan(other))
            assert same.all(), (name, x[~same][:5])

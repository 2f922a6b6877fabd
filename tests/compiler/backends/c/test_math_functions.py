"""The functions that C programs compute themselves: their errors in units in the last place, and special values."""

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Final

import mpmath
import numpy as np
import pytest
from scipy import special

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
    "erf": [POSITIVE, (-6, 6), (-1.4, 1.4), (-1e-5, 1e-5)],
    "erfc": [POSITIVE, (-6, 28), (-1, 1), (0.7, 4), (9, 10.2), (26, 27.5)],
}
"""The functions, and where they are tested; `POSITIVE` numbers have random bits."""

OF_TWO: Final = ("arctan2", "hypot", "power")

OF_SCIPY: Final = ("erf", "erfc")

LARGEST_ERRORS: Final = {
    ("tanh", "float32"): 2.7,
    **{(name, dtype): 2.0 for name in OF_SCIPY for dtype in ("float64", "float32")},
}
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
    return errors_to(expected_of(name, x), found)


def expected_of(name: str, x: Array) -> Array:
    """The results of f64 numbers as longer ones, and of f32 numbers as f64 ones."""
    if name in OF_SCIPY and x.dtype == np.float64:
        return long_results(name, x)
    exact = np.longdouble if x.dtype == np.float64 else np.float64
    with np.errstate(all="ignore"):
        expected: Array = function(name)(x.astype(exact))
    return expected


def function(name: str) -> Callable[..., Array]:
    found: Callable[..., Array] = getattr(special if name in OF_SCIPY else np, name)
    return found


@cache
def long_functions() -> ctypes.CDLL:
    """Functions of long numbers of the C library that NumPy lacks."""
    loops = [
        f"void all_{name}(const double *x, long double *out, long n)\n"
        f"{{\n    for (long i = 0; i < n; i++) out[i] = {name}l(x[i]);\n}}\n"
        for name in OF_SCIPY
    ]
    with tempfile.TemporaryDirectory() as folder:
        made = f"{folder}/long_functions.so"
        command = ["cc", "-O2", "-fPIC", "-shared", "-x", "c", "-", "-o", made, "-lm"]
        subprocess.run(command, input="#include <math.h>\n" + "\n".join(loops), text=True, check=True)
        return ctypes.CDLL(made)


def long_results(name: str, x: Array) -> Array:
    out = np.empty(x.shape, np.longdouble)
    given = np.ascontiguousarray(x)
    loop = getattr(long_functions(), f"all_{name}")
    loop(ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(out.ctypes.data), ctypes.c_long(x.size))
    return out


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
    found = tm.compile(function(name), backend="c")(x)
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
@pytest.mark.parametrize("name", OF_TWO)
def test_functions_of_two_numbers(name: str, dtype: str) -> None:
    x, y = pairs(dtype, 20_000)
    exact = np.longdouble if dtype == "float64" else np.float64
    found = tm.compile(getattr(np, name), backend="c")(x, y)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x.astype(exact), y.astype(exact))
    assert errors_to(expected, found).max() <= 1


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("spread", [0.001, 0.6, 300.0])
def test_powers_near_overflow_and_underflow_have_all_digits(dtype: str, spread: float) -> None:
    """Where the exponent multiplies the error of the logarithm by the largest number."""
    rng = np.random.default_rng(17)
    exact = np.longdouble if dtype == "float64" else np.float64
    largest = np.log(float(np.finfo(dtype).max))
    x = np.exp(rng.uniform(-spread, spread, 20_000) * min(1.0, largest / 300 * 0.99)).astype(dtype)
    with np.errstate(all="ignore"):
        y = (rng.uniform(-1.05 * largest, 1.05 * largest, x.size) / np.log(x.astype(exact))).astype(dtype)
        expected = np.power(x.astype(exact), y.astype(exact))
    found = tm.compile(np.power, backend="c")(x, y)
    assert errors_to(expected, found).max() <= 1


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_exact_powers_are_exact(dtype: str) -> None:
    most = 2 ** (np.finfo(dtype).nmant + 1)
    cases = [(base, n) for base in range(2, 100) for n in range(60) if base**n < most]
    x, y = (np.array(numbers, dtype) for numbers in zip(*cases, strict=True))
    power = tm.compile(np.power, backend="c")
    np.testing.assert_array_equal(power(x, y), np.array([base**n for base, n in cases], dtype))
    np.testing.assert_array_equal(power(x * x, np.full_like(x, 0.5)), x)


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


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", OF_SCIPY)
def test_error_functions_have_their_digits_up_to_where_they_underflow(name: str, dtype: str) -> None:
    """The C library, which gives the expected numbers elsewhere, is checked, too."""
    rng = np.random.default_rng(19)
    x = np.concatenate([rng.uniform(low, high, 60) for low, high in RANGES[name][1:]]).astype(dtype)
    x = np.append(x, np.array([0.8, 1.25, 10.0, 26.5, 26.54, 27.2, 27.22, 27.3, 1e-310], dtype))
    found = tm.compile(function(name), backend="c")(x)
    unit = np.spacing(np.maximum(np.abs(found), np.finfo(dtype).tiny))
    with mpmath.workprec(200):
        for given, result, one in zip(x.tolist(), found.tolist(), unit.tolist(), strict=True):
            exact = getattr(mpmath, name)(mpmath.mpf(given))
            assert abs(mpmath.mpf(result) - exact) <= 2 * mpmath.mpf(one), given


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_error_function_is_one_from_six_on(dtype: str) -> None:
    x = np.array([6.0, 10.0, 1e10, 1e30, np.finfo(dtype).max, np.inf], dtype)
    found = tm.compile(function("erf"), backend="c")
    np.testing.assert_array_equal(found(x), np.ones(6, dtype))
    np.testing.assert_array_equal(found(-x), -np.ones(6, dtype))


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_SCIPY)
def test_error_functions_of_many_f32_numbers(name: str) -> None:
    """Every 97th one, of both signs."""
    x = np.arange(0, int(np.float32(np.inf).view(np.int32)), 97, dtype=np.int32).view(np.float32)
    for given in (x, -x):
        found = tm.compile(function(name), backend="c")(given)
        assert errors(name, given, found).max() <= 2


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
        expected = expected_of(name, x).astype(dtype)
    found = tm.compile(function(name), backend="c", fast_math=True)(x)
    info = np.finfo(dtype)
    np.testing.assert_allclose(found, expected, rtol=8 * float(info.eps), atol=float(info.tiny))


@pytest.mark.parametrize("name", ["log2", "log10", "exp2"])
def test_exact_results_are_exact(name: str) -> None:
    whole = np.arange(-20.0, 21.0) if name != "log10" else np.arange(0.0, 23.0)
    base = 10.0 if name == "log10" else 2.0
    x, expected = (whole, base**whole) if name == "exp2" else (base**whole, whole)
    np.testing.assert_array_equal(tm.compile(getattr(np, name), backend="c")(x), expected)


def test_functions_that_a_loop_calls_twice_are_inlined_twice() -> None:
    """Otherwise the loop has no vectors."""

    def f(x: Array) -> Array:
        found: Array = np.power(x, x + 1) + np.power(x + 1, x) + special.erfc(x) * special.erfc(x + 1)
        return found

    text = tm.compile(f, backend="c").lower(np.ones(999)).c_source
    assert text is not None
    for level in ("-O3", "-O2"):
        command = ["cc", *FLAGS, level, "-march=native", "-fopenmp-simd", "-S", "-x", "c", "-", "-o", "-"]
        made = subprocess.run(command, input=text, text=True, check=True, capture_output=True).stdout
        assert not re.search(r"\b(call|bl)\s+tm_(power|erfc)", made)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="it alone says which loops have vectors")
@pytest.mark.parametrize("name", ["gammaln", "digamma", "erfinv", "erfcx", "erfc"])
def test_loops_of_special_functions_have_vectors(name: str) -> None:
    text = tm.compile(getattr(special, name), backend="c").lower(np.ones(999)).c_source
    assert text is not None
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines, 1) if f"{name}_1 = tm_{name}_f64(" in line)
    command = [
        "gcc",
        *FLAGS,
        "-march=native",
        "-fopenmp-simd",
        "-DTM_VECTOR_MATH",
        "-fopt-info-vec-optimized",
    ]
    asked = [*command, "-S", "-x", "c", "-", "-o", "/dev/null"]
    told = subprocess.run(asked, input=text, text=True, check=True, capture_output=True).stderr
    vectorized = {int(line) for line in re.findall(r"<stdin>:(\d+):.*loop vectorized", told)}
    assert vectorized & set(range(start - 3, start + 1))


@pytest.mark.slow
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


def library(folder: Path, flags: list[str], compiler: str = "cc") -> Callable[..., Array]:
    """All functions, compiled with these flags."""
    names = [f"tm_{in_c(name)}_{dtype}" for name in (*RANGES, *OF_TWO) for dtype in ("f64", "f32")]
    loops = [loop_text(name) for name in names]
    head = "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n"
    source = folder / f"functions{len(flags)}_{compiler}.c"
    source.write_text(head + source_of(names) + "\n".join(loops))
    made = source.with_suffix(".so")
    subprocess.run([compiler, *FLAGS, *flags, str(source), "-o", str(made), "-lm"], check=True)
    loaded = ctypes.CDLL(str(made))

    def run(name: str, *given: Array) -> Array:
        out = np.empty_like(given[0])
        suffix = "f64" if out.dtype == np.float64 else "f32"
        pointers = (ctypes.c_void_p(array.ctypes.data) for array in (*given, out))
        getattr(loaded, f"all_tm_{in_c(name)}_{suffix}")(*pointers, ctypes.c_long(out.size))
        return out

    return run


def loop_text(name: str) -> str:
    kind = "double" if name.endswith("f64") else "float"
    given = ("x", "y") if any(in_c(two) in name for two in OF_TWO) else ("x",)
    parameters = "".join(f"const {kind} *{one}, " for one in given)
    arguments = ", ".join(f"{one}[i]" for one in given)
    return (
        f"void all_{name}({parameters}{kind} *out, long n)\n"
        f"{{\n    for (long i = 0; i < n; i++) out[i] = {name}({arguments});\n}}\n"
    )


def assert_same_bits(one: Callable[..., Array], other: Callable[..., Array]) -> None:
    for name, dtype in product((*RANGES, *OF_TWO), (np.float64, np.float32)):
        given = pairs(dtype, 5_000) if name in OF_TWO else (numbers(name, dtype, 5_000),)
        x, y = one(name, *given), other(name, *given)
        same = (x == y) & (np.signbit(x) == np.signbit(y)) | (np.isnan(x) & np.isnan(y))
        assert same.all(), (name, *(numbers[~same][:5] for numbers in given))


@pytest.mark.slow
def test_bits_do_not_depend_on_optimisation(tmp_path: Path) -> None:
    wide = ["-O3", "-march=native", "-mprefer-vector-width=512"]
    assert_same_bits(library(tmp_path, ["-O1", "-mfma"]), library(tmp_path, wide))


@pytest.mark.skipif(None in (shutil.which("gcc"), shutil.which("clang")), reason="one of them is missing")
def test_gcc_and_clang_compute_the_same_bits(tmp_path: Path) -> None:
    both = (library(tmp_path, ["-march=native"], compiler) for compiler in ("gcc", "clang"))
    assert_same_bits(*both)

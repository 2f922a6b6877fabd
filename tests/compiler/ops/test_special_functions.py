"""Special functions over wide ranges, against mpmath with 40 digits; derivatives at delicate points."""

import re
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

from tracemill.compiler.backends.c import definitions as c_definitions
from tracemill.compiler.backends.triton.kernels import definitions as triton_definitions
from tracemill.compiler.builder import Builder, bind, recording
from tracemill.compiler.dtypes import FLOAT64, dtype_named
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import ArrayType, Graph, Value
from tracemill.compiler.op import lookup
from tracemill.compiler.ops.special.coefficients import LOG_GAMMA_AT_2, STIRLING
from tracemill.compiler.value_ops import elementwise
from tracemill.passes.transforms.jvp import jvp


def grid(low: float, high: float, count: int = 41) -> Any:
    return np.linspace(low, high, count)


def powers(low: float, high: float, count: int = 41) -> Any:
    return np.logspace(low, high, count)


def both_signs(x: Any) -> Any:
    return np.concatenate([-x, x])


# name, params, points, the same with mpmath, relative error
WIDE: tuple[tuple[str, dict[str, Any], Any, Callable[[Any], Any], float], ...] = (
    ("erf", {}, both_signs(powers(-300, 1)), mpmath.erf, 5e-16),
    ("erf", {}, grid(-6.5, 6.5, 500), mpmath.erf, 5e-16),
    ("erfc", {}, grid(-6, 26), mpmath.erfc, 1.5e-15),
    ("erfcx", {}, grid(-26, 26), lambda x: mpmath.exp(x * x) * mpmath.erfc(x), 1e-15),
    ("erfinv", {}, both_signs(np.concatenate([powers(-300, -1), grid(0.1, 0.999)])), mpmath.erfinv, 1.5e-15),
    ("ndtri", {}, grid(0.001, 0.999), lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), 1.5e-15),
    ("log_ndtr", {}, grid(-37, 8), lambda x: mpmath.log(mpmath.ncdf(x)), 1.5e-15),
    ("gammaln", {}, np.concatenate([powers(-300, 300), grid(0.05, 20, 80)]), mpmath.loggamma, 2e-15),
    ("digamma", {}, np.concatenate([powers(-300, 300), grid(0.05, 20, 80)]), mpmath.digamma, 1e-15),
    ("polygamma", {"order": 1}, powers(-10, 10), lambda x: mpmath.polygamma(1, x), 1e-15),
    ("polygamma", {"order": 7}, powers(-3, 5), lambda x: mpmath.polygamma(7, x), 2e-15),
    ("i0e", {}, both_signs(powers(-9, 3)), lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x), 2e-15),
    ("i1e", {}, both_signs(powers(-9, 3)), lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x), 2e-15),
    ("sinc", {"order": 0}, powers(-9, 0.9), lambda x: mpmath.sinc(mpmath.pi * x), 2e-15),
)


def exactly(function: Callable[[Any], Any], points: Any) -> Any:
    with mpmath.workdps(40):
        return np.array([float(mpmath.re(function(mpmath.mpf(float(x))))) for x in points])


@pytest.mark.parametrize(
    ("name", "params", "points", "function", "error"), WIDE, ids=lambda case: str(case)[:12]
)
def test_a_function_is_accurate_over_a_wide_range(
    name: str, params: dict[str, Any], points: Any, function: Callable[[Any], Any], error: float
) -> None:
    with np.errstate(all="ignore"):
        actual = lookup(name).numpy(points, **params)
    np.testing.assert_allclose(actual, exactly(function, points), error, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "order"), [("j0", 0), ("j1", 1), ("y0", 0), ("y1", 1)])
def test_bessel_functions_are_accurate_up_to_their_amplitude(name: str, order: int) -> None:
    points = np.concatenate([grid(0.01, 40, 80), powers(2, 5, 20)])
    function = mpmath.besselj if name[0] == "j" else mpmath.bessely
    expected = exactly(lambda x: function(order, x), points)
    error = np.abs(lookup(name).numpy(points) - expected)
    assert np.all(error <= 2e-15 * np.maximum(np.abs(expected), np.minimum(1, np.sqrt(2 / (np.pi * points)))))


@pytest.mark.parametrize("order", range(6))
def test_derivatives_of_sinc_are_accurate_up_to_their_size_at_zero(order: int) -> None:
    points = np.concatenate([powers(-6, -1, 12), grid(0.05, 6, 60)])

    def derivative(x: Any) -> Any:
        value = mpmath.sinc(mpmath.pi * x)
        for n in range(1, order + 1):
            wave = mpmath.sin(mpmath.pi * x + n * mpmath.pi / 2)
            value = (mpmath.pi ** (n - 1) * wave - n * value) / x
        return value

    with mpmath.workdps(80):
        expected = np.array([float(derivative(mpmath.mpf(float(x)))) for x in points])
    actual = lookup("sinc").numpy(points, order=order)
    np.testing.assert_allclose(actual, expected, 0, 1e-14 * np.pi**order / (order + 1))


GAMMA_POINTS = [
    (a, x)
    for a in (1e-3, 0.2, 0.9, 3.0, 7.9, 8.1, 30.0, 300.0, 1e4)
    for x in (0.01 * a, 0.6 * a, a, 1.3 * a, 3 * a)
]


@pytest.mark.parametrize("upper", [False, True])
def test_incomplete_gamma_functions_are_accurate(upper: bool) -> None:
    a, x = np.array(GAMMA_POINTS).T
    with mpmath.workdps(40):
        ends = [(v, mpmath.inf) if upper else (0, v) for v in x.tolist()]
        values = [
            float(mpmath.gammainc(s, *end, regularized=True)) for s, end in zip(a.tolist(), ends, strict=True)
        ]
    normal = np.array(values) > 1e-300
    assert np.sum(normal) > 35
    actual = lookup("gammainc").numpy(a, x, upper=upper)
    np.testing.assert_allclose(actual[normal], np.array(values)[normal], 2e-13, 0)


def test_the_incomplete_beta_function_is_accurate() -> None:
    cases = [
        (a, b, x)
        for a, b in (
            (0.01, 0.3),
            (0.5, 0.5),
            (2.0, 7.0),
            (9.0, 0.1),
            (12.0, 30.0),
            (200.0, 150.0),
            (0.2, 500.0),
        )
        for x in (0.001, 0.1, 0.3, 0.5, 0.57, 0.9, 0.999)
    ]
    with mpmath.workdps(60):
        values = np.array([float(mpmath.betainc(a, b, 0, x, regularized=True)) for a, b, x in cases])
    actual = lookup("betainc").numpy(*np.array(cases).T)
    np.testing.assert_allclose(actual, values, 2e-13, 1e-300)


NARROW = ("erf", "erfc", "erfcx", "erfinv", "log_ndtr", "gammaln", "digamma", "i0e", "i1e", "j0", "j1")


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_narrow_dtypes_are_the_rounded_f64_values(dtype: str) -> None:
    x = grid(-0.95, 0.95, 40).astype(dtype_named(dtype))
    for name in NARROW:
        actual = lookup(name).numpy(x)
        assert actual.dtype == x.dtype
        np.testing.assert_array_equal(actual, lookup(name).numpy(x.astype(FLOAT64)).astype(x.dtype))


def derivative_at(name: str, point: float, times: int, **params: Any) -> float:
    """The derivative of that order, by forward mode of forward mode."""
    given = Value(ArrayType(FLOAT64, ()))
    with recording(Builder()) as builder:
        out = bind(name, given, **params) if params else elementwise(name, given)
    graph = Graph(name, (given,), tuple(builder.calls), (out,))
    arrays = [np.array(point)]
    for _ in range(times):
        tangents = [np.array(1.0), *(np.array(0.0) for _ in arrays[1:])]
        graph, arrays = jvp(graph), [*arrays, *tangents]
    return float(evaluate(graph, *arrays)[-1])


@pytest.mark.parametrize(
    ("name", "point", "times", "expected", "params"),
    [
        ("sinc", 0.0, 1, 0.0, {"order": 0}),
        ("sinc", 0.0, 2, -(np.pi**2) / 3, {"order": 0}),
        ("sinc", 1e-9, 2, -(np.pi**2) / 3, {"order": 0}),
        ("sinc", 0.0, 4, np.pi**4 / 5, {"order": 0}),
        ("j1", 0.0, 1, 0.5, {}),
        ("j1", 0.0, 2, 0.0, {}),
        ("i1e", 0.0, 1, 0.5, {}),
        ("erf", 0.0, 1, 2 / np.sqrt(np.pi), {}),
        ("erf", 0.0, 2, 0.0, {}),
        ("erfinv", 0.0, 1, np.sqrt(np.pi) / 2, {}),
        ("gammaln", 1.0, 1, -np.euler_gamma, {}),
        ("gammaln", 1.0, 2, np.pi**2 / 6, {}),
        ("log_ndtr", -30.0, 2, -1 + 1 / 900, {}),
        ("entr", 0.0, 1, np.inf, {}),
    ],
    ids=str,
)
def test_derivatives_at_special_points(
    name: str, point: float, times: int, expected: float, params: dict[str, Any]
) -> None:
    actual = derivative_at(name, point, times, **params)
    tolerance = 1e-4 if name == "log_ndtr" else 1e-12
    assert actual == expected or abs(actual - expected) <= tolerance


def test_products_with_a_logarithm_are_zero_where_the_factor_is() -> None:
    x, y = np.array([0.0, 0.0, 0.0, 2.0]), np.array([0.0, -1.0, np.nan, 3.0])
    np.testing.assert_array_equal(lookup("xlogy").numpy(x, y), [0, 0, np.nan, 2 * np.log(3.0)])
    np.testing.assert_array_equal(lookup("xlog1py").numpy(x, y), [0, 0, np.nan, 2 * np.log1p(3.0)])


@pytest.mark.parametrize(
    ("name", "table"), [("tm_log_gamma_near_2", LOG_GAMMA_AT_2), ("tm_stirling_series", STIRLING)]
)
@pytest.mark.parametrize("definition", [c_definitions.definition, triton_definitions.definition])
def test_definitions_for_c_and_triton_sum_the_same_coefficients(
    definition: Callable[[str], str], name: str, table: tuple[float, ...]
) -> None:
    numbers = re.findall(r"(- ?)?(\d+\.\d\S*?\d(?:e-\d+)?)(?=[,\s])", definition(name))
    assert tuple(float(f"{sign.strip()}{number}") for sign, number in numbers if "." in number) == table


def test_tables_are_written_as_numbers_in_c_and_in_triton() -> None:
    assert (
        c_definitions.definition("tm_stirling_series")
        == """\
// What Stirling's series adds to log Γ(x), for x >= 8, DLMF 5.11.1.
static inline double tm_stirling_series(double x)
{
    static const double coefficients[] = {
        -0.02955065359477124, 0.006410256410256411, -0.0019175269175269174, 0.0008417508417508418,
        -0.0005952380952380952, 0.0007936507936507937, -0.002777777777777778, 0.08333333333333333,
    };
    double sum = 0;
    for (int i = 0; i < 8; i++)
        sum = sum / (x * x) + coefficients[i];
    return sum / x;
}
"""
    )
    assert (
        triton_definitions.definition("tm_stirling_series")
        == """\
# What Stirling's series adds to log Γ(x), for x >= 8, DLMF 5.11.1.
@triton.jit
def tm_stirling_series(x):
    total = tl.zeros_like(x) - 0.02955065359477124
    total = total / (x * x) + 0.006410256410256411
    total = total / (x * x) - 0.0019175269175269174
    total = total / (x * x) + 0.0008417508417508418
    total = total / (x * x) - 0.0005952380952380952
    total = total / (x * x) + 0.0007936507936507937
    total = total / (x * x) - 0.002777777777777778
    total = total / (x * x) + 0.08333333333333333
    return total / x
"""
    )

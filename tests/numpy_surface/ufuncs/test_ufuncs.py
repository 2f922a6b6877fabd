"""ufuncs: every one on every pair of dtypes, with Python numbers, and all options and methods, as in NumPy."""
# ruff: noqa: PLW0108  (the lambdas look functions up while tracing)

import itertools
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from numpy_surface.differential import assert_same, check, check_both_raise, run_numpy, run_traced
from samples.sample import special_values
from samples.thinning import some_and_all, thinned
from tracemill.compiler.dtypes import Array, dtype_named, dtype_names
from tracemill.compiler.errors import (
    ArgumentValueError,
    DTypeError,
    TracemillError,
    UnsupportedFunctionError,
)

ARRAYS = {name: special_values(dtype_named(name))[:17] for name in dtype_names()}
UFUNCS = sorted(
    {f for name in np.__all__ if isinstance(f := getattr(np, name), np.ufunc) and f.signature is None}
    - {np.isnat, np.spacing},
    key=lambda ufunc: ufunc.__name__,
)
INEXACT_PAIRS = {"float_power"}
"""NumPy itself has two ways to compute them, which differ in the last place."""
KINDS_OF_ERRORS = (TypeError, ValueError, OverflowError)


def outcome(run: Callable[..., Any], function: Any, *args: Any) -> Any:
    """What a call gives, or the error that it raises."""
    try:
        return run(function, *args)
    except KINDS_OF_ERRORS as error:
        return error


def assert_same_outcome(function: Any, *args: Any, rtol: float = 0.0) -> None:
    """The traced call gives the same value, dtype and shape as NumPy's, or both raise the same kind of error."""
    expected, actual = outcome(run_numpy, function, *args), outcome(run_traced, function, *args)
    if isinstance(expected, Exception):
        assert any(isinstance(expected, kind) and isinstance(actual, kind) for kind in KINDS_OF_ERRORS), (
            actual
        )
    else:
        assert not isinstance(actual, Exception), actual
        assert_same(expected, actual, rtol)


@pytest.mark.slow
def test_every_ufunc_gives_numpys_values_and_dtypes_or_refuses_as_it_does(more: int) -> None:
    """With ``--more`` on all pairs of dtypes. Else the ufuncs share them out, and each meets all dtypes."""
    step = 1 if more > 1 else 4
    for number, ufunc in enumerate(UFUNCS):
        cases = list(itertools.product(ARRAYS, repeat=ufunc.nin))
        assert_takes(ufunc, cases[number % step :: step] if ufunc.nin == 2 else cases)


def assert_takes(ufunc: Any, cases: Iterable[tuple[str, ...]]) -> None:
    rtol = 1e-15 if ufunc.__name__ in INEXACT_PAIRS else 0.0
    for names in cases:
        arrays = [ARRAYS[name] for name in names]
        if ufunc.nin == 2:
            arrays = [arrays[0][:, None], arrays[1][None, :]]
        assert_same_outcome(ufunc, *arrays, rtol=rtol)


NUMBERS = (
    True, 0, 1, -1, 3, 300, -129, 2**31, 2**40, -(2**63), 2**63, 2**64 - 1, 2**70, 0.5, -1.5, 1e300, float("nan"), 1j,
    np.float32(1.5), np.float64(2.5), np.int8(3), np.uint64(2**63), np.bool_(True), np.complex64(1j), np.float16(2),
)  # fmt: skip
OPERATORS: tuple[Any, ...] = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.and_, operator.lshift, operator.lt, operator.eq, operator.ge, np.maximum, np.hypot, np.copysign,
    np.logical_and, divmod,
)  # fmt: skip


@pytest.mark.sampled("eq-some", every=7, slow=6)
@some_and_all
@pytest.mark.parametrize("function", OPERATORS, ids=lambda function: function.__name__)
def test_numbers_beside_arrays_are_weak_where_numpys_are(function: Any, share: float) -> None:
    for array, number in thinned(itertools.product(ARRAYS.values(), NUMBERS), share):
        assert_same_outcome(lambda x, n=number: function(x, n), array[:6], rtol=1e-15)
        assert_same_outcome(lambda x, n=number: function(n, x), array[:6], rtol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("function", [operator.add, operator.mul, operator.lt, operator.eq, np.maximum])
def test_python_numbers_among_the_arguments_are_weak_too(function: Any) -> None:
    for array, number in itertools.product(ARRAYS.values(), (1, 3, 0.5, 1j)):
        assert_same_outcome(function, array[:6], number)


def test_a_traced_python_number_is_compared_exactly_with_small_integers() -> None:
    check(lambda x, n: (x < n, x == n, n >= x), np.array([1, 200], np.uint8), 456)


def test_64_bit_integers_are_compared_exactly() -> None:
    signed = np.array([-1, 0, 2**62 + 1, 2**63 - 1])
    unsigned = np.array([2**64 - 1, 0, 2**62, 2**63 - 1], np.uint64)
    for compare in (np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal):
        check(lambda x, y, f=compare: (f(x[:, None], y), f(y[:, None], x)), signed, unsigned)


# ---- options -----------------------------------------------------------------------------------------

X = np.array([[0.5, -1.5, 2.0], [3.0, -0.0, 1.0]])
Y = np.array([2.0, -1.0, 4.0])
MASK = np.array([[True, False, True], [False, True, False]])


def _into(x: Any, function: Callable[..., Any]) -> tuple[Any, Any]:
    """What a function with ``out=x`` returns, and x."""
    return function(x), x


@pytest.mark.parametrize(
    "use",
    [
        lambda x, y: np.add(x, y, out=x),
        lambda x, y: np.add(x, y, out=(x,)),
        lambda x, y: np.add(x, y, x),
        lambda x, y: np.exp(x, out=x, where=x > 0),
        lambda x, y: np.add(x, y, out=np.zeros((2, 3)), where=MASK),
        lambda x, y: np.add(x, y, out=np.zeros((4, 2, 3))),
        lambda x, y: np.add(x, y, out=np.zeros((2, 3), np.float32)),
        lambda x, y: np.add(x, y, out=np.zeros((2, 3), int), casting="unsafe"),
        lambda x, y: np.add(x, y, out=np.zeros((2, 3), complex)),
        lambda x, y: np.add(x, y, dtype=np.float32),
        lambda x, y: np.add(x, y, dtype=complex),
        lambda x, y: np.add(x, y, signature="dd->d"),
        lambda x, y: np.add(x, y, signature=(np.float32, np.float32, None), casting="same_kind"),  # type: ignore[call-overload]
        lambda x, y: np.divmod(x, y, out=(np.zeros((2, 3)), np.zeros((2, 3)))),
        lambda x, y: np.modf(x, out=(None, np.zeros((2, 3)))),  # type: ignore[arg-type]
        lambda x, y: np.greater(x, y, out=np.zeros((2, 3), bool)),
        lambda x, y: np.sin(x, dtype=np.float32),
        lambda x, y: np.multiply(x[0, 0], y[0], out=np.zeros(())),
        lambda x, y: _into(x, lambda a: np.subtract(a[:, ::-1], y, out=a[:, ::-1])),
        lambda x, y: _into(x, lambda a: np.negative(a, out=a, where=False)),
        lambda x, y: np.matmul(x, y, out=np.zeros(2)),
    ],
)
def test_the_options_of_ufuncs_do_what_numpys_do(use: Any) -> None:
    check(use, X, Y)


@pytest.mark.parametrize(
    "misuse",
    [
        lambda x, y: np.add(x, y, out=np.zeros((2, 3), int)),
        lambda x, y: np.add(x, y, out=np.zeros(3)),
        lambda x, y: np.add(x, y, out=[1.0]),  # type: ignore[call-overload]
        lambda x, y: np.add(x, y, where=y, out=x),
        lambda x, y: np.add(x, y, dtype=np.int64),
        lambda x, y: np.add(x, y, dtype=np.float32, casting="safe"),
        lambda x, y: np.add(x, y, signature="dd->d", dtype=float),
        lambda x, y: np.add(x, y, signature=(float, float)),  # type: ignore[arg-type]
        lambda x, y: x + y[:2],
        lambda x, y: np.bitwise_and(x, y),
        lambda x, y: (x > 0) - (y > 0),
        lambda x, y: -(x > 0),
        lambda x, y: np.arange(3) ** -1 + x,
        lambda x, y: np.add.reduce(x, axis=2),
        lambda x, y: np.subtract.reduce(x, axis=(0, 1)),
        lambda x, y: np.exp.reduce(x),
        lambda x, y: np.maximum.reduce(x, where=x > 0),
        lambda x, y: np.maximum.reduce(x[:0]),
        lambda x, y: np.add.reduceat(x, [0, 5]),
    ],
)
def test_what_numpy_refuses_is_refused(misuse: Any) -> None:
    check_both_raise(misuse, X, Y)


def test_a_masked_ufunc_without_out_gives_zeros_elsewhere() -> None:
    result = run_traced(lambda x: np.add(x, 1.0, where=MASK), X)
    assert_same(np.where(MASK, X + 1, 0), result)


def test_an_unknown_ufunc_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedFunctionError, match=r"np\.isnat cannot be traced"):
        run_traced(lambda x: np.isnat(x), X)


def test_errors_name_the_dtypes() -> None:
    with pytest.raises(DTypeError, match=r"subtract is not defined for \(bool, bool\)"):
        run_traced(lambda x: (x > 0) - (x < 0), X)
    with pytest.raises(ArgumentValueError, match="negative integer powers"):
        run_traced(lambda n: n ** np.array(-2), np.arange(3))


# ---- the parts of floating-point numbers -------------------------------------------------------------


def _wide_range(dtype: Any) -> Array:
    info = np.finfo(dtype)
    exponents = np.arange(info.minexp - info.nmant - 2, info.maxexp, 7 if dtype == np.float64 else 1)
    numbers = np.ldexp(np.asarray(1.2345, dtype), exponents).astype(dtype)
    return np.concatenate([numbers, -numbers, special_values(np.dtype(dtype))])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_scaling_by_powers_of_two_rounds_once(dtype: Any) -> None:
    with np.errstate(all="ignore"):
        numbers = _wide_range(dtype)
    for exponent in (0, 1, -1, 10, -10, 53, -53, -600, 600, 1100, -1100, 2090, -2090, 2**31 - 1, -(2**31)):
        check(lambda x, e=exponent: np.ldexp(x, np.int32(e)), numbers)
    check(lambda x: np.ldexp(x, np.array([2**40, -(2**40)])[:, None]), numbers)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_mantissa_and_exponent_are_exact(dtype: Any) -> None:
    with np.errstate(all="ignore"):
        numbers = _wide_range(dtype)
    check(lambda x: (np.frexp(x), np.modf(x)), numbers)


# ---- methods -----------------------------------------------------------------------------------------

BINARY = [u for u in UFUNCS if u.nin == 2 and u.nout == 1]
FOLDED = {
    "f64": np.array([[1.5, 2.0, -3.0, 0.25], [4.0, 0.5, 2.0, 1.0], [1.0, 3.0, 2.0, -0.5]]),
    "f32": np.array([[1.5, 2.0], [4.0, 0.5], [1.0, 3.0]], np.float32),
    "i8": np.array([[3, 5, 2], [1, 6, 4]], np.int8),
    "u16": np.array([[3, 5, 2], [1, 6, 4]], np.uint16),
    "bool": np.array([[True, False], [True, True]]),
    "c128": np.array([[1 + 1j, 2.0], [0.5j, 3.0]]),
}


WRONG_IN_NUMPY = {np.arctan2, np.power, np.ldexp}
"""NumPy's vectorized loops read operands that the reduction has written over; ldexp folds into its exponents."""


@pytest.mark.sampled(every=6, slow=3)
@pytest.mark.parametrize(
    "ufunc", [u for u in BINARY if u not in WRONG_IN_NUMPY], ids=lambda ufunc: ufunc.__name__
)
def test_folds_of_every_binary_ufunc_are_numpys(ufunc: Any) -> None:
    for x in FOLDED.values():
        for use in (
            lambda a: ufunc.reduce(a),
            lambda a: ufunc.reduce(a, axis=-1, keepdims=True),
            lambda a: ufunc.accumulate(a),
            lambda a: ufunc.accumulate(a, axis=1),
            lambda a: ufunc.reduceat(a, [0, 1, 0], axis=0),
            lambda a: ufunc.outer(a, a[0]),
        ):
            assert_same_outcome(
                use,
                x,
                rtol={"float32": 1e-6, "int8": 2e-3, "bool": 2e-3, "uint16": 1e-6}.get(x.dtype.name, 1e-13),
            )


@pytest.mark.parametrize(
    "use",
    [
        lambda x: np.add.reduce(x, axis=(0, 1)),
        lambda x: np.add.reduce(x, axis=None, dtype=np.float32),
        lambda x: np.add.reduce(x, axis=0, out=np.zeros(4)),
        lambda x: np.add.reduce(x, initial=10, where=x > 0),
        lambda x: np.maximum.reduce(x, initial=1.75),
        lambda x: np.hypot.reduce(x, axis=(0, 1)),
        lambda x: (np.hypot.reduce(-x[:1]), np.gcd.reduce(-x[:, :1].astype(int), axis=1)),
        lambda x: np.fmax.reduce(x, axis=None),
        lambda x: np.subtract.reduce(x, axis=1, initial=2),
        lambda x: np.bitwise_or.reduce(x.astype(int), axis=0, where=x > 0),
        lambda x: np.logaddexp.reduce(x[:, :0], axis=1),
        lambda x: np.bitwise_xor.reduce(x.astype(int)[:0]),
        lambda x: np.logical_xor.reduce(x, axis=None),
        lambda x: np.add.accumulate(x, 1, np.float32),
        lambda x: np.minimum.accumulate(x, 1, None, np.zeros((3, 4))),
        lambda x: np.add.reduceat(x, [0, 2, 1, 3], axis=1),
        lambda x: np.maximum.reduceat(x, [1, 0], axis=0),
        lambda x: np.subtract.reduceat(x, [0, 2], axis=1),
        lambda x: np.multiply.outer(x, [1, 2], dtype=np.float32),
    ],
)
def test_a_method_of_a_ufunc_does_what_numpys_does(use: Any) -> None:
    check(use, FOLDED["f64"], rtol=1e-6)


PLACES = np.array([0, 2, 2, 1, 2])


@pytest.mark.parametrize("ufunc", [*BINARY, np.negative, np.sqrt], ids=lambda ufunc: ufunc.__name__)
def test_updates_at_places_count_every_time(ufunc: Any) -> None:
    for dtype in (np.float64, np.int64):
        operands = () if ufunc.nin == 1 else (np.array([2, 3, 1, 2, 2]).astype(dtype),)

        def update(x: Any, *args: Any) -> Any:
            ufunc.at(x, PLACES, *args)
            return x

        assert_same_outcome(update, np.array([9, 7, 5, 3]).astype(dtype), *operands, rtol=1e-14)


def test_updates_at_places_that_are_not_known() -> None:
    def add(x: Any, places: Any) -> Any:
        np.add.at(x, places, 1.5)
        np.subtract.at(x, (places,), x[:1])
        np.maximum.at(x, [0, -1], 4.0)
        return x

    check(add, np.arange(4.0), PLACES)
    with pytest.raises(UnsupportedFunctionError, match="known while tracing"):
        run_traced(lambda x, places: np.divide.at(x, places, 2.0), np.arange(4.0), PLACES)


def test_errors_are_of_tracemill() -> None:
    with pytest.raises(TracemillError):
        run_traced(lambda x: np.hypot.reduceat(x, x.astype(int)), np.arange(3.0))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.logical_and.reduce([x > 0, x < 1]),
        lambda x: np.add.accumulate([x, x]),
    ],
)
def test_methods_of_ufuncs_take_lists_of_traced_arrays(call: Any) -> None:
    x = np.array([0.5, 2.0, -1.0])
    np.testing.assert_array_equal(run_traced(call, x), call(x), strict=True)


def test_a_stack_of_traced_arrays_is_reduced() -> None:
    check(lambda x: np.logical_and.reduce(np.stack([x > 0, x < 1])), np.array([-1.0, 0.5, 2.0]))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_comparisons_with_ints_beyond_64_bits_are_exact(dtype: Any) -> None:
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.max, 5], dtype)
    for number in (limits.max + 1, limits.max + 6, limits.min - 1, 2**100, -(2**100)):
        for compare in (operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt):
            check(lambda x, number=number, compare=compare: compare(x, number), x)
            check(lambda x, number=number, compare=compare: compare(number, x), x)


@pytest.mark.parametrize("other", [None, "a", b"a"])
@pytest.mark.parametrize("compare", [operator.eq, operator.ne])
def test_an_array_compared_with_what_is_no_number(compare: Callable[[Any, Any], Any], other: Any) -> None:
    def counted(x: Any) -> Any:
        return np.sum(compare(x, other)) + np.sum(compare(other, x)) + x.sum()

    x = np.array([1.0, 2.0, 3.0])
    assert tm.compile(counted)(x) == counted(x)
    np.testing.assert_array_equal(tm.grad(counted)(x), [1.0, 1.0, 1.0])

"""Walks over dtypes and keywords: the value, its dtype, or the class of the error must be NumPy's."""
# ruff: noqa: PLW0108  (lambdas look NumPy's functions up while they are traced)

import operator
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from numpy_surface.differential import assert_same, copied, run_numpy, run_traced
from samples.thinning import thinned
from tracemill.compiler.dtypes import Array
from tracemill.compiler.errors import (
    ArgumentTypeError,
    ConcretizationError,
    DTypeError,
    UnsupportedFunctionError,
)

DTYPES = "bool int8 uint8 int16 int64 uint64 float16 float32 float64 complex64 complex128".split()
BY_DTYPE = pytest.mark.parametrize("dtype", DTYPES)
ERRORS = (TypeError, ValueError, IndexError, OverflowError)
PRECISION = {"float16": 2e-3, "float32": 1e-5, "complex64": 1e-5}

Call = tuple[str, Callable[..., Any], tuple[Any, ...]]


def numbers(dtype: str, *shape: int) -> Array:
    """Small numbers with a zero; no whole ones where the dtype has others."""
    x: Array = np.resize(np.array([3, 1, 0, 2, 5, 4]), shape)
    if dtype == "bool":
        return np.asarray(x % 2 == 1)
    fraction = {"f": 0.25, "c": 0.25 - 1j}.get(np.dtype(dtype).kind, 0)
    found: Array = (x + fraction).astype(dtype)
    return found


def outcome(run: Any, function: Any, args: tuple[Any, ...]) -> tuple[Any, Any]:
    """What a run returns or raises, and its arguments afterwards."""
    given = tuple(map(copied, args))
    with warnings.catch_warnings(action="ignore"):  # of NumPy, about what a cast loses
        try:
            return run(function, *given), given
        except Exception as error:
            return error, given


def difference(function: Any, args: tuple[Any, ...]) -> str:
    """How the traced function differs from NumPy; nothing if it does not."""
    (expected, theirs), (actual, ours) = (outcome(run, function, args) for run in (run_numpy, run_traced))
    if isinstance(expected, Exception) or isinstance(actual, Exception):
        alike = any(isinstance(expected, kind) and isinstance(actual, kind) for kind in ERRORS)
        return "" if alike else f"NumPy: {expected!r:.150}, traced: {actual!r:.150}"
    rtol = PRECISION.get(getattr(expected, "dtype", np.dtype("f8")).name, 1e-12)
    try:
        assert_same((expected, theirs), (actual, ours), rtol, rtol)
    except AssertionError:
        return f"NumPy: {expected!r:.150}, traced: {actual!r:.150}"
    return ""


def assert_all_agree(calls: Iterable[Call]) -> None:
    found = [(name, difference(function, args)) for name, function, args in calls]
    assert found
    differing = [f"{name}: {text}" for name, text in found if text]
    assert not differing, "\n".join(differing)


# ---- ufunc.at ----------------------------------------------------------------------------------------

UFUNCS = [
    ufunc
    for name, ufunc in vars(np).items()
    if isinstance(ufunc, np.ufunc) and ufunc.__name__ == name and ufunc.nout == 1 and not ufunc.signature
]
PLACES: dict[str, Any] = {
    "repeated": np.array([0, 2, 2, -1]),
    "mask": np.array([True, False, True, True, True]),
    "slice": slice(-1, None, -1),
    "one": -2,
}
UPDATES: tuple[Any, ...] = (1, 1.5, 2j, True, -1, 300, np.float32(2.5), np.array([1, 2, 3, 4], np.uint8))


def uses_of_at(dtype: str) -> Iterator[Call]:
    x = numbers(dtype, 5)
    for ufunc in UFUNCS:
        for update in UPDATES if ufunc.nin == 2 else (None,):
            for name, place in PLACES.items():
                if ufunc.nin == 1 and ufunc not in (np.sqrt, np.negative, np.isnan):
                    continue
                if name != "repeated" and (
                    ufunc not in (np.multiply, np.divide) or np.ndim(np.asarray(update))
                ):
                    continue
                extra = () if update is None else (update,)

                def updated(x: Any, ufunc: Any = ufunc, place: Any = place, extra: Any = extra) -> Any:
                    ufunc.at(x, place, *extra)
                    return x

                yield f"{ufunc.__name__}.at({dtype}, {name}, {update!r})", updated, (x,)


@pytest.mark.sampled(slow=6)
@BY_DTYPE
def test_updates_by_ufuncs_cast_as_numpys_do(dtype: str) -> None:
    assert_all_agree(uses_of_at(dtype))


def test_updates_in_a_wider_dtype_need_no_known_index_where_the_order_does_not_matter() -> None:
    index, x = np.array([1, 1, 0]), np.array([1.5, 2.5, 3.5], np.float32)

    def updated(index: Any, x: Any, u: Any) -> Any:
        np.add.at(x, index, np.array([0.1, 0.2, 0.3]))
        np.multiply.at(x, index, 1.5)
        np.maximum.at(x, index, 0.1)
        np.subtract.at(u, index, 300)
        np.minimum.at(u, index, 7)
        return x, u

    args = (index, x, np.array([9, 8, 7], np.uint8))
    assert_same(run_numpy(updated, *map(copied, args)), run_traced(updated, *map(copied, args)), rtol=1e-6)


@pytest.mark.parametrize(("ufunc", "update"), [(np.multiply, 1.5), (np.maximum, 300), (np.add, 2j)])
def test_updates_that_are_cast_one_by_one_need_a_known_index(ufunc: Any, update: Any) -> None:
    with pytest.raises(
        UnsupportedFunctionError, match=r"to int8, so the order counts.*np\.asarray\(updates, np\.int8"
    ):
        run_traced(lambda x, i: ufunc.at(x, i, update), np.ones(3, np.int8), np.array([0]))


# ---- dtype= and out= of reductions -------------------------------------------------------------------

REDUCTIONS = (
    "sum prod mean var std cumsum cumprod nansum nanprod nanmean nanvar nanstd nancumsum nancumprod".split()
)


def uses_of_reductions(dtype: str) -> Iterator[Call]:
    x = numbers(dtype, 2, 3)
    for name in REDUCTIONS:
        function = getattr(np, name)
        for chosen in (None, *DTYPES):
            for axis in (None, 0):

                def reduced(x: Any, f: Any = function, axis: Any = axis, chosen: Any = chosen) -> Any:
                    return f(x, axis=axis, dtype=chosen)

                yield f"{name}({dtype}, axis={axis}, dtype={chosen})", reduced, (x,)
        for out in DTYPES:
            for chosen in (None, "int64", "float32"):

                def written(x: Any, out: Any, f: Any = function, chosen: Any = chosen) -> Any:
                    return f(x, axis=0, dtype=chosen, out=out)

                target = np.zeros((2, 3) if "cum" in name else 3, out)
                yield f"{name}({dtype}, dtype={chosen}, out={out})", written, (x, target)
    for name in ("argmax", "argmin", "ptp", "max", "min"):
        for out in DTYPES:

            def into(x: Any, out: Any, name: str = name) -> Any:
                return getattr(np, name)(x, axis=0, out=out)

            yield f"{name}({dtype}, out={out})", into, (x, np.zeros(3, out))


def test_some_reductions_take_dtypes_as_numpys_do() -> None:
    assert_all_agree(thinned((call for dtype in DTYPES for call in uses_of_reductions(dtype)), 0.06))


@pytest.mark.sampled(slow=5)
@BY_DTYPE
def test_reductions_take_every_dtype_that_numpys_take(dtype: str) -> None:
    assert_all_agree(uses_of_reductions(dtype))


def test_a_mean_in_half_precision_divides_by_the_exact_count() -> None:
    x = np.zeros(70_001, np.float16)
    x[:4] = 8_192
    for function in (np.mean, np.nanmean):
        expected = function(x, dtype=np.float16)
        assert run_traced(lambda x, f=function: f(x, dtype=np.float16), x) == expected > 0


# ---- operators ---------------------------------------------------------------------------------------

EXPONENTS = (2, 1, 0, -1, 0.5, -1.0, 2.0, 3, True, np.int64(2), np.array(2), np.float64(2), np.int8(2), 2j)
OPERATORS = "add sub mul truediv floordiv mod lshift rshift and_ or_ xor lt eq".split()
OPERANDS = (2, 0, -1, 300, 2**40, 1.5, 2j, True, np.int8(3), np.float32(2), np.True_, (2.5,))


def in_place(function: Any) -> Any:
    def changed(x: Any, y: Any) -> Any:
        function(x, y)
        return x

    return changed


def uses_of_operators(dtype: str) -> Iterator[Call]:
    x = numbers(dtype, 5)
    pairs = [("pow", y) for y in EXPONENTS] + [(name, y) for name in OPERATORS for y in OPERANDS]
    for name, y in pairs:
        function = getattr(operator, name)
        yield f"{name}({dtype}, {y!r})", lambda x, f=function, y=y: f(x, y), (x,)
        yield f"{name}({y!r}, {dtype})", lambda x, f=function, y=y: f(y, x), (x,)
        if not isinstance(y, tuple):
            yield f"{name}(scalar {dtype}, {y!r})", lambda x, f=function, y=y: f(x[1], y), (x,)
        if name not in ("lt", "eq"):
            changed = in_place(getattr(operator, f"i{name.strip('_')}"))
            yield f"i{name}({dtype}, {y!r})", lambda x, f=changed, y=y: f(x, y), (x,)
    for name in ("neg", "pos", "inv", "abs"):
        yield f"{name}({dtype})", getattr(operator, name), (x,)


@pytest.mark.sampled(slow=6)
@BY_DTYPE
def test_operators_with_numbers_have_numpys_dtypes(dtype: str) -> None:
    assert_all_agree(uses_of_operators(dtype))


def test_squares_of_booleans_are_small_integers() -> None:
    x = np.array([True, False])
    assert run_traced(lambda x: x**2, x).dtype == np.int8
    assert run_traced(lambda x: x[0] ** 2, x).dtype == np.int64
    with pytest.raises(DTypeError):
        run_traced(in_place(vars(operator)["ipow"]), x, 2)


def test_a_scalar_repeats_a_list_as_numpys_do() -> None:
    assert run_traced(lambda: np.max(np.array([2, 1])) * [1.5]) == [1.5, 1.5]
    with pytest.raises(ConcretizationError):
        run_traced(lambda x: x[0] * [1.5], np.array([2, 1]))
    with pytest.raises(ArgumentTypeError, match=r"f64\[\] is not an integer.*np\.asarray\(entries\) \* x"):
        run_traced(lambda x: (1.5, 2.5) * x[0], np.array([2.0, 1.0]))


# ---- padding, and numbers that are written -----------------------------------------------------------

PADS: dict[str, list[dict[str, Any]]] = {
    "constant": [
        {"constant_values": v} for v in (1, 300, -1, 1.5, 2j, (1, 2), ((3, 4),), [300, -1], np.int64(300))
    ],
    "linear_ramp": [{"end_values": v} for v in (1, 300, -1, 1.5, (3, 9))],
    **{
        name: [{}, *({"stat_length": v} for v in (1, 2, (1, 3)))]
        for name in ("mean", "median", "maximum", "minimum")
    },
    **{name: [{"reflect_type": v} for v in ("even", "odd")] for name in ("reflect", "symmetric")},
    "edge": [{}],
    "wrap": [{}],
}


def uses_of_pad(dtype: str) -> Iterator[Call]:
    for mode, all_options in PADS.items():
        for options in all_options:

            def padded(x: Any, mode: Any = mode, options: Any = options) -> Any:
                return np.pad(x, (2, 3), mode, **options)

            yield f"pad({dtype}, {mode}, {options})", padded, (numbers(dtype, 5),)


@pytest.mark.sampled(every=6, slow=3)
@BY_DTYPE
def test_padding_rounds_and_wraps_as_numpys_does(dtype: str) -> None:
    assert_all_agree(uses_of_pad(dtype))


WRITTEN: tuple[Any, ...] = (
    300,
    -1,
    1.5,
    2j,
    True,
    np.int64(300),
    np.float64(300.5),
    np.array(300),
    [np.int64(300)],
)
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "slice": lambda x, v: x.__setitem__(slice(1, 3), v),
    "list": lambda x, v: x.__setitem__([0, 1], v),
    "mask": lambda x, v: x.__setitem__(x > 1, v),
    "fill": lambda x, v: x.fill(v) if np.ndim(v) == 0 else None,
    "put": lambda x, v: np.put(x, [1], v),
    "insert": lambda x, v: np.insert(x, 1, v),
    "append": lambda x, v: np.append(x, v),
    "maximum of": lambda x, v: np.max(x, initial=v) if np.ndim(v) == 0 else None,
    "full": lambda x, v: np.full_like(x, v),
}


def uses_of_writes(dtype: str) -> Iterator[Call]:
    for value in WRITTEN:
        for name, write in WRITES.items():

            def written(x: Any, write: Any = write, value: Any = value) -> Any:
                result = write(x, value)
                return x if result is None else result

            yield f"{name}({dtype}, {value!r})", written, (numbers(dtype, 5),)


@pytest.mark.sampled(every=5, slow=3)
@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_numbers_are_written_wherever_numpy_writes_them(dtype: str) -> None:
    assert_all_agree(uses_of_writes(dtype))


def test_numbers_with_an_imaginary_part_are_refused_where_numpy_refuses_them() -> None:
    calls: dict[str, Callable[[Any], Any]] = {
        "bins": lambda x: np.digitize(x, np.array([0, 2j])),
        "left": lambda x: np.interp(x, [0, 1], [0, 1], left=2j),
        "nan": lambda x: np.nan_to_num(x, nan=2j),  # type: ignore[call-overload]
    }
    for name, call in calls.items():
        assert not difference(call, (np.array([0.5, np.nan]),)), name
        with pytest.raises(DTypeError, match=name):
            run_traced(call, np.array([0.5, np.nan]))


def test_a_choice_that_is_not_there_is_refused_where_the_index_is_known() -> None:
    x = np.arange(3)
    for index in ([0, 3, 1], [0, -1, 1]):
        with pytest.raises(ValueError, match="invalid entry in choice array"):
            run_traced(lambda x, i=index: np.choose(i, [x, x, x]), x)
        assert not difference(lambda x, i=index: np.choose(i, [x, x, x], mode="wrap"), (x,))
        assert not difference(lambda x, i=index: np.choose(i, [x, x, x], mode="clip"), (x,))


def test_compiled_functions_have_the_same_dtypes() -> None:
    x = np.array([True, False, True])

    def several(x: Any, i: Any) -> Any:
        np.multiply.at(i, [0, 0], 1.5)
        return x**2, np.mean(i, dtype=np.int64), np.std(i, dtype=np.int8), np.pad(x, 2, mode="mean"), i

    integers = np.array([3, 1, 6])
    assert_same(several(x, integers.copy()), tm.compile(several)(x, integers.copy()))


def _casts(source: str, target: str) -> Iterator[Call]:
    """Calls that cast from one dtype to the other, each with its own rule of what may be cast."""
    x, y = numbers(source, 3), numbers(target, 3)
    mask = np.array([True, False, True])
    writes: dict[str, Callable[..., Any]] = {
        "putmask": lambda x, y: np.putmask(y, mask, x),
        "putmask of one": lambda x, y: np.putmask(y, mask, x[0]),
        "place": lambda x, y: np.place(y, mask, x),
        "put": lambda x, y: np.put(y, [0, 1], x),
        "round": lambda x, y: np.round(x, out=y),
        "quantile": lambda x, y: np.quantile(x[None], 0.5, axis=0, out=y),
        "median": lambda x, y: np.median(x[None], axis=0, out=y),
        "choose": lambda x, y: np.choose([0, 1, 0], [x, x], out=y),
        "floor_divide.reduce": lambda x, y: np.floor_divide.reduce(x[None], axis=0, out=y),
        "maximum.accumulate": lambda x, y: np.maximum.accumulate(x, out=y),
    }
    for name, write in writes.items():
        if not (
            name == "round" and source == "bool"
        ):  # rounded to other than whole numbers: an error of its own
            yield f"{name} {source} to {target}", lambda x, y, write=write: (write(x, y), y)[1], (x, y)
    for rule in ("no", "safe", "same_kind", "unsafe"):
        yield (
            f"astype {rule} {source} to {target}",
            lambda x, rule=rule: x.astype(target, casting=rule),
            (x,),
        )
    for name in ("maximum", "bitwise_or", "hypot", "fmod"):
        reduce = getattr(np, name).reduce
        yield f"{name} of {source} in {target}", lambda x, r=reduce: r(x, dtype=target), (x,)
        yield f"{name} of {source} to {target}", lambda x, y, r=reduce: (r(x[None], out=y), y)[1], (x, y)


@pytest.mark.sampled("complex64", every=6, slow=2)
@BY_DTYPE
def test_casts_are_allowed_and_refused_as_in_numpy(dtype: str) -> None:
    targets = DTYPES[list[str](DTYPES).index(dtype) % 3 :: 3]
    found = [
        f"{name}: {text}"
        for target in targets
        for name, function, args in _casts(dtype, target)
        if (text := difference(function, args))
    ]
    assert not found, "\n".join(found)


def test_an_out_array_widens_the_numbers_that_a_reduction_combines() -> None:
    def product(x: Any, out: Any) -> Any:
        np.power.reduce(x, out=out)
        return out

    x = np.array([3, 3, 2], np.int8)
    assert tm.compile(product)(x, np.zeros((), np.int64)) == 729


def test_reductions_of_bits_with_a_mask_start_from_all_bits_of_any_dtype() -> None:
    for dtype in (np.uint8, np.uint64, np.int16, np.bool_):
        x = np.array([6, 5, 3]).astype(dtype)
        mask = np.array([True, False, True])
        got = tm.compile(lambda x, mask=mask: np.bitwise_and.reduce(x, where=mask))(x)
        assert got == np.bitwise_and.reduce(x, where=mask)
        assert got.dtype == dtype


@pytest.mark.parametrize("mode", ["maximum", "minimum"])
def test_borders_that_are_extrema_keep_the_digits_of_long_integers(mode: Any) -> None:
    for x in (np.array([2**63 - 1, 1, -(2**63) + 1]), np.array([2**64 - 1, 2**63 + 1], np.uint64)):
        np.testing.assert_array_equal(tm.compile(lambda x: np.pad(x, 2, mode))(x), np.pad(x, 2, mode))


@pytest.mark.parametrize(
    "name",
    "subtract divide power remainder fmod arctan2 floor_divide hypot logaddexp logaddexp2 maximum fmin".split(),
)
def test_reductions_with_a_mask_skip_entries_whatever_they_start_with(name: str) -> None:
    x = np.array([[2.5, 1.5, 3.0, 0.5], [0.5, 4.0, 1.0, 2.0]])
    mask = np.array([True, False, True, False])
    reduce = getattr(np, name).reduce
    for initial in (2.0, -3.0, 0.25):
        call = lambda x, initial=initial: reduce(x, axis=1, where=mask, initial=initial)  # noqa: E731
        assert difference(call, (x,)) == ""


def test_a_reduction_whose_result_has_another_dtype_than_the_entries_is_refused() -> None:
    with pytest.raises(DTypeError, match="not of the dtype of the entries"):
        tm.compile(np.ldexp.reduce)(np.array([1, 2], np.int8))

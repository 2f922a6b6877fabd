"""Functions of Series and DataFrames have pandas' values, labels, names and dtypes, compiled and not."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest

import tracemill as tm

NAN = np.nan
FRAME: Final = pd.DataFrame(
    {"a": [1.5, 2.5, -3.0], "b": [4.0, NAN, 6.0], "c": [7.0, 8.0, 9.0]},
    index=pd.Index(["x", "y", "z"], name="row"),
)
MIXED: Final = pd.DataFrame(
    {"n": [1, 2, 3], "x": [0.5, 1.5, NAN], "m": [4, 5, 6], "y": [1.0, 2.0, 3.0]},
    index=pd.date_range("2024-01-01", periods=3),
)
SERIES: Final = pd.Series([1.5, NAN, -2.0], index=[10, 20, 30], name="s")
WHOLE: Final = pd.Series([3, 1, 2], name="whole", dtype=np.int32)

OF_SERIES: Final[dict[str, Callable[[Any], Any]]] = {
    "arithmetic": lambda s: 2 * s + s / 4 - 1,
    "reflected": lambda s: 1 - s,
    "power": lambda s: s**2,
    "negative": lambda s: -s,
    "absolute": lambda s: abs(s) + s.abs(),
    "comparison": lambda s: s > 1,
    "with itself": lambda s: s * s,
    "with an array": lambda s: s * np.array([1.0, 2.0, 3.0]),
    "with a list": lambda s: s * [1, 2, 3],
    "an array first": lambda s: np.array([1.0, 2.0, 3.0]) - s,
    "floor division": lambda s: s // 2,
    "remainder": lambda s: s % 2,
    "named operators": lambda s: s.add(1).mul(3).div(2).sub(s),
    "ufunc": lambda s: np.exp(np.sin(s)),
    "binary ufunc": lambda s: np.hypot(s, s + 1),
    "two outputs": lambda s: np.modf(s * 1.0)[1],
    "sum": lambda s: s.sum(),
    "mean": lambda s: s.mean(),
    "std": lambda s: s.std(),
    "var": lambda s: s.var(ddof=0),
    "min": lambda s: s.min(),
    "max": lambda s: s.max(),
    "prod": lambda s: s.prod(),
    "count": lambda s: s.count(),
    "with NaN": lambda s: s.sum(skipna=False),
    "NumPy's sum": np.sum,
    "NumPy's mean": np.mean,
    "NumPy's std": np.std,
    "clip": lambda s: s.clip(0, 1) + s.clip(upper=1),
    "NumPy's clip": lambda s: np.clip(s, 0, 1),
    "round": lambda s: (s * 1.26).round(1),
    "cumsum": lambda s: s.cumsum(),
    "isna": lambda s: s.isna(),
    "fillna": lambda s: s.fillna(0.5),
    "where": lambda s: s.where(s > 0, 0.0),
    "mask": lambda s: s.mask(s > 0, -s),
    "iloc": lambda s: s.iloc[1:] * 2,
    "one": lambda s: s.iloc[0] + 1,
    "head": lambda s: s.head(2),
    "tail": lambda s: s.tail(1),
    "rename": lambda s: s.rename("other"),
    "astype": lambda s: s.fillna(0).astype(np.float32),
    "dot": lambda s: s.fillna(0) @ s.fillna(0),
    "values": lambda s: s.values,
    "to_numpy": lambda s: np.sort(s.to_numpy()),
    "np.where": lambda s: np.where(s > 0, s, 0),
    "name": lambda s: (s + 1, s.name, len(s), s.shape, s.ndim, s.size),
    "center": lambda s: (s - s.mean()) / s.std(),
    "any": lambda s: (s.any(), s.all(), (s - s).any(), (s * np.nan).any(), (s * np.nan).all()),
    "NumPy's any": lambda s: (np.any(s - s), np.any(s * np.nan), np.all(s * np.nan)),
    "NumPy's amax": lambda s: (np.amax(s), np.amin(s)),
    "cumprod": lambda s: s.cumprod() + s.cumprod(skipna=False),
    "NumPy's cumprod": np.cumprod,
    "cumsum with NaN": lambda s: s.cumsum(skipna=False),
    "NaN as a bound": lambda s: s.clip(np.nan, 1),
    "some NaN as bounds": lambda s: s.clip(np.array([np.nan, 0.0, 0.0]), np.array([1.0, np.nan, np.nan])),
    "scalars of NumPy": lambda s: s.astype(np.float32) * np.float64(2) + np.array(1.0),
    "means of other dtypes": lambda s: s.astype(np.float32) - s.mean(),
    "iteration": lambda s: sum(x * 100 for x in s.fillna(0).astype(np.int8)),
    "reflected methods": lambda s: s.rsub(1) + s.rdiv(2) + s.rpow(2) + s.multiply(2) + s.subtract(s),
    "logic": lambda s: (s > 1) & (s < 3) | (s > 5) ^ True,
    "logic of integers": lambda s: (s.fillna(0).astype(int) & True, s.fillna(0).astype(int) | 4, (s > 1) & 1),
    "isnull": lambda s: s.isnull() | ~s.notnull(),
    "divmod": lambda s: divmod(s, 2)[1],
    "Python's round": lambda s: round(s, 1),
    "np.asarray": lambda s: np.asarray(s) * 2 + np.array(s, np.float32),
    "np.zeros_like": lambda s: np.zeros_like(s) + np.full_like(s, 2.0),
    "complex variance": lambda s: ((s * (1 + 2j)).var(), (s * (1 + 2j)).std(ddof=0)),
}

OF_FRAMES: Final[dict[str, Callable[[Any], Any]]] = {
    "arithmetic": lambda d: 2 * d + d / 4 - 1,
    "itself": lambda d: d * d - d,
    "power": lambda d: d**2,
    "comparison": lambda d: d >= 2,
    "column": lambda d: d[d.columns[0]] * 2,
    "columns": lambda d: d[[d.columns[1], d.columns[0]]] + 1,
    "two columns": lambda d: d[d.columns[0]] + d[d.columns[1]],
    "ufunc": lambda d: np.exp(d / 10),
    "sum": lambda d: d.sum(),
    "mean": lambda d: d.mean(),
    "std": lambda d: d.std(),
    "min": lambda d: d.min(),
    "count": lambda d: d.count(),
    "of rows": lambda d: d.mean(axis=1),
    "sum of rows": lambda d: d.sum(axis="columns"),
    "of all": lambda d: d.sum(axis=None),
    "NumPy's mean": np.mean,
    "NumPy's sum of rows": lambda d: np.sum(d, axis=1),
    "standardized": lambda d: (d - d.mean()) / d.std(),
    "by rows": lambda d: d.sub(d.mean(axis=1), axis=0).div(d.sum(axis=1), axis="index"),
    "with an array of columns": lambda d: d * np.arange(1.0, d.shape[1] + 1),
    "with an array": lambda d: d * np.ones(d.shape),
    "clip": lambda d: d.clip(0, 2),
    "cumsum": lambda d: d.cumsum(),
    "fillna": lambda d: d.fillna(-1.0),
    "where": lambda d: d.where(d > 2, 0.0),
    "iloc": lambda d: d.iloc[:2] + 1,
    "rows": lambda d: d[1:],
    "assign": lambda d: d.assign(new=d[d.columns[0]] * 2, one=1.0),
    "drop": lambda d: d.drop(columns=[d.columns[0]]) * 2,
    "rename": lambda d: d.rename(columns={d.columns[0]: "first"}),
    "product with a vector": lambda d: d.fillna(0) @ np.arange(1.0, d.shape[1] + 1),
    "product with a matrix": lambda d: d.fillna(0) @ np.ones((d.shape[1], 2)),
    "product with sums": lambda d: d.fillna(0) @ d.mean(),
    "product from the left": lambda d: np.ones(3) @ d.fillna(0),
    "to_numpy": lambda d: d.to_numpy(),
    "values": lambda d: d.values.sum(),
    "items": lambda d: {name: column * 2 for name, column in d.items()},
    "shape": lambda d: (d.shape, d.ndim, d.size, len(d), list(d)),
    "any": lambda d: (d.any(), d.all(axis=1), np.any(d), np.amax(d.fillna(0))),
    "cumprod": lambda d: d.cumprod(),
    "bounds of rows": lambda d: d.astype(float).clip(lower=d.mean(axis=1), axis=0),
    "bounds of columns": lambda d: d.astype(float).clip(d.min(), d.mean(), axis=1),
    "np.asarray": lambda d: np.asarray(d).T @ np.ones(3),
}  # fmt: skip


def assert_same(found: Any, expected: Any) -> None:
    """Values to the last digits of sums; labels, names, dtypes and types as they are."""
    if isinstance(expected, pd.Series):
        assert isinstance(found, pd.Series), type(found)
        pd.testing.assert_series_equal(found, expected, rtol=1e-13, atol=1e-15, check_freq=False)
    elif isinstance(expected, pd.DataFrame):
        assert isinstance(found, pd.DataFrame), type(found)
        pd.testing.assert_frame_equal(found, expected, rtol=1e-13, atol=1e-15, check_freq=False)
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            assert_same(found[key], expected[key])
    elif isinstance(expected, tuple | list):
        assert type(found) is type(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    else:
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, 1e-13) if np.asarray(found).dtype.kind in "fc" else (
            np.testing.assert_array_equal(found, expected)
        )


def primal(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function as an uncompiled derivative runs it: its result is aux."""

    def run(x: Any) -> Any:
        return tm.grad(lambda x, weight: (weight * 1.0, function(x)), argnums=1, has_aux=True)(x, 1.0)[1]

    return run


@pytest.mark.parametrize("name", OF_SERIES)
@pytest.mark.parametrize("data", [SERIES, WHOLE], ids=["floats", "ints"])
def test_a_series_in_a_function_has_pandas_values(name: str, data: pd.Series) -> None:
    function = OF_SERIES[name]
    expected = function(data)
    assert_same(tm.compile(function, backend="numpy")(data), expected)
    assert_same(primal(function)(data), expected)


@pytest.mark.parametrize("name", OF_FRAMES)
@pytest.mark.parametrize("data", [FRAME, MIXED], ids=["floats", "mixed"])
def test_a_data_frame_in_a_function_has_pandas_values(name: str, data: pd.DataFrame) -> None:
    function = OF_FRAMES[name]
    expected = function(data)
    assert_same(tm.compile(function, backend="numpy")(data), expected)
    assert_same(primal(function)(data), expected)


@pytest.mark.filterwarnings("ignore:Setting a new column:Warning")
def test_columns_of_several_levels_stay_so() -> None:
    columns = pd.MultiIndex.from_tuples([("p", 1), ("p", 2)])
    data = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=columns)

    def more(d: Any) -> Any:
        return d.assign(new=[1, 2], one=1.0)

    assert_same(tm.compile(more)(data), more(data))


def test_parameters_may_be_passed_by_position() -> None:
    for data in (SERIES, FRAME):
        found = tm.compile(lambda x: (x.std(0, True, 0), x.var(0, False, 2), x.sum(0, False)))(data)
        expected = (data.std(ddof=0), data.var(skipna=False, ddof=2), data.sum(skipna=False))
        assert_same(found, expected)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_the_variance_of_an_infinite_element_is_nan() -> None:
    data = SERIES.fillna(np.inf)
    functions: list[Callable[[Any], Any]] = [lambda s: s.var(), lambda s: s.std(ddof=0), lambda s: s.mean()]
    for function in functions:
        assert_same(tm.compile(function)(data), function(data))


def test_columns_with_swapped_bytes_are_converted() -> None:
    swapped = np.array([1.0, 2.0]).astype(np.dtype(np.float64).newbyteorder("S"))
    for data in (pd.Series(swapped), pd.DataFrame({"a": swapped, "b": [1.0, 2.0]})):
        assert_same(tm.compile(lambda x: x * 2)(data), (data * 2).astype(np.float64))

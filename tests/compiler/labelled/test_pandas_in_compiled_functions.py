"""Compiled functions of Series and DataFrames: one program whatever the labels, results with those of the call."""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest

import tracemill as tm
from tracemill.compiler.errors import ArgumentValueError, RecompileWarning


def double(x: Any) -> Any:
    return x * 2


def test_each_call_has_its_own_index_and_one_program() -> None:
    f = tm.compile(double)
    for index in (
        ["a", "b"],
        [1, 2],
        pd.date_range("2024", periods=2),
        pd.MultiIndex.from_product([[1], ["a", "b"]]),
    ):
        data = pd.Series([1.0, 2.0], index=index)
        pd.testing.assert_series_equal(f(data), data * 2)
    assert len(f.signatures()) == 1


def test_data_frames_of_many_lengths_share_a_program() -> None:
    f = tm.compile(lambda d: d - d.mean())
    for length in range(2, 9):
        data = pd.DataFrame({"a": np.arange(length) * 1.0, "b": 1.0}, index=np.arange(length) + 5)
        pd.testing.assert_frame_equal(f(data), data - data.mean())
    assert len(f.signatures()) == 2


def test_other_columns_and_other_names_are_other_variants() -> None:
    f = tm.compile(double)
    for names in (["a", "b"], ["a", "c"], [0, 1], ["a", "a"]):
        data = pd.DataFrame([[1.0, 2.0]], columns=names)
        for _ in range(2):
            pd.testing.assert_frame_equal(f(data), data * 2)
    assert len(f.signatures()) == 4


def test_columns_of_equal_names_and_of_several_levels_are_selected_as_pandas_does() -> None:
    repeated = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "b", "a"])
    levels = pd.DataFrame(
        [[1.0, 2.0, 3.0]], columns=pd.MultiIndex.from_tuples([("p", 1), ("p", 2), ("q", 1)])
    )
    pd.testing.assert_frame_equal(tm.compile(lambda d: d["a"] * 2)(repeated), repeated["a"] * 2)
    pd.testing.assert_frame_equal(tm.compile(lambda d: d["p"] * 2)(levels), levels["p"] * 2)
    pd.testing.assert_series_equal(tm.compile(lambda d: d["q", 1] * 2)(levels), levels["q", 1] * 2)


def test_an_empty_data_frame_and_an_empty_series() -> None:
    for data in (
        pd.DataFrame({"a": []}, dtype=float),
        pd.Series([], dtype=float),
        pd.DataFrame(index=[1, 2]),
    ):
        found = tm.compile(double)(data)
        (pd.testing.assert_series_equal if data.ndim == 1 else pd.testing.assert_frame_equal)(found, data * 2)
    assert tm.compile(lambda s: s.sum())(pd.Series([], dtype=float)) == 0
    assert np.isnan(tm.compile(lambda s: s.mean())(pd.Series([], dtype=float)))


def test_columns_that_are_not_contiguous_and_arguments_that_share_memory() -> None:
    data = pd.DataFrame(np.arange(12.0).reshape(3, 4), columns=list("abcd"))
    every_other = data.iloc[::2, ::2]
    pd.testing.assert_frame_equal(tm.compile(double)(every_other), every_other * 2)
    found = tm.compile(lambda s, t: s + t)(data["a"], data["a"])
    pd.testing.assert_series_equal(found, data["a"] * 2)


def test_a_result_is_not_a_view_of_the_argument() -> None:
    data = pd.Series([1.0, 2.0])
    found = tm.compile(lambda s: s)(data)
    found.iloc[0] = 7.0
    assert data.iloc[0] == 1.0


def test_containers_of_labelled_data() -> None:
    data: Any = {"x": pd.Series([1.0, 2.0], index=[5, 6]), "y": (pd.DataFrame({"a": [3.0, 4.0]}), np.ones(2))}
    found: Any = tm.compile(lambda d: {"sum": d["x"] * 2, "more": [d["y"][0] + 1, d["y"][1]]})(data)
    pd.testing.assert_series_equal(found["sum"], data["x"] * 2)
    pd.testing.assert_frame_equal(found["more"][0], data["y"][0] + 1)
    assert type(found["more"][1]) is np.ndarray


def test_a_function_of_threads_keeps_the_index_of_each_call() -> None:
    f = tm.compile(double)
    f(pd.Series(np.ones(3)))

    def run(number: int) -> bool:
        data = pd.Series(np.ones(3) * number, index=[number, number + 1, number + 2])
        return all(f(data).equals(data * 2) for _ in range(20))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, range(8)))


def test_a_pickled_function_takes_labelled_data() -> None:
    f = pickle.loads(pickle.dumps(tm.compile(double)))
    pd.testing.assert_series_equal(f(pd.Series([1.0], index=["a"])), pd.Series([2.0], index=["a"]))


def test_what_runs_uncompiled_gives_labels_too() -> None:
    def careful(s: Any) -> Any:
        with np.errstate(divide="raise"):
            return s * 2

    with pytest.warns(RecompileWarning, match="runs uncompiled"):
        found = tm.compile(careful)(pd.Series([1.0, 2.0], index=["a", "b"]))
    pd.testing.assert_series_equal(found, pd.Series([2.0, 4.0], index=["a", "b"]))


# ---- functions that look at labels -------------------------------------------------------------------------


def test_labels_that_a_function_looks_at_are_part_of_the_signature() -> None:
    functions: list[Callable[[Any], Any]] = [
        lambda s: s["b"] * 2,
        lambda s: s * len(s.index.names[0] or ""),
        lambda s: s.to_numpy()[s.index.get_loc("b")] + s,
    ]
    data = pd.Series([1.0, 2.0], index=["a", "b"])
    for f in functions:
        compiled = tm.compile(f)
        for one in (data, data.iloc[::-1], data.rename_axis("name"), data):
            found, expected = compiled(one), f(one)
            assert type(found) is type(expected)
            assert np.array_equal(found, expected)
            if isinstance(expected, pd.Series):
                pd.testing.assert_series_equal(found, expected)
        assert len(compiled.signatures()) == 3


def test_an_argument_meets_labels_from_outside() -> None:
    weights = pd.Series([1.0, 10.0], index=["a", "b"])
    f, slope = tm.compile(lambda s: s * weights), tm.compile(tm.grad(lambda s: (s * weights).sum()))
    data = pd.Series([3.0, 4.0], index=["a", "b"])
    pd.testing.assert_series_equal(f(data), data * weights)
    pd.testing.assert_series_equal(slope(data), weights)
    weights["a"] = 5.0
    pd.testing.assert_series_equal(f(data), data * weights)
    with pytest.raises(ArgumentValueError, match=r"the indices differ, \['b', 'a'\] and \['a', 'b'\]"):
        f(data.iloc[::-1])
    pd.testing.assert_series_equal(f(data), data * weights)


def test_indices_that_are_equal_but_of_other_kinds_are_not_aligned() -> None:
    values = np.array([1.0, 2.0])
    indices = [pd.RangeIndex(2), pd.Index([0, 1], name="p"), pd.Index([0.0, 1.0], name="q")]
    f = tm.compile(lambda a, b: a + b)
    for one in indices:
        for other in indices:
            a, b = pd.Series(values, one, name=np.nan), pd.Series(values, other, name=np.nan)
            pd.testing.assert_series_equal(f(a, b), a + b)
    assert len(f.signatures()) == 2


def test_a_call_with_other_labels_does_not_end_the_program_for_all() -> None:
    f = tm.compile(lambda a, b: a + b)
    one, other = pd.Series([1.0, 2.0], index=[1, 2]), pd.Series([1.0, 2.0], index=[2, 1])
    with pytest.raises(ArgumentValueError, match="the indices differ"):
        f(one, other)
    for number in range(3):
        data = pd.Series([1.0, 2.0], index=[number, 5])
        pd.testing.assert_series_equal(f(data, data), data * 2)
    assert len(f.signatures()) == 1


# ---- from outside ------------------------------------------------------------------------------------------


def test_data_from_outside_meets_arrays_of_the_function_in_each_order() -> None:
    prices = pd.Series([1.0, 2.0, 3.0], index=["x", "y", "z"], name="prices")
    x = np.array([1.0, 2.0, 3.0])
    functions: list[Callable[[Any], Any]] = [lambda x: x * prices, lambda x: prices * x]
    for function in functions:
        expected = function(x)
        pd.testing.assert_series_equal(tm.compile(function)(x), expected)
        slope = tm.grad(lambda x: np.sum(function(x)))(x)  # noqa: B023
        np.testing.assert_array_equal(slope, prices)


def test_changes_of_data_from_outside_are_seen() -> None:
    data = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    series = pd.Series([1.0, 2.0])
    functions = [
        tm.compile(lambda x: x * data["a"].to_numpy()),
        tm.compile(lambda x: data["a"] * x),
        tm.compile(lambda x: x * data["a"].mean()),
        tm.compile(lambda x: series * x),
        tm.compile(lambda x: x * series.to_numpy()),
    ]
    x = np.ones(2)

    def found() -> list[float]:
        return [float(np.asarray(f(x))[1]) for f in functions]

    assert found() == [2, 2, 1.5, 2, 2]
    data.loc[1, "a"] = 5.0
    series.iloc[1] = 6.0
    assert found() == [5, 5, 3, 6, 6]
    data["a"] = [7.0, 8.0]
    assert found() == [8, 8, 7.5, 6, 6]
    series = series + 1
    assert found() == [8, 8, 7.5, 7, 7]


@pytest.mark.parametrize("kind", ["dict", "list", "tuple", "attribute", "dict in an attribute"])
def test_a_column_that_is_replaced_is_seen_wherever_the_data_frame_is(kind: str) -> None:
    data = pd.DataFrame({"a": [1.0, 2.0]})
    holder = SimpleNamespace(data=data, more={"k": data})
    table, row, pair = {"k": data}, [data], (data,)
    functions: dict[str, Callable[[Any], Any]] = {
        "dict": lambda x: x * table["k"]["a"].to_numpy(),
        "list": lambda x: x * row[0]["a"].to_numpy(),
        "tuple": lambda x: x * pair[0]["a"].to_numpy(),
        "attribute": lambda x: x * holder.data["a"].to_numpy(),
        "dict in an attribute": lambda x: x * holder.more["k"]["a"].to_numpy(),
    }
    f = tm.compile(functions[kind])
    np.testing.assert_array_equal(f(np.ones(2)), [1.0, 2.0])
    data["a"] = [7.0, 8.0]
    np.testing.assert_array_equal(f(np.ones(2)), [7.0, 8.0])


HOLDERS: Final[dict[str, Callable[[Any], Any]]] = {
    "variable": lambda x: x,
    "dict": lambda x: {"t": x},
    "list": lambda x: [x],
    "dict in a dict": lambda x: {"t": {"t": x}},
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_elements_that_are_written_are_seen_by_methods_of_pandas_wherever_the_data_is(kind: str) -> None:
    data = pd.Series([1.0, 2.0, 6.0], index=["a", "b", "c"])
    held = HOLDERS[kind](data)
    reads: dict[str, Callable[[], Any]] = {
        "variable": lambda: held,
        "dict": lambda: held["t"],
        "list": lambda: held[0],
        "dict in a dict": lambda: held["t"]["t"],
    }
    read = reads[kind]
    functions: list[Callable[[Any], Any]] = [
        lambda x: x * read().median(),
        lambda x: x * read()["b"],
        lambda x: x * read().rolling(2).sum().to_numpy()[1],
    ]
    for f in functions:
        compiled = tm.compile(f)
        assert compiled(1.0) == f(1.0)
        data["b"] += 20.0
        assert compiled(1.0) == f(1.0)


COLUMNS: Final[dict[str, tuple[Any, Any, Callable[[Any], Any]]]] = {
    "texts": (["x", "y"], "z", lambda d: d.groupby("k")["v"].sum().to_numpy()),
    "objects": (np.array(["x", 3], object), "y", lambda d: float(d["k"].iloc[0] == "x")),
    "categories": (pd.Categorical(["x", "y"]), "y", lambda d: d["k"].cat.codes.sum()),
    "nullable": (pd.array([1, None], dtype="Int64"), 5, lambda d: float(d["k"].sum())),
    "dates": (pd.date_range("2024", periods=2), pd.Timestamp("2020"), lambda d: d["k"].dt.year.sum()),
    "zones": (
        pd.date_range("2024", periods=2, tz="UTC"),
        pd.Timestamp("2020", tz="UTC"),
        lambda d: d["k"].dt.year.sum(),
    ),
    "intervals": (pd.interval_range(0, 2), pd.Interval(5, 6), lambda d: d["k"].array.left.to_numpy().sum()),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_writes_to_columns_of_other_dtypes_outside_are_seen(kind: str) -> None:
    column, other, read = COLUMNS[kind]
    data = pd.DataFrame({"v": [1.0, 2.0], "k": column})
    f = tm.compile(lambda x: x * read(data))
    np.testing.assert_array_equal(f(1.0), read(data))
    data.loc[0, "k"] = other
    np.testing.assert_array_equal(f(1.0), read(data))


def test_another_name_of_an_index_outside_is_seen() -> None:
    data = pd.Series([1.0, 2.0], index=pd.Index([1, 2], name="day"))
    f = tm.compile(lambda x: x * len(data.index.name))
    assert f(1.0) == 3
    data.index.name = "month"
    assert f(1.0) == 5


def test_control_flow_on_labelled_data() -> None:
    def grow(s: Any) -> Any:
        while s.sum() < 100:
            s = s * 1.5
        return s if s.max() > 60 else -s

    for data in (pd.Series([1.0, 2.0], index=["a", "b"]), pd.Series([1.0, 80.0], index=["c", "d"])):
        pd.testing.assert_series_equal(tm.compile(grow)(data), grow(data))


def test_a_row_drawn_by_pandas_is_refused() -> None:
    data = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    functions: list[Callable[[Any], Any]] = [
        lambda x: x * data["a"].sample(1).to_numpy(),
        lambda x: x * data["a"].sample(1, random_state=np.random.default_rng(0)).to_numpy(),
    ]
    np.testing.assert_array_equal(tm.compile(functions[1])(np.ones(1)), functions[1](np.ones(1)))
    state = np.random.get_state()[2]  # type: ignore[index]
    with pytest.raises(tm.errors.RandomStateError, match="a generator of NumPy's"):
        tm.compile(functions[0])(np.ones(1))
    assert np.random.get_state()[2] == state  # type: ignore[index]

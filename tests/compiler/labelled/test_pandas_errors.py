"""What cannot be done with a Series or a DataFrame says what is wrong, and what to write instead."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pandas as pd
import pytest

import tracemill as tm
from tracemill.compiler.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DTypeError,
    IndexTypeError,
    ReadOnlyError,
    ShapeError,
    UnsupportedAttributeError,
)

TRANSFORMS: Final[dict[str, Callable[[Any], Any]]] = {
    "compile": tm.compile,
    "grad": tm.grad,
    "value_and_grad": tm.value_and_grad,
    "vmap": tm.vmap,
    "jacrev": tm.jacrev,
    "jvp": lambda f: lambda x: tm.jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: tm.vjp(f, x),
}

COLUMNS: Final = {
    "Int64": (pd.array([1, None], "Int64"), r'Int64.*pass df\["c"\]\.astype\("int64"\)'),
    "boolean": (pd.array([True, None], "boolean"), r'boolean.*pass df\["c"\]\.astype\("bool"\)'),
    "Float32": (pd.array([1.0, None], "Float32"), r'Float32.*df\["c"\]\.astype\("float64"\), where they are NaN'),
    "category": (pd.Categorical(["a", "b"]), r'category.*pass the codes, df\["c"\]\.cat\.codes'),
    "object": (np.array(["a", 1], object), r'object.*pd\.factorize\(df\["c"\]\)\[0\]'),
    "string": (pd.array(["a", "b"], "string"), r'str.*pd\.factorize\(df\["c"\]\)\[0\]'),
    "datetime": (pd.date_range("2024", periods=2), r'datetime64.*df\["c"\]\.astype\("int64"\)'),
    "timezone": (pd.date_range("2024", periods=2, tz="UTC"), r'UTC.*df\["c"\]\.astype\("int64"\)'),
    "timedelta": (pd.to_timedelta([1, 2], "s"), r"timedelta64.*\.dt\.total_seconds\(\)"),
}  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("kind", ["Int64", "string"])
def test_each_transform_names_the_argument_and_the_column(transform: str, kind: str) -> None:
    column, fix = COLUMNS[kind]
    data = pd.DataFrame({"a": [1.0, 2.0], "c": column})
    fix = fix.replace('"c"', "'c'")
    with pytest.raises(
        DTypeError, match=rf"args\[0\]: the column 'c' has dtype {fix}.*drop\(columns=\['c'\]\)"
    ):
        TRANSFORMS[transform](lambda d: d["a"].sum())(data)


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_without_numbers_name_the_fix_and_the_fix_works(kind: str) -> None:
    column, fix = COLUMNS[kind]
    data = pd.DataFrame({"a": [1.0, 2.0], "c": column})
    with pytest.raises(DTypeError, match=fix.replace('"c"', "'c'")):
        tm.compile(lambda d: d["a"])(data)
    assert tm.compile(lambda d: d["a"].sum())(data.drop(columns=["c"])) == 3
    with pytest.raises(DTypeError, match=r"args\[0\]\['k'\]: the Series has dtype"):
        tm.compile(lambda s: s["k"])({"k": data["c"]})


A: Final = pd.Series([1.0, 2.0], index=["x", "y"])
B: Final = pd.Series([1.0, 2.0], index=["y", "z"])
FRAME: Final = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=["x", "y"])


def test_indices_that_differ_are_refused_where_pandas_would_align_them() -> None:
    with pytest.raises(ArgumentValueError, match=r"indices.*a\.align\(b\)"):
        tm.compile(lambda a, b: a + b)(A, B)
    with pytest.raises(ArgumentValueError, match=r"indices differ, \['x', 'y'\] and \['y', 'z'\].*to_numpy"):
        tm.grad(lambda a, b: (a + b).sum())(A, B)
    aligned = A.align(B)
    pd.testing.assert_series_equal(tm.compile(lambda a, b: a + b)(*aligned), A + B)
    found = tm.compile(lambda a, b: a.to_numpy() + b.to_numpy())(A, B)
    np.testing.assert_array_equal(found, [2.0, 4.0])


def test_a_compiled_function_does_not_add_what_later_calls_do_not_align() -> None:
    f = tm.compile(lambda a, b: a + b)
    pd.testing.assert_series_equal(f(A, A.copy()), A + A)
    with pytest.raises(ArgumentValueError, match="align"):
        f(A, B)
    with pytest.raises(ArgumentValueError, match="align"):
        tm.compile(lambda b: A * b)(B)


def test_columns_that_differ_are_refused() -> None:
    other = FRAME.rename(columns={"b": "c"})
    for function in (lambda d: d + other, lambda d: d @ A, lambda d: d - other.mean()):
        with pytest.raises(ArgumentValueError, match=r"columns.*differ"):
            tm.vjp(function, FRAME)


REFUSED: Final[dict[str, tuple[Callable[[Any], Any], type[Exception], str]]] = {
    "rolling": (lambda d: d["a"].rolling(2).mean(), UnsupportedAttributeError, r"x\.rolling of a Series.*to_numpy"),
    "groupby": (lambda d: d.groupby("a").sum(), UnsupportedAttributeError, r"x\.groupby of a DataFrame.*to_numpy"),
    "assignment": (lambda d: d.__setitem__("c", 1.0), ArgumentTypeError, r"df = df\.assign\(name=…\)"),
    "a mask": (lambda d: d[d["a"] > 1], ArgumentTypeError, r"select rows.*df\.where\(mask\)"),
    "labels": (lambda d: d["a"][["x", "y"]], IndexTypeError, r"s\.iloc\[…\]"),
    "a truth value": (lambda d: 1 if d["a"] > 0 else 2, ArgumentValueError, r"\.any\(\) or \.all\(\)"),
    "an array that is too long": (lambda d: d["a"] * np.ones(3), ShapeError, r"length 2 meets an array.*\(3,\)"),
    "an array for columns": (lambda d: d * np.ones(3), ShapeError, r"pass one of shape \(2,\)"),
    "a division of ints": (lambda d: d.astype(int) // np.sum(d["a"] > 1), ArgumentTypeError, r'astype\("float64"\)'),
    "an axis": (lambda d: d.sum(axis=2), ArgumentTypeError, "axis must be 0, 1 or None, not 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_traced_names_the_fix(name: str) -> None:
    function, error, text = REFUSED[name]
    with pytest.raises(error, match=text):
        tm.compile(function)(FRAME)


def test_the_memory_of_a_data_frame_is_read_only() -> None:
    def writes(d: Any) -> Any:
        x = d.to_numpy()
        x[0] = 5.0
        return x

    with pytest.raises(ReadOnlyError, match=r"args\[0\] is read-only"):
        tm.compile(writes)(FRAME)
    mixed = FRAME.assign(n=[1, 2])  # its columns of one dtype are copied by pandas
    with pytest.raises(ReadOnlyError, match=r"args\[0\]\['n'\] is read-only"):
        tm.compile(lambda d: writes(d["n"]))(mixed)
    assert FRAME.iloc[0, 0] == 1.0
    assert mixed["n"].iloc[0] == 1


def test_a_column_that_is_missing_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="missing"):
        tm.compile(lambda d: d["missing"])(FRAME)
    with pytest.raises(UnsupportedAttributeError, match=r"x\.missing"):
        tm.compile(lambda d: d.missing)(FRAME)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda d: np.argmax(d["a"]), r"np\.argmax of a Series skips NaN: use np\.nanargmax"),
        (lambda d: np.sum(d, dtype=np.float32), r"np\.sum of a DataFrame takes no dtype: use x\.to_numpy"),
        (lambda d: d.sum(min_count=1), "min_count of sum cannot be traced"),
        (lambda d: d["a"].add(d["b"], fill_value=0), r"fill_value of add cannot be traced: use x\.fillna"),
        (lambda d: d.where(np.array([True, False]), 0.0), r"has a condition of shape \(2,\)"),
        (lambda d: (d > 1).where(d > 2), r"make objects in pandas: convert the bools first"),
    ],
)
def test_what_pandas_does_otherwise_is_refused(function: Any, text: str) -> None:
    data = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, np.nan]})
    for transform in (tm.compile, lambda f: tm.grad(lambda d: (f(d), 1.0)[1])):
        with pytest.raises((TypeError, ValueError, AttributeError, NotImplementedError), match=text):
            transform(function)(data)


@pytest.mark.parametrize("kind", [pd.Index, pd.array])
def test_other_objects_of_pandas_name_the_conversion(kind: Any) -> None:
    for transform in (tm.compile, tm.grad):
        with pytest.raises(TypeError, match=r"args\[0\] is \w+.*Pass its values, x\.to_numpy\(\)"):
            transform(lambda x: x)(kind([1.0, 2.0]))

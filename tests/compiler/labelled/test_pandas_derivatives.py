"""Derivatives with respect to a Series or a DataFrame have its labels."""

from typing import Any, Final

import numpy as np
import pandas as pd
import pytest

import tracemill as tm
from tracemill.compiler.errors import (
    NonScalarOutputError,
    TransformArgumentError,
    TransformTypeError,
    TreeMismatchError,
)

FRAME: Final = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}, index=["x", "y", "z"])
SERIES: Final = FRAME["a"]
LINES: Final = pd.MultiIndex.from_tuples([("p", 1), ("p", 2), ("q", 1)], names=["group", "line"])


def test_the_gradient_of_a_series_is_a_series_with_its_index_and_name() -> None:
    for transform in (tm.grad, lambda f: tm.compile(tm.grad(f)), lambda f: tm.grad(tm.compile(f))):
        found: Any = transform(lambda s: (s**3).sum())(SERIES)
        pd.testing.assert_series_equal(found, 3 * SERIES**2)


def test_the_gradient_of_a_data_frame_is_a_data_frame() -> None:
    data = FRAME.set_axis(LINES)
    value, found = tm.value_and_grad(lambda d: (d["a"] * d["b"] ** 2).sum())(data)
    assert value == (FRAME["a"] * FRAME["b"] ** 2).sum()
    pd.testing.assert_frame_equal(
        found, pd.DataFrame({"a": data["b"] ** 2, "b": 2 * data["a"] * data["b"]}, index=LINES)
    )


def test_the_gradient_of_a_mean_skips_nan_as_the_mean_does() -> None:
    data = pd.Series([1.0, np.nan, 3.0])
    pd.testing.assert_series_equal(tm.grad(lambda s: s.mean())(data), pd.Series([0.5, 0.0, 0.5]))


def test_weights_of_a_model_are_a_series_by_column() -> None:
    weights = pd.Series({"a": 0.5, "b": -1.0})
    target = pd.Series([1.0, 0.0, 2.0], index=FRAME.index)

    def loss(weights: Any, data: Any, target: Any) -> Any:
        return ((data @ weights - target) ** 2).mean()

    expected = 2 * FRAME.T @ (FRAME @ weights - target) / 3
    for transform in (tm.grad, lambda f: tm.compile(tm.grad(f))):
        pd.testing.assert_series_equal(transform(loss)(weights, FRAME, target), expected)


def test_directions_and_cotangents_have_the_labels_of_the_arguments() -> None:
    value, tangent = tm.jvp(np.sin, (SERIES,), (SERIES * 0 + 1,))
    pd.testing.assert_series_equal(value, np.sin(SERIES))
    pd.testing.assert_series_equal(tangent, np.cos(SERIES))
    value, pull = tm.vjp(np.sin, SERIES)
    (found,) = pull(value)
    pd.testing.assert_series_equal(found, np.cos(SERIES) * np.sin(SERIES))


def test_a_direction_with_another_index_is_refused() -> None:
    with pytest.raises(TreeMismatchError, match=r"tangents"):
        tm.jvp(lambda s: s * 2, (SERIES,), (SERIES.set_axis([1, 2, 3]),))


def test_a_batch_of_a_data_frame_is_its_rows() -> None:
    def product(row: Any) -> Any:
        return row["a"] * row["b"] + row.sum()

    expected = (FRAME["a"] * FRAME["b"] + FRAME.sum(axis=1)).to_numpy()
    np.testing.assert_allclose(tm.vmap(product)(FRAME), expected)
    np.testing.assert_allclose(tm.compile(tm.vmap(product))(FRAME), expected)
    slopes = tm.vmap(tm.grad(product))(FRAME)
    np.testing.assert_allclose(slopes, FRAME[["b", "a"]].to_numpy() + 1)


def test_a_batch_of_columns_is_refused_as_their_labels_would_be_those_of_a_row() -> None:
    for data in (FRAME, {"k": FRAME}):
        with pytest.raises(TransformArgumentError, match=r"args\[0\].* has dim 1.*pass df\.T"):
            tm.vmap(lambda column: 0.0, 1)(data)
    np.testing.assert_allclose(tm.vmap(lambda column: column["x"] * column.sum())(FRAME.T), [6.0, 60.0])
    np.testing.assert_allclose(tm.vmap(np.sum, 1)(FRAME.to_numpy()), [6.0, 15.0])


def test_a_jacobian_is_an_array() -> None:
    found = tm.jacrev(lambda s: s**2)(SERIES)
    np.testing.assert_allclose(found, np.diag(2 * SERIES))
    np.testing.assert_allclose(tm.jacfwd(lambda s: s.to_numpy() ** 2)(SERIES), np.diag(2 * SERIES))
    np.testing.assert_allclose(tm.hessian(lambda s: (s**3).sum())(SERIES), np.diag(6 * SERIES))


def test_integers_have_no_derivative_and_the_message_names_the_columns() -> None:
    data = pd.DataFrame({"n": [1, 2], "x": [1.0, 2.0], "m": [3, 4]})
    with pytest.raises(TransformTypeError, match=r"args\[0\]\[\['n', 'm'\]\] has dtype i64"):
        tm.grad(lambda d: d["x"].sum())(data)


def test_the_gradient_of_a_series_is_refused() -> None:
    with pytest.raises(NonScalarOutputError, match="must return one number, not"):
        tm.grad(lambda s: s * 2)(SERIES)

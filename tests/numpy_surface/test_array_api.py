"""Code written against the Array API standard runs on traced arrays."""

from typing import Any

import numpy as np
import pytest

import tracemill as tm


def standardised(x: Any) -> Any:
    """Written against the standard, for any library's arrays."""
    xp = x.__array_namespace__()
    padded = xp.concat([x, xp.zeros(2, dtype=x.dtype)])
    return xp.sum(xp.pow(padded, 2)) + xp.mean(xp.permute_dims(xp.reshape(x, (1, -1)), (1, 0))) * xp.pi


def test_a_function_of_the_standard_is_compiled_and_differentiated() -> None:
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(tm.compile(standardised)(x), standardised(x))
    np.testing.assert_allclose(tm.grad(standardised)(x), 2 * x + np.pi / 3)


def test_every_name_of_the_namespace_is_there() -> None:
    for name in dir(tm.array_api):
        assert getattr(tm.array_api, name) is not None or name == "newaxis"
    with pytest.raises(AttributeError, match="no 'ones_lik'"):
        tm.array_api.ones_lik  # noqa: B018


def test_outside_of_a_trace_its_arrays_are_numpys() -> None:
    assert type(tm.array_api.zeros(2)) is np.ndarray


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(tm.errors.UnsupportedFunctionError, match=r"version '1999\.01'"):
        tm.compile(lambda x: x.__array_namespace__(api_version="1999.01").sum(x))(np.ones(2))

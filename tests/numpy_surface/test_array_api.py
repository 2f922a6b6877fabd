"""Code written against the Array API standard runs on traced arrays."""

import inspect
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from numpy_surface import traced_namespace


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


@pytest.mark.parametrize("is_compiled", [False, True])
def test_the_standard_sorts_in_descending_order(is_compiled: bool) -> None:
    xp = traced_namespace if is_compiled else tm.array_api
    x = xp.asarray([[3, 1, 2, 3], [0, 0, 5, 0]])
    assert np.array_equal(np.from_dlpack(xp.sort(x, descending=True)), [[3, 3, 2, 1], [5, 0, 0, 0]])
    assert np.array_equal(np.from_dlpack(xp.argsort(x, descending=True)), [[0, 3, 2, 1], [2, 0, 1, 3]])
    assert np.array_equal(
        np.from_dlpack(xp.argsort(x, axis=0, descending=True)), [[0, 0, 1, 0], [1, 1, 0, 1]]
    )


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_have_the_dtype_that_is_asked_for(name: str) -> None:
    frequencies = getattr(tm.array_api.fft, name)
    assert frequencies(5, dtype=np.float32).dtype == np.float32
    np.testing.assert_array_equal(frequencies(5, d=0.5), getattr(np.fft, name)(5, 0.5))
    assert tm.compile(lambda x: x * frequencies(5, dtype=x.dtype)[:3])(np.ones(3, "f4")).dtype == "f4"


def test_the_namespace_describes_itself() -> None:
    info = tm.array_api.__array_namespace_info__()
    assert info.devices() == ("cpu",)
    assert info.default_device() == "cpu"
    assert info.default_dtypes()["real floating"] == np.float64
    assert "float32" in info.dtypes(kind="real floating")
    assert info.capabilities()["boolean indexing"]


def test_functions_have_the_parameters_of_the_standard() -> None:
    for name in ("zeros", "asarray", "full_like", "eye", "linspace", "arange"):
        parameters = inspect.signature(getattr(tm.array_api, name)).parameters
        assert {"dtype", "device"} <= set(parameters)


def test_each_use_of_the_traced_namespace_is_compiled() -> None:
    xp = traced_namespace
    x = xp.asarray([1.0, 2.0, 4.0])
    x[1:] = 2 * x[1:]
    x += xp.concat([x, xp.ones(2)])[2:]
    assert list(map(float, x)) == [9.0, 5.0, 9.0]
    assert [list(map(float, row)) for row in xp.unique_counts(x)] == [[5.0, 9.0], [1.0, 2.0]]

"""DataArrays and Datasets of xarray are containers; the function sees them as they are, with traced elements."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
import xarray as xr

import tracemill as tm
from tracemill.compiler.errors import DTypeError, TransformArgumentError, TreeMismatchError

FIELD: Final = xr.DataArray(
    [[1.5, np.nan, 3.0], [4.0, 5.0, -6.0]],
    dims=("lat", "lon"),
    coords={"lat": [10.0, 20.0], "lon": ["a", "b", "c"], "height": 2.0},
    name="t",
    attrs={"units": "K"},
)
SETS: Final = xr.Dataset({"t": FIELD.fillna(0.0), "p": ("lat", [7.0, 8.0])}, attrs={"source": "model"})

FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "arithmetic": lambda a: 2 * a - a / 3 + 1,
    "mean": lambda a: a.mean("lat"),
    "of all": lambda a: a.sum(),
    "center": lambda a: a - a.mean("lon"),
    "ufunc": lambda a: np.exp(a / 10),
    "where": lambda a: a.where(a > 2, 0.0),
    "selection": lambda a: a.sel(lat=20.0) + a.sel(lat=10.0),
    "reversed": lambda a: a.isel(lon=slice(None, None, -1)),
    "aligned": lambda a: a + a.isel(lon=slice(1, 3)),
    "transposed": lambda a: a.T,
    "cumsum": lambda a: a.cumsum("lon"),
    "differences": lambda a: a.diff("lon"),
    "std": lambda a: a.std("lat"),
    "data": lambda a: a.data * 2,
    "set": lambda a: xr.Dataset({"q": a, "r": a.mean("lon")}),
}


def assert_same(found: Any, expected: Any) -> None:
    if isinstance(expected, xr.DataArray | xr.Dataset):
        xr.testing.assert_allclose(found, expected, rtol=1e-13)
        xr.testing.assert_equal(found * 0 + 1, expected * 0 + 1)
        assert found.attrs == expected.attrs
    else:
        np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_data_array_in_a_function_is_xarrays(name: str) -> None:
    function = FUNCTIONS[name]
    expected = function(FIELD)
    assert_same(tm.compile(function, backend="numpy")(FIELD), expected)
    assert_same(tm.grad(lambda w, a: (w * 1.0, function(a)), has_aux=True)(1.0, FIELD)[1], expected)


def test_gradients_have_dims_and_coordinates() -> None:
    field = FIELD.fillna(1.0)
    for transform in (tm.grad, lambda f: tm.compile(tm.grad(f)), lambda f: tm.grad(tm.compile(f))):
        xr.testing.assert_identical(
            transform(lambda a: (a**2).sum().data)(field), (2 * field).assign_attrs(FIELD.attrs)
        )
    found = tm.grad(lambda d: ((d["t"] * d["p"]).sum() * 1.0).data)(SETS)
    np.testing.assert_allclose(found["p"], SETS["t"].sum("lon"))
    assert found["t"].dims == ("lat", "lon")
    assert found.attrs == SETS.attrs


def test_directions_need_the_same_coordinates() -> None:
    _, tangent = tm.jvp(lambda a: a * a, (FIELD,), (FIELD,))
    xr.testing.assert_allclose(tangent, 2 * FIELD * FIELD)
    with pytest.raises(TreeMismatchError, match="tangents"):
        tm.jvp(lambda a: a * a, (FIELD,), (FIELD.assign_coords(lat=[1.0, 2.0]),))


def test_an_example_of_a_batch_has_the_other_dims() -> None:
    field = FIELD.fillna(0.0)
    np.testing.assert_allclose(tm.vmap(lambda a: a.sum("lon").data)(field), field.sum("lon"))
    np.testing.assert_allclose(tm.vmap(lambda a: a.sel(lon="b").data * 2)(field), 2 * field.sel(lon="b"))


def test_a_batch_along_another_axis_is_refused() -> None:
    with pytest.raises(TransformArgumentError, match=r"args\[0\] has dim 1.*x\.transpose"):
        tm.vmap(lambda a: a.sum().data, 1)(FIELD)
    found = tm.vmap(lambda a: a.sel(lat=10.0).data)(FIELD.transpose("lon", "lat"))
    np.testing.assert_array_equal(found, FIELD.sel(lat=10.0))


def test_other_coordinates_are_another_variant_and_results_have_them() -> None:
    f = tm.compile(lambda a: a * 2)
    for lat in ([10.0, 20.0], [1.0, 2.0], [10.0, 20.0]):
        field = FIELD.assign_coords(lat=lat)
        xr.testing.assert_equal(f(field), field * 2)
    assert len(f.signatures()) == 2


def test_a_function_writes_to_the_elements_as_without_tracing() -> None:
    def write(a: Any) -> None:
        a[0] = 5.0

    found, expected = FIELD.copy(deep=True), FIELD.copy(deep=True)
    tm.compile(write)(found)
    write(expected)
    xr.testing.assert_identical(found, expected)


def test_data_from_outside_is_read_in_each_call() -> None:
    field = FIELD.fillna(0.0)
    f = tm.compile(lambda x: (field * x).data)
    x = np.array([2.0, 3.0])
    wide = np.broadcast_to(x[:, None], (2, 3)).copy()
    np.testing.assert_allclose(f(wide), field.data * wide)
    field[0, 0] = 9.0
    np.testing.assert_allclose(f(wide), field.data * wide)
    field.data = np.ones((2, 3))
    np.testing.assert_allclose(f(wide), wide)


def test_elements_that_are_no_numbers_name_the_argument_and_the_variable() -> None:
    for transform in (tm.compile, tm.grad, tm.vmap):
        with pytest.raises(DTypeError, match=r"args\[0\]: the DataArray has dtype <U1.*astype"):
            transform(lambda a: a)(xr.DataArray(["a", "b"]))
        with pytest.raises(DTypeError, match=r"args\[0\]\['k'\]: the variable 'when' has dtype datetime64"):
            transform(lambda d: d["k"]["p"])(
                {"k": SETS.assign(when=("lat", np.array(["2024", "2025"], "M8[s]")))}
            )


def test_attributes_and_coordinates_that_change_are_read_again() -> None:
    weights = np.zeros(5000)
    data = xr.DataArray(
        [1.0, 2.0], dims="x", coords={"area": ("x", [1.0, 1.0])}, attrs={"scale": 1.0, "w": weights}
    )

    def weighted(a: Any) -> Any:
        return a * a.area.data.sum() * a.attrs["scale"] + a.attrs["w"].sum()

    f = tm.compile(weighted)
    sets = tm.compile(lambda d: weighted(d["v"]) + d.attrs["w"].sum())

    def found() -> tuple[float, float]:
        of_set = data.to_dataset(name="v").assign_attrs(data.attrs)
        return float(f(data)[0]), float(sets(of_set)[0])

    assert found() == (2.0, 2.0)
    data.attrs["scale"] = 3.0
    assert found() == (6.0, 6.0)
    data.area.data[0] = 9.0
    assert found() == (30.0, 30.0)
    weights[2500] = 1.0  # which is left out of the array's text
    assert found() == (31.0, 32.0)
    data.attrs["w"] = np.full(5000, 0.5)
    assert found() == (2530.0, 5030.0)

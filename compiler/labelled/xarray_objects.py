"""DataArrays and Datasets of xarray as containers of arrays.

xarray computes with traced arrays itself, so the function sees DataArrays. Their coordinates are part of the structure.
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import is_supported
from ..tracing.traced_memory import is_traced
from .classes import LabelledDataError


class ArrayForm:
    """A DataArray without its elements: the names of its axes, coordinates, name and attributes."""

    __slots__ = ("attrs", "coords", "dims", "name")

    def __init__(self, dims: tuple[Any, ...], coords: Any, name: Any, attrs: dict[Any, Any]) -> None:
        self.dims, self.coords, self.name, self.attrs = dims, coords, name, attrs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ArrayForm):
            return NotImplemented
        same = self.dims == other.dims and self.name == other.name
        return same and bool(self.coords.identical(other.coords)) and _are_alike(self.attrs, other.attrs)

    def __hash__(self) -> int:
        return hash((ArrayForm, self.dims))

    def __repr__(self) -> str:
        return f"dims={self.dims}, coords={list(self.coords.coords)}"


class SetForm:
    """A Dataset without its elements: its variables by name, coordinates and attributes."""

    __slots__ = ("attrs", "coords", "variables")

    def __init__(self, variables: dict[Any, tuple[tuple[Any, ...], Any]], coords: Any, attrs: Any) -> None:
        self.variables, self.coords, self.attrs = variables, coords, attrs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SetForm):
            return NotImplemented
        mine, others = ([*x.variables.items(), x.attrs] for x in (self, other))
        return _are_alike(mine, others) and bool(self.coords.identical(other.coords))

    def __hash__(self) -> int:
        return hash((SetForm, tuple(self.variables)))

    def __repr__(self) -> str:
        return f"variables={list(self.variables)}, coords={list(self.coords.coords)}"


class Unfilled:
    """A DataArray or a Dataset with something else in place of arrays, while a structure is worked with."""

    def __init__(self, form: Any, children: Sequence[Any]) -> None:
        self.form, self.children = form, tuple(children)


def flatten_array(x: Any) -> tuple[list[Any], ArrayForm, list[str]]:
    _check(x, "the DataArray")
    return [x.data], ArrayForm(x.dims, _kept_coords(x), x.name, _kept(x.attrs)), [""]


def flatten_set(x: Any) -> tuple[list[Any], SetForm, list[str]]:
    for name, variable in x.data_vars.items():
        _check(variable, f"the variable {name!r}", x)
    variables = {name: (one.dims, _kept(one.attrs)) for name, one in x.data_vars.items()}
    form = SetForm(variables, _kept_coords(x), _kept(x.attrs))
    return [one.data for one in x.data_vars.values()], form, [f"[{name!r}]" for name in variables]


def flatten_unfilled(x: Unfilled) -> tuple[tuple[Any, ...], Any, list[str]]:
    names = [""] if isinstance(x.form, ArrayForm) else [f"[{name!r}]" for name in x.form.variables]
    return x.children, x.form, names


def build_array(form: ArrayForm, children: Sequence[Any]) -> Any:
    """A DataArray. In a batch, an example has one axis less; an array with other axes is returned as it is."""
    (data,) = children
    if not _is_array(data):
        return Unfilled(form, children)
    if data.ndim == len(form.dims):
        return sys.modules["xarray"].DataArray(data, form.coords.coords, form.dims, form.name, form.attrs)
    if is_traced(data) and data.ndim == len(form.dims) - 1:
        coords = form.coords.drop_dims(form.dims[0])
        return sys.modules["xarray"].DataArray(data, coords.coords, form.dims[1:], form.name, form.attrs)
    return data


def build_set(form: SetForm, children: Sequence[Any]) -> Any:
    """A Dataset. If arrays have other axes, it is a dict of these."""
    variables = form.variables
    if not all(map(_is_array, children)):
        return Unfilled(form, children)
    if any(data.ndim != len(dims) for data, (dims, _) in zip(children, variables.values(), strict=True)):
        return dict(zip(variables, children, strict=True))
    filled = {
        name: (dims, data, attrs)
        for data, (name, (dims, attrs)) in zip(children, variables.items(), strict=True)
    }
    return sys.modules["xarray"].Dataset(filled, form.coords.coords, form.attrs)


def _kept_coords(x: Any) -> Any:
    """The coordinates, as a Dataset that does not change when one of them is written to. Indices never are."""
    coords = x.coords.to_dataset()
    others = [one.data for name, one in coords.variables.items() if name not in x.xindexes]
    return coords.copy(deep=True) if others and all(type(data) is np.ndarray for data in others) else coords


def _kept(x: Any) -> Any:
    """Attributes, or a part of them, in containers and arrays that do not change when these are written to."""
    if isinstance(x, dict):
        return {key: _kept(one) for key, one in x.items()}
    if type(x) in (list, tuple):
        return type(x)(map(_kept, x))
    return x.copy() if type(x) is np.ndarray else x


def _are_alike(one: Any, other: Any) -> bool:
    """Whether attributes are the same, also if their texts leave out elements of an array."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_are_alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_are_alike, one, other))
    if isinstance(one, np.ndarray):
        return bool(
            one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
        )
    return repr(one) == repr(other)


def _check(x: Any, what: str, whole: Any = None) -> None:
    """Refuse elements with which no program computes."""
    data = x.data
    whole = x if whole is None else whole
    if not _is_array(data):
        kind = f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}"
        raise LabelledDataError(f"{what} holds a {kind}, which is not in memory: pass x.compute()", whole)
    if not is_supported(data.dtype) and data.dtype.isnative:
        raise LabelledDataError(
            f'{what} has dtype {data.dtype}, which is not a number: pass x.astype("float64"), or leave it out',
            whole,
        )


def _is_array(x: Any) -> bool:
    return is_traced(x) or type(x) in (np.ndarray, np.memmap) or isinstance(x, np.generic)


def memory_of_array(x: Any) -> tuple[Any, ...]:
    """What holds the elements and the labels of a DataArray."""
    return x.variable.data, *(one.variable for one in x.coords.values())


def memory_of_set(x: Any) -> tuple[Any, ...]:
    return tuple(x.data_vars), *(one.variable.data for one in x.data_vars.values())

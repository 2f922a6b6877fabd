"""Series and DataFrames of pandas as containers of arrays. pandas is looked up among the loaded modules only."""

import sys
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any, Final

import numpy as np
import optree

from ..dtypes import is_supported
from ..tracing.traced_memory import is_traced
from .classes import CONVERTERS, MEMORY, WAITED_FOR, LabelledDataError
from .frame import Frame, FrameForm, Places
from .labels import KnownLabels
from .series import Series, SeriesForm
from .xarray_objects import (
    ArrayForm,
    Unfilled,
    build_array,
    build_set,
    flatten_array,
    flatten_set,
    flatten_unfilled,
    memory_of_array,
    memory_of_set,
)

_lock = Lock()


class PlaceOfColumns(optree.PyTreeEntry):
    """The place of an array in a DataFrame, or in a Series: the expression of Python that selects its columns."""

    __slots__ = ()

    def __call__(self, obj: Any) -> Any:
        return obj

    def codify(self, /, node: str = "") -> str:
        return f"{node}{self.entry}"


def register_loaded(namespace: str) -> None:
    """Make the classes of modules that have been loaded containers."""
    with _lock:
        if "pandas" in WAITED_FOR and (pandas := _loaded("pandas", "DataFrame")):
            _register(pandas.Series, lambda x: _flattened(series_of(x)), build_series, namespace)
            _register(pandas.DataFrame, lambda x: _flattened(frame_of(x)), build_frame, namespace)
            _register(Series, _flattened, build_series, namespace)
            _register(Frame, _flattened, build_frame, namespace)
            CONVERTERS.update(
                {pandas.Series: series_of, pandas.DataFrame: frame_of, Series: _itself, Frame: _itself}
            )
            MEMORY.update(dict.fromkeys((pandas.Series, pandas.DataFrame), _memory_of))
            WAITED_FOR.discard("pandas")
        if "xarray" in WAITED_FOR and (xarray := _loaded("xarray", "Dataset")):
            _register(xarray.DataArray, flatten_array, build_array, namespace)
            _register(xarray.Dataset, flatten_set, build_set, namespace)
            _register(Unfilled, flatten_unfilled, _build_again, namespace)
            MEMORY.update({xarray.DataArray: memory_of_array, xarray.Dataset: memory_of_set})
            WAITED_FOR.discard("xarray")
        if "torch" in WAITED_FOR and (torch := _loaded("torch", "compile")):
            MEMORY.update(dict.fromkeys((torch.Tensor, torch.nn.Parameter), _memory_of_tensor))
            WAITED_FOR.discard("torch")


def _build_again(form: Any, children: Sequence[Any]) -> Any:
    return build_array(form, children) if isinstance(form, ArrayForm) else build_set(form, children)


def _memory_of(x: Any) -> tuple[Any, ...]:
    """The arrays that hold the elements of a Series or a DataFrame, and its indices with their names."""
    manager = x._mgr
    return tuple(_stored(block.values) for block in manager.blocks), *(
        (axis, *axis.names) for axis in manager.axes
    )


def _stored(values: Any) -> Any:
    """A column, or the NumPy arrays that hold one of a dtype of pandas, to whose elements it may write in place."""
    if type(values) is np.ndarray:
        return values
    return values, *(getattr(values, name) for name in _STORES if hasattr(values, name))


_STORES: Final = ("_ndarray", "_data", "_mask", "_pa_array", "_left", "_right", "_sparse_values")
"""Attributes in which arrays of pandas hold others."""


def _memory_of_tensor(x: Any) -> tuple[int, ...]:
    """Where the elements of a tensor of torch are, and how often they were written to in place."""
    try:
        return x.data_ptr(), x._version
    except RuntimeError:  # it has no memory, or was made in inference mode
        return ()


def _itself(x: Any) -> Any:
    return x


def _loaded(module: str, last: str) -> Any:
    """A module, if it has been loaded as far as this name."""
    found = sys.modules.get(module)
    return found if hasattr(found, last) else None


def _register(
    kind: type[Any], flatten: Callable[[Any], Any], build: Callable[..., Any], namespace: str
) -> None:
    optree.register_pytree_node(kind, flatten, build, namespace=namespace, path_entry_type=PlaceOfColumns)


def _flattened(x: Series | Frame) -> tuple[tuple[Any, ...], Any, tuple[str, ...]]:
    if isinstance(x, Series):
        return x.arrays, x.form, ("",)
    columns = list(x.columns)
    names: list[list[Any]] = [[] for _ in x.arrays]
    for name, (array, _) in zip(columns, x.form.places, strict=True):
        names[array].append(name)
    if len(names) == 1:
        return x.arrays, x.form, ("",)
    return x.arrays, x.form, tuple(f"[{some[0]!r}]" if len(some) == 1 else f"[{some!r}]" for some in names)


# ---- from pandas -------------------------------------------------------------------------------------------


def series_of(x: Any) -> Series:
    """A Series of pandas."""
    if not _is_plain(x.dtype):
        raise _unsupported("the Series", x.dtype, "s", x)
    return Series((_read_only(x.to_numpy()),), SeriesForm(KnownLabels(x.index), x.name))


def frame_of(x: Any) -> Frame:
    """A DataFrame of pandas: one array if all columns have the same dtype."""
    dtypes = list(x.dtypes)
    for name, dtype in zip(x.columns, dtypes, strict=True):
        if not _is_plain(dtype):
            drop = f", or leave it out, df.drop(columns=[{name!r}])"
            raise _unsupported(f"the column {name!r}", dtype, f"df[{name!r}]", x, drop)
    kinds = list(dict.fromkeys(dtypes))
    if len(kinds) <= 1:
        arrays = (_read_only(x.to_numpy()),) if kinds else (np.empty((len(x), 0)),)
        places: Places = tuple((0, place) for place in range(len(dtypes)))
    else:
        numbers = {kind: [n for n, dtype in enumerate(dtypes) if dtype == kind] for kind in kinds}
        arrays = tuple(_read_only(x.iloc[:, numbers[kind]].to_numpy()) for kind in kinds)
        places = tuple((kinds.index(dtype), numbers[dtype].index(n)) for n, dtype in enumerate(dtypes))
    return Frame(arrays, FrameForm(KnownLabels(x.index), KnownLabels(x.columns), places))


def _read_only(array: Any) -> Any:
    """The array in native byte order; with pandas before version 3, a view to which a function cannot write."""
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and is_supported(dtype.newbyteorder("="))


def _unsupported(what: str, dtype: Any, column: str, data: Any, drop: str = "") -> LabelledDataError:
    """The error for a column that no program can compute with, with what to write instead."""
    text = str(dtype)
    lower = text.lower()
    if getattr(dtype, "na_value", None) is not None and lower.startswith(("int", "uint", "float", "bool")):
        to = f'{column}.astype("{lower.replace("boolean", "bool").partition("[")[0]}")'
        fix = f'has missing values beside the numbers: pass {to}, or {column}.astype("float64"), where they are NaN'
    elif lower.startswith(("datetime", "timedelta", "period")):
        fix = f'is not a number: pass {column}.astype("int64"), or a difference, .dt.total_seconds()'
    elif lower == "category":
        fix = f"is not a number: pass the codes, {column}.cat.codes"
    elif lower.startswith(("str", "object")):
        fix = f'is not a number: pass {column}.astype("float64") if it holds numbers, or pd.factorize({column})[0]'
    else:
        fix = f'has no dtype of NumPy that programs compute with: pass {column}.astype("float64")'
    return LabelledDataError(f"{what} has dtype {text}, which {fix}{drop}", data)


# ---- back to pandas ----------------------------------------------------------------------------------------


def build_series(form: SeriesForm, arrays: Sequence[Any]) -> Any:
    """A Series of pandas with NumPy's arrays, that of a traced function with others.

    An array with other axes is returned as it is: one example of a batch, or a block of a Jacobian.
    """
    (array,) = arrays
    if _has_axes(array, 1):
        if _is_numpy(array) and isinstance(form.rows, KnownLabels):
            return sys.modules["pandas"].Series(array, form.rows.index, name=form.name, copy=False)
        return Series((array,), form)
    return array


def build_frame(form: FrameForm, arrays: Iterable[Any]) -> Any:
    """The same for a DataFrame. One row of a batch is a Series with the columns as labels."""
    arrays = tuple(arrays)
    if not all(_has_axes(array, 2) for array in arrays):
        if all(_has_axes(array, 1) for array in arrays) and any(map(is_traced, arrays)):
            row = arrays[0] if len(arrays) == 1 else np.stack([arrays[a][n] for a, n in form.places])
            return Series((row,), SeriesForm(form.columns))
        return arrays[0] if len(arrays) == 1 else arrays
    rows, columns = form.rows, form.columns
    if all(map(_is_numpy, arrays)) and isinstance(rows, KnownLabels) and isinstance(columns, KnownLabels):
        pandas = sys.modules["pandas"]
        if len(arrays) == 1:
            return pandas.DataFrame(arrays[0], rows.index, columns.index, copy=False)
        by_place = {place: arrays[a][:, n] for place, (a, n) in enumerate(form.places)}
        found = pandas.DataFrame(by_place, rows.index, copy=False)
        found.columns = columns.index
        return found
    return Frame(arrays, form)


def _is_numpy(x: Any) -> bool:
    return type(x) is np.ndarray


def _has_axes(x: Any, count: int) -> bool:
    """Whether it has this many axes; true of what is no array."""
    if is_traced(x) or isinstance(x, (np.ndarray, np.generic)):
        return int(x.ndim) == count
    return True

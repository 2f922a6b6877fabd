"""`Frame`: a DataFrame of pandas in a function that is traced."""

import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..callers.user_code import user_location
from ..errors import ArgumentTypeError, DTypeError, ShapeError, UnsupportedAttributeError
from .labelled_array import Labelled, as_array, as_operand, check_length, common_labels
from .labels import KnownLabels, Labels
from .reductions import CUMULATIVE, REDUCTIONS
from .series import RowsByNumber, Series, SeriesForm, chosen_from, index_of

Places: TypeAlias = tuple[tuple[int, int], ...]
"""For each column, the number of the array that holds it, and its place there."""


@dataclass(frozen=True, slots=True)
class FrameForm:
    """The labels of a DataFrame, and where its columns are."""

    rows: Labels
    columns: Labels
    places: Places


class Frame(Labelled):
    """A DataFrame in a function that is traced: an array of columns for each dtype, and labels."""

    __slots__ = ()
    kind = "DataFrame"

    # ---- columns -------------------------------------------------------------------------------------------

    @property
    def columns(self) -> Any:
        return index_of(self.form.columns)

    @property
    def index(self) -> Any:
        return index_of(self.form.rows)

    @property
    def shape(self) -> Any:
        return self.arrays[0].shape[0] if self.arrays else 0, len(self.form.places)

    @property
    def size(self) -> Any:
        return self.shape[0] * self.shape[1]

    @property
    def ndim(self) -> int:
        return 2

    @property
    def is_one_array(self) -> bool:
        """Whether there is one array, which has the columns in order."""
        return len(self.arrays) == 1 and self.form.places == _in_order(len(self.form.places))

    @property
    def values(self) -> Any:
        if self.is_one_array:
            return self.arrays[0]
        kinds = {x.dtype.kind for x in self.arrays}
        if "b" in kinds and len(kinds) > 1:
            raise DTypeError(
                'columns of bools and of numbers have no common dtype: convert them first, df.astype("float64")',
                user_location(),
            )
        return np.stack([self.column(place) for place in range(self.shape[1])], axis=1)

    def column(self, place: int) -> Any:
        array, number = self.form.places[place]
        return self.arrays[array][:, number]

    def selected(self, places: Sequence[int], columns: Any) -> "Frame":
        """Some of the columns, with these labels."""
        kept = sorted({self.form.places[place][0] for place in places})
        numbers = {
            array: [n for a, n in (self.form.places[place] for place in places) if a == array]
            for array in kept
        }
        arrays = tuple(self.arrays[array][:, numbers[array]] for array in kept)
        seen = dict.fromkeys(kept, 0)
        found: list[tuple[int, int]] = []
        for place in places:
            array = self.form.places[place][0]
            found.append((kept.index(array), seen[array]))
            seen[array] += 1
        return Frame(arrays, FrameForm(self.form.rows, KnownLabels(columns), tuple(found)))

    def _numbers(self) -> Any:
        """A DataFrame of the numbers of the columns, of which pandas selects some."""
        return sys.modules["pandas"].DataFrame([range(self.shape[1])], columns=self.columns)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Labelled) or (isinstance(key, np.ndarray) and key.ndim):
            raise ArgumentTypeError(
                "df[mask] and df[array] select rows, whose number would depend on values: use df.where(mask) or "
                "df.to_numpy()[mask]",
                user_location(),
            )
        if isinstance(key, slice):
            return self.iloc[key]
        return self._chosen(self._numbers()[key])

    def _chosen(self, numbers: Any) -> Any:
        if numbers.ndim == 1:
            return Series((self.column(int(numbers.iloc[0])),), SeriesForm(self.form.rows, numbers.name))
        return self.selected([int(n) for n in numbers.to_numpy()[0]], numbers.columns)

    def __getattr__(self, name: str) -> Any:
        columns = self.form.columns
        if isinstance(columns, KnownLabels) and name in columns.index:
            return self[name]
        return super().__getattr__(name)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.columns)

    def __contains__(self, name: Hashable) -> bool:
        return name in self.columns

    def keys(self) -> Any:
        return self.columns

    def items(self) -> Iterator[tuple[Hashable, Series]]:
        for place, name in enumerate(self.columns):
            yield name, Series((self.column(place),), SeriesForm(self.form.rows, name))

    def drop(self, *, columns: Any) -> Any:
        return self._chosen(self._numbers().drop(columns=columns))

    def rename(self, *, columns: Any) -> Any:
        return self._chosen(self._numbers().rename(columns=columns))

    def assign(self, **columns: Any) -> "Frame":
        """A new DataFrame with more, or other, columns."""
        series = dict(self.items())
        if len(series) != self.shape[1]:
            raise ArgumentTypeError(
                "two columns have the same name: rename one before assign", user_location()
            )
        for name, new in columns.items():
            made = as_operand(new(of_columns(series, self.form.rows)) if callable(new) else new)
            if isinstance(made, Series):
                common_labels("indices", self.form.rows, made.form.rows)
                made = made.values
            elif np.ndim(made):
                check_length("DataFrame", made, self.shape[0])
            else:
                made = np.full_like(self.column(0), made, dtype=np.result_type(made))
            series[name] = Series((made,), SeriesForm(self.form.rows, name))
        return of_columns(series, self.form.rows, self._numbers().assign(**dict.fromkeys(columns, 0)).columns)

    # ---- rows ----------------------------------------------------------------------------------------------

    @property
    def iloc(self) -> RowsByNumber:
        return RowsByNumber(self)

    def rows(self, part: slice) -> "Frame":
        form = FrameForm(self.form.rows.sliced(part), self.form.columns, self.form.places)
        return Frame(tuple(x[part] for x in self.arrays), form)

    def head(self, n: int = 5) -> "Frame":
        return self.rows(slice(n))

    def tail(self, n: int = 5) -> "Frame":
        return self.rows(slice(-n, None) if n else slice(0, 0))

    # ---- what operators and methods compute ----------------------------------------------------------------

    def mapped(self, function: Callable[[Any], Any]) -> "Frame":
        return Frame(tuple(map(function, self.arrays)), self.form)

    def accumulated(self, name: str, axis: Any, skipna: bool) -> "Frame":
        if axis not in (0, "index", None):
            raise UnsupportedAttributeError(
                f"{name} along the columns of a DataFrame cannot be traced: use np.{name}(df.to_numpy(), axis=1)",
                user_location(),
            )
        return self.mapped(lambda x: CUMULATIVE[name](x, skipna))

    def combined(
        self, function: Callable[[Any, Any], Any], other: Any, *, is_first: bool = True, by_rows: bool = False
    ) -> Any:
        def operate(x: Any, y: Any) -> Any:
            return function(x, y) if is_first else function(y, x)

        if isinstance(other, Frame):
            return self._with_frame(operate, other)
        if isinstance(other, Series):
            axis = 0 if by_rows else 1
            mine = self.form.rows if by_rows else self.form.columns
            common_labels("columns and labels" if axis else "indices", mine, other.form.rows)
            other = other.values
        elif np.ndim(other) == 1:
            check_length("DataFrame with rows", other, self.shape[0 if by_rows else 1])
        elif np.ndim(other) == 2 and other.shape != self.shape:
            raise ShapeError(
                f"a DataFrame of shape {self.shape} meets an array of shape {other.shape}", user_location()
            )
        if np.ndim(other) == 0:
            return self.mapped(lambda x: operate(x, other))
        if by_rows and np.ndim(other) == 1:
            return self.mapped(lambda x: operate(x, other[:, None]))
        if self.is_one_array:
            return self.mapped(lambda x: operate(x, other))
        places = range(self.shape[1])
        return self._of([operate(self.column(n), other[..., n]) for n in places])

    def _with_frame(self, operate: Callable[[Any, Any], Any], other: "Frame") -> "Frame":
        rows = common_labels("indices", self.form.rows, other.form.rows)
        common_labels("columns", self.form.columns, other.form.columns)
        if self.form.places == other.form.places:
            form = FrameForm(rows, self.form.columns, self.form.places)
            return Frame(tuple(map(operate, self.arrays, other.arrays)), form)
        return self._of([operate(self.column(n), other.column(n)) for n in range(self.shape[1])])

    def _of(self, columns: Sequence[Any]) -> "Frame":
        """The same labels with other columns."""
        arrays, places = joined(columns)
        return Frame(arrays, FrameForm(self.form.rows, self.form.columns, places))

    def where(self, cond: Any, other: Any = np.nan) -> Any:
        """The elements where a condition holds; a number elsewhere."""
        if np.ndim(as_array(other)):
            raise UnsupportedAttributeError(
                "where of a DataFrame takes a number for the other elements in a function that is traced: use "
                "np.where(mask, df.to_numpy(), other)",
                user_location(),
            )
        cond = as_operand(cond)
        if not isinstance(cond, Frame) and np.shape(cond) != self.shape:
            raise ShapeError(
                f"where of a DataFrame of shape {self.shape} has a condition of shape {np.shape(cond)}: pass a "
                "DataFrame or an array of the same shape",
                user_location(),
            )
        return self.combined(chosen_from(other), cond)

    def mask(self, cond: Any, other: Any = np.nan) -> Any:
        return self.where(~as_operand(cond), other)

    def product(self, other: Any, *, is_first: bool) -> Any:
        mine, left = (self.form.columns, self.form.rows) if is_first else (self.form.rows, self.form.columns)
        right: Labels | None = None
        if isinstance(other, Frame):  # it is the second one
            common_labels("columns and rows", mine, other.form.rows)
            right = other.form.columns
        elif isinstance(other, Series):
            common_labels("columns and labels" if is_first else "labels and rows", mine, other.form.rows)
        elements = as_array(other)
        found = self.values @ elements if is_first else elements @ self.values
        if found.ndim == 1:
            return Series((found,), SeriesForm(left))
        if found.ndim != 2:
            return found
        numbered = KnownLabels(sys.modules["pandas"].RangeIndex(found.shape[1 if is_first else 0]))
        rows, columns = (left, right or numbered) if is_first else (numbered, left)
        return Frame((found,), FrameForm(rows, columns, _in_order(int(found.shape[1]))))

    def reduced(self, name: str, axis: Any, skipna: bool, ddof: int) -> Any:
        function = REDUCTIONS[name]
        if axis is None:
            return function(self.values, None, skipna, ddof)
        if axis in (1, "columns"):
            return Series((function(self.values, 1, skipna, ddof),), SeriesForm(self.form.rows))
        if axis not in (0, "index", "rows"):
            raise ArgumentTypeError(f"axis must be 0, 1 or None, not {axis!r}", user_location())
        parts = [function(x, 0, skipna, ddof) for x in self.arrays]
        found = parts[0] if self.is_one_array else np.stack([parts[a][n] for a, n in self.form.places])
        return Series((found,), SeriesForm(self.form.columns))


def of_columns(series: dict[Hashable, Series], rows: Labels, columns: Any = None) -> Frame:
    """A DataFrame of these columns, with their names or these labels."""
    arrays, places = joined([one.values for one in series.values()])
    if columns is None:
        columns = sys.modules["pandas"].Index(list(series))
    return Frame(arrays, FrameForm(rows, KnownLabels(columns), places))


def joined(columns: Sequence[Any]) -> tuple[tuple[Any, ...], Places]:
    """An array for each dtype of the columns, and where they are."""
    by_dtype: dict[Any, list[Any]] = {}
    places: list[tuple[int, int]] = []
    for column in columns:
        same = by_dtype.setdefault(column.dtype, [])
        places.append((list(by_dtype).index(column.dtype), len(same)))
        same.append(column)
    return tuple(np.stack(same, axis=1) for same in by_dtype.values()), tuple(places)


def _in_order(count: int) -> Places:
    return tuple((0, place) for place in range(count))

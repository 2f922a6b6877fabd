"""`Series`: a Series of pandas in a function that is traced."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..callers.user_code import user_location
from ..errors import ConcretizationError, DTypeError, IndexTypeError
from .labelled_array import Labelled, as_array, as_operand, check_length, common_labels
from .labels import KnownLabels, Labels, note_asked
from .operators import as_python_number
from .reductions import CUMULATIVE, REDUCTIONS


@dataclass(frozen=True, slots=True)
class SeriesForm:
    """The labels of a Series."""

    rows: Labels
    name: Hashable = None


class Series(Labelled):
    """A Series in a function that is traced: an array with one axis, the labels of its rows, and a name."""

    __slots__ = ()
    kind = "Series"

    @property
    def values(self) -> Any:
        return self.arrays[0]

    @property
    def name(self) -> Any:
        return self.form.name

    @property
    def index(self) -> Any:
        return index_of(self.form.rows)

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @property
    def iloc(self) -> "RowsByNumber":
        return RowsByNumber(self)

    def head(self, n: int = 5) -> "Series":
        return self.rows(slice(n))

    def tail(self, n: int = 5) -> "Series":
        return self.rows(slice(-n, None) if n else slice(0, 0))

    def rename(self, name: Hashable) -> "Series":
        return self.of(self.values, name=name)

    def accumulated(self, name: str, axis: Any, skipna: bool) -> "Series":
        return self.mapped(lambda x: CUMULATIVE[name](x, skipna))

    def __iter__(self) -> Iterator[Any]:
        """Python's own numbers, as in pandas, which do not wrap around."""
        return map(as_python_number, self.values)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Hashable) and not isinstance(key, slice):
            place = index_of(self.form.rows).get_loc(key)
            if isinstance(place, int):
                return self.values[place]
        raise IndexTypeError(
            "s[…] of a Series takes one label in a function that is traced: use s.iloc[…] with an int or a slice, or "
            "s.to_numpy()[…]",
            user_location(),
        )

    def rows(self, part: slice) -> "Series":
        return Series((self.values[part],), SeriesForm(self.form.rows.sliced(part), self.name))

    # ---- what operators and methods compute ----------------------------------------------------------------

    def of(self, values: Any, *, name: Hashable) -> "Series":
        return Series((values,), SeriesForm(self.form.rows, name))

    def mapped(self, function: Callable[[Any], Any]) -> "Series":
        return self.of(function(self.values), name=self.name)

    def combined(
        self, function: Callable[[Any, Any], Any], other: Any, *, is_first: bool = True, by_rows: bool = False
    ) -> Any:
        rows, name = self.form.rows, self.name
        if isinstance(other, Series):
            rows = common_labels("indices", rows, other.form.rows)
            name = name if name is other.name or name == other.name else None
            other = other.values
        elif isinstance(other, Labelled):
            return NotImplemented
        elif np.ndim(other):
            check_length("Series", other, self.values.shape[0])
        found = function(self.values, other) if is_first else function(other, self.values)
        return Series((found,), SeriesForm(rows, name))

    def where(self, cond: Any, other: Any = np.nan) -> Any:
        """The elements where a condition holds; others from `other`."""
        other = as_operand(other)
        if isinstance(other, Series):
            common_labels("indices", self.form.rows, other.form.rows)
        elements = as_array(other)
        return self.combined(chosen_from(elements), as_operand(cond))

    def mask(self, cond: Any, other: Any = np.nan) -> Any:
        return self.where(~as_operand(cond), other)

    def product(self, other: Any, *, is_first: bool) -> Any:
        if isinstance(other, Series):
            common_labels("indices", self.form.rows, other.form.rows)
        elif isinstance(other, Labelled):
            return NotImplemented
        other = as_array(other)
        return self.values @ other if is_first else other @ self.values

    def reduced(self, name: str, axis: Any, skipna: bool, ddof: int) -> Any:
        return REDUCTIONS[name](self.values, None, skipna, ddof)


class RowsByNumber:
    """``s.iloc`` and ``df.iloc``: rows by their number."""

    def __init__(self, labelled: Any) -> None:
        self._labelled = labelled

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice) and all(
            x is None or isinstance(x, int) for x in (key.start, key.stop, key.step)
        ):
            return self._labelled.rows(key)
        if isinstance(self._labelled, Series) and not isinstance(key, slice | list) and np.ndim(key) == 0:
            return self._labelled.values[key]
        raise IndexTypeError(
            "iloc takes a slice of ints in a function that is traced, and that of a Series also a number: use "
            "x.to_numpy()[…]",
            user_location(),
        )


def chosen_from(other: Any) -> Callable[[Any, Any], Any]:
    """A function of an array and a mask. A float without a fraction keeps integers integers."""

    def choose(x: Any, is_kept: Any) -> Any:
        if x.dtype.kind == "b" and np.asarray(other).dtype.kind != "b":
            raise DTypeError(
                "where and mask of bools with numbers make objects in pandas: convert the bools first, "
                'x.astype("float64")',
                user_location(),
            )
        is_int = isinstance(other, float) and x.dtype.kind in "iu" and other.is_integer()
        return np.where(is_kept, x, int(other) if is_int else other)

    return choose


def index_of(labels: Labels) -> Any:
    """The index of pandas.

    Raises:
        ConcretizationError: only the call knows it.
    """
    if isinstance(labels, KnownLabels):
        return labels.index
    note_asked("the index")
    raise ConcretizationError(
        "the index of an argument is not known in a compiled function, as one program serves all: pass what the "
        "function needs as an argument of its own, as in x.index.to_numpy()",
        user_location(),
    )

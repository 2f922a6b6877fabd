"""Set operations. NumPy computes those of numbers that are known while tracing, and the program the others."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arguments.axes import normalize_axis
from ...dtypes import INT64, Array
from ...ir import Value
from ...tracing.registry import implements
from ...tracing.traced_array import wrap
from ...tracing.value_lengths import depends_on_values
from ...tracing.views import Reshape
from ...value_ops import (
    concatenate,
    constant,
    equal,
    full,
    gather,
    less,
    logical_and,
    minimum,
    moveaxis,
    reshape,
    where,
)
from ..linalg.products import in_common_dtype
from ..ufuncs.ufunc_calls import as_array
from .computed_sets import distinct, distinct_rows, flat, in_both, in_one
from .sorting import places_in, sort


def _entries(x: Any, places: Any) -> Any:
    """Entries of a vector at known positions, which keeps their derivative."""
    return wrap(gather(np.ravel(x).value, [constant(places, INT64)], (0,)))  # type: ignore[attr-defined]


def _fixed(array: Any) -> Any:
    return wrap(constant(array))


# ---- unique ------------------------------------------------------------------------------------------


@implements(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    x: Any = as_array(ar)
    known = x.concrete()
    if known is None:
        along = None if axis is None else normalize_axis(axis, x.ndim)
        found = distinct_rows(
            x.value,
            along,
            index=return_index,
            inverse=return_inverse,
            counts=return_counts,
            equal_nan=equal_nan,
        )
        return tuple(map(wrap, found)) if len(found) > 1 else wrap(found[0])
    _, index, inverse, counts = np.unique(known, True, True, True, axis, equal_nan=equal_nan)
    if axis is None:
        values = _entries(x, index)
    else:
        along = normalize_axis(axis, x.ndim)
        values = wrap(moveaxis(gather(x.value, [constant(index, INT64)], (along,)), 0, along))
    extras = ((return_index, index), (return_inverse, inverse), (return_counts, counts))
    chosen = [_fixed(extra) for wanted, extra in extras if wanted]
    return (values, *chosen) if chosen else values


UniqueAll: Any = type(np.unique_all([0]))
UniqueCounts: Any = type(np.unique_counts([0]))
UniqueInverse: Any = type(np.unique_inverse([0]))


@implements(np.unique_all)
def unique_all(x: Any) -> Any:
    return UniqueAll(*unique(x, True, True, True, equal_nan=False))


@implements(np.unique_counts)
def unique_counts(x: Any) -> Any:
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_inverse)
def unique_inverse(x: Any) -> Any:
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


@implements(np.unique_values)
def unique_values(x: Any) -> Any:
    return unique(x, equal_nan=False)


# ---- operations on two sets --------------------------------------------------------------------------


def _picked(sources: Sequence[Any], known: Sequence[Array], wanted: Array) -> Any:
    """The first entry of the sources that equals each wanted number, in the dtype of the wanted numbers."""
    joined = np.concatenate([np.ravel(array) for array in known])
    order = np.argsort(joined, kind="stable")
    places = (
        order[np.minimum(np.searchsorted(joined[order], wanted), len(joined) - 1)] if len(joined) else wanted
    )
    everything: Any = np.concatenate([np.ravel(x) for x in sources])
    return _entries(everything, places).astype(wanted.dtype)


def _two(ar1: Any, ar2: Any) -> tuple[list[Any], list[Array] | None]:
    """Both arrays, and their numbers if all are known while tracing."""
    sources: list[Any] = [as_array(ar1), as_array(ar2)]
    known = [x.concrete() for x in sources]
    return sources, None if any(numbers is None for numbers in known) else known


def _vectors(sources: Sequence[Any]) -> list[Value]:
    """Both arrays as vectors of one dtype."""
    return [flat(value) for value in in_common_dtype(*sources)]


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    sources, known = _two(ar1, ar2)
    if known is None:
        return wrap(distinct(concatenate(_vectors(sources), 0)))
    return _picked(sources, known, np.union1d(*known))


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    sources, known = _two(ar1, ar2)
    if known is None:
        first: Any = np.ravel(sources[0]) if assume_unique else unique(sources[0])
        return first[_isin(first, sources[1], invert=True)]
    pair: Any = known
    return _picked(sources, known, np.setdiff1d(pair[0], pair[1], assume_unique))


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    sources, known = _two(ar1, ar2)
    if known is None:
        return wrap(in_one(*_vectors(sources), assume_unique=assume_unique))
    pair: Any = known
    return _picked(sources, known, np.setxor1d(pair[0], pair[1], assume_unique))


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    sources, known = _two(ar1, ar2)
    if known is None:
        found = in_both(*_vectors(sources), assume_unique=assume_unique, return_indices=return_indices)
        return tuple(map(wrap, found)) if return_indices else wrap(found[0])
    wanted, first, second = np.intersect1d(known[0], known[1], assume_unique, True)
    values = _picked(sources, known, wanted)
    return (values, _fixed(first), _fixed(second)) if return_indices else values


def _isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    """Whether each element is among the others, by bisection."""
    x, among = in_common_dtype(element, test_elements)
    ordered = sort(wrap(among), axis=None).value
    count = ordered.shape[0]
    if not depends_on_values(count) and not count:
        found: Any = _fixed(np.zeros(x.shape, bool))
    else:
        place = minimum(places_in(ordered, x, "left"), count - 1)
        if depends_on_values(count):  # an entry to read, should there be none
            ordered = concatenate([ordered, full((1,), 0, ordered.dtype)], 0)
            place = where(less(place, 0), count, place)
        found = wrap(logical_and(equal(gather(ordered, [place], (0,)), x), less(place, count)))
    value = as_array(~found if invert else found).value
    return wrap(reshape(value, (value.type.size,))).through(Reshape(x.shape))


implements(np.isin)(_isin)

"""Set operations. The sizes of results depend on values, which must therefore be known while tracing, except for
`isin`."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...arguments.axes import normalize_axis
from ...dtypes import INT64, Array
from ...errors import DataDependentShapeError
from ...tracing.registry import implements
from ...tracing.traced_array import wrap
from ...tracing.views import Reshape
from ...value_ops import constant, gather, moveaxis, reshape
from ..linalg.products import in_common_dtype
from ..ufuncs.ufunc_calls import as_array
from .sorting import places_in, sort


def _known(x: Any, name: str) -> Any:
    known = x.concrete()
    if known is None:
        raise DataDependentShapeError(
            f"np.{name} gives an array whose shape depends on values: use tracemill.numpy.{name} with size=, or np.sort"
        )
    return known


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
    known = _known(x, "unique")
    _, index, inverse, counts = np.unique(known, True, True, True, axis, equal_nan=equal_nan)
    if axis is None:
        values = _entries(x, index)
    else:
        along = normalize_axis(axis, x.ndim)
        values = wrap(moveaxis(gather(x.value, [constant(index, INT64)], (along,)), 0, along))
    extras = ((return_index, index), (return_inverse, inverse), (return_counts, counts))
    chosen = [_fixed(extra) for wanted, extra in extras if wanted]
    return (values, *chosen) if chosen else values


class UniqueAll(NamedTuple):
    """The result of `numpy.unique_all`."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """The result of `numpy.unique_counts`."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The result of `numpy.unique_inverse`."""

    values: Any
    inverse_indices: Any


@implements(np.unique_all)
def unique_all(x: Any) -> UniqueAll:
    return UniqueAll(*unique(x, True, True, True, equal_nan=False))


@implements(np.unique_counts)
def unique_counts(x: Any) -> UniqueCounts:
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_inverse)
def unique_inverse(x: Any) -> UniqueInverse:
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


def _on_two(name: str) -> None:
    function = getattr(np, name)

    @implements(function)
    def operation(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
        sources: list[Any] = [as_array(ar1), as_array(ar2)]
        known = [_known(x, name) for x in sources]
        options = {} if name == "union1d" else {"assume_unique": assume_unique}
        return _picked(sources, known, function(*known, **options))


for _name in ("union1d", "setdiff1d", "setxor1d"):
    _on_two(_name)


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    sources: list[Any] = [as_array(ar1), as_array(ar2)]
    known = [_known(x, "intersect1d") for x in sources]
    wanted, first, second = np.intersect1d(known[0], known[1], assume_unique, True)
    values = _picked(sources, known, wanted)
    return (values, _fixed(first), _fixed(second)) if return_indices else values


def _isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    """Whether each element is among the others, by bisection."""
    x, among = in_common_dtype(element, test_elements)
    ordered = sort(wrap(among), axis=None).value
    if not ordered.shape[0]:
        found: Any = _fixed(np.zeros(x.shape, bool))
    else:
        place: Any = np.minimum(wrap(places_in(ordered, x, "left")), ordered.shape[0] - 1)
        found = wrap(gather(ordered, [place.value], (0,))) == wrap(x)
    value = as_array(~found if invert else found).value
    return wrap(reshape(value, (value.type.size,))).through(Reshape(x.shape))


implements(np.isin)(_isin)

"""Permutations and choices: sorting by random bits."""

from math import prod
from typing import Any

import numpy as np

from ...compiler.arguments.axes import normalize_axis
from ...compiler.arguments.option_checks import is_int
from ...compiler.errors import ArgumentTypeError, ArgumentValueError, ShapeError
from ...compiler.nesting import shown
from ...compiler.tracing.traced_memory import is_traced
from . import continuous, discrete
from .arguments import as_array, known, real
from .source import Source
from .stream import Size

MOST = np.iinfo(np.int64).max


def order(source: Source, count: int) -> Any:
    """The numbers below `count` in random order."""
    return np.argsort(source.bits((count,), np.uint64), stable=True)


def permutation(source: Source, x: Any, axis: int) -> Any:
    """The slices of an array along an axis in random order."""
    return np.take(x, order(source, x.shape[axis]), axis=axis)


def permuted(source: Source, x: Any, axis: int | None) -> Any:
    """An array with its elements in random order along an axis, each line separately; None for all of them."""
    if axis is None:
        return np.take(x.reshape(-1), order(source, prod(x.shape))).reshape(x.shape)
    keys = source.bits(x.shape, np.uint64)
    return np.take_along_axis(x, np.argsort(keys, axis=axis, stable=True), axis)


def axis_of(method: str, x: Any, axis: Any) -> int:
    """An axis of `x`, from 0."""
    return normalize_axis(axis, x.ndim, f"{method}: axis")


def categories_of(method: str, x: Any, axis: Any) -> int:
    """A non-empty axis of `x`, from 0."""
    place = axis_of(method, x, axis)
    if not x.shape[place]:
        raise ArgumentValueError(
            f"{method}: an array of shape {x.shape} has no categories along axis {place}"
        )
    return place


# ---- choices --------------------------------------------------------------------------------------------


def chosen(source: Source, count: int, shape: Size, p: Any, *, replace: bool) -> Any:
    """Random numbers below `count`, with probabilities `p` unless that is None."""
    wanted = prod(shape)
    if wanted and not count:
        raise ArgumentValueError("choice: there is nothing to choose from")
    if replace and p is None:
        count64 = np.uint64(count)
        return discrete.integers_between(source, shape, np.uint64(0), count64, np.int64, small=count <= 2**32)
    if replace:
        total = np.cumsum(p)
        places = np.searchsorted(total / total[-1], source.uniform(shape, np.float64), side="right")
        return np.minimum(places, count - 1)
    if wanted > count:
        raise ArgumentValueError(
            f"choice: cannot choose {wanted} of {count} without replacement: pass replace=True or a smaller size"
        )
    if p is None:
        return order(source, count)[:wanted].reshape(shape)
    # Efraimidis and Spirakis, Inf. Process. Lett. 97, 2006: the first of exponential clocks with rates p
    rings = continuous.standard_exponential(source, (count,), np.float64) / p
    return np.argsort(rings, stable=True)[:wanted].reshape(shape)


def probabilities(p: Any, count: int, wanted: int) -> Any:
    """The argument `p` of choice, checked if it is known; at least `wanted` of its entries must be positive."""
    array = real("choice", "p", p, np.float64, at_least=0)
    if array.shape != (count,):
        raise ShapeError(f"choice: p must have shape ({count},), not {array.shape}")
    values = known(p, array)
    if values is not None:
        if not abs(float(np.sum(values)) - 1) < 1e-8:
            raise ArgumentValueError(
                f"choice: the probabilities p must add up to 1, not {np.sum(values):.12g}"
            )
        if np.count_nonzero(values) < wanted:
            raise ArgumentValueError(f"choice: fewer than {wanted} of the probabilities p are not 0")
    return array


def items(method: str, a: Any) -> Any:
    """What to choose from or to permute: an array, or the number of the integers from 0."""
    if is_int(a):
        if not 0 <= a <= MOST:
            raise ArgumentValueError(f"{method}: {a} is less than 0 or more than {MOST}")
        return int(a)
    array = as_array(a)
    if array.ndim == 0:
        that_is_known = " known while tracing" if is_traced(array) else ""
        raise ArgumentTypeError(f"{method}: expected an array or an int{that_is_known}, not {shown(a)}")
    return array

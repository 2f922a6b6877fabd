"""`map`: a function of one slice on all slices of arrays, one after the other or so many at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np
import optree

from ..compiler.program import NAMESPACE, describe
from ..compiler.traced_array import located
from .scan import scan, slices_of
from .transform import require_function
from .vectorize import vmap
from .whole_numbers import whole_number


def map(f: Callable[[Any], Any], xs: Any, batch_size: int | None = None) -> Any:
    """``f(x)`` for the slices x of `xs` along their first axis, stacked: a loop, so it needs little memory.

    Args:
        f: a function of one slice.
        xs: a pytree of arrays, all with the same first axis.
        batch_size: run `f` on so many slices at once, by `vmap`, and what is left over at the end on its own.

    Returns:
        The results of `f` with a new first axis.

    Raises:
        TransformArgumentError: (a ValueError) the first axes differ, or `batch_size` is not positive.
        TransformTypeError: (a TypeError) for arguments of wrong types.

    >>> import numpy as np
    >>> map(lambda x: np.sum(x**2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([ 5., 25.])
    """
    require_function("map", f)
    return located(_map, f, xs, batch_size)


def _map(f: Callable[[Any], Any], xs: Any, batch_size: int | None) -> Any:
    where = f"map({describe(f)})"
    length = slices_of(where, xs, None).length
    if batch_size is None:
        return scan(lambda carry, x: (carry, f(x)), (), xs)[1]
    size = whole_number(where, "batch_size", batch_size, least=1)
    blocks = length // size
    if not blocks:
        return vmap(f, randomness="different")(xs)
    whole = blocks * size

    def of_each(function: Callable[..., Any], *trees: Any) -> Any:
        return optree.tree_map(function, *trees, namespace=NAMESPACE)

    rows = of_each(lambda x: np.reshape(x[:whole], (blocks, size, *x.shape[1:])), xs)
    _, ys = scan(lambda carry, row: (carry, vmap(f, randomness="different")(row)), (), rows)
    ys = of_each(lambda y: np.reshape(y, (whole, *y.shape[2:])), ys)
    if whole == length:
        return ys
    rest = vmap(f, randomness="different")(of_each(lambda x: x[whole:], xs))
    return of_each(lambda a, b: np.concatenate([a, b]), ys, rest)

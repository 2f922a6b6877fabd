"""`map`: a function of one slice applied to all slices of arrays, one after another or in batches."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...compiler.arguments.leaves import is_array_like
from ...compiler.callers.function_names import describe
from ...compiler.errors import TransformTypeError
from ...compiler.frontend.conversion import converted
from ...compiler.nesting import shown
from ...compiler.tracing.traced_array import located
from ...compiler.tracing.traced_memory import is_traced
from ..batching.vmap import vmap
from ..eager.run import like_function, require_function
from ..int_options import int_option
from ..tracebacks import with_users_frames
from ..trees import changed_leaves
from .scan import scan, slices_of


@with_users_frames
def map(f: Callable[[Any], Any], xs: Any, batch_size: int | None = None) -> Any:
    """``f(x)`` for the slices x of `xs` along their first axis, stacked: a loop, so it needs little memory.

    Args:
        f: a function of one slice, which may write to it: it is a copy.
        xs: a pytree of arrays, all with the same first axis.
        batch_size: run `f` on this many slices at once, by `vmap`, where each has random numbers of its own.

    Returns:
        The results of `f` with a new first axis.

    Raises:
        TransformArgumentError: (a ValueError) the first axes differ, or `batch_size` is not positive.
        TransformTypeError: (a TypeError) for arguments of wrong types, and where `f` returns no arrays or numbers.

    >>> import numpy as np
    >>> map(lambda x: np.sum(x**2), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([ 5., 25.])
    """
    require_function("map", f)
    return located(_map, f, xs, batch_size)


def _map(f: Callable[[Any], Any], xs: Any, batch_size: int | None) -> Any:
    where = f"map({describe(f)})"
    slices_of(where, xs, None)
    step = converted(f)

    @like_function(f)
    def arrays_of(x: Any) -> Any:
        return _of_each(lambda leaf: _as_array(where, leaf), step(_of_each(lambda leaf: leaf.copy(), x)))

    if batch_size is None:
        return scan(lambda carry, x: (carry, arrays_of(x)), (), xs)[1]
    size = int_option(where, "batch_size", batch_size, minimum=1)
    return vmap(arrays_of, randomness="different", chunk_size=size)(xs)


def _of_each(function: Callable[[Any], Any], tree: Any) -> Any:
    return changed_leaves("a result of map's function", function, tree)


def _as_array(where: str, leaf: Any) -> Any:
    if not is_array_like(leaf):
        raise TransformTypeError(
            f"{where}: the function returns {type(leaf).__name__}, which is not an array or a number: {shown(leaf)}"
        )
    return leaf if is_traced(leaf) else np.asarray(leaf)

"""`value_and_grad`: of a loss that is a sum over blocks of rows."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ...compiler.callers.function_names import describe
from ...compiler.errors import BlockError
from ..derivatives import grad as derivatives
from ..tracebacks import with_users_frames
from .packages import dask_array
from .reduction import reduced


@with_users_frames
def value_and_grad(
    loss: Callable[..., Any], argnums: int | Sequence[int] = 0, *, split_every: int = 8
) -> Callable[..., Any]:
    """The value and the gradient of a loss that is a sum over rows, from blocks of the rows.

    Each worker receives the parameters once per call and differentiates the loss of its blocks; values and gradients
    are added in a tree.

    Args:
        loss: a function of parameters and rows, which returns the sum over these rows, not their mean.
        argnums: which arguments are differentiated, as of `tracemill.value_and_grad`: pytrees of arrays.
        split_every: as of `reduction`.

    Returns:
        A function of the same arguments, of which those that are Dask arrays are split along their first axes. It
        returns the value and the gradient, with lazy Dask arrays in them: ``dask.compute`` takes both.

    Raises:
        BlockError: (when called; a ValueError) as of `reduction`; or a differentiated argument is a Dask array.

    >>> import numpy as np, tracemill as tm, dask, dask.array as da
    >>> def loss(w, x, y):
    ...     return np.sum((x @ w - y) ** 2)
    >>> x, y = da.ones((6, 2), chunks=(4, 2)), da.ones(6, chunks=4)
    >>> dask.compute(*tm.dask.value_and_grad(loss)(np.zeros(2), x, y))
    (np.float64(6.0), array([-12., -12.]))
    """
    differentiated = derivatives.value_and_grad(loss, argnums)
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @wraps(loss)
    def summed(*args: Any, **kwargs: Any) -> Any:
        arrays = dask_array("value_and_grad")
        whole = [number % len(args) for number in numbers if -len(args) <= number < len(args)]
        for number in whole:
            if isinstance(args[number], arrays.Array):
                raise BlockError(
                    f"value_and_grad({describe(loss)}): args[{number}] is a Dask array, and derivatives are only of"
                    " what each block receives whole: compute it, x.compute(), or use tracemill.dask.map_blocks with"
                    " tracemill.grad for the slopes of each block"
                )
        return reduced(
            "value_and_grad", differentiated, args, kwargs, split_every=split_every, surely_whole=whole
        )

    return summed

"""`stop_gradient`: a value through which no derivative flows."""

from typing import Any

import optree

from ..compiler.program import NAMESPACE
from ..compiler.trace import bind
from ..compiler.traced_array import is_traced, wrap
from .tape import joined


def stop_gradient(x: Any) -> Any:
    """`x` with derivative zero: transforms take it for a constant.

    Args:
        x: an array, a number, or a pytree of them. Leaves that are not traced are returned as they are.

    >>> from tracemill import grad
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    return optree.tree_map(_stopped, x, namespace=NAMESPACE)


def _stopped(leaf: Any) -> Any:
    if not is_traced(leaf):
        return leaf
    with joined():
        return wrap(bind("stop_gradient", leaf.value), is_scalar=leaf.is_scalar, weak=leaf.weak)

"""`stop_gradient`: a value through which no derivative flows."""

from typing import Any

from ..eager.run import on_traced_leaves


def stop_gradient(x: Any) -> Any:
    """`x` with derivative zero: transforms treat it as a constant.

    Args:
        x: an array, a number, or a pytree of them. Leaves that are not traced are returned as they are.

    >>> from tracemill import grad
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    return on_traced_leaves("stop_gradient", x)

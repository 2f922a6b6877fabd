"""Tracemill: derivatives, batching and compiled kernels for plain NumPy functions."""

import tracemill.compiler.numpy_surface
import tracemill.compiler.ops  # noqa: F401
from tracemill.runtime.differentiate import grad, grad_and_value, jvp, linearize, value_and_grad, vjp
from tracemill.runtime.jacobians import hessian, jacfwd, jacrev
from tracemill.runtime.vectorize import vmap

__all__ = [
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "value_and_grad",
    "vjp",
    "vmap",
]

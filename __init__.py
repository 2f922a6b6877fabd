"""Tracemill: derivatives, batching and compiled kernels for plain NumPy functions."""

import tracemill.compiler.numpy_surface
import tracemill.compiler.ops  # noqa: F401
from tracemill.runtime.callback import pure_callback
from tracemill.runtime.compile import CompiledFunction, compile
from tracemill.runtime.differentiate import jvp, linearize, vjp
from tracemill.runtime.gradient import grad, grad_and_value, value_and_grad
from tracemill.runtime.jacobians import hessian, jacfwd, jacrev
from tracemill.runtime.pytrees import register_dataclass, register_pytree
from tracemill.runtime.stop_gradient import stop_gradient
from tracemill.runtime.vectorize import vmap

__all__ = [
    "CompiledFunction",
    "compile",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "pure_callback",
    "register_dataclass",
    "register_pytree",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]

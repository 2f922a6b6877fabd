"""Tracemill: derivatives, batching and compiled kernels for plain NumPy functions."""

import tracemill.compiler.numpy_surface
import tracemill.compiler.ops  # noqa: F401
from tracemill.runtime.differentiate import grad, grad_and_value, jvp, linearize, value_and_grad, vjp

__all__ = ["grad", "grad_and_value", "jvp", "linearize", "value_and_grad", "vjp"]

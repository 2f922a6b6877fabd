"""`tracemill.autograd`, the imperative interface: arrays that record operations, and derivatives of the recordings.

>>> import numpy as np, tracemill as tm
>>> x = tm.autograd.variable(np.array([1.0, 2.0]))
>>> y = np.sum(x**2)
>>> tm.autograd.grad(y, x)
(array([2., 4.]),)
"""

from ..eager.grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .backward import GradientEdge, backward, grad, gradient_edge
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable, detach, variable

__all__ = [
    "GradientEdge",
    "Variable",
    "backward",
    "detach",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "gradient_edge",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
    "variable",
]

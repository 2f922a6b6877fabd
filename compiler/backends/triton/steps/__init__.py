"""Triton functions of the calls that are no loop nests: products."""

from collections.abc import Callable

from ....ir import Call
from ..kernel import TritonKernel
from .products import dot

_STEPS: dict[str, Callable[[Call, str], TritonKernel | None]] = {
    "dot": dot,
}


def step_kernel(call: Call, name: str) -> TritonKernel | None:
    """The Triton functions, called after `name`, that compute a call; None where NumPy does it."""
    step = _STEPS.get(call.op)
    return None if step is None else step(call, name)

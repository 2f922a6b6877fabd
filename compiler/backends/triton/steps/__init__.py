"""Triton functions of calls that are not loop nests: products, cumulative sums, orders, writes, scans, random bits."""

from collections.abc import Callable, Mapping

from ....ir import Call
from ....symbolic_size import is_known
from ..choice import RULES, Choice
from ..kernels.kernel import TritonKernel
from ..types import has_type
from .attention.forward import attention
from .attention.gradient import attention_gradient
from .products.products import multiplied
from .random import random_bits
from .rows.cumulative import cumulative
from .rows.recurrence import recurrence
from .rows.scattering import scatter
from .rows.sorting import sort, top_k
from .step_writer import empty_kernel

_CHOSEN: Mapping[str, Callable[[Call, str, Choice], TritonKernel | None]] = {
    "attention": attention,
    "attention_with_sums": attention,
    "conv": multiplied,
    "dot": multiplied,
}
"""Those with tunable parameters."""

_STEPS: dict[str, Callable[[Call, str], TritonKernel | None]] = {
    "attention_gradient_by_sums": attention_gradient,
    "cumlogsumexp": cumulative,
    "cummax": cumulative,
    "cummin": cumulative,
    "cumprod": cumulative,
    "cumsum": cumulative,
    "random_bits": random_bits,
    "scan": recurrence,
    "scatter": scatter,
    "sort": sort,
    "top_k": top_k,
}


def step_kernel(call: Call, name: str, choice: Choice = RULES) -> TritonKernel | None:
    """The Triton functions, named after `name`, that compute a call; None if NumPy does."""
    has_step = call.op in _STEPS or call.op in _CHOSEN
    if not has_step or not all(has_type(value.dtype) for value in (*call.inputs, *call.outputs)):
        return None
    if all(is_known(value.type.size == 0) for value in call.outputs):
        return empty_kernel(call)
    return _CHOSEN[call.op](call, name, choice) if call.op in _CHOSEN else _STEPS[call.op](call, name)

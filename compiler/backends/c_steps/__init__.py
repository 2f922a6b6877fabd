"""C functions of the calls that are no loop nests: random bits, orders, running sums, scattered writes, products."""

from collections.abc import Callable

from ...ir import Call
from ..c_function import CFunction
from .chunks import nothing
from .cumulative import cumulative
from .random import random_bits
from .scattering import scatter
from .sorting import sort, top_k

_STEPS: dict[str, Callable[[Call, str], CFunction | None]] = {
    "cumlogsumexp": cumulative,
    "cummax": cumulative,
    "cummin": cumulative,
    "cumprod": cumulative,
    "cumsum": cumulative,
    "random_bits": random_bits,
    "scatter": scatter,
    "sort": sort,
    "top_k": top_k,
}


def step_function(call: Call, name: str) -> CFunction | None:
    """A C function called `name` that computes a call; None where NumPy does it, because it must or is as fast."""
    step = _STEPS.get(call.op)
    if step is None:
        return None
    return step(call, name) if any(value.type.size for value in call.outputs) else nothing(call, name)

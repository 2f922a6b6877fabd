"""C functions of calls that are not loop nests: random bits, orders, cumulative sums, writes, products."""

from collections.abc import Callable

from ....ir import Call
from ....symbolic_size import is_none
from ..function import CFunction, COptions
from .chunks import empty_function
from .cumulative import cumulative
from .matrices import MATRIX_STEPS, matrix_step
from .positions import positions
from .products import dot
from .random import random_bits
from .scattering import scatter
from .sorting import sort, top_k
from .updating import update

_STEPS: dict[str, Callable[[Call, str], CFunction | None]] = {
    "cumlogsumexp": cumulative,
    "cummax": cumulative,
    "cummin": cumulative,
    "cumprod": cumulative,
    "cumsum": cumulative,
    "dynamic_update_slice": update,
    "random_bits": random_bits,
    "scatter": scatter,
    "sort": sort,
    "top_k": top_k,
    "update_slice": update,
}


DEFAULT = COptions()


def step_function(call: Call, name: str, options: COptions = DEFAULT) -> CFunction | None:
    """A C function called `name` that computes a call; None if NumPy does, because it must or is as fast."""
    if options.alone and call.op == "flatnonzero":
        return positions(call, name)
    step = _STEPS.get(call.op)
    by_matrices = options.alone and call.op in MATRIX_STEPS
    if call.op != "dot" and step is None and not by_matrices:
        return None
    if all(is_none(value.type.size) for value in call.outputs):
        return empty_function(call, name)
    if by_matrices:
        return matrix_step(call, name)
    if step is None:
        return dot(call, name)
    if call.op == "sort":
        return sort(call, name, any_length=options.alone)
    if step is cumulative:
        return cumulative(call, name, alone=options.alone)
    return step(call, name)

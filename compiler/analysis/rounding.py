"""Which results may differ in the last bit between two loops that compute the same."""

from typing import Final

from ..dtypes import is_inexact
from ..ir import Call
from .fusible_ops import is_elementwise
from .op_costs import TRANSCENDENTAL, element_cost

_ADDING: Final = frozenset({"prod", "sum"})


def is_rounded_by_loop(call: Call) -> bool:
    """Whether the last bit of a result may depend on the loop that computes it.

    A C compiler calls another ``sin`` for vectors than for the elements that are left over, and adds in an order that
    depends on the length of vectors. Arithmetic and square roots are rounded in one way only.
    """
    if not is_inexact(call.outputs[0].dtype):
        return False
    if call.op in _ADDING or call.op == "hypot":
        return True
    return is_elementwise(call) and element_cost(call) >= TRANSCENDENTAL

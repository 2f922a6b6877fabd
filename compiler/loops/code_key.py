"""Keys that distinguish calls that need different code."""

from collections.abc import Hashable

from ..ir import Call, Constant, Value, exact
from ..op import has_effect


def call_key(call: Call) -> Hashable:
    """Equal for calls that the same code computes: with the same op, parameters and types.

    A call with an effect has its own key.
    """
    if has_effect(call):
        return call
    types = tuple([value.type for value in (*call.inputs, *call.outputs)])
    return call.op, types, tuple([(name, exact(param)) for name, param in sorted(call.params.items())])


def function_key(call: Call) -> Hashable:
    """Equal for calls that share a C function.

    A loop or a branch is compiled for its constants, and an input that appears twice has one name.
    """
    if call.op not in ("scan", "switch", "while_loop"):
        return call_key(call)
    known = (
        v.array.tobytes() if isinstance(v, Constant) and v.array.size == 1 else None for v in call.inputs
    )
    first: dict[Value, int] = {}
    places = [first.setdefault(value, place) for place, value in enumerate(call.inputs)]
    return call_key(call), tuple(known), tuple(places)

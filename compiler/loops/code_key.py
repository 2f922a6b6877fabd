"""What tells apart calls that need code of their own."""

from collections.abc import Hashable

from ..ir import Call, Constant, Value, exact
from ..op import has_effect


def call_key(call: Call) -> Hashable:
    """Equal for calls that the same code computes: of the same op, parameters and types.

    Of a call with an effect the key is its own.
    """
    if has_effect(call):
        return call
    types = tuple([value.type for value in (*call.inputs, *call.outputs)])
    return call.op, types, tuple([(name, exact(param)) for name, param in sorted(call.params.items())])


def function_key(call: Call) -> Hashable:
    """Equal for calls that share a function of C's.

    That of a loop or a choice is written for constants that enter, and has one name for an input that enters twice.
    """
    if call.op not in ("scan", "switch", "while_loop"):
        return call_key(call)
    known = (
        v.array.tobytes() if isinstance(v, Constant) and v.array.size == 1 else None for v in call.inputs
    )
    first: dict[Value, int] = {}
    places = [first.setdefault(value, place) for place, value in enumerate(call.inputs)]
    return call_key(call), tuple(known), tuple(places)

"""What tells apart calls that need code of their own."""

from collections.abc import Hashable

from ..ir import Call, exact
from ..op import has_effect


def call_key(call: Call) -> Hashable:
    """Equal for calls that the same code computes: of the same op, parameters and types.

    Of a call with an effect the key is its own.
    """
    if has_effect(call):
        return call
    types = tuple([value.type for value in (*call.inputs, *call.outputs)])
    return call.op, types, tuple([(name, exact(param)) for name, param in sorted(call.params.items())])

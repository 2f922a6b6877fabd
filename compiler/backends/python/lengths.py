"""Statements that compute a length, and that check whether values are those for which the program was made."""

from ...free_sizes import bound_size
from ...ir import Call
from ...params import int_param, text_param
from .form import form
from .module import Scope


@form("length")
def _length(call: Call, scope: Scope, target: str | None) -> list[str]:
    """``n_1 = int(count)``. The array of that length is never read, and has no memory of its own."""
    size = scope.module.sizes[str(bound_size(call))]
    name = scope.name(call)
    return [
        f"    {size} = int({scope.scalar(call.inputs[0])})",
        f"    {name} = np.ndarray(({size},), np.bool_, bytearray(1), 0, (0,))",
    ]


@form("expect")
def _expect(call: Call, scope: Scope, target: str | None) -> list[str]:
    """The runtime looks at these values itself, and finds another program for other ones; a file raises."""
    value, expected = (scope.array(one) for one in call.inputs)
    return [
        f"    if np.asarray({value}).tobytes() != {expected}.tobytes():",
        '        raise ValueError("this program is for other values")',
    ]


@form("expect_size")
def _expect_size(call: Call, scope: Scope, target: str | None) -> list[str]:
    relation = {"==": "!=", "!=": "==", ">=": "<"}[text_param(call, "relation")]
    return [
        f"    if {scope.size(int_param(call, 'dim'))} {relation} 0:",
        '        raise ValueError("this program is for other lengths")',
    ]

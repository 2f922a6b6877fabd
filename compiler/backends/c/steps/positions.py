"""The positions at which a mask holds, in C."""

from string import Template

from ....ir import Call
from ..function import CFunction
from ..parameters import parameters
from ..sizes import names_in_call, size_text

_POSITIONS = Template("""\
static void $name($parameters, long threads)
{
    (void)threads;
    long found = 0;
    for (long i = 0; i < $length && found < $count; i++) {
        out0[found] = i;
        found += x0[i];
    }
}
""")
"""Without branches on entries, whose results nothing foresees."""


def positions(call: Call, name: str) -> CFunction:
    """The C function of a `flatnonzero`. Its second operand only says how long the result is."""
    mask = call.inputs[0]
    inputs, outputs = (tuple(value.type for value in values) for values in (call.inputs, call.outputs))
    sizes = names_in_call(call)
    text = _POSITIONS.substitute(
        name=name,
        parameters=", ".join(parameters(inputs, outputs, sizes=sizes)),
        length=size_text(mask.shape[0]),
        count=size_text(call.outputs[0].shape[0]),
    )
    return CFunction(name, text, inputs, outputs, frozenset(), 1 + mask.shape[0], sizes=sizes)

"""C functions of ops that NumPy itself lacks: their meanings in NumPy, traced on one element and written as C.

Such a meaning computes every case and chooses, so its C has no branches and runs on vectors.
"""

import numpy as np

from ...dtypes import DType
from ...ir import Constant, Value
from ..traced_meaning import meaning_on_elements
from .expression import expression
from .literals import c_literal
from .types import c_type


def meaning_text(name: str, spelled: str, dtype: DType) -> str:
    """The C function `name` of operands of a dtype; `spelled` is the op's name and its integer params: ``sinc_0``."""
    program = meaning_on_elements(spelled, dtype)
    graph, count = program.graph, len(program.arguments)
    texts: dict[Value, str] = dict(zip(graph.inputs[:count], graph.input_names, strict=False))
    for value, number_of_params in zip(graph.inputs[count:], program.captured, strict=True):
        texts[value] = c_literal(np.asarray(number_of_params))

    def text_of(value: Value) -> str:
        return c_literal(value.array) if isinstance(value, Constant) else texts[value]

    lines: list[str] = []
    for number, call in enumerate(graph.calls, start=1):
        (output,) = call.outputs
        texts[output] = f"v{number}"
        element = expression(call, [text_of(operand) for operand in call.inputs])
        lines.append(f"    const {c_type(output.dtype)} v{number} = {element.text};")
    (result,) = graph.outputs
    arguments = ", ".join(f"{c_type(value.dtype)} {texts[value]}" for value in graph.inputs[:count])
    opening = f"static inline {c_type(result.dtype)} {name}({arguments})"
    return "\n".join([opening, "{", *lines, f"    return {text_of(result)};", "}\n"])

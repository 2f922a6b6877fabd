"""Triton functions of ops that Triton lacks: their meanings in NumPy, traced on one element and written for blocks."""

import numpy as np

from ...dtypes import DType
from ...ir import Constant, Value
from ..traced_meaning import meaning_on_elements
from .expression import expression
from .literals import triton_literal


def meaning_text(name: str, spelled: str, dtype: DType) -> str:
    """The function `name` of blocks of a dtype; `spelled` is the op's name and its integer params: ``sinc_0``."""
    program = meaning_on_elements(spelled, dtype)
    graph, count = program.graph, len(program.arguments)
    texts: dict[Value, str] = dict(zip(graph.inputs[:count], graph.input_names, strict=False))
    for value, number in zip(graph.inputs[count:], program.captured, strict=True):
        texts[value] = triton_literal(np.asarray(number))

    def text_of(value: Value) -> str:
        return triton_literal(value.array) if isinstance(value, Constant) else texts[value]

    lines: list[str] = []
    for position, call in enumerate(graph.calls, start=1):
        (output,) = call.outputs
        texts[output] = f"v{position}"
        lines.append(f"    v{position} = {expression(call, [text_of(x) for x in call.inputs]).text}")
    (result,) = graph.outputs
    arguments = ", ".join(texts[value] for value in graph.inputs[:count])
    return "\n".join(
        ["@triton.jit", f"def {name}({arguments}):", *lines, f"    return {text_of(result)}", ""]
    )

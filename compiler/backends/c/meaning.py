"""C functions of ops that NumPy itself lacks: their meanings in NumPy, traced on one element and written as C.

Such a meaning computes every case and chooses, so its C has no branches and runs on vectors.
"""

import inspect
from functools import partial
from typing import Any

import numpy as np
import optree

from ...dtypes import DType
from ...errors import InternalError
from ...ir import ArrayType, Constant, Value
from ...op import all_ops
from ...program import Argument, Program, trace
from ...trace import not_recording
from .expression import expression
from .literals import c_literal
from .types import c_type


def meaning_text(name: str, spelled: str, dtype: DType) -> str:
    """The C function `name` of operands of a dtype; `spelled` is the op's name and its integer params: ``sinc_0``."""
    program = _traced(*_op_and_params(spelled), dtype)
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


def _op_and_params(spelled: str) -> tuple[str, list[int]]:
    parts, params = spelled.split("_"), list[int]()
    while parts[-1].isdigit():
        params.insert(0, int(parts.pop()))
    op = "_".join(parts)
    if op not in all_ops():
        raise InternalError(f"there is no C function tm_{spelled}, and no op {op}")
    return op, params


def _traced(op: str, numbers: list[int], dtype: DType) -> Program:
    """The meaning of an op on elements of a dtype; its params come last in the meaning's signature."""
    meaning = all_ops()[op].numpy
    names = list(inspect.signature(meaning).parameters)
    inputs = names[: len(names) - len(numbers)]
    params = dict(zip(names[len(inputs) :], numbers, strict=True))
    leaves = [Argument(ArrayType(dtype, ()), name) for name in inputs]
    arguments: Any = (tuple(inputs), {})
    tree = optree.tree_structure(arguments)
    with not_recording():
        return trace(partial(meaning, **params), tree, leaves)

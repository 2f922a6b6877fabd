"""The NumPy definition of an op that NumPy itself lacks, traced on one element, for backends to write as a function."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import optree

from ..builder import not_recording
from ..dtypes import DType
from ..errors import InternalError
from ..frontend.program import Argument, Program
from ..frontend.traced_program import trace
from ..ir import ArrayType, Call, Constant, Value
from ..op import all_ops


@dataclass(frozen=True, slots=True)
class Written:
    """A definition in the language of a backend."""

    operands: Sequence[str]
    """The names of the function's parameters; they have the dtype of the elements."""
    statements: Sequence[str]
    result: str
    dtype: DType
    """The dtype of the result."""


def written(
    spelled: str,
    dtype: DType,
    literal: Callable[[Any], str],
    statement: Callable[[Call, str, Sequence[str]], str],
) -> Written:
    """An op on elements of a dtype; `spelled` is its name and its integer params: ``sinc_0``.

    ``literal(array)`` writes a number, and ``statement(call, name, operands)`` a definition of the result of a call.
    """
    program = _traced(spelled, dtype)
    graph, count = program.graph, len(program.arguments)
    texts: dict[Value, str] = dict(zip(graph.inputs[:count], graph.input_names, strict=False))
    for value, number in zip(graph.inputs[count:], program.captured, strict=True):
        texts[value] = literal(np.asarray(number))

    def text_of(value: Value) -> str:
        return literal(value.array) if isinstance(value, Constant) else texts[value]

    statements: list[str] = []
    for position, call in enumerate(graph.calls, start=1):
        (output,) = call.outputs
        texts[output] = f"v{position}"
        statements.append(statement(call, texts[output], [text_of(operand) for operand in call.inputs]))
    (result,) = graph.outputs
    return Written(
        [texts[value] for value in graph.inputs[:count]], statements, text_of(result), result.dtype
    )


def _traced(spelled: str, dtype: DType) -> Program:
    """The calls that compute an op on elements."""
    op, numbers = _op_and_params(spelled)
    meaning = all_ops()[op].numpy
    names = list(inspect.signature(meaning).parameters)
    inputs = names[: len(names) - len(numbers)]
    params = dict(zip(names[len(inputs) :], numbers, strict=True))
    leaves = [Argument(ArrayType(dtype, ()), name) for name in inputs]
    arguments: Any = (tuple(inputs), {})
    tree = optree.tree_structure(arguments)
    with not_recording():
        return trace(partial(meaning, **params), tree, leaves)


def _op_and_params(spelled: str) -> tuple[str, list[int]]:
    parts, params = spelled.split("_"), list[int]()
    while parts[-1].isdigit():
        params.insert(0, int(parts.pop()))
    op = "_".join(parts)
    if op not in all_ops():
        raise InternalError(f"there is no function tm_{spelled}, and no op {op}")
    return op, params

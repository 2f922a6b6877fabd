"""The meaning in NumPy of an op that NumPy itself lacks, traced on one element: what a backend writes as a function."""

import inspect
from functools import partial
from typing import Any

import optree

from ..dtypes import DType
from ..errors import InternalError
from ..ir import ArrayType
from ..op import all_ops
from ..program import Argument, Program, trace
from ..trace import not_recording


def meaning_on_elements(spelled: str, dtype: DType) -> Program:
    """The calls that compute an op on elements of a dtype; `spelled` is its name and its integer params: ``sinc_0``."""
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

"""Triton functions of ops that Triton lacks: their NumPy definitions, traced on one element and written for blocks."""

from collections.abc import Sequence

from ....dtypes import DType
from ....ir import Call
from ...traced_meaning import written
from ..literals import triton_literal
from .expression import expression


def meaning_text(name: str, spelled: str, dtype: DType) -> str:
    """The function `name` of blocks of a dtype; `spelled` is the op's name and its integer params: ``sinc_0``."""
    meaning = written(spelled, dtype, triton_literal, _statement)
    opening = f"def {name}({', '.join(meaning.operands)}):"
    return "\n".join(["@triton.jit", opening, *meaning.statements, f"    return {meaning.result}", ""])


def _statement(call: Call, name: str, operands: Sequence[str]) -> str:
    return f"    {name} = {expression(call, operands).text}"

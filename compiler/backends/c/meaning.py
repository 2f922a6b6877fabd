"""C functions of ops that NumPy itself lacks: their NumPy definitions, traced on one element and written as C.

Such a definition computes every case and selects, so its C has no branches and is vectorised. Where its arguments of
sines, cosines and tangents may be far from 0, the C library computes these.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from ...dtypes import DType
from ...ir import Call
from ..traced_meaning import written
from .expression import expression, near, of_library
from .literals import c_literal
from .types import c_type

_OF_NEAR_ANGLES: Final = ("digamma", "gammaln", "polygamma", "sinc")
"""The ops that turn their angles to between −π/2 and π/2 first."""


def meaning_text(name: str, spelled: str, dtype: DType) -> str:
    """The C function `name` of operands of a dtype; `spelled` is the op's name and its integer params: ``sinc_0``."""
    angles = near if spelled.startswith(_OF_NEAR_ANGLES) else of_library
    meaning = written(spelled, dtype, c_literal, partial(_statement, angles))
    arguments = ", ".join(f"{c_type(dtype)} {operand}" for operand in meaning.operands)
    opening = f"static inline {c_type(meaning.dtype)} {name}({arguments})"
    return "\n".join([opening, "{", *meaning.statements, f"    return {meaning.result};", "}\n"])


def _statement(angles: Callable[[str], str], call: Call, name: str, operands: Sequence[str]) -> str:
    return f"    const {c_type(call.outputs[0].dtype)} {name} = {angles(expression(call, operands).text)};"

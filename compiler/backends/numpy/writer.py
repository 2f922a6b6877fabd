"""`NUMPY`: writes each call of a graph as NumPy statements."""

from typing import Final, final

from ...analysis.fusible_ops import is_elementwise
from ...ir import Call
from ...op import is_view
from ..python.module import CallWriter, Form, Scope

# Importing these enters their forms into the table.
from . import contraction, elementwise, indexing, layout, linalg, reduction
from .definition import DEFINITION, IN_BLOCKS
from .form import FORMS, ufunc_form
from .quoted_meaning import function_text

__all__ = ["NUMPY", "contraction", "elementwise", "indexing", "layout", "linalg", "reduction"]


@final
class _NumPyWriter(CallWriter):
    @property
    def definition(self) -> Form:
        return DEFINITION

    def form_of(self, call: Call) -> Form:
        found = FORMS.get(call.op) or ufunc_form(call)
        if found is not None:
            return found
        return IN_BLOCKS if is_elementwise(call) and not is_view(call) else DEFINITION

    def function_text(self, op: str, name: str) -> list[str]:
        return function_text(op, name)

    def updated_place(self, call: Call, scope: Scope) -> str:
        return layout.updated_place(call, scope)

    def returns_rows(self, call: Call) -> bool:
        return contraction.returns_rows(call)


NUMPY: Final[CallWriter] = _NumPyWriter()
"""The writer of the NumPy backend, which the module around C functions uses for all other calls."""

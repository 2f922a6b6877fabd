"""How a call becomes statements: the forms of those that every backend's module writes in the same way."""

import json
from collections.abc import Callable
from typing import Final

import numpy as np

from ...analysis.memory_plan import CallMemory, Numbers
from ...ir import Call
from ...op import is_view
from ...symbolic_size import SymbolicSize
from .module import CallWriter, Form, Module, Scope, Write
from .named_sizes import size_text

LARGE: Final = 1 << 14
"""Results of at least this many bytes are kept from call to call, because fresh memory costs page faults."""

FORMS: Final[dict[str, Form]] = {}
"""The forms of calls of graphs and of Python, loops, tiles and lengths: their ops' definitions cannot be quoted."""


def form(*ops: str) -> Callable[[Write], Write]:
    """Register a function as the form of `ops`."""

    def enter(write: Write) -> Write:
        FORMS.update(dict.fromkeys(ops, Form(write)))
        return write

    return enter


def form_of(writer: CallWriter, call: Call) -> Form:
    """The form of a call: that of all modules, or the backend's."""
    return FORMS.get(call.op) or writer.form_of(call)


def memory_of(writer: CallWriter, call: Call) -> CallMemory:
    """What the form of a call can do with memory."""
    found = form_of(writer, call)
    overwrites = dict.fromkeys(range(len(call.outputs)), found.overwrites)
    return CallMemory(found.into, overwrites, is_view=is_view(call), smallest=LARGE)


def memory_in(module: Module, call: Call) -> CallMemory:
    """What the statement of a call in a module can do with memory. Native functions write where they are told."""
    function = module.native_function(call)
    if function is None:
        return memory_of(module.writer, call)
    return CallMemory(True, function.overwriting, numbers=Numbers.READ_AT_ONCE)


def params_text(call: Call, scope: Scope) -> dict[str, str]:
    """The parameters of a call as expressions."""
    return {name: param_expression(param, scope) for name, param in call.params.items()}


def param_expression(param: object, scope: Scope) -> str:
    """A parameter as an expression; dtypes as NumPy's instances, because definitions read their kind."""
    if isinstance(param, np.dtype):
        return f"np.dtype({scope.dtype(param)})"
    if isinstance(param, tuple):
        items = [param_expression(item, scope) for item in param]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if isinstance(param, str):
        return json.dumps(param, ensure_ascii=False)
    if isinstance(param, SymbolicSize):
        return size_text(param, scope.module.sizes)
    return repr(param)

"""One C file for all the C functions of a program."""

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from ....analysis.fusible_ops import is_loop_call
from ....builder import bind_all
from ....ir import Call, called
from ....loops.loop_costs import SHARED
from ....ops.nested_graphs import graph_of
from ..definitions import source_of
from ..function import CFunction, COptions
from ..interruption import CALL
from ..interruption import DECLARATIONS as INTERRUPTION
from ..kernels.kernel import kernel_function
from ..kernels.reductions import DECLARATIONS
from ..layout import folded_lines
from ..nests.nest import DECLARATIONS as NESTS
from ..nests.nest import nest_function
from ..panel_products import panel_products_text
from ..row_products import row_products_text
from ..sizes import size_functions
from ..steps import step_function
from ..steps.matrices import DECLARATIONS as MATRICES
from ..steps.matrices import FAILED
from ..threads.pool_text import CALL as CALL_OF_POOL
from ..threads.pool_text import DECLARATIONS as POOL_OF_PYTHON
from .control import control_function
from .graph import APART, LENGTHS, TOO_LONG, FunctionOf
from .heading import headed
from .interface import print_wrappers

INCLUDES: Final = {
    "complex": r"\bcomplex\b",
    "float": r"\b(FLT|DBL)_",
    "math": "",
    "stdbool": "",
    "stddef": "",
    "stdint": "",
    "stdlib": r"\b(calloc|free|malloc)\(",
    "string": r"\bmem(cmp|cpy|move|set)\(",
}
"""Headers, and parts that only some texts need."""


def print_source(name: str, functions: Sequence[CFunction]) -> str:
    """A complete C text: the functions, and the code that makes them callable from Python.

    The same functions give the same text, byte for byte.
    """
    header = f"// {name}: C functions made by Tracemill for the Python module of that name.\n"
    wrappers = print_wrappers(functions, SHARED)
    return "\n".join([header, functions_text(functions, wrappers), folded_lines(wrappers)])


def functions_text(functions: Sequence[CFunction], callers: str = "", pool: str = POOL_OF_PYTHON) -> str:
    """The functions, after everything that they need, and what later texts need for sizes.

    `pool` is the definition of the function that runs a loop on several threads. It is left out if no loop needs it.
    """
    called = source_of({name for function in functions for name in function.needs})
    text = "\n".join([called, *(function.text.strip() + "\n" for function in functions)])
    declarations = [
        declaration for name, declaration in DECLARATIONS.items() if f"reduction({name} :" in text
    ]
    declarations += size_functions(text + callers)
    declarations += [INTERRUPTION] * (CALL in text) + [APART] * ("TM_APART" in text)
    declarations += [NESTS] * ("TM_NEST " in text) + [LENGTHS] * (TOO_LONG in text or "tm_length(" in text)
    declarations += filter(
        None,
        [
            row_products_text(text),
            panel_products_text(text),
            MATRICES * (FAILED in text),
            pool * (CALL_OF_POOL in text),
        ],
    )
    includes = "".join(
        f"#include <{header}.h>\n" for header, needed in INCLUDES.items() if re.search(needed, text)
    )
    return "\n".join([includes, *declarations, folded_lines(text.lstrip("\n"))])


def print_function(
    call: Call, name: str, options: COptions, *, in_loop: bool = False, inner: FunctionOf | None = None
) -> CFunction | None:
    """The C function that computes a call; None if NumPy's statements do.

    In a loop that is itself C, more is worth doing in C: a NumPy call would turn it into a Python loop. `inner`
    returns the functions of the calls in such a loop, if this does not.
    """
    found = _function_of(call, name, options, in_loop, inner)
    return headed(found, call) if found else None


def _function_of(
    call: Call, name: str, options: COptions, in_loop: bool, inner: FunctionOf | None
) -> CFunction | None:
    if call.op == "kernel":
        (graph,) = called((call,))
        return kernel_function(graph, name, options, in_place=True)
    inner = inner or partial(print_function, options=options, in_loop=True)
    found = step_function(call, name, options)
    found = found or nest_function(call, name, alone=options.alone)
    found = found or control_function(call, name, inner, alone=options.alone)
    if found is None and in_loop and is_loop_call(call):
        types = [value.type for value in call.inputs]
        alone = graph_of(call.op, types, lambda *values: bind_all(call.op, *values, **call.params))
        return kernel_function(alone, name, options)
    return found

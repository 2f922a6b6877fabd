"""One C file for all the C functions of a program."""

from collections.abc import Sequence
from functools import partial

from ...ir import Call, Graph
from ...kernel import is_loop_call
from ...nested_graphs import graph_of
from ...trace import bind_all
from .control import control_function
from .definitions import HEADERS, source_of
from .function import CFunction, COptions
from .graph import APART
from .interface import print_wrappers
from .interruption import CALL
from .interruption import DECLARATIONS as INTERRUPTION
from .kernel import kernel_function
from .reductions import DECLARATIONS
from .steps import step_function

INCLUDES = (*HEADERS, "stdlib", "string")


def print_source(name: str, functions: Sequence[CFunction]) -> str:
    """A C text that stands on its own: the functions, and what makes them callable from Python.

    The same functions give the same text, byte by byte.
    """
    header = f"// {name}: C functions made by Tracemill for the Python module of that name.\n"
    return "\n".join([header, functions_text(functions), print_wrappers(functions)])


def functions_text(functions: Sequence[CFunction]) -> str:
    """The functions, after all that they need."""
    includes = "".join(f"#include <{header}.h>\n" for header in INCLUDES)
    called = source_of({name for function in functions for name in function.needs})
    texts = [f.text for f in functions]
    reductions = DECLARATIONS if any("reduction(tm_" in text for text in texts) else ""
    interruption = INTERRUPTION if any(CALL in text for text in texts) else ""
    apart = APART if any("TM_APART" in text for text in texts) else ""
    parts = (called, reductions, interruption, apart, *texts)
    return "\n".join([includes, *(text.strip() + "\n" for text in parts if text.strip())])


def print_function(call: Call, name: str, options: COptions, *, in_loop: bool = False) -> CFunction | None:
    """The C function that computes a call; None if NumPy's statements do it.

    In a loop that is C itself, more is worth doing in C: a call of NumPy would make it a loop of Python.
    """
    if call.op == "kernel":
        graph = call.params["graph"]
        assert isinstance(graph, Graph)
        return kernel_function(graph, name, options)
    inner = partial(print_function, options=options, in_loop=True)
    found = step_function(call, name, in_loop=in_loop) or control_function(call, name, inner)
    if found is None and in_loop and is_loop_call(call):
        types = [value.type for value in call.inputs]
        alone = graph_of(call.op, types, lambda *values: bind_all(call.op, *values, **call.params))
        return kernel_function(alone, name, options)
    return found

"""One C file for all the C functions of a program."""

from collections.abc import Sequence
from functools import partial

from ..ir import Call
from .c_control import control_function
from .c_definitions import HEADERS, source_of
from .c_function import CFunction, COptions
from .c_interface import print_wrappers
from .c_steps import step_function

INCLUDES = (*HEADERS, "stdlib", "string")


def print_source(name: str, functions: Sequence[CFunction]) -> str:
    """A C text that stands on its own: the functions, and what makes them callable from Python.

    The same functions give the same text, byte by byte.
    """
    header = f"// {name}: C functions made by Tracemill for the Python module of that name.\n"
    includes = "".join(f"#include <{header}.h>\n" for header in INCLUDES)
    called = source_of({name for function in functions for name in function.needs})
    texts = [text.strip() + "\n" for text in (called, *(f.text for f in functions)) if text.strip()]
    return "\n".join([header, includes, *texts, print_wrappers(functions)])


def print_function(call: Call, name: str, options: COptions, *, in_loop: bool = False) -> CFunction | None:
    """The C function that computes a call; None if NumPy's statements do it.

    In a loop that is C itself, more is worth doing in C: a call of NumPy would make it a loop of Python.
    """
    inner = partial(print_function, options=options, in_loop=True)
    return step_function(call, name, in_loop=in_loop) or control_function(call, name, inner)

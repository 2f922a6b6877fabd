"""The parts of a generated module beside its entry: constants, quoted definitions, functions of nested graphs."""

from typing import Final

from ..large_arrays import LARGE_ARRAY
from .empty_module import parameters_of
from .function import has_effects, planned_nested
from .literals import array_text, packed_text, unpacking_text
from .module import Module
from .native_library import NativeLibrary
from .workspace import with_kept_memory

NEW_MEMORY: Final = """\
def new_memory(nbytes):
    \"\"\"Memory that begins where a line of the cache does: writing across lines takes twice as long.\"\"\"
    memory = np.empty(nbytes + 64, np.uint8)
    start = -memory.__array_interface__["data"][0] % 64
    return memory[start : start + nbytes]
"""


def constants_text(module: Module) -> list[str]:
    """Assignments of the constants, and of what is set when the module is loaded."""
    lines: list[str] = []
    for name, constant in module.constants.values():
        text = array_text(constant.array)
        if text is None:
            bytes_name = f"{name}_bytes"
            lines += [f'{bytes_name} = """', *packed_text(constant.array), '"""']
            text = unpacking_text(bytes_name, constant.array)
        lines.append(f"{name} = {text}")
    lines += [
        f"{name} = None  # a Python function, set by whoever loads this module"
        for name, _ in module.callbacks
    ]
    if module.makes_large_arrays:
        lines.append(
            f"{LARGE_ARRAY} = np.empty  # Tracemill passes a function that reuses memory of earlier results"
        )
    if called := called_library(module):
        lines += [f"{f.name} = None  # a {called.language} function, set by `link`" for f in called.functions]
    return lines


def called_library(module: Module) -> NativeLibrary | None:
    """The library whose functions the module calls, if it calls any."""
    return module.library if module.library and module.library.functions else None


def helper_functions(module: Module) -> list[list[str]]:
    """The functions with the definitions of ops, and the one that allocates memory if it is used."""
    functions: list[list[str]] = [
        module.writer.function_text(op, name) for op, name in module.helpers.items()
    ]
    return [[*NEW_MEMORY.splitlines()], *functions] if module.makes_memory else functions


def nested_functions(module: Module, done: int = 0) -> list[list[str]]:
    """Functions for the graphs that are called, except the first ones, which are `done`; writing one may find more."""
    functions: list[list[str]] = []
    while done < len(module.nested):
        nested, name = list(module.nested.items())[done]
        graph = nested.graph
        function = planned_nested(nested, module, parameters_of(graph, module))
        function.write()
        first = (*(["outside"] if has_effects(graph) else []), *module.sizes_in(graph))
        functions += (
            with_kept_memory(function, name, first) if function.buffers else [function.text(name, first)]
        )
        done += 1
    return functions

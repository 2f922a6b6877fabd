"""A module before anything is written, and the names of its own functions."""

from collections.abc import Sequence
from typing import Final

from ...identifiers import identifier
from ...ir import Graph
from ..large_arrays import LARGE_ARRAY

# Importing these enters their forms into the table.
from . import lengths, loops, nested, tiles
from .form import FORMS
from .module import RESERVED, CallWriter, Module
from .named_sizes import size_variables
from .native_library import NATIVE_NAMES, NativeLibrary
from .self_check import self_check_names
from .text import Names

__all__ = [
    "FIXED_NAMES",
    "FORMS",
    "empty_module",
    "entry_name",
    "lengths",
    "loops",
    "module_of",
    "nested",
    "parameters_of",
    "tiles",
]

FIXED_NAMES: Final = (
    "idle",
    "workspace",
    "statements",
    "mine",
    "outside",
    "outputs",
    "new_memory",
    LARGE_ARRAY,
    *NATIVE_NAMES,
    *tiles.NAMES,
)
"""The names of a module's own functions and variables, except those of its self check."""


def entry_name(graph: Graph) -> str:
    """The name of the module's function: that of the graph."""
    return Names([*RESERVED, *FIXED_NAMES, *self_check_names()]).claim(identifier(graph.name))


def empty_module(graph: Graph, writer: CallWriter, library: NativeLibrary | None = None) -> Module:
    """The module of a graph: its entry is `entry_name(graph)`."""
    module = module_of([entry_name(graph)], graph, writer)
    module.library = library
    return module


def module_of(own: Sequence[str], graph: Graph, writer: CallWriter) -> Module:
    """A module whose functions have these names in addition to those of all modules, for the sizes of a graph."""
    fixed = [*own, *FIXED_NAMES, *self_check_names()]
    sizes = size_variables(graph, (*RESERVED, *fixed))
    module = Module(writer, fixed_names=[*fixed, *sizes.values()], sizes=sizes)
    for name in module.fixed_names:
        module.names.claim(name)
    return module


def parameters_of(graph: Graph, module: Module) -> list[str]:
    """The names of the inputs in the function that runs a graph."""
    return module.names.inner([identifier(name) for name in graph.input_names])

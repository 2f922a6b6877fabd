"""A module that compares a function, given as text, with the definitions of the ops of a graph."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...ir import Constant, Graph, Value
from .empty_module import empty_module, entry_name, parameters_of
from .literals import array_text
from .module import CallWriter
from .parts import constants_text, helper_functions, nested_functions
from .self_check import reference_function, self_check


@dataclass(frozen=True, slots=True)
class Compared:
    """The function that `print_compared` compares."""

    entry: Callable[[Sequence[str], Sequence[str]], str]
    """Its text, given the names of its parameters and of the `reads`."""
    inputs: Sequence[Value]
    """Its arguments, in the order of the graph's inputs."""
    reads: Sequence[Value]
    """Some of these, and constants."""
    taken: Sequence[str]
    """Names that its module uses."""
    before: Sequence[str] = ()
    """The first statements of the main program."""


def print_compared(
    graph: Graph, writer: CallWriter, doc: str, imports: str, blocks: Sequence[str], compared: Compared
) -> str:
    """A module that compares a function, given as text, with the definitions of the ops of the graph, and times it.

    The function is called ``entry_name(graph)``, and `blocks` are texts that it needs.
    """
    module = empty_module(graph, writer)
    for name in compared.taken:
        module.names.claim(name)
    parameters = parameters_of(graph, module)
    reference = reference_function(graph, module, parameters)
    names = dict(zip(compared.inputs, parameters, strict=True))
    reads = [module.constant(v) if isinstance(v, Constant) else names[v] for v in compared.reads]
    nested = nested_functions(module)
    functions = [
        *blocks,
        compared.entry(parameters, reads),
        *("\n".join(lines) for lines in (*helper_functions(module), *nested)),
        "\n".join(reference),
        *("\n".join(lines) for lines in self_check(graph, entry_name(graph), module, compared.before)),
    ]
    used = ["base64"] * any(array_text(constant.array) is None for _, constant in module.constants.values())
    standard = "\n".join(f"import {name}" for name in sorted([*used, "os", "sys", "time"]))
    others = "\n".join(["import ml_dtypes"] * module.uses_bfloat16 + ["import numpy as np"])
    head = [doc, f"{standard}\n\n{others}", imports, "\n".join(constants_text(module) + module.known)]
    return "\n\n".join(filter(None, head)) + "\n\n\n" + "\n\n\n".join(functions) + "\n"

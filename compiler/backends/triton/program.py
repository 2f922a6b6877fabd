"""A graph as a program for a GPU: the Triton functions, and the plan that launches them."""

from dataclasses import dataclass

from ...ir import Graph
from .module import Module
from .plan import Plan
from .planning import plan_graph


@dataclass(frozen=True, slots=True)
class TritonProgram:
    """The functions of a program as the text of a Python module, and the plan that launches them."""

    text: str
    plan: Plan


def triton_program(graph: Graph) -> TritonProgram:
    """The program of a graph that has been through all passes."""
    module = Module()
    plan = plan_graph(graph, module)
    return TritonProgram(module.text(graph.name), plan)

"""A graph as a program for a GPU: the Triton functions, and the plan that launches them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....ir import Call, Graph, Value
from ..choice import Choice
from ..kernels.kernel_key import kernel_key
from ..plan import Plan
from .module import Module
from .planning import plan_graph


@dataclass(frozen=True, slots=True)
class TritonProgram:
    """The functions of a program as the text of a Python module, and the plan that launches them."""

    text: str
    plan: Plan
    kernels: tuple[Graph, ...] = ()
    """The graphs of its kernels of which something can be chosen."""
    fast_math: bool = False
    """Whether multiplications may be fused with additions; the text says the rest."""


def triton_program(
    graph: Graph,
    choices: Mapping[str, Choice] | None = None,
    *,
    fast_math: bool = False,
    taken: Sequence[str] = (),
) -> TritonProgram:
    """The program of a graph that has been through all passes, with what has been chosen of kernels by their keys.

    No function of it has a name that is `taken`.
    """
    module = Module(choices or {}, fast_math, taken)
    plan = plan_graph(graph, module)
    return TritonProgram(module.text(graph.name), plan, tuple(module.graphs), fast_math)


def program_of_kernel(graph: Graph, choice: Choice, *, fast_math: bool = False) -> TritonProgram:
    """The program that runs one kernel and nothing else."""
    inputs, outputs = (tuple(Value(v.type) for v in values) for values in (graph.inputs, graph.outputs))
    call = Call("kernel", inputs, {"graph": graph}, outputs)
    choices = {kernel_key(graph, fast_math=fast_math): choice}
    return triton_program(Graph(graph.name, inputs, (call,), outputs), choices, fast_math=fast_math)

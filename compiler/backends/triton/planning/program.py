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
    """The graphs of its kernels with tunable parameters."""
    fast_math: bool = False
    """Whether a multiplication and an addition may be fused; the text says the rest."""


def triton_program(
    graph: Graph,
    choices: Mapping[str, Choice] | None = None,
    *,
    fast_math: bool = False,
    taken: Sequence[str] = (),
) -> TritonProgram:
    """The program of a graph after all passes, with the choices for kernels by their keys.

    None of its functions has a name that is `taken`.
    """
    module = Module(choices or {}, fast_math, taken)
    plan = plan_graph(graph, module)
    return TritonProgram(module.text(graph.name), plan, tuple(module.graphs), fast_math)


def program_of_kernel(graph: Graph, choice: Choice, *, fast_math: bool = False) -> TritonProgram:
    """The program that runs only one kernel."""
    inputs, outputs = (tuple(Value(v.type) for v in values) for values in (graph.inputs, graph.outputs))
    call = Call("kernel", inputs, {"graph": graph}, outputs)
    choices = {kernel_key(graph, fast_math=fast_math): choice}
    return triton_program(Graph(graph.name, inputs, (call,), outputs), choices, fast_math=fast_math)

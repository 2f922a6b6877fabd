"""`Lowered`: every stage between a Python function and its generated source, to look at."""

from collections.abc import Callable
from typing import Any

from ..compiler.backends.numpy import print_module
from ..compiler.ir import Graph
from ..compiler.program import trace
from .build import check_backend, final, optimise
from .signature import Signature, arguments_for
from .variant import Variant


class Lowered:
    """What a call with a given signature goes through. Nothing is run and nothing is cached.

    ``print(f.lower(x))`` shows it all; ``.graph`` is the traced graph, ``.after("simplify")`` the graph after that
    pass, ``.source`` the generated module.
    """

    def __init__(self, function: Callable[..., Any], signature: Signature, backend: str) -> None:
        self.backend = check_backend(backend)
        self.signature = signature
        self._function = function
        self.graph: Graph = trace(function, signature.tree, arguments_for(signature), is_kept=True).graph
        """The graph as traced."""
        self.optimised, self.stages = optimise(final(self.graph))

    @property
    def passes(self) -> list[str]:
        """The names of the passes, in order."""
        return [name for name, _ in self.stages]

    def after(self, name: str) -> Graph:
        """The graph after the last run of the pass `name`; KeyError lists the passes."""
        for found, graph in reversed(self.stages):
            if found == name:
                return graph
        raise KeyError(f"no pass {name!r}: choose one of {', '.join(self.passes)}")

    @property
    def source(self) -> str:
        """The generated Python module."""
        return print_module(self.optimised)

    def compile(self) -> Variant:
        """The program, ready to run."""
        return Variant(self._function, self.signature, self.backend)

    def __str__(self) -> str:
        parts = [f"# {self.signature}", "# ---- traced", str(self.graph)]
        before = self.graph
        for name, graph in self.stages:
            changed = graph != before
            parts.append(f"# ---- after {name}" + ("" if changed else ": nothing to do"))
            if changed:
                parts.append(graph.code)
            before = graph
        return "\n".join([*parts, "# ---- source", self.source])

    def __repr__(self) -> str:
        return f"<Lowered {self.graph.name}({self.signature})>"

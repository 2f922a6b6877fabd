"""`Lowered`: every stage between a Python function and its generated source, to look at."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from ..compiler.ir import Graph
from ..compiler.program import trace
from .build import Source, final, optimise, print_program, target_of
from .signature import Signature, arguments_for
from .variant import Variant


class Lowered:
    """What a call with a given signature goes through. Nothing is run and nothing is cached.

    ``print(f.lower(x))`` shows it all; ``.graph`` is the traced graph, ``.after("simplify")`` the graph after that
    pass, ``.source`` the generated module, ``.c_source`` the C text of what that calls, if any.
    """

    def __init__(
        self, function: Callable[..., Any], signature: Signature, backend: str, fast_math: bool = False
    ) -> None:
        self._target = target_of(backend, fast_math)
        self.backend = self._target.backend
        """``"c"`` or ``"numpy"``."""
        self.signature = signature
        self._function = function
        self.graph: Graph = trace(function, signature.tree, arguments_for(signature), is_kept=True).graph
        """The graph as traced."""
        self.optimised, self.stages = optimise(final(self.graph), self._target)

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

    @cached_property
    def _source(self) -> Source:
        return print_program(self.optimised, self._target)

    @property
    def source(self) -> str:
        """The generated Python module."""
        return self._source.python

    @property
    def c_source(self) -> str | None:
        """The generated C file, with the functions that the module calls; None if it calls none."""
        return self._source.c

    def compile(self) -> Variant:
        """The program, ready to run."""
        return Variant(self._function, self.signature, self.backend, self._target.options.fast_math)

    def __str__(self) -> str:
        parts = [f"# {self.signature}", "# ---- traced", str(self.graph)]
        before = self.graph
        for name, graph in self.stages:
            changed = graph != before
            parts.append(f"# ---- after {name}" + ("" if changed else ": nothing to do"))
            if changed:
                parts.append(graph.code)
            before = graph
        parts += ["# ---- source", self.source]
        if self.c_source is not None:
            parts += ["// ---- C source", self.c_source]
        return "\n".join(parts)

    def __repr__(self) -> str:
        return f"<Lowered {self.graph.name}({self.signature})>"

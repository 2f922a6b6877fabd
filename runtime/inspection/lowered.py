"""`Lowered`: every stage between a Python function and its generated source, for inspection."""

from dataclasses import replace

from ...compiler.errors import TransformTypeError
from ...compiler.nesting import shown
from ...compiler.text.html import code_html, folded_html
from ..lowering.lowered_program import LoweredProgram
from ..report.report import report_html
from ..variants.variant import Variant
from .observed_compilation import observed


class Lowered(LoweredProgram):
    """The stages of a call with a given signature. Nothing is run and nothing is cached.

    ``print(f.lower(x))`` shows all stages. ``.graph`` is the traced graph, ``.after("simplify")`` the graph after
    that pass, ``.transforms`` the graphs of transforms before that, ``.source`` the generated module, ``.c_source``
    the C source that it calls, if any, and ``.plan`` the launches of a program for a GPU. ``.kernels`` are its
    generated functions, ``.cost`` its arithmetic and traffic, ``.memory`` its arrays over time, ``.fusion`` which
    calls share a kernel. ``.compile()`` makes it run.

    >>> import numpy as np, tracemill as tm
    >>> lowered = tm.compile(lambda x, w: np.tanh(x @ w)).lower(np.ones((8, 3)), np.ones((3, 2)))
    >>> lowered.cost.flops, lowered.cost.transcendentals, lowered.memory.outputs
    (96, 16, 128)
    >>> print(lowered.after("simplify").code)
    def function(x: f64[8, 3], w: f64[3, 2]) -> f64[8, 2]:
        dot_1: f64[8, 2] = dot(x, w, contract_x=(1,), contract_y=(0,))  # ...
        tanh_1: f64[8, 2] = tanh(dot_1)
        return tanh_1
    """

    def html(self, recompiles: str = "", *, machine_code: bool = True) -> str:
        """All stages as one HTML page, which needs nothing else and works without a network.

        The user's lines are beside every stage, the kernels, the memory plan and the generated source; each line is
        linked with what it became.

        Args:
            recompiles: what `CompiledFunction.explain_recompile` says.
            machine_code: compile kernels for GPUs, if Triton is there, to say how many registers they take: seconds.

        >>> import numpy as np, tracemill as tm
        >>> page = tm.compile(lambda x: np.sin(x) ** 2).lower(np.ones(3)).html()
        >>> page.startswith("<!doctype html>")
        True
        """
        if not isinstance(recompiles, str):
            raise TransformTypeError(
                f"html: recompiles must be a text, not {type(recompiles).__name__}: {shown(recompiles)}"
            )
        with self.answering():
            return report_html(self, recompiles, machine_code=machine_code)

    def compile(self) -> Variant:
        """The program, ready to run."""
        return observed(
            lambda: Variant(
                self.function, self._called, replace(self._spec, backend=self.backend), self._symbolic
            ),
            lambda *_: self,
        )

    def __str__(self) -> str:
        with self.answering():
            return self._text()

    def _text(self) -> str:
        parts = [f"# {self.signature}", "# ---- traced", str(self.graph)]
        before = self.graph
        for name, graph in self.stages:
            changed = graph != before
            parts.append(f"# ---- after {name}" + ("" if changed else ": nothing to do"))
            if changed:
                parts.append(graph.code)
            if changed and name == "fuse":
                parts += [
                    "# ---- what fuse has done",
                    *(f"# {line}" for line in str(self.fusion).splitlines()),
                ]
            before = graph
        kernels = self.kernels
        if kernels:
            parts += ["# ---- kernels", *(f"# {kernel}" for kernel in kernels)]
        if self.plan is not None:
            parts += ["# ---- plan", *(f"# {line}" for line in str(self.plan).splitlines())]
        parts += ["# ---- source", self.source]
        if self.c_source is not None:
            parts += ["// ---- C source", self.c_source]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        """Every stage as a part that opens, in notebooks."""
        with self.answering():
            return self._html_parts()

    def _html_parts(self) -> str:
        parts = [folded_html(f"traced for {self.signature}", code_html(self.graph.code), is_open=True)]
        before = self.graph
        for name, graph in self.stages:
            if graph != before:
                parts.append(folded_html(f"after {name}", code_html(graph.code)))
            before = graph
        parts += [kernel._repr_html_().replace("<details open>", "<details>", 1) for kernel in self.kernels]
        parts += [
            folded_html("cost", self.cost._repr_html_()),
            folded_html("memory", self.memory._repr_html_()),
        ]
        if self.plan is not None:
            parts.append(folded_html("plan", code_html(str(self.plan))))
        parts.append(folded_html("source", code_html(self.source)))
        if self.c_source is not None:
            parts.append(folded_html("C source", code_html(self.c_source, "c")))
        return "".join(parts)

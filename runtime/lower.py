"""`Lowered`: every stage between a Python function and its generated source, to look at."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..compiler.backends.c.function import CFunction
from ..compiler.byte_counts import show_bytes
from ..compiler.ir import Call, Graph, called
from ..compiler.memory_use import MemoryUse
from ..compiler.program import trace
from ..passes.fuse import fusion_report
from ..passes.fusion.cost import operations
from ..passes.fusion.report import Report
from ..passes.fusion.traffic import bytes_read, bytes_written
from .build import Source, memory_of, print_program
from .donation import donated_inputs
from .machine import measured_machine
from .optimise import costs_for, final, optimise
from .signature import Signature, arguments_for, gpu_of
from .target import target_of
from .variant import Variant

if TYPE_CHECKING:
    from ..compiler.backends.triton.plan import Plan


@dataclass(frozen=True, slots=True)
class Kernel:
    """What one generated loop nest computes, and what it costs."""

    graph: Graph
    source: str | None
    """The C function; None if statements of NumPy do it, or Triton functions, which are in the program's source."""
    bytes_moved: int
    """What it reads and writes, each array once."""
    operations: float
    """How many additions take as long as all its arithmetic."""
    bandwidth: float | None
    """The bytes that this machine reads and writes in a second when it copies large arrays, as it was measured once;
    None of GPUs."""

    @property
    def least_time(self) -> float | None:
        """The seconds that reading and writing takes alone, if nothing lies in a cache; None of GPUs."""
        return None if self.bandwidth is None else self.bytes_moved / self.bandwidth

    def __str__(self) -> str:
        moved = f"{self.graph.name}: moves {show_bytes(self.bytes_moved)}, {self.operations:.3g} operations"
        if self.bandwidth is None:
            return moved
        return f"{moved}; {self.bytes_moved / self.bandwidth * 1e6:.3g} µs at {self.bandwidth / 1e9:.1f} GB/s"


class Lowered:
    """What a call with a given signature goes through. Nothing is run and nothing is cached.

    ``print(f.lower(x))`` shows it all; ``.graph`` is the traced graph, ``.after("simplify")`` the graph after that
    pass, ``.source`` the generated module, ``.c_source`` the C text of what that calls, if any, and ``.plan`` what a
    program for a GPU launches.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Signature,
        backend: str,
        fast_math: bool = False,
        donate_argnums: tuple[int, ...] = (),
        lock: Path | None = None,
    ) -> None:
        program = trace(function, signature.tree, arguments_for(signature), is_kept=True)
        self._target = target_of(backend, fast_math, gpu_of(signature, program.captured), lock)
        self.backend = self._target.backend
        """``"c"``, ``"numpy"`` or ``"triton"``."""
        self.signature = signature
        self._function = function
        self._donate_argnums = donate_argnums
        self.graph: Graph = program.graph
        """The graph as traced."""
        self.optimised, self.stages = optimise(final(self.graph), self.backend)

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
        return print_program(self.optimised, self._target, self._donated)

    @property
    def unchecked(self) -> Source:
        """The generated text without the comparison with itself that a file on disk ends with."""
        return print_program(self.optimised, self._target, self._donated, check=False)

    @cached_property
    def memory(self) -> MemoryUse:
        """The bytes of arguments, outputs and temporaries, and the peak."""
        return memory_of(self.optimised, self._target, self._donated, self.plan)

    @cached_property
    def fusion(self) -> Report:
        """The kernels that `fuse` makes, what each reads and writes, and why other calls are not fused: print it."""
        return next(
            fusion_report(graph, costs_for(self._target.backend))
            for (_, graph), (name, _) in pairwise(self.stages)
            if name in ("fuse", "tile")
        )

    @property
    def _donated(self) -> tuple[int, ...]:
        return donated_inputs(self.signature, self._donate_argnums)

    @property
    def source(self) -> str:
        """The generated Python module."""
        return self._source.python

    @property
    def c_source(self) -> str | None:
        """The generated C file, with the functions that the module calls; None if it calls none."""
        return self._source.c

    @property
    def plan(self) -> "Plan | None":
        """What a program for a GPU does: print it. None of programs for the host."""
        return self._source.plan

    @property
    def kernels(self) -> list[Kernel]:
        """The fused kernels, in the order in which they run; those of nested graphs are left out.

        How fast the machine copies is measured for the first of them, in a third of a second, and kept on disk.
        """
        calls = [call for call in self.optimised.calls if call.op == "kernel"]
        if not calls:
            return []
        made = self._source.functions
        bandwidth = None if self.backend == "triton" else measured_machine().bandwidth
        return [_kernel(call, made.get(call), bandwidth) for call in calls]

    def compile(self) -> Variant:
        """The program, ready to run."""
        fast_math = self._target.options.fast_math
        return Variant(
            self._function, self.signature, self.backend, fast_math, self._donate_argnums, self._target.lock
        )

    def __str__(self) -> str:
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

    def __repr__(self) -> str:
        return f"<Lowered {self.graph.name}({self.signature})>"


def _kernel(call: Call, function: CFunction | None, bandwidth: float | None) -> Kernel:
    (graph,) = called((call,))
    sizes = (max(value.type.size for value in (*inner.inputs, *inner.outputs)) for inner in graph.calls)
    spent = sum(operations(inner) * size for inner, size in zip(graph.calls, sizes, strict=True))
    text = function.text if function else None
    return Kernel(graph, text, bytes_read(call) + bytes_written(call), spent, bandwidth)

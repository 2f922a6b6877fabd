"""A program as text: printed for a target, and the values that it needs at run time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ...compiler.analysis.memory_use import MemoryUse, memory_use
from ...compiler.backends.c.function import CFunction
from ...compiler.backends.c.module.library import CLibrary, PrintFunction
from ...compiler.backends.c.module.source import print_function, print_source
from ...compiler.backends.numpy.writer import NUMPY
from ...compiler.backends.python.printer import memory_plan, print_module
from ...compiler.ir import Call, Graph
from ..machine.target import Target

if TYPE_CHECKING:
    from ...compiler.backends.triton.plan import Plan


@dataclass(frozen=True)
class Source:
    """A program as text."""

    python: str
    c: str | None = None
    """The C functions that the Python module calls; None if it calls none."""
    functions: Mapping[Call, CFunction] = field(default_factory=dict["Call", "CFunction"])
    """The C functions of calls of the graph."""
    plan: "Plan | None" = None
    """The launches of the Triton functions in the Python module; None for other backends."""


def c_printer(target: Target) -> PrintFunction:
    """Prints the C functions of programs for a target."""
    return partial(print_function, options=target.options)


def print_program(
    graph: Graph,
    target: Target,
    donated: Sequence[int] = (),
    *,
    check: bool = True,
    print_c: PrintFunction | None = None,
) -> Source:
    """The generated text of a graph after all passes; results may overwrite the `donated` inputs.

    With `check`, the module can compare itself with the NumPy definitions of the ops. `print_c` prints C functions
    like `c_printer` of the target.
    """
    if target.backend == "triton":
        from ...compiler.backends.triton.planning.program import triton_program
        from ..gpu_choices.known_choices import known_choices

        program = triton_program(graph, known_choices(target), fast_math=target.options.fast_math)
        return Source(program.text, plan=program.plan)
    if target.backend == "numpy":
        return Source(print_module(graph, NUMPY, donated=donated, check=check))
    assert target.toolchain is not None
    flags = target.toolchain.flags_for(fast_math=target.options.fast_math)
    library = CLibrary(print_c or c_printer(target), flags)
    python = print_module(graph, NUMPY, library=library, donated=donated, check=check)
    if not library.functions:
        return Source(python)
    return Source(python, print_source(graph.name, library.functions), library.function_by_call)


def memory_of(
    graph: Graph,
    target: Target,
    donated: Sequence[int] = (),
    plan: "Plan | None" = None,
    print_c: PrintFunction | None = None,
) -> MemoryUse:
    """The values that the program of `print_program` needs at run time; `plan` is that of a program for a GPU."""
    if plan is not None:
        from ...compiler.backends.triton.planning.lifetimes import lifetimes_of

        arguments, outputs = (
            sum(slot.type.nbytes for slot in slots) for slots in (plan.inputs, plan.outputs)
        )
        return MemoryUse(arguments, outputs, plan.arena_bytes, tuple(lifetimes_of(plan)), len(plan.steps))
    library = CLibrary(print_c or c_printer(target)) if target.backend == "c" else None
    return memory_use(graph, memory_plan(graph, NUMPY, library, donated))

"""`LoweredProgram`: every stage between a Python function and its generated source, computed when it is asked for."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ...compiler.analysis.memory_use import MemoryUse
from ...compiler.backends.c.module.library import PrintFunction
from ...compiler.errors import BackendError, TransformTypeError
from ...compiler.free_sizes import names_bound_in
from ...compiler.frontend.program import Program, in_memory_order
from ...compiler.frontend.traced_program import trace
from ...compiler.ir import Graph
from ...compiler.nesting import shown
from ...compiler.shapes.guards import Guards
from ...compiler.shapes.scope import USUAL
from ...compiler.substitution import Substitution
from ...passes.fusion.report import Report
from ...passes.optimizations.fuse import fusion_report
from ..builder.build import why_cached
from ..eager.numpy_generators import refusing_draws
from ..eager.one_call import answering_for_one_call
from ..eager.transform_log import SeenTransform, seen_transforms
from ..machine.measurements import Machine, measured_machine
from ..programs.canonicalize import inline_user_rules
from ..programs.optimize import costs_for, optimize_in_stages
from ..programs.print_program import Source, c_printer, memory_of, print_program
from ..variants.compile_spec import CompileSpec
from ..variants.donation import donated_inputs
from ..variants.layout_guards import entering_orders, layout_guards
from ..variants.signature import Signature, arguments_for, gpu_of
from ..variants.symbolic_call import SymbolicCall
from .cost import Cost, cost_of
from .lowered_kernel import Kernel, check_for_gpus, kernels_of

if TYPE_CHECKING:
    from ...compiler.backends.triton.plan import Plan
    from ..machine.triton_compiler import BuiltKernel


class LoweredProgram:
    """What a call with a given signature goes through, as data. `Lowered` shows it."""

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Signature,
        spec: CompileSpec,
        program: Program | None = None,
        transforms: Sequence[SeenTransform] = (),
        symbolic: SymbolicCall | None = None,
    ) -> None:
        """`program` is what tracing `function` gives, if that has been done, and `transforms` what was seen then.

        With a `symbolic` call, sizes have names.
        """
        self._symbolic = symbolic
        self._called = signature
        seen: list[SeenTransform] = []
        if program is None:
            with seen_transforms() as seen, self.answering():
                entering = arguments_for(self.signature)
                with refusing_draws(function, signature.tree, entering):
                    program = trace(
                        function,
                        signature.tree,
                        entering,
                        is_kept=True,
                        check_bounds=spec.check_bounds,
                        convert=spec.convert,
                        checks=spec.checks,
                    )
                if gpu_of(signature, program.captured) is None:
                    guards = layout_guards(self.signature, entering)
                    program = in_memory_order(program, entering_orders(guards))
        self._spec = spec
        self._target = spec.target(gpu_of(signature, program.captured))
        self.backend = self._target.backend
        """``"c"``, ``"numpy"`` or ``"triton"``."""
        self.function = function
        """What is lowered."""
        self.transforms = (*transforms, *seen)
        """What ``grad``, ``vmap`` and the like made of functions while this one was traced, the innermost first."""
        self.conversions = program.conversions
        """The user's functions that were converted: ``.text`` of each is the source that was traced."""
        self.graph: Graph = program.graph
        """The graph as traced."""
        with self.answering():
            self.optimised, self.stages = optimize_in_stages(inline_user_rules(self.graph), self.backend)

    @cached_property
    def sized(self) -> Graph:
        """The graph after all passes for the sizes of this call, if sizes have names: for counting."""
        if not self.sizes:
            return self.optimised
        return Substitution(lambda size: size.at(self.sizes)).graph(self.optimised)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The named sizes in this call, and an example for each length that the program finds out when it runs."""
        known = {} if self._symbolic is None else dict(self._symbolic.scope.hints)
        return dict.fromkeys(names_bound_in(self.graph), USUAL) | known

    def answering(self) -> AbstractContextManager[None]:
        """Inside the block, named sizes can be compared: results are for the call that was lowered."""
        return answering_for_one_call() if self._symbolic is None else self._symbolic.answering()

    @property
    def signature(self) -> Signature:
        """The call that was lowered; if sizes have names, all calls that its program serves."""
        return self._called if self._symbolic is None else self._symbolic.signature

    @property
    def guards(self) -> Guards:
        """The program's assumptions about named sizes, with the lines of the function that caused them."""
        if self._symbolic is None:
            return Guards()
        assert self.source
        return self._symbolic.guards

    @property
    def identity(self) -> str:
        """What affects the generated code besides the traced graph."""
        checks = ", check_bounds=True" if self._spec.check_bounds else ""
        return f"{self.backend}, fast_math={self._target.options.fast_math}, donated={self._donated}{checks}"

    @property
    def passes(self) -> list[str]:
        """The names of the passes, in order."""
        return [name for name, _ in self.stages]

    def after(self, name: str) -> Graph:
        """The graph after the last run of the pass `name`; KeyError lists the passes."""
        if not isinstance(name, str):
            raise TransformTypeError(
                f"after needs the name of a pass, not {type(name).__name__}: {shown(name)}"
            )
        for found, graph in reversed(self.stages):
            if found == name:
                return graph
        raise KeyError(f"no pass {name!r}: choose one of {', '.join(self.passes)}")

    @cached_property
    def _source(self) -> Source:
        with self.answering():
            return print_program(self.optimised, self._target, self._donated, print_c=self._print_c)

    @cached_property
    def _print_c(self) -> PrintFunction:
        """Prints each C function once: the program, its plain text and its memory need the same ones."""
        return cache(c_printer(self._target))

    @property
    def unchecked(self) -> Source:
        """The generated text without the self-check at the end of a file on disk."""
        with self.answering():
            return print_program(
                self.optimised, self._target, self._donated, check=False, print_c=self._print_c
            )

    @cached_property
    def memory(self) -> MemoryUse:
        """The bytes of arguments, outputs and temporaries, and the peak: expressions of sizes if those have names.

        ``lowered.memory.at(lowered.sizes)`` has the numbers for the call that was lowered.
        """
        with self.answering():
            return memory_of(self.optimised, self._target, self._donated, self.plan, self._print_c)

    @cached_property
    def fusion(self) -> Report:
        """The kernels that `fuse` builds, what each reads and writes, and why other calls are not fused: print it."""
        with self.answering():
            return next(
                fusion_report(graph, costs_for(self._target.backend))
                for (_, graph), (name, _) in pairwise(self.stages)
                if name in ("fuse", "tile")
            )

    @property
    def _donated(self) -> tuple[int, ...]:
        return donated_inputs(self.signature, self._spec.donate_argnums)

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
        """The steps of a program for a GPU: print it. None for programs of the host."""
        return self._source.plan

    @property
    def cached(self) -> str:
        """Whether the program would come from the disk cache, and if not, why: one line. Nothing is compiled.

        Raises:
            BackendError: it is a program for GPUs, whose kernels are stored for each type of GPU.
        """
        if self.backend == "triton":
            raise BackendError(
                f"{self.graph.name} is for a GPU, whose kernels are stored for each type of GPU: call it with"
                " TRACEMILL_LOG=cache, and the log says whether they come from the disk cache"
            )
        with self.answering():
            scope = self._symbolic.scope if self._symbolic else None
            return why_cached(self.graph, self._target, self._donated, scope)

    @cached_property
    def kernels(self) -> list[Kernel]:
        """The generated functions in the order in which they run; those of nested graphs are left out.

        The first call measures how fast the machine copies, in a third of a second, and stores it on disk.
        """
        functions = {} if self.backend == "triton" else self._source.functions
        has_some = self.backend == "triton" or functions or any(c.op == "tiled" for c in self.optimised.calls)
        bandwidth = self.machine.bandwidth if has_some and self.machine else None
        with self.answering():
            return kernels_of(self.optimised, self.sized, self._target, functions, bandwidth, self.answering)

    @cached_property
    def cost(self) -> Cost:
        """Operations and bytes by kernel, and a lower bound on their time on this machine: print it for a table.

        The first call measures how fast the machine copies and multiplies, in a third of a second, and stores it on
        disk.
        """
        with self.answering():
            return cost_of(self.sized, self.machine)

    @cached_property
    def machine(self) -> Machine | None:
        """The measurements of the machine on which the program runs; None for GPUs."""
        return None if self.backend == "triton" else measured_machine()

    def built(self, architecture: str | None = None) -> "tuple[BuiltKernel, ...]":
        """The machine code of a program for a GPU, by functions, with registers, spills and shared memory.

        Args:
            architecture: such as ``"cuda:sm_90"``, which need not be here; by default that of the GPU, else that one.

        Raises:
            BackendError: it is not a program for GPUs.
            MissingPackageError: Triton is not installed.
            KernelError: Triton refuses a function.
        """
        check_for_gpus(self._target, self.graph.name)
        from ..gpu_programs.machine_code import build_all

        with self.answering():
            return build_all(self.optimised, self._target, architecture)

    @property
    def ptx(self) -> str:
        """The assembly of a program for a GPU: for the GPU of this machine, otherwise for ``sm_90``. Raises like
        `built`."""
        from ..gpu_programs.machine_code import assembly

        return assembly(self._built)

    @property
    def sass(self) -> str:
        """The same as instructions of the processor. Raises like `built`.

        Raises:
            MissingPackageError: neither nvdisasm nor cuobjdump is there.
        """
        from ..gpu_programs.machine_code import instructions

        return instructions(self._built)

    @cached_property
    def _built(self) -> "tuple[BuiltKernel, ...]":
        return self.built()

    def __repr__(self) -> str:
        return f"<Lowered {self.graph.name}({self.signature})>"

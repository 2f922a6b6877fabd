"""`Kernel`: what one generated function of a program computes and costs, its text, and its machine code."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ...compiler.analysis.flops import work_of
from ...compiler.analysis.fusible_ops import PRODUCTS
from ...compiler.backends.c.function import CFunction
from ...compiler.errors import BackendError, UndeterminedDimError
from ...compiler.ir import Call, Constant, Graph, called
from ...compiler.text.html import code_html, folded_html
from ...compiler.text.units import show_bytes
from ...passes.fusion.cost import operations
from ...passes.fusion.traffic import bytes_read, bytes_written
from ...passes.lowering.decompose import decompose_composites
from ...passes.pipeline import apply
from ..machine.target import Target
from ..programs.print_program import Source, print_program

if TYPE_CHECKING:
    from ..machine.triton_compiler import BuiltKernel


@dataclass(frozen=True)
class Kernel:
    """One generated function: its computation and its cost."""

    name: str
    """The program's name and a number, as in the names of its files: ``loss_0``."""
    graph: Graph
    source: str
    """The C function, the Triton functions, or the NumPy statements that compute it."""
    bytes_moved: int
    """The bytes that it reads and writes, each array once."""
    operations: float
    """How many additions take as long as all its arithmetic."""
    bandwidth: float | None
    """The bytes per second that this machine moves when it copies large arrays, measured once; None for GPUs."""
    call: Call = field(repr=False)
    """The call of the optimised graph."""
    sized: Call = field(repr=False)
    """The same with a number for each named size, for counting."""
    target: Target = field(repr=False)
    answering: Callable[[], AbstractContextManager[None]] = field(repr=False)
    """Inside it, named sizes can be compared."""

    @property
    def least_time(self) -> float | None:
        """The seconds of reading and writing alone, if nothing is in a cache; None for GPUs."""
        return None if self.bandwidth is None else self.bytes_moved / self.bandwidth

    @cached_property
    def files(self) -> Mapping[str, str]:
        """Texts by file name. In one folder they run: ``python loss_0.py`` checks this kernel and times it.

        They need NumPy, and what the backend needs: a C compiler, or Triton. Sizes keep their names if the shapes of
        the kernel's arrays determine them, and the kernel is not for a GPU.
        """
        if self.target.backend == "triton":
            from ...compiler.backends.triton.planning.self_check import runnable
            from ..gpu_programs.machine_code import functions_of, text_of

            alone = alone_graph(self.sized, self.name)
            meaning, kernel = apply(decompose_composites, alone), functions_of(self.sized, self.target)
            fast_math = self.target.options.fast_math
            text = runnable(alone, meaning, kernel, text_of(kernel, self.target), fast_math=fast_math)
            return {f"{self.name}.py": text}
        with self.answering():
            source = _alone(self.call, self.sized, self.name, self.target)
        files = {f"{self.name}.py": source.python}
        return files | ({f"{self.name}.c": source.c} if source.c is not None else {})

    def built(self, architecture: str | None = None) -> "tuple[BuiltKernel, ...]":
        """Its functions in machine code, in the order in which they run, with registers, spills and shared memory.

        Args:
            architecture: such as ``"cuda:sm_90"``, which need not be here; by default that of the GPU, else that one.

        Raises:
            BackendError: it is not a program for GPUs.
            MissingPackageError: Triton is not installed.
            KernelError: Triton refuses it.
        """
        check_for_gpus(self.target, self.name)
        from ..gpu_programs.machine_code import build_all

        with self.answering():
            return build_all(alone_graph(self.call, self.name), self.target, architecture)

    @property
    def ptx(self) -> str:
        """The assembly of its functions for the GPU of this machine, otherwise for ``sm_90``. Raises like `built`."""
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

    def _repr_html_(self) -> str:
        """Its cost, and its text in colours, in notebooks."""
        code = code_html(self.source, "c" if self.target.backend == "c" else "python")
        return folded_html(f"{self.name}: {self}", code, is_open=True)

    def __str__(self) -> str:
        moved = f"{self.graph.name}: moves {show_bytes(self.bytes_moved)}, {self.operations:.3g} operations"
        if self.bandwidth is None:
            return moved
        return f"{moved}; {self.bytes_moved / self.bandwidth * 1e6:.3g} µs at {self.bandwidth / 1e9:.1f} GB/s"


def check_for_gpus(target: Target, name: str) -> None:
    """Raises `BackendError` for a program of the host, which has no machine code for GPUs."""
    if target.backend != "triton":
        raise BackendError(
            f"{name} is compiled for the host by the backend {target.backend!r}, and has no code for GPUs: choose"
            " backend='triton'"
        )


def kernels_of(
    graph: Graph,
    sized: Graph,
    target: Target,
    functions: Mapping[Call, CFunction],
    bandwidth: float | None,
    answering: Callable[[], AbstractContextManager[None]],
) -> list[Kernel]:
    """The calls of an optimised graph that generated functions compute, in order, counted with a graph without named
    sizes."""
    found: list[Kernel] = []
    for call, counted in zip(graph.calls, sized.calls, strict=True):
        source = _source(call, counted, target, functions)
        if source is not None:
            name = f"{graph.name}_{len(found)}"
            moved = bytes_read(counted) + bytes_written(counted)
            spent = _operations(counted, graph_of(counted))
            found.append(
                Kernel(
                    name, graph_of(call), source, moved, spent, bandwidth, call, counted, target, answering
                )
            )
    return found


def _source(call: Call, sized: Call, target: Target, functions: Mapping[Call, CFunction]) -> str | None:
    """The text of the function that computes a call; None if a statement does."""
    if target.backend == "triton":
        from ..gpu_programs.machine_code import functions_if_any, text_of

        kernel = functions_if_any(call, target)
        return None if kernel is None else text_of(kernel, target)
    if call in functions:
        return functions[call].text
    if call.op not in ("kernel", "tiled"):
        return None
    return _alone(call, sized, graph_of(call).name, target, check=False).python


def _alone(call: Call, sized: Call, name: str, target: Target, *, check: bool = True) -> Source:
    """A program of one call; for the sizes of `sized` if the shapes of its arrays do not determine all named sizes."""
    try:
        return print_program(alone_graph(call, name), target, check=check)
    except UndeterminedDimError:
        return print_program(alone_graph(sized, name), target, check=check)


def graph_of(call: Call) -> Graph:
    """The graph of a kernel or of one tile; otherwise a graph with only the call."""
    if call.op in ("kernel", "tiled"):
        return next(iter(called((call,))))
    return alone_graph(call, call.op)


def alone_graph(call: Call, name: str) -> Graph:
    """A program of one call."""
    inputs = dict.fromkeys(value for value in call.inputs if not isinstance(value, Constant))
    return Graph(name, tuple(inputs), (call,), call.outputs)


def _operations(call: Call, graph: Graph) -> float:
    if call.op == "kernel":
        return _spent(graph.calls)
    count = call.params.get("count")
    if call.op == "tiled" and isinstance(count, int):
        return count * _spent(graph.calls)
    return max(_spent((call,)), work_of(call).flops)


def _spent(calls: Sequence[Call]) -> float:
    sizes = (max((v.type.size for v in (*call.inputs, *call.outputs)), default=0) for call in calls)
    elements = sum(operations(call) * size for call, size in zip(calls, sizes, strict=True))
    return elements + sum(work_of(call).flops for call in calls if call.op in PRODUCTS)

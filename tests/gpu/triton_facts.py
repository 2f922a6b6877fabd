"""Compiles kernels for GPUs that are not here, and says what the machine code is like.

A program of its own: where Triton's interpreter is loaded, nothing can be compiled. It reads lines of JSON, each with a
target and the names of kernels, and answers each with a line: ``{"facts": …}`` by name, or ``{"error": …}``.
"""

import json
import re
import sys

from gpu.machine_code import counted
from graphs import product_graphs, symbolic_steps
from graphs.elementwise_calls import calls_with_known
from graphs.kernel_graphs import LARGE, MANY, POINTWISE, SMALL, WIDE
from graphs.step_graphs import LARGE as LARGE_STEPS
from graphs.step_graphs import STEPS
from graphs.symbolic_kernels import KERNELS
from test_golden import EXAMPLES
from tracemill.compiler.backends.triton.choice import RULES
from tracemill.compiler.backends.triton.kernels.kernel import TritonKernel, triton_kernel
from tracemill.compiler.backends.triton.planning.candidates import candidates
from tracemill.compiler.backends.triton.planning.module import call_kernel
from tracemill.compiler.backends.triton.planning.program import program_of_kernel, triton_program
from tracemill.compiler.backends.triton.steps import step_kernel
from tracemill.compiler.backends.triton.steps.products.products import product_kernel
from tracemill.compiler.dtypes import dtype_named
from tracemill.compiler.errors import KernelError
from tracemill.compiler.shapes import Observed, answering
from tracemill.compiler.text.parser import parse
from tracemill.compiler.text.printer import HEADER
from tracemill.passes.lowering.fix_sizes import fix_sizes
from tracemill.runtime.machine.ptx import kernel_in
from tracemill.runtime.machine.triton_compiler import BuiltKernel, Target, build, build_program, target_named
from tracemill.tools.gpu_check.offline import full_program
from tracemill.tools.gpu_check.rows import ROWS

MULTIPLIES = (r"wgmma.mma_async", r"tcgen05.mma", r"mma.sync", r"v_mfma")
"""What multiplies matrices, by the generation of the GPU."""


ARITHMETIC = (r"tf32", r"fma\.rn\.f32", r"div\.rn\.f32", r"div\.full\.f32")
"""Products of tf32, and what `fast_math` changes of elements."""


def facts(kernel: BuiltKernel) -> dict[str, object]:
    found: dict[str, object] = {
        "name": kernel.name,
        "warps": kernel.warps,
        "spilled": kernel.spilled_bytes,
        "shared": kernel.shared_bytes,
        "scratch": kernel.scratch_bytes,
        "instructions": len(re.findall(r"^\t(?:@\S+ )?[a-z][\w.:]*[ \t].*;", kernel.assembly, re.MULTILINE)),
        "copies": len(re.findall(r"cp\.async\.bulk\.tensor", kernel.assembly)),
        "wide loads": len(re.findall(r"ld\.global\S*\.v[24]\S*|global_load_dwordx4", kernel.assembly)),
        "wide stores": len(re.findall(r"st\.global\S*\.v[24]\S*|global_store_dwordx4", kernel.assembly)),
    }
    found |= {
        "loads": len(re.findall(r"ld\.global|global_load_", kernel.assembly)),
        "loads of 16 bytes": len(re.findall(r"ld\.global\S*\.(?:v4\.b32|v2\.b64)", kernel.assembly)),
        "kept": len(re.findall(r"ld\.global\S*evict_last", kernel.assembly)),
        "given up": len(re.findall(r"ld\.global\S*evict_first", kernel.assembly)),
    }
    found |= {name: len(re.findall(name, kernel.assembly)) for name in (*MULTIPLIES, *ARITHMETIC)}
    if kernel.facts is not None:
        found |= {
            "registers": kernel.facts.registers,
            "threads": kernel.facts.threads,
            "parameters": len(kernel.facts.parameters),
        }
        text = kernel_in(kernel.assembly.encode())
        assert (text.name, text.parameters) == (kernel.name, kernel.facts.parameters)
        assert text.threads == kernel.facts.threads
        assert text.is_for_newer is (text.architecture < 90)
    return found


def machine_facts(kernel: BuiltKernel) -> dict[str, int]:
    """What only the disassembled code tells, which takes longer than all else."""
    count, repeated = counted(kernel.code)
    return {"machine instructions": count, "machine instructions in loops": repeated}


def fast_kernels(name: str, target: Target) -> tuple[BuiltKernel, ...]:
    """The functions of a kernel with ``fast_math``."""
    graph = {**LARGE, **LARGE_STEPS}.get(name) or product_graphs.LARGE[name.removeprefix("product of ")]
    if graph.calls[0].op in ("attention", "attention_gradient_by_sums"):
        program = triton_program(graph, fast_math=True)
    else:
        program = program_of_kernel(graph, RULES, fast_math=True)
    return tuple(build_program(program, target).values())


def program_kernels(name: str, target: Target) -> tuple[BuiltKernel, ...]:
    """The functions of a row of ``tracemill gpu-check`` at its full size, or of one of the golden examples."""
    kind, _, name = name.partition(" ")
    if kind == "row":
        program = full_program(ROWS[name])
    else:
        (example,) = (example for example in EXAMPLES if example.name == name)
        program = triton_program(example.lowered(backend="triton").optimised)
    return tuple(build_program(program, target).values())


def kernels_named(name: str, target: Target) -> tuple[BuiltKernel, ...]:
    if name.startswith("fast "):
        return fast_kernels(name.removeprefix("fast "), target)
    if name.startswith(("row ", "example ")):
        return program_kernels(name, target)
    return build(kernel_named(name), target)


def kernel_of_sizes(name: str, *, is_fixed: bool) -> TritonKernel:
    """A kernel for arrays of any size, or for the sizes with which it is made alone."""
    sizes = symbolic_steps.LARGE_HINTS
    with answering(Observed(sizes)):
        graph = parse(f"{HEADER}{(KERNELS | symbolic_steps.LARGE)[name]}")
        graph = fix_sizes(graph, sizes) if is_fixed else graph
        if name in KERNELS:
            return triton_kernel(graph, "kernel")
        (call,) = graph.calls
        kernel = call_kernel(call, "kernel")
        assert kernel is not None
        return kernel


def kernel_named(name: str) -> TritonKernel:
    if name.startswith(("sized ", "fixed ")):
        return kernel_of_sizes(name[len("sized ") :], is_fixed=name.startswith("fixed "))
    if name in STEPS or name in LARGE_STEPS:
        (call,) = {**STEPS, **LARGE_STEPS}[name].calls
        kernel = step_kernel(call, "step")
        assert kernel is not None
        return kernel
    if name.startswith("copied product of "):
        graph = product_graphs.LARGE[name.removeprefix("copied product of ")]
        choice = next(choice for choice in candidates(graph, "sm_90") if choice.programs)
        kernel = product_kernel(graph, "kernel", choice)
        assert kernel is not None
        return kernel
    if name.startswith("product of "):
        kernel = product_kernel(product_graphs.LARGE[name.removeprefix("product of ")], "kernel")
        assert kernel is not None
        return kernel
    if name.startswith("known operand "):
        place, _, dtype = name.removeprefix("known operand ").partition(" of ")
        return triton_kernel(calls_with_known(dtype_named(dtype), int(place)), "kernel")
    graphs = {
        **{f"small {name}": graph for name, graph in SMALL.items()},
        **LARGE,
        **MANY,
        **POINTWISE,
        **WIDE,
    }
    return triton_kernel(graphs[name], "kernel")


def facts_of(target: Target, name: str) -> list[dict[str, object]]:
    """What is known of each function of a kernel."""
    is_counted = name.startswith(("sized ", "fixed "))
    kernels = kernels_named(name, target)
    return [facts(kernel) | (machine_facts(kernel) if is_counted else {}) for kernel in kernels]


def answer(target: str, names: list[str]) -> dict[str, object]:
    try:
        return {"facts": {name: facts_of(target_named(target), name) for name in names}}
    except KernelError as error:
        return {"error": f"KernelError: {error}"}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line))), flush=True)

"""Triton's machine code of the rows' programs for GPUs that this machine need not have: registers, memory, wide
loads, code."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rich.table import Table

from ...compiler.backends.triton.planning.program import TritonProgram, triton_program
from ...compiler.errors import ArgumentValueError
from ...runtime.compilation.compile import compile
from ...runtime.machine.triton_compiler import BuiltKernel, Target, build_program, target_named
from .row import Row

_WIDE_LOADS: Final = re.compile(
    r"ld\.global\S*\.(?:v4\.b32|v2\.b64)|cp\.async\.cg\.shared\.global|(?:global|buffer)_load_dwordx4"
)
_PRODUCTS: Final = re.compile(r"wgmma\.mma_async|tcgen05\.mma|mma\.sync|v_mfma")
"""Instructions that multiply matrices, by generation of the GPU."""

_REGISTERS_OF_AMD: Final = re.compile(r"\.vgpr_count:\s*(\d+)")

COLUMNS: Final = ("threads", "registers", "spilled", "shared", "16 B loads", "products", "code")


@dataclass(frozen=True, slots=True)
class OfflineKernel:
    """One Triton function of a row's program, as machine code."""

    row: str
    target: str
    function: str
    programs: int
    threads: int
    """The threads of a program."""
    registers: int
    """The registers of a thread."""
    spilled: int
    """Bytes of a thread that did not fit into registers."""
    shared: int
    """Bytes of memory that the threads of a program share."""
    wide_loads: int
    """Instructions that load 16 bytes per thread at once."""
    products: int
    """Instructions that multiply matrices on tensor cores."""
    code: int
    """Bytes of the file with the machine code."""

    @property
    def cells(self) -> tuple[int, ...]:
        """The numbers of `COLUMNS`."""
        return (
            self.threads,
            self.registers,
            self.spilled,
            self.shared,
            self.wide_loads,
            self.products,
            self.code,
        )


def architecture_named(name: str) -> Target:
    """``sm_90`` and ``gfx942`` as targets.

    Raises:
        ArgumentValueError: the name has none of these forms.

    >>> architecture_named("sm_90")
    Target(platform='cuda', architecture=90)
    """
    if not re.fullmatch(r"sm_\d+|gfx\w+", name):
        raise ArgumentValueError(f"an architecture is written as sm_90 or gfx942, not {name!r}")
    return target_named(f"{'cuda' if name.startswith('sm_') else 'hip'}:{name}")


def offline(row: Row, architecture: str) -> Iterator[OfflineKernel]:
    """Compile the program of a row at its full size, and describe each function that it launches.

    Raises:
        MissingPackageError, BackendError: Triton is not installed, or set to interpret.
        KernelError: Triton refuses a function.
    """
    target, program = architecture_named(architecture), full_program(row)
    launches = {step.function: step for step in program.plan.launches}
    for name, built in build_program(program, target).items():
        yield OfflineKernel(
            row=row.name,
            target=architecture,
            function=name,
            programs=launches[name].programs,
            threads=built.warps * target.threads_of_a_warp,
            registers=_registers(built),
            spilled=built.spilled_bytes,
            shared=built.shared_bytes,
            wide_loads=len(_WIDE_LOADS.findall(built.assembly)),
            products=len(_PRODUCTS.findall(built.assembly)),
            code=len(built.code),
        )


def full_program(row: Row) -> TritonProgram:
    """The program of a row at its full size."""
    arrays = [input.empty() for input in row.inputs(row.size)]
    return triton_program(compile(row.plain(), backend="triton").lower(*arrays).optimised)


def _registers(built: BuiltKernel) -> int:
    """The registers and spills of a thread."""
    if built.facts is not None:
        return built.facts.registers
    (registers,) = map(int, _REGISTERS_OF_AMD.findall(built.assembly))
    return registers


def offline_table(kernels: Sequence[OfflineKernel]) -> Table:
    """A line per function and target."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("", "function", "target"):
        table.add_column(title, no_wrap=True)
    for title in COLUMNS:
        table.add_column(title, justify="right")
    last = ""
    for kernel in kernels:
        first = kernel.row if kernel.row != last else ""
        table.add_row(first, kernel.function, kernel.target, *(f"{cell:,}" for cell in kernel.cells))
        last = kernel.row
    return table


def offline_markdown(kernels: Sequence[OfflineKernel]) -> str:
    """The same table in Markdown."""
    header = ["row", "function", "target", *COLUMNS]
    lines = [header, ["---"] * 3 + ["---:"] * len(COLUMNS)]
    lines += [
        [kernel.row, f"`{kernel.function}`", kernel.target, *(f"{cell:,}" for cell in kernel.cells)]
        for kernel in kernels
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)

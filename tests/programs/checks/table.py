"""All checks, by name."""

from collections.abc import Callable

from programs.checks.batched import check_batched
from programs.checks.compiled import check_compiled
from programs.checks.differentiated import check_differentiated
from programs.program import Program

CHECKS: dict[str, Callable[[Program], None]] = {
    "numpy": lambda program: check_compiled(program, "numpy"),
    "c": lambda program: check_compiled(program, "c"),
    "vmap": lambda program: check_batched(program, None),
    "vmap numpy": lambda program: check_batched(program, "numpy"),
    "grad": lambda program: check_differentiated(program, None),
    "grad numpy": lambda program: check_differentiated(program, "numpy"),
}


def refused(check: str, program: Program) -> str:
    """The error by which a program is refused; empty if it passes."""
    if check.startswith("vmap"):
        return program.refused_batched or program.refused
    return "" if check == "grad" else program.refused


def applies(check: str, program: Program) -> bool:
    """Whether a check means something for a program."""
    if check.startswith("vmap"):
        return program.in_dims is not None
    return not check.startswith("grad") or program.gradient is not None

"""`CompileSpec`: the options of one program, out of all that `compile` received."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..machine.target import Target, target_of


@dataclass(frozen=True, slots=True)
class CompileSpec:
    """The options that affect how a program computes, as opposed to which programs exist."""

    backend: str = "auto"
    fast_math: bool = False
    donate_argnums: tuple[int, ...] = ()
    lock: Path | None = None
    """The file with the choices for GPU kernels, if they are to be measured."""
    check_bounds: bool = False
    """Whether indices are checked at run time."""
    convert: bool | tuple[str, ...] = True
    """Whether functions are converted before they are traced; or names of libraries whose functions are, too."""
    checks: bool = True
    """Whether the program checks what `raise` and `assert` of the user's depend on."""
    code: Mapping[str, Mapping[str, bytes]] = field(
        default_factory=dict[str, Mapping[str, bytes]], hash=False
    )
    """Code compiled ahead of time, as in `Target`."""
    tier: bool = False
    """Whether NumPy computes until the C functions have been compiled."""

    def target(self, gpu: int | None = None) -> Target:
        """The target, given the number of the GPU of the arguments; raises like `target_of`."""
        target = target_of(self.backend, self.fast_math, gpu, self.lock)
        if not self.code and not self.tier:
            return target
        return replace(target, code=self.code, tier=self.tier and target.backend == "c")

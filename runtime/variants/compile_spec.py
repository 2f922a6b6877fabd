"""`CompileSpec`: what one program is made for, of all that `compile` was asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..machine.target import Target, target_of


@dataclass(frozen=True, slots=True)
class CompileSpec:
    """The options that decide how a program computes, as opposed to which programs there are."""

    backend: str = "auto"
    fast_math: bool = False
    donate_argnums: tuple[int, ...] = ()
    lock: Path | None = None
    """The file with what is chosen of kernels on GPUs, if they are to be measured."""
    check_bounds: bool = False
    """Whether indices are checked when the program runs."""
    convert: bool | tuple[str, ...] = True
    """Whether functions are converted before they are traced; names of libraries whose functions are, too."""
    code: Mapping[str, Mapping[str, bytes]] = field(
        default_factory=dict[str, Mapping[str, bytes]], hash=False
    )
    """What was compiled ahead of time, as in `Target`."""

    def target(self, gpu: int | None = None) -> Target:
        """What to build for, given the number of the GPU on which arguments lie; raises as `target_of` does."""
        target = target_of(self.backend, self.fast_math, gpu, self.lock)
        return replace(target, code=self.code) if self.code else target

"""`Options`: those of `compile`, checked."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from ..variants.dynamic_shapes import Dynamic

OnRecompile: TypeAlias = Literal["warn", "error", "ignore"] | Callable[[str], object]
NEVER: Final = Dynamic(False)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `compile`, checked."""

    backend: str
    fast_math: bool
    static_argnums: tuple[int, ...]
    static_argnames: tuple[str, ...]
    max_variants: int
    donate_argnums: tuple[int, ...] = ()
    lock: Path | None = None
    """The file with the choices for GPU kernels, if they are to be measured."""
    dynamic: Dynamic = NEVER
    on_recompile: OnRecompile = "ignore"
    check_bounds: bool | None = None
    """Whether indices are checked at run time; None to follow the environment."""
    convert: bool | tuple[str, ...] = True
    """Whether functions are converted before they are traced; or the names of libraries whose functions are, too."""
    checks: bool = True
    """Whether programs check what `raise` and `assert` of the user's depend on."""
    tier: bool = False
    """Whether NumPy computes until programs have been compiled to C."""

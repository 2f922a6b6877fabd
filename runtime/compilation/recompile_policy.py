"""`RecompilePolicy`: what happens when a function is compiled again, as the option `on_recompile` says."""

import warnings

from ...compiler.callers.user_code import users_level
from ...compiler.errors import InternalWarning, RecompileError, RecompileWarning, SideEffectWarning
from ...compiler.tracing.outside.object_walk import MOST_MET
from .options import OnRecompile
from .recompilation import Recompilation
from .variant_table import Family


class RecompilePolicy:
    """What one compiled function does; it warns only once, once about a fault, and once about an effect."""

    def __init__(self, wanted: OnRecompile) -> None:
        self._wanted = wanted
        self._has_warned = False
        self._has_reported = False
        self._has_told = False

    def compiles_again(self, why: Recompilation, family: Family, *, is_named: bool) -> None:
        """React to a recompilation. If it names sizes that had no names before (`is_named`), it is not an error."""
        if self._wanted == "error" and not is_named:
            fixed = (f"compiled for a single size the last time: {guard}" for guard in family.why_fixed)
            raise RecompileError(why.for_one_size(*fixed, fix=family.fix).text("would be compiled again"))
        if callable(self._wanted):
            self._wanted(why.text("is compiled again"))

    def warn(self, what: str, why: Recompilation) -> None:
        """Warn that the function does `what`, such as being compiled for each size."""
        self._warn(f"{why.name} {what}. {why.text()}")

    def reports_fault(self, why: Recompilation) -> None:
        """Warn that no program for many sizes could be made, which is a bug in Tracemill, whatever is wanted."""
        if not self._has_reported:
            self._has_reported = True
            text = f"{why.name} is compiled for each size. {why.text()}"
            warnings.warn(text, InternalWarning, stacklevel=users_level())

    def does_not_repeat(self, name: str, what: str) -> None:
        """Warn that the function changes something outside only when it is traced."""
        if self._wanted != "ignore" and not self._has_told:
            self._has_told = True
            warnings.warn(
                f"{name} changes {what}, which is outside of it, when it is traced or runs uncompiled, and not in each "
                "call. To change it in each call, do so outside of the function, or keep it in an array: a write such "
                "as COUNT[0] += 1 happens in each call\non_recompile='ignore' silences this",
                SideEffectWarning,
                stacklevel=users_level(),
            )

    def misses_changes(self, name: str) -> None:
        """Warn that changes of some objects outside do not cause a recompilation."""
        self._warn(
            f"{name} reaches more than {MOST_MET:,} objects outside of it, and is not compiled again if some of them "
            "change: pass what may change as an argument, or keep it in arrays"
        )

    def runs_uncompiled(self, why: Recompilation, most: int) -> None:
        """Warn that the function runs uncompiled, because it has the greatest number of programs."""
        self._warn(
            f"{why.name} has max_variants={most} programs for values, and runs uncompiled for others: {why.line}\n"
            f"fix: {why.fix}"
        )

    def cannot_compile(self, why: str) -> None:
        """Warn that the function runs uncompiled, because no program can do what it does."""
        self._warn(f"runs uncompiled: {why}")
        if callable(self._wanted):
            self._wanted(f"runs uncompiled: {why}")

    def _warn(self, text: str) -> None:
        if self._wanted == "warn" and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"{text}\non_recompile='ignore' silences this", RecompileWarning, stacklevel=users_level()
            )

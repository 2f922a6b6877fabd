"""`VariantCompiler`: compiles the variants of one function, keeps them, and knows why the newest one was compiled."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ...compiler.callers.function_names import describe
from ...compiler.errors import InternalError, TracemillError
from ...compiler.frontend.program import Program
from ...compiler.interpreter import OtherValues
from ...compiler.locks import reentrant_lock
from ...compiler.shapes.scope import SizesFixedError
from ...compiler.tracing.values_in_call import following, in_call
from ..environment import checking, usual_check_bounds
from ..log import is_observed, logger
from ..machine.target import takes_symbolic_sizes
from ..variants.compile_spec import CompileSpec
from ..variants.signature import Signature, gpu_of
from ..variants.symbolic_call import SymbolicCall
from ..variants.variant import Variant
from .options import NEVER, Options
from .recompilation import Recompilation, differs_in_objects, of_values, recompilation
from .recompile_policy import RecompilePolicy
from .variant_table import MOST_FIXED, Variants

if TYPE_CHECKING:
    from ..eager.transform_log import SeenTransform
    from ..inspection.lowered import Lowered


MANY: Final = 8
"""From this many programs for calls that differ only in sizes, a warning is given."""


class VariantCompiler:
    """The variants of one function, each compiled at the first call that needs it."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        self._function = function
        self._options = options
        self.code: Mapping[str, Mapping[str, bytes]] = {}
        """Programs that were compiled ahead of time, as in `CompileSpec`."""
        self.variants = Variants()
        self._last: Recompilation | None = None
        """Why the newest variant was compiled."""
        self._reaction = RecompilePolicy(options.on_recompile)
        self.uncompiled: dict[Signature, str] = {}
        """Calls that run uncompiled, because no program can do what they do, and why."""
        self._has_kept: set[Signature] = set()
        """Calls that have run uncompiled once, because they keep something outside, which may be a cache."""
        self._lock = reentrant_lock()

    def may_fill_cache(self, called: Signature) -> bool:
        """Whether a call that keeps something outside does so for the first time, and is to be traced again then."""
        if called in self._has_kept:
            return False
        if len(self._has_kept) >= self._options.max_variants:
            self._has_kept.clear()
        self._has_kept.add(called)
        return True

    def note_uncompiled(self, called: Signature, why: str) -> None:
        """Remember that no program can do what a call does, and warn."""
        if len(self.uncompiled) >= self._options.max_variants:
            self.uncompiled.clear()
        self.uncompiled[called] = why
        self._reaction.cannot_compile(why)

    def variant(self, called: Signature, leaves: list[Any], others: list[OtherValues]) -> Variant | None:
        """The variant for a call, compiled now if there is none or if it is stale.

        Skips as many of the variants that serve it as there are `others`: they expect different values. None if
        `max_variants` are kept for values alone.
        """
        variant = self.variants.find(called, len(others))
        if variant is not None and not variant.is_stale:
            return variant
        if len(others) >= self._options.max_variants:
            self._reaction.runs_uncompiled(
                of_values(describe(self._function), others[-1]), self._options.max_variants
            )
            return None
        with self._lock, in_call(leaves):
            variant = self.variants.find(called, len(others))
            if variant is None or variant.is_stale:
                variant = self._compiled(called, variant, others)
        return variant

    def _compiled(self, called: Signature, stale: Variant | None, others: list[OtherValues]) -> Variant:
        """A new variant, which is kept: in place of a stale one, or of the oldest."""
        symbolic = self.symbolic(called)
        why = self._why(called, stale) if not others else of_values(describe(self._function), others[0])
        if stale is None and len(self.variants):
            family = self.variants.family(called)
            self._reaction.compiles_again(why, family, is_named=self._is_named_further(called, symbolic))
        if (log := logger("recompiles")) is not None:
            log.info("%s", self._log_line(called, why, stale))
        variant, why = self._made(called, symbolic, why)
        self._has_kept.discard(called)
        if stale is not None:
            self.variants.remove(stale)
            if stale.program.changes_itself and variant.program.changes_itself:
                self._reaction.warn("is traced again in each call", why)
        self.variants.add(variant)
        self._last = why
        if log is not None:
            for note in why.notes:
                log.info("%s: %s", why.name, note)
        if why.is_fault:
            self._reaction.reports_fault(why)
        if variant.program.unrepeated_changes:
            self._reaction.does_not_repeat(why.name, variant.program.unrepeated_changes)
        if variant.program.misses_changes:
            self._reaction.misses_changes(why.name)
        self._warn_of_many(called, why)
        while len(self.variants) > self._options.max_variants:
            oldest = next(iter(self.variants))
            self.variants.remove(oldest)
            if log is not None:
                log.info("%s: forgot the oldest variant, for %s", why.name, oldest.signature)
            self._reaction.warn(f"keeps at most max_variants={self._options.max_variants} programs", why)
        return variant

    def _warn_of_many(self, called: Signature, why: Recompilation) -> None:
        if (count := self.variants.family(called).compiled) > MANY:
            self._reaction.warn(
                f"is compiled for the {count}th time for calls that differ only in sizes", why
            )
        objects = 1 + sum(differs_in_objects(called, one.signature) for one in self.variants)
        if objects > MANY:
            self._reaction.warn(f"is compiled for the {objects}th of your objects", why)

    def symbolic(self, called: Signature) -> SymbolicCall | None:
        """The call with names for sizes, if the function is to be compiled for many."""
        seen = self.variants.family(called).observations()
        named = self._options.dynamic.named(self._function, called, seen)
        return SymbolicCall(*named) if named is not None and self._names_sizes(called) else None

    def _is_named_further(self, called: Signature, symbolic: SymbolicCall | None) -> bool:
        """Whether a variant is compiled to give names to sizes that have none in earlier ones."""
        family = self.variants.family(called)
        return symbolic is not None and family.compiled > 0 and family.is_named_further_by(symbolic.called)

    def _names_sizes(self, called: Signature) -> bool:
        """Whether one program may serve many sizes, according to the options and the backend."""
        if self._options.dynamic == NEVER:
            return False
        return takes_symbolic_sizes(self.spec.target(gpu_of(called, ())).backend)

    def _made(
        self, called: Signature, symbolic: SymbolicCall | None, why: Recompilation
    ) -> tuple[Variant, Recompilation]:
        """A variant for many sizes if possible, otherwise for those of the call; with the reason if it is not for
        more."""
        family = self.variants.family(called)
        given_up = why.for_one_size(
            *(f"sizes are no longer named, because: {reason}" for reason in family.why_given_up),
            fix=family.fix,
        )
        if symbolic is None:
            return self._new_variant(called, None), given_up
        failure: Exception | None = None
        try:
            variant = self._new_variant(called, symbolic)
            if variant.is_general:
                return variant, given_up
        except SizesFixedError:
            pass
        except Exception as error:
            if checking():
                raise
            failure = error
        if failure is not None:  # outside of `except`: it is not the context of the function's own error
            return self._for_one_size(called, symbolic, why, failure)
        return self._new_variant(called, None), why.for_one_size(*self._fixed(called, symbolic))

    def _for_one_size(
        self, called: Signature, symbolic: SymbolicCall, why: Recompilation, error: Exception
    ) -> tuple[Variant, Recompilation]:
        """A variant for the sizes of the call, after an error in compiling one for many; a fault is reported."""
        from .symbolic_fallback import FIX_OF_FAULT, Cause, cause_of, summary

        is_fault = cause_of(error) is Cause.FAULT
        variant = self._new_variant(called, None)  # an error of the user's function is raised here, too
        what = summary(error)
        why = why.for_one_size(
            f"no program for many sizes could be made: {what}", fix=FIX_OF_FAULT if is_fault else ""
        )
        self.variants.give_up(symbolic.called, what, why.fix)
        return variant, replace(why, is_fault=is_fault)

    def _new_variant(self, called: Signature, symbolic: SymbolicCall | None) -> Variant:
        """A new variant. If the others had to follow the calls for which they were made, it is made so at once."""
        if len(self.variants) and all(one.program.follows for one in self.variants):
            try:
                with following():
                    return self._observed(called, symbolic)
            except (InternalError, SizesFixedError):
                raise
            except TracemillError:  # a program that follows its call cannot do this
                pass
        return self._observed(called, symbolic)

    def _observed(self, called: Signature, symbolic: SymbolicCall | None) -> Variant:
        if not is_observed():
            return Variant(self._function, called, self.spec, symbolic)
        from ..inspection.observed_compilation import observed

        return observed(
            lambda: Variant(self._function, called, self.spec, symbolic),
            lambda variant, transforms: self.lowered(called, symbolic, variant.program, transforms),
        )

    def _fixed(self, called: Signature, symbolic: SymbolicCall) -> list[str]:
        """Record that names were of no use, and say why."""
        self.variants.note_fixed(called, symbolic.called, symbolic.guards)
        notes = [f"compiled only for these sizes: {guard}" for guard in symbolic.guards.described()]
        if self.variants.family(called).given_up:
            notes.append(f"after {MOST_FIXED} such programs, the sizes of these axes are no longer named")
        return notes

    @property
    def spec(self) -> CompileSpec:
        """How the next variant is compiled."""
        options = self._options
        check_bounds = usual_check_bounds() if options.check_bounds is None else options.check_bounds
        return CompileSpec(
            options.backend,
            options.fast_math,
            options.donate_argnums,
            options.lock,
            check_bounds,
            options.convert,
            options.checks,
            self.code,
            options.tier,
        )

    def lowered(
        self,
        called: Signature,
        symbolic: SymbolicCall | None = None,
        program: Program | None = None,
        transforms: "Sequence[SeenTransform]" = (),
    ) -> "Lowered":
        from ..inspection.lowered import Lowered

        return Lowered(
            self._function, called, self.spec, program=program, transforms=transforms, symbolic=symbolic
        )

    def _why(self, called: Signature, stale: Variant | None) -> Recompilation:
        """Why a variant is compiled now."""
        name = describe(self._function)
        if stale is not None:
            return Recompilation(name, stale.changes, "pass what changes from call to call as an argument")
        if not len(self.variants):
            return Recompilation(name)
        return recompilation(name, called, self.variants, names_sizes=self._names_sizes(called))

    def _log_line(self, called: Signature, why: Recompilation, stale: Variant | None) -> str:
        if stale is not None:
            return f"{why.name}: compiled again because {why.line}, for {stale.signature}"
        if not why.reasons:
            return f"{why.name}: compiled for {called}"
        return f"{why.name}: compiled again ({len(self.variants) + 1} variants) because {why.line}"

    def explanation(self) -> str:
        """Why the newest variant was compiled: which argument changed, which guard failed, and what to do about it.

        And which calls run uncompiled.
        """
        lines = [f"{called} runs uncompiled: {why}" for called, why in self.uncompiled.items()]
        if self._last is not None:
            lines.insert(0, self._why_newest(self._last))
        return "\n".join(lines) or f"{describe(self._function)} has not been compiled yet"

    def _why_newest(self, last: Recompilation) -> str:
        newest = [variant.served for variant in self.variants][-1]
        if not last.reasons:
            notes = "".join(f"\n  {note}" for note in last.notes)
            fix = f"\nfix: {last.fix}" if last.fix else ""
            return f"{last.name} was compiled once, for {newest}{notes}{fix}"
        return last.noting(*([f"compiled for {newest.symbolic_text}"] if newest.dims else [])).text()

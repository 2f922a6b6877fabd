"""`WhileHooks`: `while` loops whose tests or jumps depend on values, and the rest of loops that Python has begun."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final

from ....compiler.errors import CarryMismatchError, SideEffectError, TracemillError
from ....compiler.frontend.sites import Site
from ....compiler.tracing.trace import current_trace
from ....compiler.tracing.traced_memory import is_traced
from ....compiler.tracing.values_in_call import FOLLOWS, guarded_value
from ...branching.asked_lengths import length_test
from ...branching.outcomes import FELL, UNSET, Outcome
from ...branching.python_numbers import is_unknown
from ..loops.python_loops import PythonLoops
from ..loops.truth_in_call import ask_for_value
from ..loops.unrolling import IterationRaisesError, raise_own_fault, raise_to_tell_apart
from .statement_hooks import StatementHooks

_MOST_GUARDED: Final = 1000
"""The most iterations of a loop that are written out for the values of a call."""


class WhileHooks(StatementHooks):
    """Loops whose number of iterations is not known before."""

    def while_(self, number: int, names: Mapping[str, Any]) -> Any:
        """A ``while`` whose test is traced."""
        site = self._unit.sites[number]
        self._check(site, "while")
        try:
            found = self._staged_while(site, names)
        except (CarryMismatchError, SideEffectError) as failure:
            if isinstance(failure, SideEffectError) and not set(failure.lists or [""]) <= names.keys():
                raise
            found = self._written_out(site, Outcome(FELL, UNSET, names), failure)
            return self._after(site, found, {**names, **found.names})
        return self._after(site, found, names)

    def tried_while(self, number: int, names: Mapping[str, Any]) -> Any:
        """A ``while`` with jumps, if one of them depends on values; None if Python should run it."""
        site = self._unit.sites[number]
        trace = current_trace()
        if trace is None or trace.is_evaluating or site.refusal or FOLLOWS.get():
            return None
        known = PythonLoops.of_trace()
        if known.run(site, names):
            return None
        try:
            found = self._staged_while(site, names, only_if_left=True)
        except Exception as error:  # unrolled, it may work, or fail at the right place
            raise_own_fault(error)
            known.note_failed(site, names)
            return None
        return self._after(site, found, names)

    def _staged_while(self, site: Site, names: Mapping[str, Any], *, only_if_left: bool = False) -> Outcome:
        where = self._where(site, "while")
        test, body = site.blocks

        def goes_on(given: Mapping[str, Any]) -> Any:
            return test.run(self, self._module, given)

        def iteration(given: Mapping[str, Any]) -> Outcome:
            found: Outcome = body.run(self, self._module, given)
            return found

        from ..loops.recording import while_loop

        try:
            with self._watching(site, where, names) as watch:
                found = while_loop(where, site, names, goes_on, iteration, watch, only_if_left=only_if_left)
        except IterationRaisesError:
            if only_if_left:
                raise
            return self._raised_at_first(site, where, goes_on(names), iteration, names)
        return found.applied()

    def resumed(self, number: int, left: Outcome, remaining: "Iterator[Any] | None" = None) -> Any:
        """The rest of a loop that Python runs, after an iteration that may have ended it depending on values.

        Each further iteration is a branch."""
        site = self._unit.sites[number]
        self._check(site, "while" if remaining is None else "for")
        if remaining is None:
            found = self._unless_left(site, left, lambda: self._rest_of_while(site, left))
            return self._after(site, found, {**left.names, **found.names})
        left = self._iterations(site, left, remaining)
        return self._after(site, left, left.names)

    def _rest_of_while(self, site: Site, left: Outcome) -> Outcome:
        """The further iterations of a loop, as one loop. If that is not possible, it is unrolled for these values."""
        try:
            return self._staged_while(site, left.names)
        except TracemillError as failure:
            raise_to_tell_apart(failure)
            return self._written_out(site, left, failure)

    def _written_out(self, site: Site, left: Outcome, failure: TracemillError) -> Outcome:
        """The further iterations, one by one, in a program that is made for calls with as many of them.

        If that is not possible either, `failure` is raised.
        """
        test, body = site.blocks
        for number in count():
            if left.kind != FELL:
                break
            asked = holds = length_test(test.run(self, self._module, left.names))
            if is_unknown(asked):
                holds = guarded_value(
                    asked._trace, asked.value, "the test of a `while` that a program cannot hold"
                )
                if holds is None and asked._trace.numbers_used_by(asked.value):
                    ask_for_value(asked, wanted=True)
                if holds is None or number == _MOST_GUARDED:
                    raise failure from None
            if not holds:
                break
            found = body.run(self, self._module, left.names)
            if is_traced(found.kind):
                raise failure from None
            left = Outcome(found.kind, found.value, {**left.names, **found.names})
        return left

"""`ForHooks`: `for` loops that become one loop of the program, or are unrolled."""

import ast
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from ....compiler.callers.user_code import location_at
from ....compiler.errors import SideEffectError, TracemillError
from ....compiler.frontend.sites import Site
from ....compiler.frontend.source import ITEM
from ....compiler.shapes.scope import end_if_fixed
from ....compiler.symbolic_size import SymbolicSize
from ....compiler.tracing.trace import current_trace
from ....compiler.tracing.traced_memory import is_traced
from ....compiler.tracing.values_in_call import FOLLOWS
from ...branching.one_of import entries_of, is_one_of, place_of
from ...branching.outcomes import FELL, UNSET, Outcome
from ...branching.python_numbers import is_open, is_unknown
from ...branching.watching import is_watched
from ..loops.iterations import NUMBER, ROWS, Iterations, StagedRange, Zipped, iterations_of
from ..loops.python_loops import PythonLoops
from ..loops.unrolling import (
    IterationRaisesError,
    is_long,
    is_very_long,
    raise_own_fault,
    raise_to_tell_apart,
)
from ..tables import max_iterations, note_range, range_of_known
from .statement_hooks import StatementHooks

_ITERATED = (range, StagedRange, Zipped, np.ndarray, list)


class ForHooks(StatementHooks):
    """Loops over ranges, arrays and lists."""

    def for_(self, number: int, iterated: Any, names: Mapping[str, Any]) -> Any:
        """A ``for`` that is traced as one loop; None if Python should run it."""
        trace = current_trace()
        if trace is None or trace.is_evaluating:
            return None
        if is_one_of(iterated):
            return self._over_one_of(number, iterated, names)
        if type(iterated) not in _ITERATED and not is_traced(iterated):
            self._refuse_to_use_up(number, iterated)
            return None
        iterations, site = iterations_of(iterated), self._unit.sites[number]
        if iterations is None:
            return None
        if is_traced(iterations.length):
            if is_unknown(iterations.length) and not is_open(iterations.length):
                return None
            if iterations.length._trace.numbers_used_by(iterations.length.value):
                operator.index(iterations.length)  # a size: the function is traced again, for its value
            self._check(site, "for")
            return self._after(site, self._staged(site, iterations, names), names)
        found: Outcome | str = "it needs Python's own numbers and variables"
        if self._is_worth_a_try(site, iterations.length):
            found = self._tried(site, iterations, names)
        if isinstance(found, Outcome):
            return self._after(site, found, names)
        if isinstance(iterations.length, SymbolicSize):
            iterations.length.whole(f"the loop at {self._place(site)} is unrolled, since {found}")
            end_if_fixed()
        return None

    def _over_one_of(self, number: int, iterated: Any, names: Mapping[str, Any]) -> Any:
        """A ``for`` over one of several lists, as a branch for each."""
        site = self._unit.sites[number]
        self._check(site, "for")
        entries, place = entries_of(iterated), place_of(iterated)

        def over(at: int) -> Outcome:
            def own() -> Outcome:
                return self._iterations(site, Outcome(FELL, UNSET, names), iter(entries[at]))

            if at == len(entries) - 1:
                return own()
            where = self._where(site, "for")
            return self._choice(
                site, where, np.equal(place, at), lambda: over(at + 1), own, site.names, names
            )

        return self._after(site, over(0), names)

    def _refuse_to_use_up(self, number: int, iterated: Any) -> None:
        """Refuse a loop over an iterator from outside the block, because its items differ each time."""
        node = self._unit.sites[number].node
        if (
            is_watched()
            and hasattr(iterated, "__next__")
            and isinstance(node, ast.For)
            and isinstance(node.iter, ast.Name)
        ):
            raise SideEffectError(
                f"`{node.iter.id}` is an iterator, which gives other items each time, and this loop is in a branch or "
                "a loop that depends on values, which is traced once: make it a list before",
                location_at(self._unit.file, node.lineno),
            )

    def _tried(self, site: Site, iterations: Iterations, names: Mapping[str, Any]) -> Outcome | str:
        """A ``for`` as one loop of the program, or the reason why Python should run it."""
        if site.refusal:
            return site.refusal
        known = PythonLoops.of_trace()
        if known.run(site, names):
            return "Python has run it before, on its own numbers"
        try:
            return self._staged(site, iterations, names)
        except Exception as error:  # unrolled, it may work, or fail at the right place
            raise_own_fault(error)
            if is_very_long(iterations.length):
                raise_to_tell_apart(error)
            known.note_failed(site, names)
            return error.message if isinstance(error, TracemillError) else str(error)

    @staticmethod
    def _is_worth_a_try(site: Site, length: int) -> bool:
        """Whether to trace a loop of known length as one: if it is long, or if the program decides when it ends."""
        return is_long(site, length) or (site.has_jump and not FOLLOWS.get() and bool(length > 0))

    def _staged(self, site: Site, iterations: Iterations, names: Mapping[str, Any]) -> Outcome:
        """A ``for`` as one loop of the program."""
        where, body = self._where(site, "for"), site.blocks[0]
        ranges = [range_of_known(array) for array in iterations.rows]
        most = max_iterations(iterations.length)

        def iteration(given: Mapping[str, Any]) -> Outcome:
            at = given[NUMBER]
            if most is not None:
                note_range(at, (0, most - 1))
            for row, ends in zip(given.get(ROWS, ()), ranges, strict=False):
                note_range(row, ends)
            rows = given.get(ROWS, ())
            item = iterations.item(at, rows) if len(rows) == len(iterations.rows) else iterations.item_at(at)
            note_range(item, iterations.ends)
            outcome = body.run(self, self._module, {**given, ITEM: item})
            return Outcome(outcome.kind, outcome.value, {**outcome.names, NUMBER: at + 1})

        from ..loops.recording import known_loop, while_loop

        jumps, numbered = self._jumps, {**names, NUMBER: 0}
        if not is_traced(iterations.length):
            with self._watching(site, where, names) as watch:
                found = known_loop(
                    where, site, names, iteration, iterations, lambda: self._jumps > jumps, watch
                )
            return found.applied()

        def goes_on(given: Mapping[str, Any]) -> Any:
            return given[NUMBER] < iterations.length

        try:
            with self._watching(site, where, names) as watch:
                found = while_loop(where, site, numbered, goes_on, iteration, watch, most=most)
        except IterationRaisesError:
            return self._raised_at_first(site, where, goes_on(numbered), iteration, numbered)
        return found.applied()

"""`StatementHooks`: what the hooks of all statements share: they run blocks, choose between outcomes, report lines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import FunctionType
from typing import Any

import numpy as np

from ....compiler.callers.user_code import location_at
from ....compiler.errors import ConcretizationError
from ....compiler.frontend.sites import Block, Site, Unit
from ....compiler.frontend.source import ITEM
from ....compiler.ir import Location
from ....compiler.tracing.traced_memory import is_traced
from ...branching.asked_lengths import length_test
from ...branching.branches import branch_on
from ...branching.outcomes import FELL, RETURNED, UNSET, Outcome
from ...branching.python_numbers import is_unknown
from ...branching.watching import Watch, watching


class StatementHooks:
    """The hooks of statements of a function and of the functions defined in it."""

    def __init__(self, unit: Unit, function: FunctionType) -> None:
        self._unit, self._module = unit, function.__globals__
        self.__wrapped__ = function
        """The function before conversion. Its blocks use its globals and its closure."""
        self._jumps = 0
        """The number of traced jumps that depend on values."""

    def _unless_left(self, site: Site, left: Outcome, block: Callable[[], Outcome]) -> Outcome:
        """The outcome of a block of a loop, or the earlier outcome if the loop has been left."""
        if not is_traced(left.kind):
            return block()
        where = self._where(site, "while" if len(site.blocks) > 1 else "for")
        return self._choice(site, where, left.kind == FELL, lambda: left, block, site.names, left.names)

    def _choice(
        self,
        site: Site,
        where: str,
        test: Any,
        orelse: Callable[[], Outcome],
        body: Callable[[], Outcome],
        wanted: Sequence[str],
        names: Mapping[str, Any],
    ) -> Outcome:
        """The outcome of one of two blocks, which a traced test chooses."""
        watched = self._watching(site, where, names)
        blocks = (("otherwise", orelse), ("then", body))
        return branch_on(watched, where, test, blocks, wanted, site.unset)

    def _watching(self, site: Site, where: str, names: Mapping[str, Any]) -> AbstractContextManager[Watch]:
        """Watch the objects that a statement can change, through its variables and the globals that it mentions."""
        reached = {name: self._module[name] for name in site.mentioned if name in self._module} | dict(names)
        return watching(where, reached, self._line(site))

    def _iterations(self, site: Site, left: Outcome, remaining: "Iterator[Any]") -> Outcome:
        """The outcome of further iterations. Each runs unless an earlier one has left the loop."""
        body = site.blocks[-1]
        for item in remaining:
            if not is_traced(left.kind) and left.kind != FELL:
                break
            iteration = self._runner(body, {**left.names, ITEM: item})
            found = self._unless_left(site, left, iteration)
            left = Outcome(found.kind, found.value, {**left.names, **found.names})
        return left

    def _raised_at_first(
        self,
        site: Site,
        where: str,
        test: Any,
        iteration: Callable[[Mapping[str, Any]], Outcome],
        names: Mapping[str, Any],
    ) -> Outcome:
        """A loop whose first iteration, if it runs, raises an error."""
        without, test = Outcome(FELL, UNSET, names), length_test(test)
        if not is_unknown(test):
            return iteration(names) if test else without
        return self._choice(
            site, where, np.reshape(test, ()), lambda: without, lambda: iteration(names), (), names
        )

    def _after(self, site: Site, found: Outcome, names: Mapping[str, Any]) -> Any:
        """The variables after a loop; if the loop may return, the outcome of the rest of the region."""
        rest = site.rest
        if rest is None:
            return state(site, found)
        now = {name: x for name, x in names.items() if name not in site.names} | dict(found.names)
        if site.is_left_by_return_alone:
            last = Outcome(RETURNED, found.value, found.names)
        elif not is_traced(found.kind):
            last = found if found.kind == RETURNED else rest.run(self, self._module, now)
        else:
            last = self._choice(
                site,
                self._where(site, "return"),
                found.kind == RETURNED,
                self._runner(rest, now),
                lambda: Outcome(RETURNED, found.value, now),
                tuple(sorted(rest.kept)),
                now,
            )
        return Outcome(last.kind, last.value, {**now, **last.names})

    def _runner(self, block: Block, names: Mapping[str, Any]) -> Callable[[], Outcome]:
        return lambda: block.run(self, self._module, names)

    def _where(self, site: Site, what: str) -> str:
        return f"`{what}` at {self._place(site)}"

    def _line(self, site: Site) -> Location:
        return location_at(site.file, site.line)

    def _place(self, site: Site) -> str:
        file = site.file.replace("\\", "/").rpartition("/")[2]
        return f"{file}:{site.line}"

    def _check(self, site: Site, what: str) -> None:
        if site.refusal:
            raise ConcretizationError(
                f"this `{what}` depends on values, and cannot be traced: {site.refusal}",
                self._line(site),
            )


def state(site: Site, found: Outcome) -> tuple[Any, ...]:
    return tuple(found.names.get(name, UNSET) for name in site.names)

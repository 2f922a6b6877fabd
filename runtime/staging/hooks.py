"""`Hooks`: what converted code calls instead of operators and statements that tracing must handle.

Without a trace, each hook does what Python does.
"""

import ast
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import count
from types import FunctionType
from typing import Any, Final

import numpy as np

from ...compiler.callers.user_code import location_at
from ...compiler.errors import (
    CarryMismatchError,
    ConcretizationError,
    SideEffectError,
    TracemillError,
)
from ...compiler.frontend.conversion import Conversion
from ...compiler.frontend.sites import Block, Site, Unit
from ...compiler.frontend.source import ITEM
from ...compiler.ir import Location
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.tracing.exceptions.handlers import fall_back, handling
from ...compiler.tracing.exceptions.own_errors import pass_on
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.tracing.values_in_call import FOLLOWS, guarded_value
from ..branching.asked_lengths import is_staged, length_test
from ..branching.branches import branch_on
from ..branching.one_of import entries_of, is_one_of, place_of
from ..branching.outcomes import BROKEN, FELL, RETURNED, UNSET, Outcome
from ..branching.python_numbers import is_open, is_unknown
from ..branching.stand_ins import update_stand_ins
from ..branching.watching import Watch, is_watched, watching
from .built_in_functions import shown
from .callee import callee
from .comprehensions import is_kept
from .expressions import and_, choose, compare, folded, not_, or_
from .loops.iterations import NUMBER, ROWS, Iterations, StagedRange, Zipped, iterations_of, plainly
from .loops.unrolling import (
    IterationRaisesError,
    is_long,
    is_very_long,
    raise_own_fault,
    raise_to_tell_apart,
)
from .managers import entered, managed
from .numpy_functions import numpy_meaning
from .operators import (
    attribute,
    iterated,
    operate,
    percent,
    set_attribute,
    truth,
    unary,
    update,
)
from .tables import get_item, max_iterations, note_range, range_of_known, set_item, with_adopted


class Hooks:
    """The hooks of a function and of the functions defined in it."""

    UNSET = UNSET
    slice = slice
    callee = staticmethod(callee)
    is_kept = staticmethod(is_kept)
    item = staticmethod(get_item)
    shown = staticmethod(shown)
    store = staticmethod(set_item)
    settled = staticmethod(update_stand_ins)
    iterations = staticmethod(lambda iterated: with_adopted(plainly(iterated)))
    iterator = staticmethod(lambda iterated: iter(with_adopted(plainly(iterated))))
    is_staged = staticmethod(is_staged)
    percent = staticmethod(percent)
    operate = staticmethod(operate)
    update = staticmethod(update)
    unary = staticmethod(unary)
    truth = staticmethod(truth)
    attribute = staticmethod(attribute)
    set_attribute = staticmethod(set_attribute)
    entered = staticmethod(entered)
    iterated = staticmethod(iterated)
    and_ = staticmethod(and_)
    or_ = staticmethod(or_)
    not_ = staticmethod(not_)
    choose = staticmethod(choose)
    compare = staticmethod(compare)
    fold = staticmethod(folded)

    def __init__(self, unit: Unit, function: FunctionType) -> None:
        self._unit, self._module = unit, function.__globals__
        self.__wrapped__ = function
        """The function before conversion. Its blocks use its globals and its closure."""
        self._jumps = 0
        """The number of traced jumps that depend on values."""

    @staticmethod
    def raised(make: Callable[[], Any]) -> Any:
        """``raise make()``"""
        from .texts import raised

        return raised(make)

    handling = handling
    """``with handling(lambda: classes):`` is the body of a `try` whose handlers are for exceptions of these classes."""
    fall_back = staticmethod(fall_back)
    """The beginning of such a body that a generator leaves and resumes."""
    managed = staticmethod(managed)

    @staticmethod
    def handles(classes: Callable[[], Any]) -> None:
        """The beginning of a handler, ``except classes``. It does not see errors that only tracing raises."""
        error = sys.exception()
        assert error is not None
        pass_on(error, classes)

    @staticmethod
    def caught(error: BaseException) -> None:
        """The beginning of a handler that looks at its exception, ``except … as error``."""
        from .texts import caught

        caught(error)

    @staticmethod
    def stacked_list(make: Callable[[Any], Any], items: Any, function: Any = list) -> Any:
        """``[entry for target in items]``, or that as a generator for `function`."""
        from .long_comprehensions import stacked_list

        return stacked_list(make, items, function)

    @staticmethod
    def printed(*given: Any) -> Any:
        """``print(…)`` as a statement."""
        from .texts import printed

        return printed(*given)

    @staticmethod
    def fell(names: Mapping[str, Any]) -> Outcome:
        return Outcome(FELL, UNSET, names)

    @staticmethod
    def broken(names: Mapping[str, Any]) -> Outcome:
        return Outcome(BROKEN, UNSET, names)

    @staticmethod
    def returned(value: Any, names: Mapping[str, Any]) -> Outcome:
        return Outcome(RETURNED, value, names)

    def refuse_jump(self, line: int) -> None:
        """Refuse a jump under a traced condition out of a block that Python runs."""
        raise ConcretizationError(
            "a `return`, `break` or `continue` under a condition on values leads out of a `with`, `try` or `match` "
            "block, which Python runs. Set a variable there, and test it after the block",
            location_at(self._unit.file, line),
        )

    def branch(self, number: int, test: Any, names: Mapping[str, Any]) -> Any:
        """An ``if`` without jumps: the values of its variables afterwards."""
        site = self._unit.sites[number]
        return _state(site, self._chosen(site, test, names))

    def leave(self, number: int, test: Any, names: Mapping[str, Any]) -> Outcome:
        """An ``if`` with the statements after it, up to the end of the function or of the iteration."""
        self._jumps += 1
        found = self._chosen(self._unit.sites[number], test, names)
        return Outcome(found.kind, found.value, {**names, **found.names})

    def _chosen(self, site: Site, test: Any, names: Mapping[str, Any]) -> Outcome:
        self._check(site, "if")
        where, test = self._where(site, "if"), length_test(test)
        orelse, body = (self._runner(block, names) for block in site.blocks)
        try:
            return self._choice(site, where, np.reshape(test, ()), orelse, body, site.names, names)
        except (TracemillError, RecursionError) as failure:
            raise_to_tell_apart(failure)
            known = guarded_value(test._trace, test.value, "the test of an `if` that a program cannot hold")
            if known is not None:  # the program is then for calls that take the same branch
                return body() if known else orelse()
            if not isinstance(failure, SideEffectError) and test._trace.numbers_used_by(test.value):
                _ask_for_value(test, wanted=type(failure) is not ConcretizationError)
            raise

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
        try:
            found = self._staged_while(site, names, only_if_left=True)
        except Exception as error:  # unrolled, it may work, or fail at the right place
            raise_own_fault(error)
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

        from .loops.recording import while_loop

        try:
            with self._watching(site, where, names) as watch:
                found = while_loop(where, site, names, goes_on, iteration, watch, only_if_left=only_if_left)
        except IterationRaisesError:
            if only_if_left:
                raise
            return self._raised_at_first(site, where, goes_on(names), iteration, names)
        return found.applied()

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
                    _ask_for_value(asked, wanted=True)
                if holds is None or number == _MOST_GUARDED:
                    raise failure from None
            if not holds:
                break
            found = body.run(self, self._module, left.names)
            if is_traced(found.kind):
                raise failure from None
            left = Outcome(found.kind, found.value, {**left.names, **found.names})
        return left

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
        try:
            return self._staged(site, iterations, names)
        except Exception as error:  # unrolled, it may work, or fail at the right place
            raise_own_fault(error)
            if is_very_long(iterations.length):
                raise_to_tell_apart(error)
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

        from .loops.recording import known_loop, while_loop

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

    def _after(self, site: Site, found: Outcome, names: Mapping[str, Any]) -> Any:
        """The variables after a loop; if the loop may return, the outcome of the rest of the region."""
        rest = site.rest
        if rest is None:
            return _state(site, found)
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


_MOST_GUARDED: Final = 1000
"""The most iterations of a loop that are written out for the values of a call."""

_ITERATED = (range, StagedRange, Zipped, np.ndarray, list)

Conversion.hooks, Conversion.callee = Hooks, staticmethod(callee)
Conversion.numpy_meaning = staticmethod(numpy_meaning)


def _ask_for_value(test: Any, *, wanted: bool) -> None:
    """Have the function traced again, for the values of the arguments that decide a test."""
    try:
        bool(test)
    except ConcretizationError as error:
        error.wants_values = wanted
        raise


def _state(site: Site, found: Outcome) -> tuple[Any, ...]:
    return tuple(found.names.get(name, UNSET) for name in site.names)

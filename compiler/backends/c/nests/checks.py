"""How the loops of a nest check whether to stop.

A loop checks after a number of steps that take long enough by an estimate. How long a loop of unknown length takes is
only known when it has run: the C variable `spent` counts what no check has counted yet, and the loops around read it.
"""

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from ....symbolic_size import upper_bound
from ...python.text import Names
from ..interruption import CALL, stop_condition
from .statements import Line, Statements

SILENT: Final = 100_000
"""Estimated nanoseconds of work that a loop does without checking whether to stop: the enclosing loop checks."""
BETWEEN: Final = 10_000
"""Nanoseconds after which a longer one checks."""

Work = Any
"""Nanoseconds: a number, or an expression of sizes."""


@dataclass(slots=True)
class Step:
    """A step of a loop, with nanoseconds of work."""

    work: int = 1
    own: int = 1
    """Without the work that `spent` counts when the program runs."""
    is_counted: bool = False
    """Whether `spent` counts a part."""


@dataclass(slots=True)
class Checks:
    """Writes loops that check."""

    names: Names
    lines: Statements
    asks: bool
    """Whether loops check at all."""
    spent: str
    """The name of the C variable."""
    _counted: float = 0.0
    """The estimated work in the current step that `spent` counts."""

    @contextmanager
    def step(self) -> Generator[Step]:
        """The lines of a step are written inside the block, which sets `work`."""
        outer, self._counted = self._counted, 0.0
        step = Step()
        yield step
        step.own = max(1, step.work - math.ceil(self._counted))
        step.is_counted = self._counted > 0
        self._counted = outer

    def are_silent(self, work: Work) -> bool:
        """Whether steps that take this long together do not check."""
        return not self.asks or upper_bound(work) < SILENT

    def counted_loop(
        self,
        counter: str,
        start: str,
        end: str,
        step: Step,
        body: list[Line],
        *,
        longest: Work,
        expected: Work,
        is_known: bool,
        hint: Sequence[str] = (),
    ) -> None:
        """A loop over the values of a counter. It takes at most `longest`, and `is_known` says whether it takes just
        as long as `expected`."""
        head = f"for (int64_t {counter} = {start}; {counter} < {end}; {counter}++)"
        every = _steps_between(step.work)
        if self.are_silent(longest) or step.is_counted or every == 1:
            asks = not self.are_silent(longest)
            for line in () if asks else hint:
                self.lines.line(line)
            with self.lines.block(head):
                self.lines.extend(body)
                if asks or step.is_counted:
                    self._check(step, asks)
            self._passed(step, expected)
            return
        first, last = (self.names.claim(f"{word}_{counter}") for word in ("first", "last"))
        with self.lines.block(f"for (int64_t {first} = {start}; {first} < {end}; {first} += {every})"):
            self.lines.define("int64_t", last, f"{first} + {every} < {end} ? {first} + {every} : {end}")
            for line in hint:
                self.lines.line(line)
            self.lines.nest(f"for (int64_t {counter} = {first}; {counter} < {last}; {counter}++)", body)
            with self.lines.block(f"if ({stop_condition(every * step.work)})"):
                if not is_known:
                    self._spend(str(BETWEEN))
                self.lines.line("break;")
        if not is_known:
            self._spend(f"{start} < {end} ? ({end} - {start}) % {every} * {step.work} : 0")
            self._counted += typical_work(expected)

    def endless_loop(self, head: str, step: Step, body: list[Line], *, longest: Work, expected: Work) -> None:
        """A loop that its body ends."""
        every = _steps_between(step.work)
        if self.are_silent(longest) or step.is_counted or every == 1:
            with self.lines.block(head):
                self.lines.extend(body)
                asks = not self.are_silent(longest)
                if asks or step.is_counted:
                    self._check(step, asks)
            self._passed(step, expected)
            return
        left = self.names.claim("left")
        self.lines.variable("long", left, str(every))
        with self.lines.block(head):
            self.lines.extend(body)
            with self.lines.block(f"if (--{left} == 0)"):
                self.lines.line(f"if ({stop_condition(every * step.work)})")
                self.lines.line("    break;")
                self.lines.line(f"{left} = {every};")
        # if this loop was stopped, it is enough for the outer loops to stop, too
        self._spend(f"({every} - {left}) * {step.work}")
        self._counted += typical_work(expected)

    def _check(self, step: Step, asks: bool) -> None:
        """At the end of a step."""
        if not step.is_counted:
            self.lines.line(f"if ({stop_condition(step.work)})")
            self.lines.line("    break;")
            return
        self._spend(str(step.own))
        if asks:
            with self.lines.block(f"if ({self.spent} >= {BETWEEN})"):
                self.lines.line(f"if ({CALL}{self.spent}))")
                self.lines.line("    break;")
                self.lines.line(f"{self.spent} = 0;")

    def _spend(self, work: str) -> None:
        self.lines.add_to(self.spent, work)

    def _passed(self, step: Step, expected: Work) -> None:
        """After a loop whose steps count their work: the loops around it do not."""
        if step.is_counted:
            self._counted += typical_work(expected)


def _steps_between(work: int) -> int:
    """The number of steps after which a loop checks: a power of two."""
    return 1 << max(0, (-(-BETWEEN // work) - 1).bit_length())


def typical_work(work: Work) -> float:
    """As a number where it is an expression of sizes."""
    return float(work) if isinstance(work, int | float) else float(work.typical)

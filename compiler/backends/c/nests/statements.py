"""The lines of a nest under construction; unused numbers are left out in the end."""

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from ....ir import Call, Location
from ....text.printer import location_text
from ..layout import comment_line

INDENT = "    "
MOST_CHEAP = 4
"""Up to this many cheap numbers are computed without a branch."""
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    defined: str | None = None
    """The number that the line sets without other effects."""
    is_comment: bool = False
    is_cheap: bool = False
    """Whether it takes about as long as a jump."""


@dataclass(slots=True)
class Statements:
    """Collects lines."""

    depth: int = 1
    _lines: list[Line] = field(default_factory=list[Line])
    _shown: Location | None = None

    def line(self, text: str) -> None:
        self._lines.append(Line(f"{INDENT * self.depth}{text}"))

    def define(self, type: str, name: str, value: str, *, is_cheap: bool = False) -> None:
        """A number that does not change."""
        text = f"{INDENT * self.depth}const {type} {name} = {value};"
        self._lines.append(Line(text, name, is_cheap=is_cheap))

    def variable(self, type: str, name: str, value: str | None = None) -> None:
        """A number that changes."""
        start = "" if value is None else f" = {value}"
        self._lines.append(Line(f"{INDENT * self.depth}{type} {name}{start};"))

    def accumulator(self, type: str, name: str) -> None:
        """A number to which `add_to` adds."""
        self._lines.append(Line(f"{INDENT * self.depth}{type} {name} = 0;", name))

    def add_to(self, name: str, value: str) -> None:
        """Add to an accumulator, if anything after it reads it."""
        self._lines.append(Line(f"{INDENT * self.depth}{name} += {value};", name))

    def comment(self, call: Call) -> None:
        """The user's line, if it changes."""
        if call.location is not None and call.location != self._shown:
            self._shown = call.location
            text = comment_line(location_text(call.location))
            self._lines.append(Line(f"{INDENT * self.depth}{text}", is_comment=True))

    @contextmanager
    def block(self, head: str) -> Generator[None]:
        self.line(f"{head} {{")
        self.depth += 1
        yield
        self.depth -= 1
        self._shown = None
        self.line("}")

    @contextmanager
    def captured(self) -> Generator[list[Line]]:
        """Captures the lines written inside the block, one level deeper, for `extend`."""
        before, self._lines = self._lines, []
        shown, self._shown = self._shown, None
        self.depth += 1
        yield self._lines
        self.depth -= 1
        self._lines, self._shown = before, shown

    @contextmanager
    def appending(self, lines: list[Line]) -> Generator[None]:
        """Lines written inside the block come after captured lines."""
        before, self._lines = self._lines, lines
        self.depth += 1
        yield
        self.depth -= 1
        self._lines = before

    def extend(self, lines: Sequence[Line]) -> None:
        self._lines += lines

    def hoist(self, lines: list[Line]) -> None:
        """Captured lines, without braces around them."""
        self._lines += [replace(line, text=line.text.removeprefix(INDENT)) for line in lines]
        lines.clear()

    def nest(self, head: str, lines: Sequence[Line]) -> None:
        """Captured lines between braces."""
        with self.block(head):
            self.extend(lines)

    def texts(self) -> list[str]:
        """The lines with an effect, in order."""
        used = set[str]()
        kept: list[Line] = []
        for line in reversed(self._lines):
            if line.is_comment:
                if kept and not kept[-1].is_comment and kept[-1].text.strip() != "}":
                    kept.append(line)
                continue
            if line.defined is not None and line.defined not in used:
                continue
            used.update(_WORD.findall(line.text))
            kept.append(line)
        return [line.text for line in reversed(kept)]


def is_cheap(lines: Sequence[Line]) -> bool:
    """Whether captured lines only compute a few numbers, faster than a mispredicted jump."""
    numbers = [line for line in lines if not line.is_comment]
    return len(numbers) <= MOST_CHEAP and all(line.is_cheap for line in numbers)

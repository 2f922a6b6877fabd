"""`ExpressionWriter`: the expressions of loop nests as C."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ....affine import Affine
from ....dtypes import kind
from ....ir import Call, Location
from ....loops.nest import (
    Accumulator,
    Apply,
    Clamped,
    Expression,
    Fold,
    Literal,
    Load,
    Local,
    Position,
    Result,
)
from ....op import Between, Condition
from ....symbolic_size import SymbolicSize, is_known
from ....text.printer import location_text
from ..expression import expression as elementwise
from ..expression import functions_in
from ..layout import comment_line
from ..literals import c_literal
from ..sizes import factor_text, place_text, size_text
from ..types import c_type
from .reductions import Gathering, folded, gathering, result

INDENT = "    "


@dataclass(slots=True)
class ExpressionWriter:
    """Writes lines of one function, with expressions."""

    lines: list[str] = field(default_factory=list[str])
    needs: set[str] = field(default_factory=set[str])
    """The C functions that are called."""
    depth: int = 1
    shown: Location | None = None
    with_angles: Callable[[str], str] | None = None
    """What `near` or `of_library` makes of expressions with sines, cosines and tangents; None for any arguments."""

    def line(self, text: str) -> None:
        self.lines.append(f"{INDENT * self.depth}{text}" if text else "")

    @contextmanager
    def braces(self, head: str) -> Generator[None]:
        self.line(f"{head} {{".lstrip())
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    def comment(self, call: Call | None) -> None:
        """The user's line, if it changes."""
        if call is not None and call.location is not None and call.location != self.shown:
            self.shown = call.location
            self.line(comment_line(location_text(call.location)))

    def text(self, expression: Expression) -> str:
        match expression:
            case Local():
                return expression.name
            case Literal():
                return c_literal(expression.constant.array)
            case Position():
                return self.position(expression)
            case Load():
                return f"{expression.buffer.name}[{place_text(expression.place)}]"
            case Apply():
                found = elementwise(expression.call, [self.text(operand) for operand in expression.operands])
                return self.called(self.with_angles(found.text) if self.with_angles else found.text)
            case Clamped():
                return self.clamped(expression)
            case Fold():
                return self.called(
                    folded(expression.op, expression.dtype, [self.text(x) for x in expression.operands])
                )
            case Result():
                how = gathering(expression.accumulator)
                names = variables(expression.accumulator, how, "", expression.place)
                return self.called(result(expression.accumulator, how, names, expression.dtype))

    def called(self, text: str) -> str:
        self.needs |= functions_in(text)
        return text

    def position(self, expression: Position) -> str:
        place = place_text(expression.place)
        return f"({c_type(expression.dtype)}){place if place.isidentifier() else f'({place})'}"

    def clamped(self, expression: Clamped) -> str:
        number, last = self.text(expression.number), size_text(expression.last)
        if kind(expression.number.dtype) == "u":
            most = f"(uint64_t)({last})" if isinstance(expression.last, SymbolicSize) else f"{last}u"
            return f"{number} > {most} ? {last} : (int64_t){number}"
        return f"{number} < 0 ? 0 : {number} > {last} ? {last} : {number}"


def variables(
    accumulator: Accumulator, how: Gathering, suffix: str = "", place: Affine | str | None = None
) -> list[str]:
    """The names of the variables of an accumulator; for one with many results, the elements at a place."""
    at = "" if place is None else f"[{place_text(place) if isinstance(place, Affine) else place}]"
    return [f"{accumulator.name}{part.suffix}{suffix}{at}" for part in how.parts]


def condition_text(condition: Condition) -> str:
    """A condition as C."""
    place = place_text(condition.place)
    if not isinstance(condition, Between):
        return f"({place}) % {factor_text(condition.step)} == 0"
    low, high = condition.low, condition.high
    above = [] if is_known(condition.place.low >= low) else [f"{place} >= {size_text(low)}"]
    below = [] if is_known(condition.place.high < high) else [f"{place} < {size_text(high)}"]
    return " && ".join([*above, *below])

"""What an operand of a repeated call is in each repetition."""

from dataclasses import dataclass
from typing import TypeAlias

from ...compiler.ir import Constant, Value


@dataclass(frozen=True, slots=True)
class Made:
    """An output of a call of the body."""

    call: int
    output: int


@dataclass(frozen=True, slots=True)
class Local:
    """What the same repetition has made."""

    made: Made


@dataclass(frozen=True, slots=True)
class Carried:
    """What the repetition `lag` before has made; `before` stands for that of the first ones, oldest first."""

    made: Made
    before: tuple[Value, ...]

    @property
    def lag(self) -> int:
        return len(self.before)


@dataclass(frozen=True, slots=True)
class Same:
    """One value from outside."""

    value: Value


@dataclass(frozen=True, slots=True)
class Numbers:
    """A constant for each repetition."""

    values: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """Entry ``first + stride * repetition`` along an axis of an array, of which other axes may be cut."""

    array: Value
    axis: int
    first: int
    stride: int
    start: tuple[int, ...]
    stop: tuple[int, ...]
    """Where the entry begins and ends along the other axes."""

    @property
    def shape(self) -> tuple[int, ...]:
        """That of an entry, without the axis."""
        sizes = [stop - start for start, stop in zip(self.start, self.stop, strict=True)]
        return (*sizes[: self.axis], *sizes[self.axis + 1 :])


Operand: TypeAlias = Local | Carried | Same | Numbers | Rows

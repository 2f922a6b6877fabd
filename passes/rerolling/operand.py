"""The value of an operand of a repeated call in each repetition."""

from dataclasses import dataclass
from typing import TypeAlias

from ...compiler.ir import Constant, Value


@dataclass(frozen=True, slots=True)
class BodyOutput:
    """An output of a call of the body."""

    call: int
    output: int


@dataclass(frozen=True, slots=True)
class Local:
    """A value that the same repetition computes."""

    made: BodyOutput


@dataclass(frozen=True, slots=True)
class Carried:
    """A value that the repetition `lag` steps earlier computed; `before` has the values for the first ones, oldest
    first."""

    made: BodyOutput
    before: tuple[Value, ...]

    @property
    def lag(self) -> int:
        return len(self.before)


@dataclass(frozen=True, slots=True)
class OutsideValue:
    """One value from outside."""

    value: Value


@dataclass(frozen=True, slots=True)
class Numbers:
    """A constant for each repetition."""

    values: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """Entry ``first + stride * repetition`` along an axis of an array, whose other axes may be sliced."""

    array: Value
    axis: int
    first: int
    stride: int
    start: tuple[int, ...]
    stop: tuple[int, ...]
    """Where the entry begins and ends along the other axes."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an entry, without the axis."""
        sizes = [stop - start for start, stop in zip(self.start, self.stop, strict=True)]
        return (*sizes[: self.axis], *sizes[self.axis + 1 :])


Operand: TypeAlias = Local | Carried | OutsideValue | Numbers | Rows

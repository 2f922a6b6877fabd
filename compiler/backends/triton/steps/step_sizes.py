"""`StepSizes`: the spelling of sizes in a function that is made from a template."""

from dataclasses import dataclass

from ....affine import Affine
from ..kernels.numbers import Numbers
from ..plan import Number
from .places import place_text


@dataclass(frozen=True, slots=True)
class StepSizes:
    """The sizes in one function: numbers are literals, and named sizes are arguments after its arrays."""

    numbers: Numbers
    is_far: bool
    """Whether offsets need integers of eight bytes."""

    @property
    def wide(self) -> str:
        """Converts an integer to eight bytes if necessary."""
        return ".to(tl.int64)" if self.is_far else ""

    def text(self, size: int) -> str:
        """A size as an expression: a sum has no parentheses."""
        return self.numbers.text(size)

    def factor(self, size: int) -> str:
        """The same as an operand of any operator."""
        return self.numbers.factor(size)

    def place(self, place: Affine) -> str:
        """An index expression."""
        return place_text(place, self.numbers.text)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters after the arrays, once the text has been written."""
        return tuple(name for name, _ in self._taken)

    def parameters(self, pointers: str) -> str:
        """All parameters of the function."""
        return ", ".join([pointers, *self.names])

    @property
    def given(self) -> tuple[Number, ...]:
        """The arguments after its arrays."""
        return tuple(number for _, number in self._taken)

    @property
    def _taken(self) -> tuple[tuple[str, Number], ...]:
        return self.numbers.taken(is_wide=self.is_far)

"""`LayoutGuard`: the memory order that a program relies on in one argument, where the function depends on it."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..compiler.dtypes import Array
from ..compiler.memory_layout import MemoryOrder, Order, memory_order
from ..compiler.program import Argument, Static
from .signature import ArraySpec, Signature


@dataclass(frozen=True, slots=True)
class LayoutGuard:
    """How an argument lay in memory in the call that a program was made for, and how much of that counts."""

    leaf: int
    """The number of the leaf among those of all arguments."""
    argument: int
    """Its number among the inputs of the program."""
    path: str
    memory: MemoryOrder
    asks_strides: bool
    """The program depends on where views become copies, rather than on the order of axes alone."""

    def holds(self, memory: MemoryOrder | None) -> bool:
        """Whether an argument that lies like this fits; None stands for C order."""
        found = memory or _row_major(len(self.memory.axes))
        return found == self.memory if self.asks_strides else found.axes == self.memory.axes

    def fits(self, array: Array) -> bool:
        """Whether an array fits; generated code tells row-major ones by itself."""
        return self.holds(memory_order(array))

    @property
    def entering(self) -> Order | None:
        """The order in which the axes of the argument enter the program, if it fills its memory in another than C."""
        return None if self.is_row_major or self.memory.strides is not None else self.memory.axes

    @property
    def is_row_major(self) -> bool:
        """Whether every array in C order fits."""
        return self.holds(None)

    def __str__(self) -> str:
        return f"{self.path} is {self.memory}"

    def change(self, memory: MemoryOrder | None) -> str:
        """What is different about an argument that does not fit."""
        return f"{self.path} was {self.memory} in memory and is {memory or _row_major(len(self.memory.axes))}"


def _row_major(ndim: int) -> MemoryOrder:
    return MemoryOrder(tuple(range(ndim)))


def layout_guards(signature: Signature, entering: "Sequence[Argument | Static]") -> tuple[LayoutGuard, ...]:
    """What a traced function asked about the layouts of its arguments."""
    guards: list[LayoutGuard] = []
    place = -1
    for number, (argument, spec) in enumerate(zip(entering, signature.specs, strict=True)):
        place += isinstance(argument, Argument)
        if not isinstance(argument, Argument) or argument.layout is None or not isinstance(spec, ArraySpec):
            continue
        memory = spec.memory or _row_major(len(spec.shape))
        for question in argument.layout.questions:
            if question.asked_strides or (question.asked_order and len(spec.shape) > 1):
                path = signature.paths[number]
                guards.append(LayoutGuard(number, place, path, memory, question.asked_strides))
    return tuple(guards)


def entering_orders(guards: Sequence[LayoutGuard]) -> dict[int, Order]:
    """The orders in which the axes of arguments enter the program, by their numbers, where that is not C order."""
    return {guard.argument: guard.entering for guard in guards if guard.entering is not None}

"""`LayoutGuard`: the memory order of one argument on which a program relies, if the function depends on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...compiler.dtypes import Array
from ...compiler.frontend.program import Argument, Static
from ...compiler.memory_layout.memory_order import MemoryOrder, memory_order
from ...compiler.memory_layout.strides import Order
from .signature import ArraySpec, Signature


@dataclass(frozen=True, slots=True)
class LayoutGuard:
    """The memory layout of an argument in the call for which a program was compiled, and how much of it matters."""

    leaf: int
    """The number of the leaf among those of all arguments."""
    argument: int
    """Its number among the inputs of the program."""
    path: str
    memory: MemoryOrder
    asks_order: bool
    """The program depends on the order of axes."""
    asks_strides: bool
    """The program depends on where views become copies, not only on the order of axes."""
    asks_single: bool = False
    """It also depends on the strides of axes with a single entry."""
    owndata: bool | None = None
    """Whether the argument owned its data, if the program read that."""
    writeable: bool | None = None
    """Whether it was writable, if the program read that, or wrote to it."""

    def holds(self, spec: ArraySpec) -> bool:
        """Whether an argument of this type fits."""
        return self._has_flags(spec) and self._lies_like(spec.memory)

    def fits(self, array: Array) -> bool:
        """Whether an array of the same dtype and number of axes fits."""
        return self._has_flags(array.flags) and self._lies_like(memory_order(array))

    def _has_flags(self, found: Any) -> bool:
        """Whether the relevant flags agree with an array's flags, or with those in its type."""
        return self.owndata in (None, found.owndata) and self.writeable in (None, found.writeable)

    def _lies_like(self, memory: MemoryOrder | None) -> bool:
        if not self._asks:
            return True
        found = memory or _row_major(len(self.memory.axes))
        if self.asks_single:
            return found == self.memory
        if self.asks_strides:
            return (found.axes, found.strides) == (self.memory.axes, self.memory.strides)
        return (found.axes, found.repeated) == (self.memory.axes, self.memory.repeated)

    @property
    def entering(self) -> Order | None:
        """The order in which the axes of the argument enter the program, if its memory order is not C."""
        is_row_major = self.memory.axes == tuple(range(len(self.memory.axes)))
        return None if is_row_major or self.memory.strides is not None or not self._asks else self.memory.axes

    @property
    def _asks(self) -> bool:
        return self.asks_order or self.asks_strides or self.asks_single

    @property
    def is_row_major(self) -> bool:
        """Whether every array in C order fits."""
        return self.owndata is None and self.writeable is None and self._lies_like(None)

    def __str__(self) -> str:
        return f"{self.path} is {self.memory}"

    def change(self, spec: ArraySpec) -> str:
        """How an argument that does not fit differs."""
        if self._lies_like(spec.memory):
            return f"{self.path} has other flags: owndata={spec.owndata}, writeable={spec.writeable}"
        found = spec.memory or _row_major(len(self.memory.axes))
        return f"{self.path} was {self.memory} in memory and is {found}"


def _row_major(ndim: int) -> MemoryOrder:
    return MemoryOrder(tuple(range(ndim)))


def layout_guards(signature: Signature, entering: "Sequence[Argument | Static]") -> tuple[LayoutGuard, ...]:
    """What a traced function read about the layouts of its arguments."""
    guards: list[LayoutGuard] = []
    place = -1
    for number, (argument, spec) in enumerate(zip(entering, signature.specs, strict=True)):
        place += isinstance(argument, Argument)
        if not isinstance(argument, Argument) or argument.layout is None or not isinstance(spec, ArraySpec):
            continue
        memory = spec.memory or _row_major(len(spec.shape))
        for question in argument.layout.questions:
            asks_order = question.asked_order and len(spec.shape) > 1
            owndata = spec.owndata if question.asked_owndata else None
            writeable = spec.writeable if question.asked_writeable else None
            if question.asked_strides or asks_order or owndata is not None or writeable is not None:
                asks = asks_order, question.asked_strides, question.asked_single
                guards.append(
                    LayoutGuard(number, place, signature.paths[number], memory, *asks, owndata, writeable)
                )
    return tuple(guards)


def entering_orders(guards: Sequence[LayoutGuard]) -> dict[int, Order]:
    """The orders in which the axes of arguments enter the program, by their numbers, if they are not C order."""
    return {guard.argument: guard.entering for guard in guards if guard.entering is not None}

"""`ArraysOutside`: the arrays from outside a function that `vmap` runs once for all examples, and must not write to."""

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

from ...compiler.dtypes import Array
from ...compiler.errors import TransformArgumentError
from ...compiler.tracing.foreign_memory import ForeignMemory
from ...compiler.tracing.outside.contents import OutsideArrays
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_array import TracedArray


class ArraysOutside:
    """The contents of the arrays that a function can reach, before it runs.

    NumPy would write to them once, where a loop over the examples does so for each. In a function that is compiled,
    such arrays are traced, and writes to them are seen anyway.
    """

    def __init__(self, roots: Iterable[Any]) -> None:
        around = current_trace()
        self._roots = () if around is not None and around.outermost().is_kept else tuple(roots)
        self._before = OutsideArrays(self._roots)

    @contextmanager
    def callback(self) -> Generator[None]:
        """Within the block, a callback runs for each example. It may write to arrays."""
        is_unwritten = not self._before.written()
        yield
        if is_unwritten:
            self._before = OutsideArrays(self._roots)

    def refuse_writes(self, where: str) -> None:
        """Undo and refuse what the function has written.

        Raises:
            TransformArgumentError: (a ValueError) if it has written to an array.
        """
        written = self._before.written()
        for one in written:
            if one.can_be_restored:
                one.restore()
        for one in written:
            raise unmapped_write(where, array_from_outside(one.array))


def array_from_outside(x: Array | ForeignMemory | TracedArray) -> str:
    """An array from outside, for messages."""
    return f"an array {x.dtype.name}{list(x.shape)} from outside"


def unmapped_write(where: str, name: str) -> TransformArgumentError:
    """The error for a write to an array that all examples share."""
    return TransformArgumentError(
        f"{where}: the function writes to {name}, which is not mapped: every example would overwrite it. Map it, or "
        "return the new value instead"
    )

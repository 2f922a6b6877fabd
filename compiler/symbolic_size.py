"""What stands in a shape and is no int: all that programs without named sizes need to know of them."""

from abc import ABC, abstractmethod


class SymbolicSize(ABC):
    """A size that is an expression. `shapes.Dim` is the one class of them."""

    __slots__ = ()

    @property
    @abstractmethod
    def limits(self) -> dict[str, list[str]]:
        """What is known of each named size in it, by name: ``{"N": ["N in 1..4096", "N % 16 == 0"]}``."""

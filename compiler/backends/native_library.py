"""`NativeLibrary`: functions in another language that the statements of a generated Python module call."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

from ..ir import ArrayType, Call
from .python_text import Names

NATIVE_NAMES = ("FLAGS", "TYPES", "fitting", "library", "link", "thread_count")
"""What a module calls the functions and variables by which it takes such functions."""


class NativeFunction(Protocol):
    """What the caller of such a function has to know."""

    @property
    def name(self) -> str: ...

    @property
    def inputs(self) -> tuple[ArrayType, ...]: ...

    @property
    def outputs(self) -> tuple[ArrayType, ...]:
        """What it is given to write to: the outputs of the call, and behind them memory that it works in."""
        ...

    @property
    def overwriting(self) -> Mapping[int, Sequence[int]]:
        """For each output that may be written over inputs: which."""
        ...

    @property
    def sizes(self) -> tuple[str, ...]:
        """The named sizes, which it takes before the arrays."""
        ...

    @property
    def work(self) -> int:
        """Nanoseconds that one thread takes, estimated."""
        ...


class NativeLibrary(ABC):
    """The functions that one module calls, collected while its statements are written."""

    language: str
    """What they are written in."""
    imports: Sequence[str]
    """What the module imports to take them from their library."""
    imports_of_check: Sequence[str]
    """What it imports besides if it can be run by itself."""

    @abstractmethod
    def function_of(self, call: Call, names: Names) -> NativeFunction | None:
        """The function for a call, with a name like its op or its kernel among `names`; None if there is none."""

    @property
    @abstractmethod
    def functions(self) -> Sequence[NativeFunction]:
        """Those that have been asked for."""

    @abstractmethod
    def linking(self) -> list[list[str]]:
        """The functions of the module by which it takes these from their library."""

    @abstractmethod
    def finding(self) -> list[list[str]]:
        """Those by which it finds that library, or makes it, when it is run by itself."""

    @abstractmethod
    def statements_of_check(self) -> Sequence[str]:
        """What it does first when it is run by itself."""

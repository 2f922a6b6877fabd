"""`NativeLibrary`: functions in another language that the statements of a generated Python module call."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

from ...ir import ArrayType, Call
from .text import Names

NATIVE_NAMES = ("FLAGS", "TYPES", "fitting", "library", "link", "thread_count")
"""The names of the functions and variables with which a module gets these functions."""


class NativeFunction(Protocol):
    """What the caller of such a function must know."""

    @property
    def name(self) -> str: ...

    @property
    def inputs(self) -> tuple[ArrayType, ...]: ...

    @property
    def outputs(self) -> tuple[ArrayType, ...]:
        """The memory that it writes to: the outputs of the call, and then its workspace."""
        ...

    @property
    def overwriting(self) -> Mapping[int, Sequence[int]]:
        """For each output that may overwrite inputs: which ones."""
        ...

    @property
    def sizes(self) -> tuple[str, ...]:
        """The named sizes, which come before the arrays."""
        ...

    @property
    def work(self) -> int:
        """Estimated nanoseconds on one thread."""
        ...


class NativeLibrary(ABC):
    """The functions that one module calls, collected while its statements are written."""

    language: str
    """The language of the functions."""
    imports: Sequence[str]
    """The imports of the module for loading them from their library."""
    imports_of_check: Sequence[str]
    """Its additional imports if it can run on its own."""

    @abstractmethod
    def function_of(self, call: Call, names: Names) -> NativeFunction | None:
        """The function for a call, named after its op or its kernel, unlike the other `names`; None if there is
        none."""

    @property
    @abstractmethod
    def functions(self) -> Sequence[NativeFunction]:
        """The functions that have been requested."""

    @abstractmethod
    def linking(self) -> list[list[str]]:
        """The functions with which the module loads these from their library."""

    @abstractmethod
    def finding(self) -> list[list[str]]:
        """The functions with which it finds or builds that library when it runs on its own."""

    @abstractmethod
    def statements_of_check(self) -> Sequence[str]:
        """Its first statements when it runs on its own."""

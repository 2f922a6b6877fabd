"""`Tiered`: NumPy's statements compute a program until a thread in the background has compiled it to C."""

from collections.abc import Callable
from contextvars import copy_context
from threading import Thread
from typing import Any, Final

from ...compiler.errors import CompilerError, MissingCompilerError
from ..machine.toolchain import warn_once
from ..programs.built import Build

THREAD: Final = "tracemill-compile"
"""The name of the threads."""


class Tiered:
    """The function of a program, which is replaced by a faster one."""

    __slots__ = ("function",)

    def __init__(self, first: Callable[..., Any], faster: Callable[[], Build]) -> None:
        self.function = first
        Thread(target=copy_context().run, args=(self._replace, faster), name=THREAD, daemon=True).start()

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        outputs: tuple[Any, ...] = self.function(*inputs)
        return outputs

    def _replace(self, faster: Callable[[], Build]) -> None:
        try:
            self.function = faster().function
        except (MissingCompilerError, CompilerError) as error:
            warn_once(error)

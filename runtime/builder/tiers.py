"""`Tiered`: NumPy's statements compute a program until a thread in the background has compiled it to C."""

from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from threading import Thread
from typing import Any, Final, NoReturn

from ...compiler.errors import CompilerError, MissingCompilerError
from ..machine.toolchain import warn_once
from ..programs.built import Build

THREAD: Final = "tracemill-compile"
"""The name of the threads that compile."""


class Tiered:
    """The function of a program, which is replaced by a faster one.

    If that cannot be made, the next call raises the error. With `may_stay`, a compiler that fails is a warning.
    """

    __slots__ = ("_may_stay", "function")

    def __init__(self, first: Callable[..., Any], build_c: Callable[[], Build], *, may_stay: bool) -> None:
        self.function = first
        self._may_stay = may_stay
        Thread(target=copy_context().run, args=(self._replace, build_c), name=THREAD, daemon=True).start()

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        outputs: tuple[Any, ...] = self.function(*inputs)
        return outputs

    def _replace(self, build_c: Callable[[], Build]) -> None:
        try:
            self.function = build_c().function
        except Exception as error:
            if self._may_stay and isinstance(error, MissingCompilerError | CompilerError):
                warn_once(error)
            else:
                self.function = partial(_raised, error)


def _raised(error: Exception, *inputs: Any) -> NoReturn:
    raise error

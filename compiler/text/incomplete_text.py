"""Reads the text of a graph without its arrays and Python functions, for inspection only."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InternalError
from ..ir import ArrayType, Constant, Graph, Value
from ..verifier import MOST_ELEMENTS
from .lexer import Line
from .number_reader import read_string
from .parser import Reader


def parse_to_show(text: str) -> Graph:
    """Like `parse`, but only for inspection: the result cannot run if the text names arrays or Python functions.

    Arrays are `UnknownConstant`; their contents are not known.
    """
    return _IncompleteReader(text).read()


class UnknownConstant(Constant):
    """An array: only its type and its digest are known. It uses no memory, and its numbers are meaningless."""

    __slots__ = ()

    def __init__(self, type: ArrayType, digest: str) -> None:
        Value.__init__(self, type)
        self.array = np.broadcast_to(np.zeros((), type.dtype), type.shape)
        self._digest = digest


class _IncompleteReader(Reader):
    """Reads texts without their arrays and Python functions."""

    def __init__(self, text: str) -> None:
        super().__init__(text, {}, {})
        self.known: dict[str, Callable[..., Any]] = {}

    def given_constant(self, line: Line, type: ArrayType) -> Constant:
        if type.nbytes >= MOST_ELEMENTS:
            raise line.error(f"expected an array of fewer than 2**56 bytes, found {type}")
        return UnknownConstant(type, read_string(line))

    def function(self, line: Line) -> Callable[..., Any]:
        line.expect("(")
        name = read_string(line)
        line.expect(")")
        return self.known.setdefault(name, _stand_in(name))


def _stand_in(name: str) -> Callable[..., Any]:
    """Stands for a Python function of this name."""

    def function(*_args: Any) -> Any:
        raise InternalError(f"{name} is called, but the text has only its name")

    function.__module__, _, function.__qualname__ = name.partition(":")
    return function

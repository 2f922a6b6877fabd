"""The parameters of calls by their types: ``ints_param(call, "axes")``.

The type rule of an op has checked them: another type here is a bug in Tracemill.
"""

from collections.abc import Callable, Mapping
from typing import Protocol, cast

import numpy as np

from .dtypes import DType
from .ir import Graph
from .symbolic_size import SymbolicSize


class WithParams(Protocol):
    """A call, or what a rule sees of it."""

    @property
    def params(self) -> Mapping[str, object]: ...


def int_param(call: WithParams, name: str, default: int | None = None) -> int:
    """A number or a size, for example of an axis or a length."""
    found = call.params.get(name, default)
    assert isinstance(found, int | SymbolicSize)
    return cast("int", found)


def ints_param(call: WithParams, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
    """Numbers or sizes, for example of axes or a shape."""
    found = call.params.get(name, default)
    assert isinstance(found, tuple)
    return found


def optional_ints_param(call: WithParams, name: str) -> tuple[int | None, ...]:
    """Axes, for operands that may have none."""
    found = call.params[name]
    assert isinstance(found, tuple)
    return found


def pairs_param(call: WithParams, name: str) -> tuple[tuple[int, int], ...]:
    """Two numbers or sizes for each axis, for example the padding at its ends."""
    found = call.params[name]
    assert isinstance(found, tuple)
    return found


def flag_param(call: WithParams, name: str) -> bool:
    """A bool; False if a call omits it."""
    found = call.params.get(name, False)
    assert isinstance(found, bool)
    return found


def text_param(call: WithParams, name: str, default: str | None = None) -> str:
    found = call.params.get(name, default)
    assert isinstance(found, str)
    return found


def dtype_param(call: WithParams, name: str = "dtype") -> DType:
    found = call.params[name]
    assert isinstance(found, np.dtype)
    return found


def function_param(call: WithParams, name: str = "function") -> Callable[..., object]:
    """A Python function of the user's."""
    found = call.params[name]
    assert callable(found)
    return found


def graph_param(call: WithParams, name: str = "graph") -> Graph:
    found = call.params[name]
    assert isinstance(found, Graph)
    return found


def optional_graph_param(call: WithParams, name: str) -> Graph | None:
    found = call.params.get(name)
    assert found is None or isinstance(found, Graph)
    return found


def graphs_param(call: WithParams, name: str = "branches") -> tuple[Graph, ...]:
    found = call.params[name]
    assert isinstance(found, tuple)
    return found

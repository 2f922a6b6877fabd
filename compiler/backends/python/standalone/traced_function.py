"""`TracedFunction`: a program to export as Python, and how the user called it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import Signature
from typing import Any

from ....errors import InternalError
from ....frontend.program import Argument, Program, Static
from ....ir import Graph
from .parameters import Exported, exported_parameters


@dataclass(frozen=True, slots=True)
class TracedFunction:
    """A program with the parameters of the function that was traced."""

    program: Program
    """Its captured arrays have become constants of its graph."""
    tree: Any
    """The structure of the arguments, ``(args, kwargs)``."""
    leaves: Sequence[Argument | Static]
    """The types of the leaves."""
    signature: Signature | None = None
    """The user's parameters and defaults; None for functions without a signature."""
    doc: str | None = None
    """The user's docstring."""
    given_name: str | None = None
    """The name of the function, if it differs from the graph's."""

    def __post_init__(self) -> None:
        if self.program.captured:
            raise InternalError(
                "a program to export captures arrays, which must be constants of its graph by now"
            )

    @property
    def name(self) -> str:
        return self.given_name or self.program.graph.name

    @property
    def parameters(self) -> list[Exported]:
        """The parameters of the exported function."""
        return exported_parameters(self.tree, self.leaves, self.signature)

    def of(self, graph: Graph) -> "TracedFunction":
        """The same for a graph that computes the same, such as one after passes."""
        return replace(self, program=replace(self.program, graph=graph))

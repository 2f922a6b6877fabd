"""`TracedFunction`: what is exported as Python: a program, and how the user called it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import Signature
from typing import Any

from ....errors import InternalError
from ....frontend.traced_program import Argument, Program, Static
from ....ir import Graph
from .parameters import Exported, exported_parameters


@dataclass(frozen=True, slots=True)
class TracedFunction:
    """A program with the parameters of the function that was traced."""

    program: Program
    """What it captured has become constants of its graph."""
    tree: Any
    """The structure of the arguments, ``(args, kwargs)``."""
    leaves: Sequence[Argument | Static]
    """How the leaves of that entered the trace."""
    signature: Signature | None = None
    """The user's parameters and defaults; None of functions that do not say."""
    doc: str | None = None
    """The user's docstring."""
    given_name: str | None = None
    """What the function is called, if not as the graph is."""

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
        """Those that the exported function has."""
        return exported_parameters(self.tree, self.leaves, self.signature)

    def of(self, graph: Graph) -> "TracedFunction":
        """The same for a graph that computes the same, such as one that passes have made of it."""
        return replace(self, program=replace(self.program, graph=graph))

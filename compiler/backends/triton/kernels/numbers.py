"""Sizes in the text of a function: numbers, or arguments after its arrays, and sums and products of them."""

import math
from dataclasses import dataclass, field
from typing import Any, Final

from ....free_sizes import sizes_in_call, sizes_in_graph, sizes_in_param
from ....ir import Call, Graph
from ....shapes.dim import Dim, of_size
from ....shapes.spelling import spelled
from ....shapes.terms import Operation, Size, atoms_in
from ....symbolic_size import is_known
from ..plan import Number
from .assumed import aligned_to

TAKEN: Final = ("tl", "triton", "libdevice")
"""Names with a meaning in the text of a function."""

_BUILT_IN: Final = ("float", "range")


@dataclass(slots=True)
class Numbers:
    """The integers that a function takes: named sizes, from which it computes sums and products itself.

    An expression with a quotient, or with the minimum of several, is a separate argument, which is computed for the
    launch. So is a product about which more is known than about its parts.
    """

    names: dict[str, str] = field(default_factory=dict[str, str])
    """The names of the named sizes of a kernel."""
    claimed: set[str] = field(default_factory=set[str])
    """All names in the function."""
    arguments: dict[str, Dim] = field(default_factory=dict[str, Dim])
    """The names that the text has used so far."""

    @staticmethod
    def of(graph: Graph) -> "Numbers":
        """The named sizes in a graph."""
        found = sorted({name for size in sizes_in_graph(graph) for name in size.limits})
        names = {name: f"{name}_size" if name in (*TAKEN, *_BUILT_IN) else name for name in found}
        return Numbers(names, set(names.values()))

    @staticmethod
    def of_step(call: Call) -> "Numbers":
        """Those of a call whose functions are templates, in which all names begin with a small letter."""
        inputs = (size for value in call.inputs for size in sizes_in_param(value.type.shape))
        found = sorted({name for size in (*inputs, *sizes_in_call(call)) for name in size.limits})
        names = {name: name if name[0].isupper() else f"{name}_size" for name in found}
        return Numbers(names, set(names.values()))

    def text(self, size: Any) -> str:
        """A size as an expression: a sum has no parentheses."""
        if not isinstance(size, Dim):
            return str(size)
        text = spelled(size.terms, self.names)
        if "//" in text or any(isinstance(atom, Operation) for atom in atoms_in(size.terms)):
            return self._argument(size)
        if len(size.sizes) > 1 and len(size.terms) == 1 and _is_more_than_its_parts(size):
            return self._argument(size)
        for part in size.sizes:
            self.arguments[self.names[repr(part)]] = part
        return text

    def factor(self, size: Any) -> str:
        """The same as an operand of any operator."""
        text = self.text(size)
        return f"({text})" if isinstance(size, Dim) and not text.isidentifier() else text

    def taken(self, *, is_wide: bool) -> tuple[tuple[str, Number], ...]:
        """The arguments by name, with known facts about them."""
        return tuple(
            (name, Number(size, is_wide, aligned_to(size))) for name, size in sorted(self.arguments.items())
        )

    def above_none(self) -> list[str]:
        """The arguments that are named sizes known to be at least 1."""
        named = set(self.names.values())
        return sorted(name for name, size in self.arguments.items() if name in named and is_known(size > 0))

    def _argument(self, size: Dim) -> str:
        for name, known in self.arguments.items():
            if known is size:
                return name
        count = 1
        while (name := f"size_{count}") in self.claimed:
            count += 1
        self.claimed.add(name)
        self.arguments[name] = size
        return name


def _is_more_than_its_parts(size: Dim) -> bool:
    """Whether a product is known to be a multiple of more than its parts are."""
    ((sizes, factor),), aligned = size.terms, aligned_to(size)
    parts = (aligned_to(of_size(one)) for one in sizes if isinstance(one, Size))
    return aligned > 1 and aligned > math.prod(parts) * (factor & -factor)

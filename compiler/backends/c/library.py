"""`CLibrary`: the C functions that a generated module calls, collected while its statements are written."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ...ir import Call, Graph
from ..python_text import Names
from .flags import USUAL_FLAGS
from .function import CFunction

PrintFunction: TypeAlias = Callable[[Call, str], CFunction | None]
"""``print_function(call, name)``: the C function that computes a call; None if NumPy's statements do it."""


@dataclass(slots=True)
class CLibrary:
    """The C functions of one module. Equal kernels share one."""

    print_function: PrintFunction
    flags: Sequence[str] = USUAL_FLAGS
    """What they are compiled with."""
    functions: list[CFunction] = field(default_factory=list[CFunction])
    _of_call: dict[Call, CFunction | None] = field(default_factory=dict["Call", "CFunction | None"])
    _of_graph: dict[Graph, CFunction | None] = field(default_factory=dict["Graph", "CFunction | None"])

    _count: Counter[str] = field(default_factory=Counter[str])

    def function_of(self, call: Call, names: Names) -> CFunction | None:
        """The C function for a call, with a name like its op or its kernel among `names`; None if there is none."""
        if call not in self._of_call:
            graph = call.params["graph"] if call.op == "kernel" else None
            if isinstance(graph, Graph):
                self._of_call[call] = self._kernel(graph, call, names)
            else:
                self._of_call[call] = self._print(call, call.op, names)
        return self._of_call[call]

    @property
    def function_by_call(self) -> Mapping[Call, CFunction]:
        """What calls have become, of those that C functions compute."""
        return {call: function for call, function in self._of_call.items() if function is not None}

    def _kernel(self, graph: Graph, call: Call, names: Names) -> CFunction | None:
        if graph not in self._of_graph:
            stem = graph.name if graph.name.isascii() else call.op
            self._of_graph[graph] = self._print(call, stem, names)
        return self._of_graph[graph]

    def _print(self, call: Call, stem: str, names: Names) -> CFunction | None:
        wanted = f"c_{stem}_{1 + self._count[stem]}"
        function = self.print_function(call, wanted)
        if function is None:
            return None
        name = names.claim(wanted)
        if name != wanted:
            function = self.print_function(call, name)
            assert function is not None
        self._count[stem] += 1
        self.functions.append(function)
        return function

"""`CLibrary`: the C functions that a generated module calls, collected while its statements are written."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from ..ir import Call, Graph
from .c_function import CFunction
from .python_text import Names

PrintFunction: TypeAlias = Callable[[Call, str], CFunction | None]
"""``print_function(call, name)``: the C function that computes a call; None if NumPy's statements do it."""


@dataclass(slots=True)
class CLibrary:
    """The C functions of one module. Equal kernels share one."""

    print_function: PrintFunction
    functions: list[CFunction] = field(default_factory=list[CFunction])
    _of_call: dict[Call, CFunction | None] = field(default_factory=dict["Call", "CFunction | None"])
    _of_graph: dict[Graph, CFunction | None] = field(default_factory=dict["Graph", "CFunction | None"])

    def function_of(self, call: Call, names: Names) -> CFunction | None:
        """The C function for a call, called `c_<op>_<number>` among `names`; None if there is none."""
        if call not in self._of_call:
            self._of_call[call] = (
                self._kernel(call, names) if call.op == "kernel" else self._print(call, names)
            )
        return self._of_call[call]

    def _kernel(self, call: Call, names: Names) -> CFunction | None:
        graph = call.params["graph"]
        assert isinstance(graph, Graph)
        if graph not in self._of_graph:
            self._of_graph[graph] = self._print(call, names)
        return self._of_graph[graph]

    def _print(self, call: Call, names: Names) -> CFunction | None:
        stem = f"c_{call.op}_"
        wanted = f"{stem}{1 + sum(f.name.startswith(stem) for f in self.functions)}"
        function = self.print_function(call, wanted)
        if function is None:
            return None
        name = names.claim(wanted)
        if name != wanted:
            function = self.print_function(call, name)
            assert function is not None
        self.functions.append(function)
        return function

"""`CLibrary`: the C functions that a generated module calls, collected while its statements are written."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ....ir import Call, Graph
from ....loops.code_key import function_key
from ....params import graph_param
from ...python.native_library import NativeLibrary
from ...python.text import Names
from ..flags import USUAL_FLAGS
from ..function import CFunction
from .interface import LINK_AT_RUN, library_statements, link_statements

PrintFunction: TypeAlias = Callable[[Call, str], CFunction | None]
"""``print_function(call, name)``: the C function that computes a call; None if NumPy's statements do."""


@dataclass(slots=True)
class CLibrary(NativeLibrary):
    """The C functions of one module. Equal calls share one."""

    language = "C"
    imports = ("ctypes",)
    imports_of_check = ("os", "pathlib", "shlex", "subprocess", "tempfile")

    print_function: PrintFunction
    flags: Sequence[str] = USUAL_FLAGS
    """The options with which they are compiled."""
    _functions: list[CFunction] = field(default_factory=list[CFunction], init=False)
    _of_call: dict[Call, CFunction | None] = field(
        default_factory=dict["Call", "CFunction | None"], init=False
    )
    _of_key: dict[Hashable, CFunction | None] = field(
        default_factory=dict["Hashable", "CFunction | None"], init=False
    )
    _count: Counter[str] = field(default_factory=Counter[str], init=False)

    def function_of(self, call: Call, names: Names) -> CFunction | None:
        if call not in self._of_call:
            key = function_key(call)
            if key not in self._of_key:
                self._of_key[key] = self._print(call, names)
            self._of_call[call] = self._of_key[key]
        return self._of_call[call]

    @property
    def functions(self) -> Sequence[CFunction]:
        return self._functions

    @property
    def function_by_call(self) -> Mapping[Call, CFunction]:
        """The C functions of the calls that they compute."""
        return {call: function for call, function in self._of_call.items() if function is not None}

    def linking(self) -> list[list[str]]:
        return link_statements(self.functions)

    def finding(self) -> list[list[str]]:
        return library_statements(self.flags)

    def statements_of_check(self) -> Sequence[str]:
        return LINK_AT_RUN.splitlines()

    def _print(self, call: Call, names: Names) -> CFunction | None:
        graph = graph_param(call) if call.op == "kernel" else None
        stem = graph.name if isinstance(graph, Graph) and graph.name.isascii() else call.op
        name = names.free(f"c_{stem}_{1 + self._count[stem]}")
        function = self.print_function(call, name)
        if function is None:
            return None
        names.claim(name)
        self._count[stem] += 1
        self._functions.append(function)
        return function

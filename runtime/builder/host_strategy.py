"""Programs of the host: a NumPy module, which calls a library of C functions if the target has a compiler."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from ...compiler.backends.c.threads.pool_text import CALL
from ...compiler.backends.large_arrays import LARGE_ARRAY
from ...compiler.ir import Graph
from ...compiler.ops.control.printing import keep_line
from ..cache.disk_cache import cache_key, versions_in_use
from ..cache.entry import Entry
from ..machine.target import Target
from ..machine.thread_pool import address_of_pool
from ..machine.threads import get_num_threads
from ..programs.built import Build
from ..programs.load_module import load_module
from ..programs.shared_library import LIBRARY, link
from ..programs.strategy import Printed
from ..stage_times import stage

_ENTRY: Final = "entry"
"""In an entry of the disk cache: the name of the program's function, and the members with its source."""
_PYTHON: Final = "program.py"
_C: Final = "program.c"

_SHARED: dict[str, Any] = {"threads": get_num_threads, "pools": {}, "keep_line": keep_line}
"""What all modules share: the number of threads and the pools of threads for tiles, and where to keep lines."""


@dataclass(frozen=True, slots=True)
class HostStrategy:
    """For the NumPy and C backends."""

    target: Target

    @property
    def backend(self) -> str:
        return self.target.backend

    def key(self, text: str, donated: Sequence[int], sizes: str) -> str:
        options: dict[str, Any] = asdict(self.target.options) if self.backend == "c" else {}
        if donated:
            options["donated"] = list(donated)
        if sizes:
            options["sizes"] = sizes
        versions = {**versions_in_use(), **self.target.key}
        return cache_key(ir=text, backend=self.backend, options=options, versions=versions)

    def stored(self, entry: Entry) -> Build:
        source = entry.text(_PYTHON)
        function = load_module(source, entry.about[_ENTRY], self._shared(source))
        c_source = entry.text(_C) if _C in entry.members else None
        if LIBRARY in entry.members:
            link(function, entry.members[LIBRARY], entry.folder, self._pool(c_source or ""))
        return Build(function, source, entry.folder / _PYTHON, from_disk=True, c_source=c_source)

    def printed(self, graph: Graph, donated: Sequence[int]) -> Printed:
        # Imported here: a program from disk needs no printers, which take as long to import as everything else
        # together.
        with stage("import"):
            from ...compiler.backends.numpy.writer import NUMPY
            from ...compiler.backends.python.empty_module import entry_name
            from ...compiler.backends.python.printer import callbacks
            from ..programs.print_program import print_program

        with stage("print"):
            source = print_program(graph, self.target, donated)
        members = {_PYTHON: source.python.encode()}
        if source.c is not None:
            members |= {_C: source.c.encode(), LIBRARY: self._compiled(source.c)}
        name = entry_name(graph)

        def load(folder: Path | None) -> Build:
            shared: Mapping[str, Any] = {**self._shared(source.python), **callbacks(graph, NUMPY)}
            function = load_module(source.python, name, shared)
            if source.c is not None:
                link(function, members[LIBRARY], folder, self._pool(source.c))
            return Build(function, source.python, folder / _PYTHON if folder else None, c_source=source.c)

        return Printed(members, {_ENTRY: name}, load)

    def _shared(self, text: str) -> Mapping[str, Any]:
        """What a module with this text shares with others."""
        if LARGE_ARRAY not in text:
            return _SHARED
        from ..machine.result_memory import array_maker

        return {**_SHARED, LARGE_ARRAY: array_maker(self.target.toolchain)}

    def _pool(self, text: str) -> int | None:
        """The address of the pool of threads, if a C text shares loops."""
        return address_of_pool(self.target.toolchain) if CALL in text and self.target.toolchain else None

    def _compiled(self, text: str) -> bytes:
        compiler = self.target.toolchain
        assert compiler is not None
        with stage("compile"):
            return compiler.compile(
                text, fast_math=self.target.options.fast_math, keeps_text=not self.target.falls_back
            )

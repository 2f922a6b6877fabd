"""`Strategy`: the parts of building a program that depend on its backend."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ...compiler.ir import Graph
from ..cache.entry import Entry
from .built import Build


@dataclass(frozen=True, slots=True)
class Printed:
    """A program that was printed and compiled, but not loaded."""

    members: Mapping[str, bytes]
    """Its files, as an entry of the disk cache keeps them."""
    about: Mapping[str, str]
    """The metadata of the entry besides the name of the function and the backend."""
    load: Callable[[Path | None], Build]
    """Makes it runnable, given the folder of its entry, if it has one."""


class Strategy(Protocol):
    """How programs are compiled for one target."""

    @property
    def backend(self) -> str: ...

    def key(self, text: str, donated: Sequence[int], sizes: str) -> str:
        """The key of an entry of the disk cache: a digest of everything that affects the generated code.

        Args:
            text: the canonical graph.
            donated: the inputs whose memory results may take.
            sizes: what is known of named sizes.
        """
        ...

    def stored(self, entry: Entry) -> Build:
        """The program of an entry."""
        ...

    def printed(self, graph: Graph, donated: Sequence[int]) -> Printed:
        """A new program of a graph after all passes."""
        ...

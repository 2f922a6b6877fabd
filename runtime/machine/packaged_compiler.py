"""The C compiler that the package `ziglang` brings, for machines without one: ``pip install tracemill[cc]``.

It is clang with a linker and the headers of the C library.
"""

import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import Final

from .compiler_process import compiled

_PACKAGE: Final = "ziglang"
_FIRST: Final = "int tm_first;\n"
_SECONDS: Final = 120.0
"""The time limit for compiling that line."""


def packaged_command() -> list[str] | None:
    """The command of the installed package; None without it."""
    found = importlib.util.find_spec(_PACKAGE)
    for folder in (found and found.submodule_search_locations) or ():
        program = os.path.join(folder, "zig")
        if os.access(program, os.X_OK):
            return [program, "cc"]
    return None


def is_packaged(command: Sequence[str]) -> bool:
    """Whether a command is that of the installed package."""
    return list(command) == packaged_command()


def prepare(command: Sequence[str], flags: Sequence[str]) -> None:
    """Let it build the parts of the C library that it links, which it keeps for the user.

    Raises:
        CompilerError: it cannot compile a line.
    """
    print(
        f"Tracemill prepares the C compiler of the package {_PACKAGE} (once, about 10 seconds)",
        file=sys.stderr,
        flush=True,
    )
    compiled(command, flags, _FIRST, _SECONDS, keeps_text=False)

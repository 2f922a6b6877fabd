"""Loading the shared library of a program, from the disk cache's folder or from memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...compiler.errors import CompilerError
from ..machine.loaded_library import LoadedLibrary
from ..machine.threads import address_of_count

LIBRARY = "program.so"
"""A shared library among the files of a cache entry."""


def link(function: Callable[..., Any], library: bytes, folder: Path | None, share: int | None = None) -> None:
    """Give the module of `function` its C functions: those of `library`, which is also in the cache entry `folder`.

    They share loops between threads through the function at the address `share`, if there is one. The library is
    unloaded after the last of them is gone.

    Raises:
        CompilerError: the system does not load it.
    """
    take: Callable[[Any, int, int | None, Any], None] = function.__globals__["link"]
    try:
        loaded = LoadedLibrary(library, None if folder is None else folder / LIBRARY)
        take(loaded.library, address_of_count(), share, loaded.owner)
    except (OSError, AttributeError) as error:
        raise CompilerError(
            f"a compiled program cannot be loaded: {error}. Free some memory, raise the process's limits, or "
            "choose backend='numpy'"
        ) from error

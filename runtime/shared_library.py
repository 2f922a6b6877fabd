"""Loading the shared library of a program, from the disk cache's folder or from a private one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .blas import address_of_products
from .threads import address_of_count, resting_threads
from .toolchain import library_file

LIBRARY = "program.so"
"""A shared library among the files of a cache entry."""


def link(function: Callable[..., Any], library: bytes, folder: Path | None) -> None:
    """Give the module of `function` its C functions: those of `library`, which lies in the cache entry `folder`, too.

    Where there is no entry, or it has just been evicted, or its disk lets nobody run code, a private copy is loaded,
    and deleted at once.
    """
    take: Callable[[str, int, int], None] = function.__globals__["link"]
    if folder is not None:
        try:
            with resting_threads():
                take(str(folder / LIBRARY), address_of_count(), address_of_products())
        except OSError:
            pass
        else:
            return
    with library_file(library) as path, resting_threads():
        take(str(path), address_of_count(), address_of_products())

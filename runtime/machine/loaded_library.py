"""Shared libraries in this process: loaded from checked bytes, and unloaded when nothing uses them."""

import ctypes
import gc
import itertools
import os
import sys
import weakref
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np

from ..files.cache_folder import problem_of
from ..files.scratch_folder import ScratchFolder

_READ_SAFELY: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_HAS_DESCRIPTOR_PATHS: Final = sys.platform == "linux"
_spellings = itertools.count()


class LoadedLibrary:
    """A shared library. It is unloaded once this object and every copy of `owner` are gone."""

    def __init__(self, content: bytes, file: Path | None = None) -> None:
        """Load `content`, from `file` if that contains exactly these bytes, so that processes share its memory.

        Raises:
            OSError: the system does not load it, for want of memory, or on a disk mounted with noexec.
        """
        self.library = _loaded(content, file)
        self.owner = np.empty(0, np.int8)
        """Held by functions of the library as long as they live.

        It is an array because the garbage collector does not track arrays. For an object that it tracks, it runs the
        weak references first, while the functions of a discarded module still exist and point into the library.
        """
        if not gc.is_tracked(self.owner):
            weakref.finalize(self.owner, _unload, self.library._handle).atexit = False


def _loaded(content: bytes, file: Path | None) -> ctypes.PyDLL:
    failure = OSError("no place to load it from")
    for place in (_in_file, _in_memory, _in_scratch_folder):
        try:
            with place(content, file) as path:
                if path is not None:
                    return ctypes.PyDLL(path)
        except OSError as error:
            failure = error
    raise failure


@contextmanager
def _in_file(content: bytes, file: Path | None) -> Generator[str | None]:
    """Through the descriptor from which the bytes are compared, so that the file cannot be replaced meanwhile."""
    if file is None or not _HAS_DESCRIPTOR_PATHS:
        yield None
        return
    with open(file, "rb", buffering=0, opener=lambda path, _: os.open(path, _READ_SAFELY)) as opened:
        same = os.fstat(opened.fileno()).st_size == len(content) and opened.readall() == content
        yield _path_of(opened.fileno()) if same else None


@contextmanager
def _in_memory(content: bytes, _: Path | None) -> Generator[str | None]:
    """In a file without a name, which needs neither disk space nor a disk without noexec."""
    if not _HAS_DESCRIPTOR_PATHS or not hasattr(os, "memfd_create"):  # which Pythons for old systems lack
        yield None
        return
    with os.fdopen(os.memfd_create("tracemill"), "wb", buffering=0) as opened:
        if opened.write(content) != len(content):
            raise OSError("no memory is left for it")
        yield _path_of(opened.fileno())


@contextmanager
def _in_scratch_folder(content: bytes, _: Path | None) -> Generator[str | None]:
    with ScratchFolder() as folder:
        if problem := problem_of(folder.path):
            raise OSError(problem)
        folder.write("program.so", content)
        yield str(folder.path / "program.so")


def _path_of(descriptor: int) -> str:
    """A path of an open descriptor, spelled differently each time.

    The loader takes two libraries with the same path for one without reading them, and descriptors are reused.
    """
    spelling = f"{next(_spellings):b}".replace("0", "/").replace("1", "/.")
    return f"/proc/self/fd{spelling}/{descriptor}"


def _unload(handle: int) -> None:
    if not sys.is_finalizing():
        ctypes.PyDLL(None).dlclose(ctypes.c_void_p(handle))

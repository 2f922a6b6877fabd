"""The pool of threads that all C programs of a process share: a library of its own, compiled once per machine."""

import ctypes
import warnings
from pathlib import Path
from typing import Final

from ...compiler.backends.c.threads.pool_text import EXPORTED, library_text
from ...compiler.errors import CompilerError, CompilerWarning, MissingCompilerError
from ..cache.disk_cache import DiskCache, cache_key, default_cache
from .loaded_library import LoadedLibrary
from .toolchain import Toolchain

_LIBRARY: Final = "threads.so"
_TEXT: Final = "threads.c"
_FLAGS: Final = ("-pthread",)

_loaded: dict[str, LoadedLibrary] = {}
"""The pool of this process. It stays: its threads run its code."""
_failed: set[Toolchain] = set()
"""The compilers that have not made one."""


def address_of_pool(compiler: Toolchain) -> int | None:
    """The address of the function through which programs share loops between threads.

    Without it, programs compute on the calling thread. It is None, with a single `CompilerWarning`, if the pool is
    neither loaded, nor in the disk cache, nor made by this compiler.
    """
    if EXPORTED not in _loaded:
        if compiler in _failed:
            return None
        try:
            made = _pool(compiler)
        except (CompilerError, MissingCompilerError, OSError, AttributeError) as error:
            _failed.add(compiler)
            warnings.warn(f"programs compute on one thread: {error}", CompilerWarning, stacklevel=2)
            return None
        _loaded.setdefault(EXPORTED, made)  # another thread may have been first
    return _address_in(_loaded[EXPORTED])


def _address_in(pool: LoadedLibrary) -> int | None:
    return ctypes.cast(pool.library[EXPORTED], ctypes.c_void_p).value


def _pool(compiler: Toolchain) -> LoadedLibrary:
    """The pool from the disk cache, or newly compiled. It is not counted among the programs in the cache."""
    text, programs = library_text(), default_cache()
    cache = None if programs.why_not else DiskCache(programs.folder, programs.max_bytes)
    key = cache_key(ir=text, backend="threads", versions=compiler.identity())
    if cache is not None and (entry := cache.load(key)) is not None:
        return _checked(entry.members[_LIBRARY], entry.folder / _LIBRARY)
    library = compiler.compile(text, keeps_text=False, more=_FLAGS)
    folder: Path | None = None
    if cache is not None:
        members = {_TEXT: text.encode(), _LIBRARY: library}
        folder = cache.store(key, members, {"function": "threads", "backend": "c"})
    return _checked(library, None if folder is None else folder / _LIBRARY)


def _checked(content: bytes, file: Path | None) -> LoadedLibrary:
    """Raises `AttributeError` if a library is not the pool."""
    loaded = LoadedLibrary(content, file)
    _address_in(loaded)
    return loaded

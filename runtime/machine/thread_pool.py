"""The pool of threads that all C programs of a process share: a library of its own, compiled once per machine."""

import ctypes
import warnings

from ...compiler.backends.c.threads.pool_text import EXPORTED, library_text
from ...compiler.errors import CompilerError, CompilerWarning, MissingCompilerError
from .loaded_library import LoadedLibrary
from .own_library import own_library
from .toolchain import Toolchain

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
    """Raises `AttributeError` if the library is not the pool."""
    return own_library("threads", library_text(), compiler, _address_in)

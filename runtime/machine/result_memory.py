"""`array_maker`: new arrays for large results, in memory that earlier ones have left. See `result_memory.c`."""

import ctypes
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...compiler.backends.large_arrays import LARGE
from ...compiler.dtypes import Array
from ...compiler.errors import CompilerError, CompilerWarning, MissingCompilerError
from .loaded_library import LoadedLibrary
from .own_library import own_library
from .toolchain import Toolchain

_capi: Any = import_module("numpy._core._multiarray_umath")
Maker = Callable[..., Array]
"""Makes an array of a shape and a dtype, with any elements."""

_SET_HANDLER: Final = 304
"""The place of `PyDataMem_SetHandler` in NumPy's table of C functions, which is part of its ABI."""

_libraries: list[LoadedLibrary] = []
"""The library of this process. It stays: arrays give their memory back through it."""


@dataclass(frozen=True, slots=True)
class MemoryStats:
    """Memory of large results of compiled functions, 32 MiB and more each, in bytes and blocks.

    >>> import tracemill as tm
    >>> stats = tm.memory_stats()
    >>> stats.in_use >= 0, stats.reused >= 0
    (True, True)
    """

    in_use: int
    """Bytes of arrays that live."""
    waiting: int
    """Bytes that wait for the next array. The system may take them if memory becomes scarce."""
    made: int
    """Blocks that came from the system."""
    reused: int
    """Arrays for which a block had waited."""


def memory_stats() -> MemoryStats:
    """The memory of large results of compiled functions in C.

    An array of 32 MiB or more leaves its memory to the next one when it and all its views are gone. At most an eighth
    of the machine's memory waits so.

    >>> import tracemill as tm
    >>> tm.memory_stats().waiting >= 0
    True
    """
    found = (ctypes.c_size_t * 4)()
    for one in _libraries:
        one.library.tracemill_memory_stats(found)
    return MemoryStats(*found)


@cache
def array_maker(compiler: Toolchain | None) -> Maker:
    """`np.empty`, which asks for large arrays where others have left memory, if the compiler makes that library."""
    if compiler is None:
        return np.empty
    try:
        set_handler = _setter()
        library = own_library("memory", _text(), compiler, _handler_in)
        handler = _capsule(_handler_in(library))
        maker = _maker(set_handler, handler)
        _libraries[:] = [library]
        maker((LARGE,), np.uint8)
        if not memory_stats().made:
            raise AttributeError("NumPy does not use it")
    except (CompilerError, MissingCompilerError, OSError, AttributeError) as error:
        _libraries.clear()
        warnings.warn(f"results of 32 MiB and more are slower: {error}", CompilerWarning, stacklevel=2)
        return np.empty
    return maker


def _maker(set_handler: Callable[[Any], Any], handler: Any) -> Maker:
    def large_array(shape: Sequence[int], dtype: Any) -> Array:
        before = set_handler(handler)
        try:
            return np.empty(shape, dtype)
        finally:
            set_handler(before)

    return large_array


def _text() -> str:
    return Path(__file__).with_suffix(".c").read_text(encoding="utf-8")


def _handler_in(library: LoadedLibrary) -> int:
    return ctypes.addressof(ctypes.c_char.in_dll(library.library, "tracemill_memory"))


def _setter() -> Callable[[Any], Any]:
    """NumPy's function that sets the source of memory in this thread, and returns the one before."""
    pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_in.restype, pointer_in.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table: Any = ctypes.cast(pointer_in(_capi._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    found: Callable[[Any], Any] = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])
    return found


def _capsule(address: int) -> Any:
    """What NumPy takes for a source of memory."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, b"mem_handler", None)

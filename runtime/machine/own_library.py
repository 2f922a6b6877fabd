"""Libraries of Tracemill's own in C, beside those of programs: compiled once per machine."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ..cache.disk_cache import DiskCache, cache_key, default_cache
from .loaded_library import LoadedLibrary
from .toolchain import Toolchain

_FLAGS: Final = ("-pthread",)


def own_library(
    name: str, text: str, compiler: Toolchain, check: Callable[[LoadedLibrary], Any]
) -> LoadedLibrary:
    """The library from the disk cache, or newly compiled. It is not counted among the programs in the cache.

    `check` raises an exception if what is loaded is something else.
    """
    programs = default_cache()
    cache = None if programs.why_not else DiskCache(programs.folder, programs.max_bytes)
    key = cache_key(ir=text, backend=name, versions=compiler.identity())
    member = f"{name}.so"
    if cache is not None and (entry := cache.load(key)) is not None:
        return _checked(LoadedLibrary(entry.members[member], entry.folder / member), check)
    library = compiler.compile(text, keeps_text=False, more=_FLAGS)
    folder: Path | None = None
    if cache is not None:
        members = {f"{name}.c": text.encode(), member: library}
        folder = cache.store(key, members, {"function": name, "backend": "c"})
    return _checked(LoadedLibrary(library, None if folder is None else folder / member), check)


def _checked(loaded: LoadedLibrary, check: Callable[[LoadedLibrary], Any]) -> LoadedLibrary:
    check(loaded)
    return loaded

"""Loading the source of a generated module."""

import linecache
import weakref
from collections.abc import Callable, Mapping
from hashlib import sha256
from types import ModuleType
from typing import Any


def load_module(source: str, name: str, values: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """The function `name` of a module with this source, which must be our own text.

    The module has a namespace of its own. Tracebacks and debuggers show its lines, as long as the function
    lives. `values` are put into its global variables.
    """
    file = f"<tracemill {name} {sha256(source.encode()).hexdigest()[:12]}>"
    module = ModuleType(
        file
    )  # not the function's name, which may be __main__: then it would run its check and exit
    exec(compile(source, file, "exec"), module.__dict__)
    module.__dict__.update(values or {})
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    function: Callable[..., Any] = module.__dict__[name]
    weakref.finalize(function, linecache.cache.pop, file, None)
    return function

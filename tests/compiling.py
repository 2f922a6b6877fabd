"""C functions compiled and called by tests: many in one library, arrays in and arrays out."""

import ctypes
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tracemill.compiler.backends.c.function import CFunction
from tracemill.compiler.backends.c.source import functions_text
from tracemill.compiler.dtypes import Array
from tracemill.runtime.toolchain import REQUIRED, Toolchain

WARNINGS = (
    "-Wall -Wextra -Werror -Wno-unknown-pragmas -Wno-unused-variable -Wno-unused-parameter -Wno-pass-failed"
)
"""The last one is clang's, about loops that it does not run on vectors."""

Compiled: TypeAlias = Callable[..., tuple[Array, ...]]
"""``function(*arrays, threads=1)``: its outputs."""


def compiled(
    functions: Sequence[CFunction], toolchain: Toolchain, folder: Path, *, level: int = 3
) -> list[Compiled]:
    """The functions, compiled as one file as programs are, but optimised at a level."""
    source, library = folder / "functions.c", folder / "functions.so"
    source.write_text("\n".join([functions_text(functions), *map(_exported, functions)]))
    command = [
        *toolchain.command,
        *REQUIRED,
        *toolchain.flags,
        f"-O{level}",  # the last one counts
        *WARNINGS.split(),
        str(source),
        "-o",
        str(library),
        "-lm",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    loaded = ctypes.CDLL(str(library))
    return [_called(function, loaded) for function in functions]


def _exported(function: CFunction) -> str:
    count = len(function.inputs) + len(function.outputs)
    arguments = ", ".join(f"p[{i}]" for i in range(count))
    return f"void call_{function.name}(void **p, long threads) {{ {function.name}({arguments}, threads); }}"


def _called(function: CFunction, library: ctypes.CDLL) -> Compiled:
    call = library[f"call_{function.name}"]

    def run(*arrays: Any, threads: int = 1, outputs: tuple[Array, ...] | None = None) -> tuple[Array, ...]:
        given = [np.ascontiguousarray(x, t.dtype) for x, t in zip(arrays, function.inputs, strict=True)]
        if outputs is None:
            outputs = tuple(np.full(t.shape, 1, t.dtype) for t in function.outputs)
        pointers = (ctypes.c_void_p * (len(given) + len(outputs)))(
            *(x.ctypes.data for x in (*given, *outputs))
        )
        call(pointers, ctypes.c_long(threads))
        return outputs

    return run

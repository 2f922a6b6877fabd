"""C functions compiled and called by tests: many in one library, arrays in and arrays out."""

import ctypes
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from support.kept_files import compiler_facts, kept
from tracemill.compiler.backends.c.function import CFunction
from tracemill.compiler.backends.c.module.source import functions_text
from tracemill.compiler.backends.c.threads.pool_text import pool_text
from tracemill.compiler.dtypes import Array
from tracemill.compiler.ir import ArrayType
from tracemill.compiler.symbolic_size import SymbolicSize
from tracemill.runtime.machine.compiler_features import REQUIRED
from tracemill.runtime.machine.toolchain import Toolchain

WARNINGS = (
    "-Wall -Wextra -Werror -Wno-unknown-pragmas -Wno-unused-variable -Wno-unused-parameter -Wno-pass-failed"
)
"""The last one is clang's, about loops that it does not run on vectors."""

HIGHEST = 3
"""The highest level of optimisation. The fast tests lower it."""

Compiled: TypeAlias = Callable[..., tuple[Array, ...]]
"""``function(*arrays, threads=1)``: its outputs; with ``sizes={"N": 5}`` where sizes have names."""


def compiled(
    functions: Sequence[CFunction], toolchain: Toolchain, folder: Path, *, level: int = 3
) -> list[Compiled]:
    """The functions, compiled as one file as programs are, but optimised at a level."""
    text = "\n".join([functions_text(functions, pool=pool_text()), *map(_exported, functions)])
    flags = [
        *REQUIRED,
        *toolchain.flags,
        f"-O{min(level, HIGHEST)}",
        *WARNINGS.split(),
    ]  # the last level counts

    def library() -> bytes:
        source, made = folder / "functions.c", folder / "functions.so"
        source.write_text(text)
        command = [*toolchain.command, *flags, str(source), "-o", str(made), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        return made.read_bytes()

    loaded = ctypes.CDLL(str(kept(".so", [compiler_facts(toolchain.command), flags, text], library)))
    return [_called(function, loaded) for function in functions]


def when_asked(
    functions: Mapping[str, Callable[[], CFunction]],
    toolchain: Toolchain,
    folder: Path,
    *,
    level: int = 3,
    every: int = 6,
) -> Callable[[str], Compiled]:
    """The functions by name, compiled together with every n-th before and after, as tests that are sampled ask for."""
    names = list(functions)

    @cache
    def part(number: int) -> dict[str, Compiled]:
        chosen = names[number::every]
        return dict(
            zip(
                chosen,
                compiled([functions[name]() for name in chosen], toolchain, folder, level=level),
                strict=True,
            )
        )

    return lambda name: part(names.index(name) % every)[name]


def _exported(function: CFunction) -> str:
    count = len(function.inputs) + len(function.outputs)
    sizes = [f"sizes[{i}]" for i in range(len(function.sizes))]
    arguments = ", ".join([*sizes, *(f"p[{i}]" for i in range(count)), "threads"])
    head = f"void call_{function.name}(void **p, long threads, const long *sizes)"
    return f"{head} {{ {function.name}({arguments}); }}"


def _called(function: CFunction, library: ctypes.CDLL) -> Compiled:
    call = library[f"call_{function.name}"]

    def run(
        *arrays: Any,
        threads: int = 1,
        outputs: tuple[Array, ...] | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> tuple[Array, ...]:
        given = [np.ascontiguousarray(x, t.dtype) for x, t in zip(arrays, function.inputs, strict=True)]
        if outputs is None:
            outputs = tuple(np.full(shape_at(t, sizes or {}), 1, t.dtype) for t in function.outputs)
        pointers = (ctypes.c_void_p * (len(given) + len(outputs)))(
            *(x.ctypes.data for x in (*given, *outputs))
        )
        named = (ctypes.c_long * len(function.sizes))(*((sizes or {})[name] for name in function.sizes))
        call(pointers, ctypes.c_long(threads), named)
        return outputs

    return run


def shape_at(type: ArrayType, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of an array where the named sizes have these values."""
    return tuple(dim.at(sizes) if isinstance(dim, SymbolicSize) else dim for dim in type.shape)

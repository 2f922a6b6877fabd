"""C functions run in a program of their own that was built to find misuse of memory, of arithmetic, or of threads."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from c.compiling import shape_at
from support.kept_files import compiler_facts, kept
from tracemill.compiler.backends.c.function import CFunction
from tracemill.compiler.backends.c.module.source import functions_text
from tracemill.compiler.backends.c.threads.pool_text import pool_text
from tracemill.compiler.ir import ArrayType
from tracemill.runtime.machine.compiler_features import REQUIRED
from tracemill.runtime.machine.toolchain import Toolchain

SANITIZERS = {
    "address": "-fsanitize=address,undefined -fno-sanitize=float-divide-by-zero -fno-sanitize-recover=undefined",
    "thread": "-fsanitize=thread",
}

RUN = """
/* An array of exactly as many bytes as it has elements, so that a step beyond it is seen. */
static void *array(FILE *data, size_t bytes)
{
    void *memory = malloc(bytes);
    if (data && fread(memory, 1, bytes, data) != bytes)
        abort();
    return memory;
}
"""


def sanitized(
    cases: Sequence[tuple[CFunction, Sequence[Any]]],
    toolchain: Toolchain,
    folder: Path,
    sanitizer: str,
    sizes: Sequence[Mapping[str, int]] = (),
) -> subprocess.CompletedProcess[str]:
    """What a program says that calls each function with its arrays, on one thread and on four.

    `sizes` are the named sizes of each case. A function of several cases is compiled once.
    """
    sizes = sizes or [{} for _ in cases]
    data = folder / "arrays"
    parts = [
        functions_text(list({function.name: function for function, _ in cases}.values()), pool=pool_text()),
        "#include <stdio.h>\n#include <stdlib.h>",
        RUN,
    ]
    parts += [
        _calling(number, function, of_case)
        for number, ((function, _), of_case) in enumerate(zip(cases, sizes, strict=True))
    ]
    calls = "".join(f"    run_{number}(data);\n" for number in range(len(cases)))
    parts.append(
        'int main(int count, char **given)\n{\n    (void)count;\n    FILE *data = fopen(given[1], "rb");\n'
        f"{calls}    return fclose(data);\n}}\n"
    )
    text = "\n".join(parts)
    with data.open("wb") as file:
        for function, arrays in cases:
            for array, type in zip(arrays, function.inputs, strict=True):
                file.write(np.ascontiguousarray(array, type.dtype).tobytes())
    flags = [flag for flag in (*REQUIRED, *toolchain.flags) if flag != "-shared"]
    flags += ["-O0", "-g", *SANITIZERS[sanitizer].split()]

    def program() -> bytes:
        source, made = folder / "functions.c", folder / "program"
        source.write_text(text)
        build = [*toolchain.command, *flags, str(source), "-o", str(made), "-lm", "-pthread"]
        built = subprocess.run(build, capture_output=True, text=True, check=False)
        assert not built.returncode, built.stderr
        return made.read_bytes()

    ready = kept("", [compiler_facts(toolchain.command), flags, text], program)
    return subprocess.run([str(ready), str(data)], capture_output=True, text=True, check=False)


def _calling(number: int, function: CFunction, sizes: Mapping[str, int]) -> str:
    given = [f"array(data, {_nbytes(type, sizes)})" for type in function.inputs]
    made = [f"array(NULL, {_nbytes(type, sizes)})" for type in function.outputs]
    arrays = "".join(f"    void *p{i} = {text};\n" for i, text in enumerate([*given, *made]))
    count = len(given) + len(made)
    named = [str(sizes[name]) for name in function.sizes]
    arguments = ", ".join([*named, *(f"p{i}" for i in range(count)), ""])
    frees = "".join(f"    free(p{i});\n" for i in range(count))
    calls = "".join(f"    {function.name}({arguments}{threads});\n" for threads in (1, 4))
    return f"static void run_{number}(FILE *data)\n{{\n{arrays}{calls}{frees}}}\n"


def _nbytes(type: ArrayType, sizes: Mapping[str, int]) -> int:
    return ArrayType(type.dtype, shape_at(type, sizes)).nbytes

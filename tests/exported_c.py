"""Programs exported as C, built with their Makefile, and called by what their header says and nothing else."""

import ctypes
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import optree

from recording import array_type
from tracemill.compiler.dtypes import Array
from tracemill.compiler.ir import ArrayType, Constant, Graph, Value
from tracemill.compiler.program import NAMESPACE, Argument, ArrayOutput, Program, flatten_arguments, trace
from tracemill.compiler.trace import Builder, inline, recording
from tracemill.runtime.signature import arguments_for, sign

WARNINGS = "-std=c11 -pedantic -Wall -Wextra -Werror".split()

_PARAMETER = re.compile(
    r"^    (const )?(\w+) (\*?)(\w+),?\s+// (.*): (\w+\[[\d, ]*\]), (read|written|read and overwritten)$",
    re.MULTILINE,
)


def program_of(function: Callable[..., Any], *args: Any) -> Program:
    """A function as it is traced for these arguments, with what it captures as constants."""
    signature = sign(*flatten_arguments(args, {}))
    program = trace(function, signature.tree, arguments_for(signature))
    graph, count = program.graph, len(program.arguments)
    inputs = tuple(Value(value.type) for value in graph.inputs[:count])
    with recording(Builder()) as builder:
        outputs = inline(graph, (*inputs, *map(Constant, program.captured)))
    alone = Graph(graph.name, inputs, tuple(builder.calls), tuple(outputs), graph.input_names[:count])
    return replace(program, graph=alone, captured=())


def program_of_graph(graph: Graph) -> Program:
    """A graph whose outputs are returned as a tuple."""
    count = len(graph.outputs)
    result: Any = tuple(range(count))
    return Program(
        graph,
        tuple(Argument(value.type, f"args[{place}]") for place, value in enumerate(graph.inputs)),
        (),
        optree.tree_structure(result, namespace=NAMESPACE),
        tuple(ArrayOutput(place, is_scalar=False) for place in range(count)),
        (),
        frozenset(),
        (),
    )


@dataclass(frozen=True)
class Declared:
    """A parameter, as the header has it."""

    element: str
    is_pointer: bool
    type: ArrayType
    use: str


@dataclass(frozen=True)
class Library:
    """A shared library that was built of exported files."""

    name: str
    parameters: Sequence[Declared]
    library: ctypes.CDLL

    def __call__(self, *arrays: Any) -> tuple[Array, ...]:
        """What is written: over copies of arguments, and to results."""
        code, written = self.run(*arrays)
        assert code == 0
        return written

    def run(self, *arrays: Any) -> tuple[int, tuple[Array, ...]]:
        """The code that is returned, and what is written."""
        given = iter(arrays)
        arguments: list[Any] = []
        written: list[Array] = []
        for parameter in self.parameters:
            dtype, shape = parameter.type.dtype, parameter.type.shape
            value = (
                np.full(shape, 1, dtype)
                if parameter.use == "written"
                else np.array(next(given), dtype, order="C")
            )
            assert value.shape == shape
            if parameter.is_pointer:
                arguments.append(value.ctypes.data_as(ctypes.c_void_p))
            else:
                arguments.append(_number(value))
            if parameter.use != "read":
                written.append(value)
            else:
                value.flags.writeable = False
        assert not list(given)
        size = self.library[f"{self.name}_workspace_size"]
        size.restype = ctypes.c_size_t
        workspace = np.full(size() + 64, 0xAB, np.uint8)
        begin = 3  # it need not be aligned
        code: int = self.library[self.name](*arguments, ctypes.c_void_p(workspace.ctypes.data + begin))
        assert (workspace[begin + size() :] == 0xAB).all(), "it is written behind the workspace"
        return code, tuple(written)


def _number(value: Array) -> Any:
    dtype = np.dtype(np.uint16) if value.dtype.name in ("float16", "bfloat16") else value.dtype
    return np.ctypeslib.as_ctypes_type(dtype)(value.view(dtype).item())


_MAIN = """\
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"

/* Memory of exactly as many bytes as are used, so that a step beyond it is seen. */
static void *array(FILE *data, size_t bytes)
{{
    void *memory = malloc(bytes);
    if (data && fread(memory, 1, bytes, data) != bytes)
        abort();
    return memory;
}}

int main(int count, char **given)
{{
    (void)count;
    FILE *data = fopen(given[1], "rb");
{arrays}
    void *workspace = array(NULL, {name}_workspace_size());
    const int code = {name}({arguments}, workspace);
{frees}
    free(workspace);
    return code || fclose(data);
}}
"""


def sanitized(
    files: Mapping[str, str], arrays: Sequence[Any], folder: Path, sanitizer: str
) -> subprocess.CompletedProcess[str]:
    """What a program says that calls the function once, both built to find misuse of memory or of arithmetic."""
    name, parameters = declared_in(files)
    given = iter(arrays)
    with (written_to(files, folder) / "data").open("wb") as file:
        for parameter in parameters:
            if parameter.use != "written":
                file.write(np.ascontiguousarray(next(given), parameter.type.dtype).tobytes())
    rows = list(enumerate(parameters))
    main = _MAIN.format(
        name=name,
        arrays="\n".join(
            f"    {p.element} *p{i} = array({'NULL' if p.use == 'written' else 'data'}, {p.type.nbytes});"
            for i, p in rows
        ),
        arguments=", ".join(f"p{i}" if p.is_pointer else f"*p{i}" for i, p in rows),
        frees="\n".join(f"    free(p{i});" for i, _ in rows),
    )
    (folder / "main.c").write_text(main)
    flags = f"-O1 -g {sanitizer}"
    made(folder, f"CFLAGS={flags}", "OPENMP=", f"lib{name}.a")
    command = ["cc", *flags.split(), "main.c", f"lib{name}.a", "-lm", "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run(["./main", "data"], cwd=folder, capture_output=True, text=True, check=False)


def written_to(files: Mapping[str, str], folder: Path) -> Path:
    """The folder, with the files in it."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def made(folder: Path, *settings: str) -> None:
    """Run ``make`` there."""
    done = subprocess.run(["make", *settings], cwd=folder, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    assert not done.stderr


def loaded(files: Mapping[str, str], folder: Path, *settings: str) -> Library:
    """The library that ``make`` builds of these files."""
    made(written_to(files, folder), *settings)
    name, parameters = declared_in(files)
    return Library(name, parameters, ctypes.CDLL(str(folder / f"lib{name}.so")))


def declared_in(files: Mapping[str, str]) -> tuple[str, list[Declared]]:
    """The name of the function, and its parameters, as the header has them."""
    (header,) = (name for name in files if name.endswith(".h"))
    found = _PARAMETER.findall(files[header])
    parameters = [
        Declared(element, bool(star), array_type(type), use) for _, element, star, _, _, type, use in found
    ]
    return header.removesuffix(".h"), parameters

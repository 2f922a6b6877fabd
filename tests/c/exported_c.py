"""Programs exported as C, built with their Makefile, and called by what their header says and nothing else."""

import ctypes
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import optree

from support.kept_files import compiler_facts, kept
from tracemill.compiler.arguments.leaves import NAMESPACE, flatten_arguments
from tracemill.compiler.builder import Builder, inline, recording
from tracemill.compiler.dtypes import Array, DType, dtype_named
from tracemill.compiler.frontend.program import Argument, ArrayOutput, Program
from tracemill.compiler.frontend.traced_program import trace
from tracemill.compiler.ir import ArrayType, Constant, Graph, Value
from tracemill.runtime.variants.signature import arguments_for, sign

WARNINGS = "-std=c11 -pedantic -Wall -Wextra -Werror".split()

_PARAMETER = re.compile(
    r"^    (const )?(\w+) (\*?)(\w+),?\s+// (.*): (\w+)\[(.*)\], "
    r"(read|written|read and overwritten)(?:, at most (.*))?$",
    re.MULTILINE,
)

_SIZE = re.compile(r"^    int64_t dim_(\w+),\s+// (?:the size|how large) (\w+)", re.MULTILINE)


def program_of(function: Callable[..., Any], *args: Any) -> Program:
    """A function as it is traced for these arguments, with what it captures as constants."""
    signature = sign(*flatten_arguments(args, {}))
    program = trace(function, signature.tree, arguments_for(signature), is_kept=True)
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
    dtype: DType
    shape: str
    """As Python has it: a named size is a parameter."""
    use: str
    path: str = ""
    """What it is in Python."""
    most: str = ""
    """The maximum of a length that the function finds out."""

    def type(self, sizes: Mapping[str, int]) -> ArrayType:
        """Where the named sizes are these."""
        return ArrayType(self.dtype, eval(f"({self.shape},)" if self.shape else "()", dict(sizes)))


@dataclass(frozen=True)
class Library:
    """A shared library that was built of exported files."""

    name: str
    parameters: Sequence[Declared]
    library: ctypes.CDLL
    sizes: Sequence[str] = ()
    """The named sizes, in the order of the parameters."""

    def __call__(self, *arrays: Any, **sizes: int) -> tuple[Array, ...]:
        """What is written: over copies of arguments, and to results."""
        code, written = self.run(*arrays, **sizes)
        assert code == 0
        return written

    def told(self, name: str, result: Any, *arguments: Any) -> Any:
        """The result of another function, such as ``NAME_message``."""
        function = self.library[f"{self.name}_{name}"]
        function.restype = result
        return function(*arguments)

    def at(self, sizes: Mapping[str, int]) -> list[ctypes.c_int64]:
        """The sizes as they are given to functions."""
        return [ctypes.c_int64(sizes[name]) for name in self.sizes]

    def run(self, *arrays: Any, **sizes: int) -> tuple[int, tuple[Array, ...]]:
        """The code that is returned, and what is written."""
        given = iter(arrays)
        arguments: list[Any] = self.at(sizes)
        written: list[Array] = []
        most = most_of(self.parameters, sizes)
        for parameter in self.parameters:
            type = parameter.type({**sizes, **most})
            dtype, shape = type.dtype, type.shape
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
        size = self.told("workspace_size", ctypes.c_size_t, *self.at(sizes))
        workspace = np.full(size + 64, 0xAB, np.uint8)
        begin = 3  # it need not be aligned
        code: int = self.library[self.name](*arguments, ctypes.c_void_p(workspace.ctypes.data + begin))
        assert (workspace[begin + size :] == 0xAB).all(), "it is written behind the workspace"
        return code, self._as_long_as_found(written, sizes)

    def _as_long_as_found(self, written: Sequence[Array], sizes: Mapping[str, int]) -> tuple[Array, ...]:
        """What is written, without the memory after arrays whose lengths the function finds out."""
        parameters = [parameter for parameter in self.parameters if parameter.use != "read"]
        pairs = list(zip(parameters, written, strict=True))
        found = {parameter.path: int(value) for parameter, value in pairs if parameter.most}
        types = [(value, parameter.type({**sizes, **found})) for parameter, value in pairs]
        return tuple(value.reshape(-1)[: type.size].reshape(type.shape) for value, type in types)


def most_of(parameters: Iterable[Declared], sizes: Mapping[str, int]) -> dict[str, int]:
    """The maxima of the lengths that a function finds out."""
    return {one.path: eval(one.most, dict(sizes)) for one in parameters if one.most}


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
    void *workspace = array(NULL, {name}_workspace_size({sizes}));
    const int code = {name}({arguments}, workspace);
{frees}
    free(workspace);
    return code || fclose(data);
}}
"""


def sanitized(
    files: Mapping[str, str], arrays: Sequence[Any], folder: Path, sanitizer: str, **sizes: int
) -> subprocess.CompletedProcess[str]:
    """What a program says that calls the function once, both built to find misuse of memory or of arithmetic."""
    name, parameters, names = declared_in(files)
    given_sizes = [str(sizes[size]) for size in names]
    given = iter(arrays)
    with (written_to(files, folder) / "data").open("wb") as file:
        for parameter in parameters:
            if parameter.use != "written":
                file.write(np.ascontiguousarray(next(given), parameter.dtype).tobytes())
    rows = list(enumerate(parameters))
    known = {**sizes, **most_of(parameters, sizes)}
    main = _MAIN.format(
        name=name,
        arrays="\n".join(
            f"    {p.element} *p{i} = array({'NULL' if p.use == 'written' else 'data'}, {p.type(known).nbytes});"
            for i, p in rows
        ),
        arguments=", ".join([*given_sizes, *(f"p{i}" if p.is_pointer else f"*p{i}" for i, p in rows)]),
        sizes=", ".join(given_sizes),
        frees="\n".join(f"    free(p{i});" for i, _ in rows),
    )
    flags = f"-O0 -g {sanitizer}"

    def program() -> bytes:
        (folder / "main.c").write_text(main)
        made(folder, f"CFLAGS={flags}", f"lib{name}.a")
        command = ["cc", *flags.split(), "main.c", f"lib{name}.a", "-lm", "-o", "main"]
        subprocess.run(command, cwd=folder, check=True)
        return (folder / "main").read_bytes()

    ready = kept("", [compiler_facts(["cc"]), flags, dict(files), main], program)
    return subprocess.run([str(ready), "data"], cwd=folder, capture_output=True, text=True, check=False)


def written_to(files: Mapping[str, str], folder: Path) -> Path:
    """The folder, with the files in it."""
    folder.mkdir(exist_ok=True)
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
    name, parameters, sizes = declared_in(files)

    written_to(files, folder)

    def library() -> bytes:
        made(folder, *settings)
        return (folder / f"lib{name}.so").read_bytes()

    path = kept(".so", [compiler_facts(["cc"]), settings, dict(files)], library)
    return Library(name, parameters, ctypes.CDLL(str(path)), sizes)


def declared_in(files: Mapping[str, str]) -> tuple[str, list[Declared], list[str]]:
    """The name of the function, its parameters, and the named sizes that come first, as the header has them."""
    (header,) = (name for name in files if name.endswith(".h"))
    found = _PARAMETER.findall(files[header])
    parameters = [
        Declared(element, bool(star), dtype_named(dtype), shape, use, path, most)
        for _, element, star, _, path, dtype, shape, use, most in found
    ]
    return header.removesuffix(".h"), parameters, [name for name, _ in _SIZE.findall(files[header])]

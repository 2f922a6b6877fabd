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
        code = self.library[self.name](*arguments, ctypes.c_void_p(workspace.ctypes.data + begin))
        assert code == 0
        assert (workspace[begin + size() :] == 0xAB).all(), "it is written behind the workspace"
        return tuple(written)


def _number(value: Array) -> Any:
    dtype = np.dtype(np.uint16) if value.dtype.name in ("float16", "bfloat16") else value.dtype
    return np.ctypeslib.as_ctypes_type(dtype)(value.view(dtype).item())


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
    (header,) = (name for name in files if name.endswith(".h"))
    name = header.removesuffix(".h")
    parameters = [
        Declared(element, bool(star), array_type(type), use)
        for _, element, star, _, _, type, use in _PARAMETER.findall(files[header])
    ]
    return Library(name, parameters, ctypes.CDLL(str(folder / f"lib{name}.so")))

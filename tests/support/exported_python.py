"""Functions as exported Python files, and these as modules."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from tracemill.compiler.arguments.leaves import flatten_arguments
from tracemill.compiler.backends.python.standalone.traced_function import TracedFunction
from tracemill.compiler.builder import Builder, inline, recording
from tracemill.compiler.frontend.traced_program import trace
from tracemill.compiler.ir import Constant, Graph
from tracemill.runtime.artifact.python_export import as_python
from tracemill.runtime.variants.signature import arguments_for, sign


def export_python(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Mapping[str, str | bytes]:
    """The files of a function for arguments like these."""
    return as_python(closed_function(function, *args, **kwargs))


def closed_function(function: Callable[..., Any], *args: Any, **kwargs: Any) -> TracedFunction:
    """What exports are made of, for arguments like these; what the function closes over becomes constants."""
    leaves, tree = flatten_arguments(args, kwargs)
    entering = arguments_for(sign(leaves, tree))
    program = trace(function, tree, entering, is_kept=True)
    graph, count = program.graph, len(program.arguments)
    known = [Constant(array) for array in program.captured]
    with recording(Builder()) as builder:
        outputs = inline(graph, [*graph.inputs[:count], *known])
    names = graph.input_names[:count]
    closed = Graph(graph.name, graph.inputs[:count], tuple(builder.calls), tuple(outputs), names)
    program = replace(program, graph=closed, captured=())
    return TracedFunction(program, tree, entering, inspect.signature(function), function.__doc__)


def saved(files: Mapping[str, str | bytes], folder: Path) -> Path:
    """The Python file, with the files beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (name,) = (name for name in files if name.endswith(".py"))
    return folder / name


def module(files: Mapping[str, str | bytes], folder: Path) -> ModuleType:
    """The file as a module of this process."""
    path = saved(files, folder)
    made = ModuleType(path.stem)
    made.__file__ = str(path)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), made.__dict__)
    return made

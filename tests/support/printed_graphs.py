"""Graphs as functions of printed modules, and what these promise."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from support.recording import assert_same
from tracemill.compiler.backends.numpy.writer import NUMPY
from tracemill.compiler.backends.python.empty_module import entry_name
from tracemill.compiler.backends.python.printer import callbacks, print_module
from tracemill.compiler.dtypes import Array
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import Graph
from tracemill.passes.lowering.decompose import decompose_composites
from tracemill.runtime.programs.load_module import load_module


def compiled(graph: Graph) -> Callable[..., tuple[Any, ...]]:
    """The function of a graph's module of NumPy statements."""
    graph = decompose_composites(graph)
    return load_module(print_module(graph, NUMPY), entry_name(graph), callbacks(graph, NUMPY))


def assert_own(outputs: Sequence[Any], others: Sequence[Any]) -> None:
    """Outputs are NumPy numbers, or arrays that can be written to and share nothing."""
    arrays = [output for output in outputs if not isinstance(output, np.generic)]
    for place, output in enumerate(arrays):
        assert isinstance(output, np.ndarray)
        assert output.ndim
        assert output.flags.writeable
        assert not any(np.may_share_memory(output, other) for other in (*arrays[:place], *others))


def run_and_check(graph: Graph, inputs: Sequence[Array]) -> tuple[Any, ...]:
    """The outputs of the compiled graph after two calls, compared with the NumPy definition in everything it
    promises."""
    function = compiled(graph)
    given_inputs = [np.array(x) for x in inputs]
    expected = [np.array(x) for x in evaluate(graph, *inputs)]
    first = function(*inputs)
    kept = [np.array(x) for x in first]
    second = function(*inputs)
    assert_same(inputs, given_inputs)
    assert_same(first, kept)
    assert_same(second, first)
    assert_same(first, expected)
    assert_own(first, [*inputs, *second])
    return first


def assert_formatted(folder: Path) -> None:
    """The files in a folder are as the formatter writes them."""
    command = [
        sys.executable,
        "-m",
        "ruff",
        "format",
        "--diff",
        "--isolated",
        "--line-length=110",
        str(folder),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout

"""Kernels for tests: a graph of loop calls as one kernel."""

from collections.abc import Callable, Sequence
from typing import Any

import tracemill as tm
from tracemill.compiler.analysis.fusible_ops import is_loop_call
from tracemill.compiler.ir import Call, Graph, Value
from tracemill.passes.pipeline import run
from tracemill.runtime.programs.canonicalize import CANONICAL, inline_user_rules
from tracemill.runtime.programs.optimize import PASSES


def as_kernel(graph: Graph) -> Graph:
    """A graph with a single call: a kernel that contains `graph`."""
    assert all(map(is_loop_call, graph.calls))
    inputs = tuple(Value(value.type) for value in graph.inputs)
    outputs = tuple(Value(value.type) for value in graph.outputs)
    call = Call("kernel", inputs, {"graph": graph}, outputs)
    return Graph(graph.name, inputs, (call,), outputs, graph.input_names)


def kernel_of(function: Callable[..., Any], *arguments: Any) -> Graph:
    """A function of the user's, optimised, as one kernel."""
    return as_kernel(
        run(inline_user_rules(tm.compile(function).lower(*arguments).graph), (*CANONICAL, *PASSES))
    )


def is_kernel_sample(calls: Sequence[Call]) -> bool:
    """Whether a kernel may hold these calls."""
    return bool(calls) and all(map(is_loop_call, calls))

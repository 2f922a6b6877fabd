"""Small graphs for tests: recorded from functions on values, run on special numbers, compared bit for bit."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from samples.sample import Domain, entries
from tracemill.compiler.builder import Builder, recording
from tracemill.compiler.dtypes import Array, dtype_named
from tracemill.compiler.ir import ArrayType, Graph, Value


def array_type(text: str) -> ArrayType:
    """``f32[2, 3]``."""
    found = re.fullmatch(r"(\w+)\[([\d, ]*)\]", text)
    assert found, text
    return ArrayType(dtype_named(found[1]), tuple(int(dim) for dim in found[2].split(",") if dim))


def recorded(
    function: Callable[..., Any], *types: str | ArrayType, name: str = "f", names: Sequence[str] = ()
) -> Graph:
    """The graph of a function of values of these types."""
    inputs = tuple(Value(array_type(type) if isinstance(type, str) else type) for type in types)
    with recording(Builder()) as builder:
        outputs = function(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    return Graph(name, inputs, tuple(builder.calls), outputs, tuple(names))


def ops(graph: Graph) -> list[str]:
    """The ops of the calls, in order."""
    return [call.op for call in graph.calls]


def inner_ops(graph: Graph) -> list[str]:
    """The ops that run, those of nested graphs in their place."""
    found: list[str] = []
    for call in graph.calls:
        inner = call.params.get("graph")
        found += inner_ops(inner) if isinstance(inner, Graph) else [call.op]
    return found


def drawn(graph: Graph, domain: Domain, seed: int = 0) -> list[Array]:
    """Inputs for a graph with entries of a domain of `samples.sample`."""
    rng = np.random.default_rng(seed)
    return [entries(domain, value.dtype, value.shape, rng) for value in graph.inputs]


def assert_same(actual: Sequence[Any], expected: Sequence[Any]) -> None:
    """Equal dtypes, shapes and bits; the sign and payload of a NaN do not count."""
    assert len(actual) == len(expected)
    for left, right in zip(actual, expected, strict=True):
        x, y = np.asarray(left), np.asarray(right)
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if x.dtype.kind == "c":
            assert_same([np.real(x), np.imag(x)], [np.real(y), np.imag(y)])
        elif x.dtype.kind in "biu":
            np.testing.assert_array_equal(x, y)
        else:
            x, y = x.astype(np.float64), y.astype(np.float64)  # exact
            np.testing.assert_array_equal(x, y)
            np.testing.assert_array_equal(np.signbit(x[~np.isnan(x)]), np.signbit(y[~np.isnan(y)]))

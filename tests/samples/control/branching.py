"""A choice between graphs."""

from typing import Any

import numpy as np

from samples.sample import Failure, Sample
from tracemill.compiler import value_ops as functions
from tracemill.compiler.builder import bind_all
from tracemill.compiler.dtypes import dtype_named
from tracemill.compiler.errors import DTypeError, ShapeError
from tracemill.compiler.ir import ArrayType, Graph, Shape, Value
from tracemill.compiler.ops.nested_graphs import graph_of

F64, I64 = dtype_named("f64"), dtype_named("i64")
TYPES = (ArrayType(F64, (3,)), ArrayType(F64, ()), ArrayType(I64, (2,)))


def root(x: Value, y: Value, n: Value) -> tuple[Value, ...]:
    """Not a number for a negative y, so that examples must not meet the branches of others."""
    return functions.multiply(functions.sqrt(functions.exp(x)), functions.sin(y)), n


def product(x: Value, y: Value, n: Value) -> tuple[Value, ...]:
    return functions.multiply(x, functions.multiply(y, y)), functions.multiply(n, 2)


def neither(x: Value, y: Value, n: Value) -> tuple[Value, ...]:
    """Depends on no floating operand, and gives out an operand as it is."""
    return functions.full((3,), 0.5, F64), n


def choice(x: Value, y: Value, n: Value) -> tuple[Value, ...]:
    """A choice in a choice, by a value that is computed."""
    return bind_all("switch", functions.greater(y, 0), x, y, n, branches=(ROOT, PRODUCT))


ROOT, PRODUCT, NEITHER = (graph_of(f.__name__, TYPES, f, ("x", "y", "n")) for f in (root, product, neither))
CHOICE = graph_of("choice", TYPES, choice, ("x", "y", "n"))
VALUES: dict[str, Any] = {
    "root": lambda x, y, n: (np.sqrt(np.exp(x)) * np.sin(y), n),
    "product": lambda x, y, n: (x * (y * y), n * 2),
    "neither": lambda x, y, n: (np.full(3, 0.5), n),
    "choice": lambda x, y, n: VALUES["product" if y > 0 else "root"](x, y, n),
}


def _chosen(index: Any, *operands: Any, branches: tuple[Graph, ...]) -> Any:
    return VALUES[branches[min(max(int(index), 0), len(branches) - 1)].name](*operands)


SHAPES: tuple[Shape, ...] = ((), *(type.shape for type in TYPES))


def _sample(index: str, *branches: Graph) -> Sample:
    return Sample(
        "switch", SHAPES, (index, "f64", "f64", "i64"), {"branches": branches}, reference=_chosen, ulps=4
    )


SAMPLES: tuple[Sample, ...] = (
    _sample("bool", ROOT, PRODUCT),
    _sample("i64", NEITHER, PRODUCT, ROOT),
    _sample("i64", CHOICE),
    _sample("bool", NEITHER, CHOICE),
)
TWO = {"branches": (ROOT, PRODUCT)}
OTHER = graph_of("other", TYPES, lambda x, y, n: (y, n))
FAILURES: tuple[Failure, ...] = (
    Failure("switch", SHAPES, ("f64", "f64", "f64", "i64"), DTypeError, "by a bool", TWO),
    Failure("switch", ((2,), *SHAPES[1:]), ("bool", "f64", "f64", "i64"), DTypeError, "by a bool", TWO),
    Failure("switch", SHAPES, ("bool", "f32", "f64", "i64"), ShapeError, r"root\(f64\[3\]", TWO),
    Failure("switch", SHAPES, ("bool", "f64", "f64", "i64"), ShapeError, "at least one", {"branches": ()}),
    Failure(
        "switch",
        SHAPES,
        ("bool", "f64", "f64", "i64"),
        ShapeError,
        r"root gives \(f64\[3\], i64\[2\]\), other gives \(f64\[\], i64\[2\]\)",
        {"branches": (ROOT, OTHER)},
    ),
)

"""What all transforms of Python functions share: naming arguments, tracing a call, running a graph or recording it."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from ..compiler.errors import TreeMismatchError
from ..compiler.ir import Constant, Graph
from ..compiler.program import (
    NAMESPACE,
    Argument,
    Program,
    Static,
    argument_names,
    flatten_arguments,
    is_array_like,
    leaf_type,
    trace,
    weak_type,
)
from ..compiler.trace import evaluate, inline
from ..compiler.traced_array import TracedArray, as_value, is_traced, wrap
from ..compiler.tracing import Known, current_trace
from .argnums import Chosen


def run(graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of `graph`: recorded if a trace is active in this thread, else computed.

    Inputs are NumPy or traced arrays, numbers, or constants. 0-d results are scalars, as NumPy has them.
    """
    if current_trace() is None:
        arrays = [x.array if isinstance(x, Constant) else np.asarray(x) for x in inputs]
        return [out[()] if out.ndim == 0 else out for out in evaluate(graph, *arrays)]
    return [wrap(value) for value in inline(graph, [as_value(x) for x in inputs])]


def like_function(func: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`functools.wraps`, for callables without a name, too."""
    return wraps(func, updated=()) if hasattr(func, "__name__") else wraps(func, assigned=(), updated=())


def known_value(leaf: Any) -> Known:
    """Lets tracing look at the value of an argument, if it has one."""
    if is_traced(leaf):
        outer = current_trace()
        assert outer is not None, "a traced argument is inside a trace"
        value = leaf.value
        return lambda: outer.concrete(value)
    return lambda: np.asarray(leaf)


def as_argument(leaf: Any, name: str, *, known: bool) -> Argument:
    """An argument of the traced function for an array or a number."""
    scalar = leaf.is_scalar if is_traced(leaf) else not isinstance(leaf, np.ndarray)
    identity = id(leaf) if isinstance(leaf, (np.ndarray, TracedArray)) else None
    return Argument(
        leaf_type(leaf, name), name, weak_type(leaf), scalar, known_value(leaf) if known else None, identity
    )


def inputs_of(program: Program, leaves: Sequence[Any]) -> list[Any]:
    """What the inputs of a program's graph stand for: the traced leaves, then the captured arrays."""
    return [*leaves, *program.captured]


# ---- a call whose array leaves are all traced with their values: the differentiating transforms -----------


class Tracing:
    """One call of a function under a differentiating transform: its leaves, its program, and which leaves count."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], chosen: Chosen
    ) -> None:
        leaves, tree = flatten_arguments(args, kwargs)
        names = argument_names(tree)
        wanted = chosen.leaves()
        entering: list[Argument | Static] = []
        self.leaves: list[Any] = []
        self.names: list[str] = []
        self.wrt: list[bool] = []
        """Which inputs of the graph are differentiated."""
        for leaf, name, is_wanted in zip(leaves, names, wanted, strict=True):
            if is_wanted:
                chosen.check(leaf, name)
            if not is_array_like(leaf) or isinstance(leaf, (bool, str)):
                entering.append(Static(leaf))
                continue
            entering.append(as_argument(leaf, name, known=True))
            self.leaves.append(leaf)
            self.names.append(name)
            self.wrt.append(is_wanted)
        self.program = trace(function, tree, entering)
        self.inputs = inputs_of(self.program, self.leaves)
        self.wrt += [False] * len(self.program.captured)

    @property
    def differentiated(self) -> list[Any]:
        """The leaves that are differentiated, in order."""
        return [leaf for leaf, wanted in zip(self.inputs, self.wrt, strict=True) if wanted]

    def update_captured(self, outputs: Sequence[Any]) -> None:
        """Write to the captured arrays that the function wrote to; arguments are left alone."""
        for index, output in self.program.mutated:
            if index >= len(self.leaves):
                self.inputs[index][...] = outputs[output]


def same_tree(what: str, given: Any, expected: Any) -> None:
    """`TreeMismatchError` unless two trees are equal; the message shows both."""
    if given != expected:
        raise TreeMismatchError(f"{what}: expected the structure {_show(expected)}, found {_show(given)}")


def _show(tree: Any) -> str:
    return str(tree).removeprefix("PyTreeSpec(").removesuffix(")").replace(f", namespace='{NAMESPACE}'", "")

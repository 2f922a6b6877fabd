"""Creating graphs for calls to hold: by recording, and from a graph with its inputs and outputs in another order."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TypeVar

from ..builder import Builder, current_builder, recording
from ..dtypes import is_inexact
from ..errors import DataDependentShapeError
from ..free_sizes import names_bound_in, sizes_in_param
from ..interpreter import depends_on
from ..ir import ArrayType, Call, Constant, Graph, Value
from ..op import has_effect

T = TypeVar("T")


def graph_of(
    name: str,
    types: Sequence[ArrayType],
    function: Callable[..., Sequence[Value]],
    names: Sequence[str] = (),
) -> Graph:
    """The graph that `function` records on values of these types. Calls get the current line of the user."""
    inputs = tuple(map(Value, types))
    outer = current_builder()
    with recording(Builder()) as builder:
        builder.location = None if outer is None else outer.where()
        outputs = tuple(function(*inputs))
    return Graph(name, inputs, tuple(builder.calls), outputs, tuple(names))


def rearranged(graph: Graph, inputs: Sequence[int | ArrayType], outputs: Sequence[int]) -> Graph:
    """`graph` with these outputs, and its inputs in this order; a type adds an input that it does not use."""
    values = tuple(graph.inputs[i] if isinstance(i, int) else Value(i) for i in inputs)
    names = tuple(graph.input_names[i] if isinstance(i, int) else "unused" for i in inputs)
    return Graph(graph.name, values, graph.calls, tuple(graph.outputs[i] for i in outputs), names)


def refuse_own_lengths(forward: Graph, kept: Sequence[Value]) -> None:
    """`DataDependentShapeError` if what a graph keeps for its derivative is as long as each run of it finds out."""
    own = names_bound_in(forward)
    for value in kept if own else ():
        if own & {str(one) for size in sizes_in_param(value.shape) for one in size.sizes}:
            raise DataDependentShapeError(
                f"the derivative of a loop or a branch keeps arrays {value.type}, each of another length: use "
                "np.where(mask, x, 0) in it, which keeps the shape, or forward mode"
            )


def needed_calls(
    graph: Graph, values: Iterable[Value], *, known: Container[Value] = (), effects: bool = False
) -> tuple[Call, ...]:
    """The calls of `graph` that compute `values` from its inputs and `known` values, in order.

    With `effects`, also calls that have an effect.
    """
    needed = {value for value in values if not isinstance(value, Constant)}
    kept: list[Call] = []
    for call in reversed(graph.calls):
        is_needed = any(value in needed and value not in known for value in call.outputs)
        if is_needed or (effects and has_effect(call)):
            kept.append(call)
            needed.update(call.inputs)
    return tuple(reversed(kept))


def spread(items: Iterator[T], marks: Sequence[bool]) -> tuple[T | None, ...]:
    """The next item at each mark, None elsewhere."""
    return tuple(next(items) if is_marked else None for is_marked in marks)


def spreading(step: Graph, marked: Sequence[bool], consts: int, carried: int, *, inexact: bool) -> list[bool]:
    """The marked inputs of a loop's step, and the carried ones that depend on them after some steps.

    The first `consts` inputs stay the same, the next `carried` ones are replaced by the first outputs. With `inexact`
    only floating-point ones are marked.
    """
    marks = list(marked)
    while True:
        reached = depends_on(step, marks)
        grown = [
            i
            for i, value in enumerate(step.outputs[:carried])
            if not marks[consts + i] and value in reached and (is_inexact(value.dtype) or not inexact)
        ]
        if not grown:
            return marks
        for i in grown:
            marks[consts + i] = True

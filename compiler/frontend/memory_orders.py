"""The memory orders of arguments and results of a program, so that no array is copied to C order."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import optree

from ..builder import Builder, inline, recording
from ..ir import ArrayType, Value
from ..tracing.foreign_memory import ForeignMemory
from ..tracing.memory_layout import Order, copied_order, order_of
from ..tracing.traced_array import TracedArray, is_numpy_array
from ..value_ops import inverse_permutation, transpose
from .leaves import NAMESPACE, with_plain_keys
from .program import ArrayOutput, Program


def orders_of(result: Any) -> tuple[Order, ...]:
    """The memory orders of the arrays in the result."""
    leaves = optree.tree_leaves(with_plain_keys(result), namespace=NAMESPACE)
    arrays = [x for x in leaves if isinstance(x, (TracedArray, np.ndarray, np.generic, ForeignMemory))]
    return tuple(
        copied_order(x.layout, "K")
        if isinstance(x, TracedArray)
        else order_of(x)
        if is_numpy_array(x)
        else ()
        for x in arrays
    )


def relied_on(program: Program) -> frozenset[int]:
    """The arguments whose layouts decide which memory is written to."""
    layouts = [argument.layout for argument in program.arguments] if program.mutated else []
    return frozenset(
        number
        for number, layout in enumerate(layouts)
        if layout is not None and any(question.asked_strides for question in layout.questions)
    )


def in_memory_order(program: Program, arguments: Mapping[int, Order]) -> Program:
    """Adapt a program to the memory orders of its arrays, so that none is copied to C order.

    An argument with an order enters the graph transposed, so that it is in C order there. A result that NumPy has in
    another order leaves the graph in C order and is transposed afterwards.
    """
    arrays = [(place, leaf) for place, leaf in enumerate(program.out_leaves) if isinstance(leaf, ArrayOutput)]
    moved = [
        (place, leaf, order)
        for (place, leaf), order in zip(arrays, program.orders, strict=False)
        if order != tuple(range(len(order)))
    ]
    if not (moved or arguments):
        return program
    graph = program.graph
    inputs = list(graph.inputs)
    leaves = list(program.out_leaves)
    calls = Builder()
    with recording(calls):
        entering: list[Value] = list(inputs)
        for number, order in arguments.items():
            shape = tuple(inputs[number].shape[axis] for axis in order)
            inputs[number] = Value(ArrayType(inputs[number].dtype, shape))
            entering[number] = transpose(inputs[number], inverse_permutation(order))
        outputs = list(inline(graph, entering))
        for place, leaf, order in moved:
            outputs[leaf.index] = transpose(outputs[leaf.index], order)
            leaves[place] = replace(leaf, axes=inverse_permutation(order))
        for number, output in program.mutated:
            if number in arguments:
                outputs[output] = transpose(outputs[output], arguments[number])
    graph = replace(graph, inputs=tuple(inputs), calls=tuple(calls.calls), outputs=tuple(outputs))
    return replace(program, graph=graph, out_leaves=tuple(leaves))

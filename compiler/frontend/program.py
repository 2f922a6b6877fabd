"""`Program`: a traced function, with its arguments and results."""

import array
import operator
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Final, TypeAlias

import numpy as np
import optree

from ..arguments.leaves import NAMESPACE, flattened, remedy_for, weak_type, with_plain_keys
from ..builder import Builder, inline, recording
from ..dtypes import Array
from ..errors import ArgumentTypeError
from ..ir import ArrayType, Graph, Location, Shape, Value
from ..memory_layout.layout import Layout, LayoutQuestion
from ..memory_layout.result_layouts import copied_order, order_of
from ..memory_layout.strides import Order
from ..nesting import refuse_deep_nesting
from ..symbolic_size import SymbolicFact, SymbolicSize
from ..tracing.array_values import as_value
from ..tracing.foreign_memory import ForeignMemory
from ..tracing.known_values import Known
from ..tracing.outside.object_walk import ObjectWalk
from ..tracing.trace import ExampleIndex
from ..tracing.traced_array import TracedArray
from ..tracing.traced_memory import is_numpy_array, is_traced
from ..value_ops import inverse_permutation, transpose
from .conversion import Conversion
from .objects.made_objects import MadeObjects
from .outside.outside_changes import OutsideChanges, WithChanges
from .outside.read_entries import ReadArray
from .outside.read_names import ReadName

PythonType: TypeAlias = type[Any]


@dataclass(frozen=True, slots=True)
class Argument:
    """A leaf of the arguments that becomes an input of the graph."""

    type: ArrayType
    name: str
    weak: PythonType | None = None
    """The Python type of a number."""
    is_scalar: bool = False
    known: Known | None = None
    """Gets the concrete value, if tracing may look at it."""
    identity: Hashable | None = None
    """Arguments with the same identity share memory."""
    layout: Layout | None = None
    """The memory layout of the NumPy array; None for C order."""
    flags: LayoutQuestion | None = None
    """The flags of the array that the function sees; None for those of a new array."""


@dataclass(frozen=True, slots=True)
class Static:
    """A leaf of the arguments that the function gets unchanged, or of the result that is the same in each call."""

    value: Any
    is_made: bool = False
    """Whether the function makes it in each call: a mutable object of Python's library."""

    @property
    def is_copied(self) -> bool:
        """Whether each call returns a copy, because the caller may change it."""
        return self.is_made or type(self.value) is set

    def returned(self) -> Any:
        """The value for the caller."""
        return copy(self.value) if self.is_copied else self.value


@dataclass(frozen=True, slots=True)
class ArrayOutput:
    """A leaf of the result that is output `index` of the graph."""

    index: int
    is_scalar: bool
    """Whether NumPy would return a scalar rather than an array."""
    weak: "type[Any] | None" = None
    """The Python type of a number that was computed only from Python numbers."""
    axes: tuple[int, ...] | None = None
    """The place of each axis of the result in the output, if the output has another memory order."""
    is_read_only: bool = False
    """Whether ``x.flags.writeable`` is False."""


@dataclass(frozen=True)
class Program:
    """A traced function.

    The inputs of `graph` are the traced arguments, then what the function captured. Its outputs are
    the arrays of the result, then the new values of the inputs that the function wrote to.
    """

    graph: Graph
    arguments: tuple[Argument, ...]
    captured: tuple["Array | ForeignMemory | TracedArray | ExampleIndex", ...]
    out_tree: Any
    out_leaves: tuple["ArrayOutput | Static", ...]
    mutated: tuple[tuple[int, int], ...]
    """Pairs of (input, output): the input's memory must hold the output afterwards."""
    in_step: frozenset[int]
    """The mutated inputs that all examples of a batch update together."""
    frozen: tuple[tuple[Array, Array], ...]
    """Captured arrays whose values the trace relied on, with copies."""
    orders: tuple[Order, ...] = ()
    """For each array of the result, the order of its axes in memory, as in NumPy; empty if that does not matter."""
    in_c_order: frozenset[int] = frozenset()
    """Arguments of a function with writes for which C order decided whether something is a view or a copy."""
    replaced: tuple[Array, ...] = ()
    """The arrays from outside that the function writes to, if it had to be traced again for them."""
    reached: tuple[ReadName, ...] = ()
    """The names outside the function that it, or a function that it calls, reads."""
    read: tuple[ReadArray, ...] = ()
    """Arrays from outside that NumPy may have read without the trace. The program is valid while they are unchanged."""
    reshaped: tuple[tuple[int, Shape], ...] = ()
    """The arguments that have another shape afterwards, by number, because the function has assigned to ``x.shape``."""
    changes_itself: bool = False
    """Whether the function, when it is traced, changes what it computes with the next time, as a counter."""
    unrepeated_changes: str = ""
    """What the function changes outside when it is traced, and not in each call. Its results do not depend on it."""
    outside: OutsideChanges | None = None
    """What tracing it has changed outside, if anything, so that it can be undone where the function itself runs."""
    misses_changes: bool = False
    """Whether it reaches so many objects that changes of some are not noticed."""
    follows: bool = False
    """Whether the program is for calls that go the way of the call for which it was made."""
    falls_back: bool = False
    """Whether the function itself runs where the program raises an error: it may handle that."""
    unhandled_errors: tuple[tuple[type[BaseException], Location | None], ...] = ()
    """Exceptions that the program may raise, by class and line, although the user's function would handle them."""
    asks_identity: bool = False
    """Whether the function asks if two objects are the same. In a trace, two arguments never are."""
    new_shapes: frozenset[tuple[Shape, int]] = frozenset()
    """The shapes of arrays that the function makes in which sizes have names, with the bytes of an element."""
    conversions: tuple[Conversion, ...] = ()
    """The user's functions that were converted while it was traced."""

    @property
    def array_outputs(self) -> tuple[ArrayOutput, ...]:
        return tuple(leaf for leaf in self.out_leaves if isinstance(leaf, ArrayOutput))

    @property
    def repeats_objects(self) -> bool:
        """Whether an object that each call copies is in several places of the result."""
        copied = [id(leaf.value) for leaf in self.out_leaves if isinstance(leaf, Static) and leaf.is_copied]
        return len(set(copied)) < len(copied)

    @property
    def changes_containers(self) -> bool:
        """Whether it returns new contents of lists and dicts of the caller."""
        tree = self.out_tree
        if tree.type is MadeObjects:
            tree = tree.children()[-1]
        return bool(tree.type is WithChanges)

    def result(self, arrays: Sequence[Any]) -> Any:
        """The Python result with these arrays as its array leaves."""
        copies: dict[int, Any] = {}
        leaves = [
            as_returned(arrays[leaf.index], leaf)
            if isinstance(leaf, ArrayOutput)
            else copies.setdefault(id(leaf.value), leaf.returned())
            for leaf in self.out_leaves
        ]
        found: Any = optree.tree_unflatten(self.out_tree, leaves)
        return found.made() if type(found) is MadeObjects else found


def order_of_keys(tree: Any) -> list[int]:
    """For each item of a dict, the number of its child in the structure, where children are sorted by key."""
    return list(tree.one_level().unflatten(range(tree.num_children)).values())


def as_returned(x: Any, leaf: ArrayOutput) -> Any:
    """`x`, as an array of no axes if the function returned that rather than a scalar."""
    if leaf.is_read_only:
        return as_read_only(as_returned(x, replace(leaf, is_read_only=False)))
    if leaf.axes is not None:
        return x.transpose(leaf.axes)
    if leaf.is_scalar or x.ndim:
        return x
    return x.reshape(()) if is_traced(x) else np.asarray(x)


def as_read_only(x: Any) -> Any:
    """An array that is read-only in the function. Arrays on a GPU have no such flag."""
    if is_traced(x) or isinstance(x, np.ndarray):
        x.flags.writeable = False
    return x


def outputs_of(result: Any) -> "tuple[list[Value], list[ArrayOutput | Static], Any]":
    """The arrays of the result, its leaves and its tree."""
    try:
        found, out_tree = flattened(with_plain_keys(result))
    except RecursionError:
        refuse_deep_nesting({"the result": result})
        raise
    outputs: list[Value] = []
    leaves: list[ArrayOutput | Static] = []
    for leaf in found:
        if isinstance(leaf, SymbolicSize):
            leaf = leaf.as_number()
        elif isinstance(leaf, SymbolicFact):
            leaf = bool(leaf)
        if isinstance(leaf, (TracedArray, np.ndarray, np.generic, ForeignMemory)):
            scalar = leaf.is_scalar if isinstance(leaf, TracedArray) else isinstance(leaf, np.generic)
            is_read_only = isinstance(leaf, TracedArray) and leaf.returns_read_only
            leaves.append(ArrayOutput(len(outputs), scalar, weak_type(leaf), is_read_only=is_read_only))
            outputs.append(as_value(leaf))
        else:
            leaf = _with_numbers(leaf)
            refuse_hidden_arrays(leaf)
            leaves.append(Static(leaf))
    return outputs, leaves, out_tree


def marked_as_made(
    leaves: "Sequence[ArrayOutput | Static]", outside: ObjectWalk | None
) -> "list[ArrayOutput | Static]":
    """The leaves of a result. Those that hold a mutable object of Python's library that the function makes say so.

    The function may have made any object that it did not find `outside`.
    """
    return [
        replace(leaf, is_made=True)
        if isinstance(leaf, Static) and type(leaf.value) in _MUTABLE and not _is_from(outside, leaf.value)
        else leaf
        for leaf in leaves
    ]


_MUTABLE: Final = (bytearray, Counter, array.array)


def _is_from(outside: ObjectWalk | None, x: Any) -> bool:
    """Whether an object existed before the call. A walk does not enter a bytearray, but notes what holds it."""
    return outside is None or outside.has_met(x) or any(place.value is x for place in outside.slots)


def _with_numbers(leaf: Any) -> Any:
    """A set or a counter with numbers in place of sizes. Hashing a size has limited the program to its number."""
    if type(leaf) not in (set, frozenset, Counter) or not any(isinstance(x, SymbolicSize) for x in leaf):
        return leaf
    known = [operator.index(x) if isinstance(x, SymbolicSize) else x for x in leaf]
    return (
        Counter(dict(zip(known, leaf.values(), strict=True))) if type(leaf) is Counter else type(leaf)(known)
    )


def refuse_hidden_arrays(leaf: Any) -> None:
    """Refuse results that are returned unchanged but hold traced arrays, which are useless after the trace.

    A generator or a coroutine would compute with them only then.
    """
    if isinstance(leaf, Iterator | Coroutine | AsyncIterator):
        raise ArgumentTypeError(
            f"the function returns a {type(leaf).__name__}, which would run after the call, when the "
            "program is finished: return list(…) of it"
        )
    attributes = vars(leaf) if hasattr(leaf, "__dict__") and not isinstance(leaf, (type, ModuleType)) else {}
    held: dict[str, Any] = {"args": leaf.args} if isinstance(leaf, BaseException) else {}
    if isinstance(leaf, list | tuple | set | dict):  # of a class of its own
        held = {"contents": [*leaf, *(leaf.values() if isinstance(leaf, dict) else ())]}
    for name, value in (held | attributes).items():
        for one in optree.tree_leaves(value, namespace=NAMESPACE):
            if is_traced(one) or isinstance(one, SymbolicSize):
                what = "size" if isinstance(one, SymbolicSize) else "array"
                raise ArgumentTypeError(
                    f"the function returns {type(leaf).__name__}, whose .{name} holds a traced {what}, which is of no "
                    f"use after the call{remedy_for(leaf)}"
                )


# ---- memory orders -----------------------------------------------------------------------------------


def orders_of(result: Any) -> tuple[Order, ...]:
    """The memory orders of the arrays in the result."""
    leaves = flattened(with_plain_keys(result))[0]
    arrays = [x for x in leaves if isinstance(x, (TracedArray, np.ndarray, np.generic, ForeignMemory))]
    return tuple(
        copied_order(x.layout, "K")
        if isinstance(x, TracedArray)
        else order_of(x)
        if is_numpy_array(x)
        else ()
        for x in arrays
    )


def layout_dependent_arguments(program: Program) -> frozenset[int]:
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

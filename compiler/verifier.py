"""The verifier: a graph is well formed, and every type matches its op's type rule."""

import math
from typing import Any

import numpy as np

from .dtypes import is_supported
from .errors import InvalidGraphError
from .errors.tracemill_error import text_of
from .free_sizes import bound_size, bound_sizes, size_names
from .ir import ArrayType, Call, Constant, Graph, Location, Param, Value, called, types_text
from .nesting import shown
from .op import all_ops
from .symbolic_size import SymbolicSize

PLAIN = (bool, float, str, type(None))
MOST_AXES = 64
LONGEST_DIM = 2**48
MOST_ELEMENTS = 2**56
"""The size of an array, with 1 for dimensions of 0: what NumPy supports, even with 16 bytes per entry."""
LONGEST_INT = 1024  # bits


def check(graph: Graph) -> None:
    """Raise `InvalidGraphError` unless `graph` and the graphs in it are well formed.

    Every value is defined once and before its use. Ops exist, and parameters are immutable. The types of outputs are
    those of the op's type rule. Every input has its own name.
    """
    _Checker(graph, set()).check()


class _Checker:
    def __init__(self, graph: Graph, checked: set[int]) -> None:
        self.graph = graph
        self.checked = checked
        """Checked nested graphs by identity: a graph may be called very often."""
        self.defined: set[Value] = set()
        self.unbound = set(map(str, bound_sizes(graph)))
        """The sizes that later calls give their value."""
        self.place = f"graph {graph.name}"
        self.location: Location | None = None

    def check(self) -> None:
        graph = self.graph
        if len(graph.input_names) != len(graph.inputs):
            self.fail(f"{len(graph.inputs)} inputs have {len(graph.input_names)} names")
        self.define(graph.inputs)
        for index, call in enumerate(graph.calls):
            self.place = f"graph {graph.name}, call {index} ({call.op})"
            self.location = call.location
            self.check_call(call)
        self.place, self.location = f"graph {graph.name}, return", None
        self.use(graph.outputs)

    def check_call(self, call: Call) -> None:
        if call.op not in all_ops():
            self.fail("no op has this name")
        self.use(call.inputs)
        for name, param in call.params.items():
            if not _is_allowed(param):
                kind = type(param).__name__
                self.fail(f"parameter {name} is or holds what a graph cannot keep: {kind} {shown(param, 80)}")
        for nested in called((call,)):
            if id(nested) not in self.checked:
                _Checker(nested, self.checked).check()
                self.checked.add(id(nested))
        types = self.types(call)
        if self.unbound:
            self.check_sizes(call)
        given = tuple(value.type for value in call.outputs)
        if types != given:
            self.fail(f"the outputs are {types_text(given)}, the type rule says {types_text(types)}")
        self.define(call.outputs)

    def check_sizes(self, call: Call) -> None:
        """Each size has its value before it is used, and gets it once."""
        if (size := bound_size(call)) is not None:
            if str(size) not in self.unbound:
                self.fail(f"the size {size} has a value already")
            self.unbound.remove(str(size))
        for name in sorted(size_names(call) & self.unbound):
            self.fail(f"the size {name} has no value yet: a later call gives it one")

    def types(self, call: Call) -> tuple[ArrayType, ...]:
        """The error of the type rule."""
        try:
            return output_types(call.op, call.inputs, call.params)
        except Exception as error:
            raise InvalidGraphError(
                f"{self.place}: the type rule refuses: {text_of(error)}", self.location
            ) from error

    def use(self, values: tuple[Value, ...]) -> None:
        for index, value in enumerate(values):
            if isinstance(value, Constant):
                array = value.array
                if array.flags.writeable or value.type != ArrayType(array.dtype, array.shape):
                    self.fail(f"constant {index} is writeable, or its type is not that of its array")
                self.check_type(value.type)
            elif value not in self.defined:
                self.fail(f"value {index} of its inputs ({value.type}) is not defined before")

    def define(self, values: tuple[Value, ...]) -> None:
        for index, value in enumerate(values):
            if isinstance(value, Constant):
                self.fail(f"value {index} of those it makes is a constant")
            if value in self.defined:
                self.fail(f"value {index} of those it makes ({value.type}) is made twice")
            self.check_type(value.type)
            self.defined.add(value)

    def check_type(self, type: ArrayType) -> None:
        if not is_supported(type.dtype):
            self.fail(f"the IR has no dtype {type.dtype}")
        if problem := shape_problem(type.shape):
            self.fail(problem)

    def fail(self, problem: str) -> None:
        raise InvalidGraphError(f"{self.place}: {problem}", self.location)


def output_types(op: str, inputs: tuple[Value, ...], params: Any) -> tuple[ArrayType, ...]:
    """The types of a call's outputs by its op's type rule, which may raise anything."""
    types = all_ops()[op].type(*[value.type for value in inputs], **params)
    return (types,) if isinstance(types, ArrayType) else tuple(types)


def shape_problem(shape: tuple[Any, ...]) -> str | None:
    """What is wrong with a shape, or None."""
    if len(shape) > MOST_AXES:
        return f"an array has at most {MOST_AXES} axes, not {len(shape)}"
    wrong = [dim for dim in shape if type(dim) is not int or not 0 <= dim < LONGEST_DIM]
    if any(isinstance(dim, SymbolicSize) for dim in wrong):
        return shape_problem(tuple(dim for dim in shape if not isinstance(dim, SymbolicSize)))
    if wrong:
        return f"a dimension is an int from 0 to 2**48 − 1, not {shown(wrong[0])}"
    if math.prod(dim or 1 for dim in shape) >= MOST_ELEMENTS:
        return f"an array has fewer than 2**56 elements, not as many as {shown(list(shape), 80)}"
    return None


def _is_allowed(param: Param) -> bool:
    if isinstance(param, tuple):
        return all(map(_is_allowed, param))
    if isinstance(param, np.dtype):
        return is_supported(param)
    if isinstance(param, int) and type(param) is int:
        return param.bit_length() <= LONGEST_INT
    if type(param) in PLAIN or isinstance(param, Graph | SymbolicSize):
        return True
    return callable(param) and not isinstance(param, type)

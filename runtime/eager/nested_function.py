"""`NestedFunction`: a user's function, traced into a graph that a call holds, such as the body of a loop."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compiler.arguments.leaves import leaf_type, path_names, weak_type
from ...compiler.builder import inline
from ...compiler.callers.function_names import describe
from ...compiler.callers.user_code import location_at
from ...compiler.errors import TransformTypeError
from ...compiler.frontend.program import Argument, ArrayOutput, Program, PythonType, Static
from ...compiler.frontend.traced_program import trace
from ...compiler.ir import ArrayType, Value
from ...compiler.tracing.array_values import PYTHON_NUMBERS
from ...compiler.tracing.traced_array import wrap
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.value_ops import constant, convert
from .current_tape import joined
from .numpy_generators import refusing_draws


@dataclass(frozen=True, slots=True)
class Result:
    """What is known about a leaf of the result: an array, or a Python number."""

    type: ArrayType
    weak: PythonType | None
    is_scalar: bool
    index: int
    """The output of the traced graph with it; -1 for a number that the function always returns."""
    number: Any = None

    def __str__(self) -> str:
        return str(self.type) if self.weak is None else self.weak.__name__

    def fits(self, type: ArrayType) -> bool:
        """Whether it has this type, or is a number that takes it."""
        if self.weak is None:
            return self.type == type
        return type.shape == () and np.result_type(self.weak(0), type.dtype) == type.dtype

    def returned(self, x: Any) -> Any:
        """A computed array in the form in which the function would return it."""
        return as_returned(x, self)


def as_returned(x: Any, leaf: Result | ArrayOutput) -> Any:
    """A computed array in the form in which the function returned it: without axes, it is an array, a scalar, or a
    Python number."""
    if x.ndim:
        return x
    if is_traced(x):
        with joined():
            return wrap(x.value, is_scalar=leaf.is_scalar, weak=leaf.weak)
    if leaf.weak is not None:
        return x.item()
    return x[()] if leaf.is_scalar else np.asarray(x)


def key(array: Any) -> Hashable:
    """Distinguishes captured arrays: the same memory has the same key in all functions."""
    return id(array._storage) if is_traced(array) else id(array)


def name_with_line(function: Callable[..., Any]) -> str:
    """A function and its line: ``step (model.py:12)``."""
    code = getattr(function, "__code__", None)
    name = describe(function)
    if code is None:
        return name
    location = location_at(code.co_filename, code.co_firstlineno)
    return f"{name} ({str(location).split('  ', maxsplit=1)[0]})"


class NestedFunction:
    """A traced function: its result, its captured arrays, and the arrays that it writes to."""

    def __init__(
        self,
        where: str,
        function: Callable[..., Any],
        tree: Any,
        entering: "Sequence[Argument | Static]",
        users: Callable[..., Any] | None = None,
        *,
        repeats: bool = False,
        beside: "NestedFunction | None" = None,
        is_block: bool = False,
    ) -> None:
        """`users` is the function that messages name, if `function` only wraps it.

        The body of a loop `repeats`; `beside` it, the test of the loop runs. A function that `is_block` runs
        statements of a function that is already being traced.
        """
        self.where, self.function = where, users or function
        with refusing_draws(self.function, tree, entering, is_block=is_block):
            self.program: Program = trace(
                function,
                tree,
                entering,
                may_not_run=True,
                repeats=repeats,
                is_block=is_block,
                changes="unwatched" if is_block else "refused",
                varying=_written_by(beside),
                replaced=beside.program.replaced if beside else (),
            )
        self.tree = self.program.out_tree
        self.arguments = len(self.program.arguments)
        self.captured = {key(array): array for array in self.program.captured}
        self.results = [
            self._result(leaf, path)
            for leaf, path in zip(self.program.out_leaves, path_names(self.tree, "result"), strict=True)
        ]
        places = [*range(self.arguments), *self.captured]
        self.written: dict[Hashable, int] = {places[index]: output for index, output in self.program.mutated}
        """The outputs with the new values of arguments, by number, and of captured arrays, by key."""

    def _result(self, leaf: "ArrayOutput | Static", path: str) -> Result:
        if isinstance(leaf, ArrayOutput):
            value = self.program.graph.outputs[leaf.index]
            return Result(value.type, leaf.weak, leaf.is_scalar, leaf.index)
        if not isinstance(leaf.value, PYTHON_NUMBERS):
            raise TransformTypeError(
                f"{self.where}: {self} returns {type(leaf.value).__name__} as {path}, which is not an array or a number"
            )
        return Result(leaf_type(leaf.value, path), weak_type(leaf.value), True, -1, leaf.value)

    def __str__(self) -> str:
        return name_with_line(self.function)

    def record(
        self, arguments: Sequence[Value], captured: dict[Hashable, Value]
    ) -> tuple[list[Value], dict[Hashable, Value]]:
        """Record the function on values: the leaves of its result, and its writes, in the order of `written`."""
        inputs = (*arguments, *(captured[place] for place in self.captured))
        outputs = inline(self.program.graph, inputs)
        leaves = [
            constant(result.number) if result.index < 0 else outputs[result.index] for result in self.results
        ]
        return leaves, {place: outputs[index] for place, index in self.written.items()}

    def record_as(
        self, arguments: Sequence[Value], captured: dict[Hashable, Value], types: Sequence[ArrayType]
    ) -> tuple[list[Value], dict[Hashable, Value]]:
        """`record` with the leaves converted to these types."""
        leaves, written = self.record(arguments, captured)
        return [convert(leaf, type.dtype) for leaf, type in zip(leaves, types, strict=True)], written


def _written_by(function: "NestedFunction | None") -> frozenset[int]:
    """The ids of the outside memory that a function writes to."""
    if function is None:
        return frozenset()
    return frozenset(
        place for place in function.captured if place in function.written and isinstance(place, int)
    )


@dataclass(frozen=True)
class Captures:
    """The captured arrays of a loop's functions: those that are only read are the same in each step, the others are
    carried."""

    read: dict[Hashable, Any]
    written: dict[Hashable, Any]

    @classmethod
    def of(cls, *functions: NestedFunction) -> "Captures":
        captured = {place: array for function in functions for place, array in function.captured.items()}
        written = {place for function in functions for place in function.written}
        return cls(
            {place: array for place, array in captured.items() if place not in written},
            {place: array for place, array in captured.items() if place in written},
        )

    def values(self, read: Sequence[Value], written: Sequence[Value]) -> dict[Hashable, Value]:
        """The values of the captured arrays."""
        return dict(zip((*self.read, *self.written), (*read, *written), strict=True))

    def names(self) -> tuple[list[str], list[str]]:
        """Names of arrays that are read, and of arrays that are written to."""
        names = [f"captured{i}" for i in range(len(self.read) + len(self.written))]
        return names[: len(self.read)], names[len(self.read) :]

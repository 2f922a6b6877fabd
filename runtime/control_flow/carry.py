"""`Carry`: the values that a loop passes from step to step, with types that the steps keep."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import optree

from ...compiler.arguments.leaves import (
    is_array_like,
    leaf_type,
    path_names,
    remedy_for,
    strongest_type,
    weak_type,
)
from ...compiler.errors import CarryMismatchError, TransformTypeError
from ...compiler.frontend.program import Argument, PythonType, Static
from ...compiler.ir import ArrayType
from ...compiler.ops.nested_graphs import graph_of
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.value_ops import convert
from ..eager.nested_function import NestedFunction, Result
from ..eager.run import run
from ..trees import flatten, show


class Carry:
    """The initial leaves of a loop's carry, and their final types."""

    def __init__(self, where: str, name: str, init: Any) -> None:
        self.where, self.name = where, name
        self.leaves, self.tree = flatten(init)
        self.paths = path_names(self.tree, name)
        for leaf, path in zip(self.leaves, self.paths, strict=True):
            if not is_array_like(leaf):
                raise TransformTypeError(
                    f"{where}: {path} is {type(leaf).__name__}, not an array or a number{remedy_for(leaf)}"
                )
        self.types: list[ArrayType] = [
            leaf_type(leaf, f"{where}: {path}") for leaf, path in zip(self.leaves, self.paths, strict=True)
        ]
        self.weak: list[PythonType | None] = list(map(weak_type, self.leaves))

    def with_number(self, number: Any, name: str) -> "Carry":
        """A number, which takes the dtype of what it is combined with, and its counterpart."""
        pair = Carry(self.where, self.name, (0, optree.tree_unflatten(self.tree, self.leaves)))
        pair.leaves[0], pair.paths = number, [name, *self.paths]
        return pair

    def arguments(self) -> list[Argument | Static]:
        """The leaves as a step receives them: with unknown values, and without shared memory."""
        return [
            Argument(type_, path, weak, _is_scalar(leaf))
            for leaf, type_, path, weak in zip(self.leaves, self.types, self.paths, self.weak, strict=True)
        ]

    def settle(
        self, trace: Callable[[], NestedFunction], tree_of: Callable[[NestedFunction], Any]
    ) -> NestedFunction:
        """Trace the step until it returns the types that it receives. Python numbers take the type that the step
        returns.

        `tree_of` is the structure of the step's carry, whose leaves are the first of its result.
        """
        while True:
            step = trace()
            self.check_structure(step, tree_of(step))
            if not self.promoted(step, step.results[: len(self.leaves)]):
                return step

    def check_structure(self, step: object, tree: Any) -> None:
        """Raises `CarryMismatchError` unless a step, which the message names, has returned this structure."""
        if tree != self.tree:
            raise CarryMismatchError(
                f"{self.where}: {step} must return a carry like the one it receives: it receives "
                f"{show(self.tree)} and returns {show(tree)}"
            )

    def promoted(self, step: object, results: Sequence[Result]) -> bool:
        """Whether a type has changed to what the step returned."""
        changed = False
        for place, result in enumerate(results):
            type_, weak = self.types[place], self.weak[place]
            if weak is None:
                if not result.fits(type_):
                    raise CarryMismatchError(
                        f"{self.where}: {step} must return a carry like the one it receives: it receives "
                        f"{self.paths[place]} as {type_} and returns {result}"
                    )
                continue
            dtype = np.result_type(weak(0), result.weak(0) if result.weak else result.type.dtype)
            if result.type.shape or (result.weak is None and dtype != result.type.dtype):
                raise CarryMismatchError(
                    f"{self.where}: {step} must return a carry like the one it receives: it receives "
                    f"{self.paths[place]} as {weak.__name__} and returns {result}"
                )
            kept = strongest_type([weak, result.weak]) if result.weak else None
            if (ArrayType(dtype, ()), kept) != (type_, weak):
                self.types[place], self.weak[place] = ArrayType(dtype, ()), kept
                changed = True
        return changed

    def initial(self) -> list[Any]:
        """The initial leaves in their final types."""
        return [
            leaf if type_ == leaf_type(leaf, path) else converted_leaf(leaf, type_)
            for leaf, type_, path in zip(self.leaves, self.types, self.paths, strict=True)
        ]

    def returned(self, results: Sequence[Result], last: Sequence[Any]) -> list[Any]:
        """The last leaves in the form in which the step returns them, as Python numbers if it gets such."""
        return [
            replace(result, weak=weak).returned(x)
            for result, weak, x in zip(results, self.weak, last, strict=False)
        ]


def _is_scalar(leaf: Any) -> bool:
    return bool(leaf.is_scalar) if is_traced(leaf) else not isinstance(leaf, np.ndarray)


def converted_leaf(leaf: Any, type_: ArrayType) -> Any:
    """A leaf in the dtype of a type."""
    before = leaf_type(leaf, "init")
    return run(graph_of("convert", [before], lambda value: [convert(value, type_.dtype)]), [leaf])[0]

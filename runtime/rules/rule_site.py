"""One call of a function with custom rules: the values of its arguments, and what each rule must return."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import optree

from ...compiler.arguments.leaves import (
    NAMESPACE,
    flatten_arguments,
    is_array_like,
    leaf_type,
    path_names,
    weak_type,
)
from ...compiler.builder import Builder, inline, recording
from ...compiler.callers.user_code import location_at
from ...compiler.dtypes import is_inexact
from ...compiler.errors import CustomRuleError, EscapedTracerError
from ...compiler.frontend.program import Argument, ArrayOutput, Program, Static
from ...compiler.frontend.traced_program import trace
from ...compiler.ir import ArrayType, Constant, Graph, Location, Value
from ...compiler.nesting import shown
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.trace import next_number
from ...compiler.tracing.traced_array import wrap
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.value_ops import constant, convert, zeros_like
from ..evaluation.evaluated_memory import LATEST_END
from ..trees import flatten, show, spread

Rule: TypeAlias = Callable[..., Any]
Leaf: TypeAlias = "Argument | Static"


def named(function: Rule, name: str, parameters: Sequence[str] = ()) -> Rule:
    """Names the graph that results from tracing `function`, and its inputs."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__name__ = name
    function.__signature__ = inspect.Signature([inspect.Parameter(p, kind) for p in parameters])  # type: ignore[attr-defined]
    return function


def line_of(function: Any) -> Location | None:
    """Where a function is defined."""
    code = getattr(function, "__code__", None)
    return None if code is None else location_at(code.co_filename, code.co_firstlineno)


@dataclass(frozen=True)
class Returned:
    """What a function returns."""

    tree: Any
    leaves: "tuple[ArrayOutput | Static, ...]"
    types: tuple[ArrayType, ...]

    @staticmethod
    def of(program: Program) -> "Returned":
        return Returned(program.out_tree, program.out_leaves, tuple(v.type for v in program.graph.outputs))

    @cached_property
    def arrays(self) -> list[ArrayOutput]:
        return [leaf for leaf in self.leaves if isinstance(leaf, ArrayOutput)]

    def has_tangent(self, leaf: "ArrayOutput | Static") -> bool:
        return isinstance(leaf, ArrayOutput) and is_inexact(self.types[leaf.index].dtype)


@dataclass(frozen=True)
class RuleSite:
    """One call of a function with rules: everything needed to trace a rule for it."""

    name: str
    rules: Mapping[str, Rule]
    as_called: Callable[[Rule], Rule]
    """Turns a function with the user's signature into one of ``(*primals, **settings)``."""
    tree: Any
    """Of ``(primals, settings)``, where the settings are the nondiff arguments."""
    leaves: tuple[Leaf, ...]
    differentiable: tuple[bool, ...]
    """Per input: the arrays among `leaves`, then the function's closed-over arrays."""
    captured_types: tuple[ArrayType, ...]
    returned: Returned
    made_at: int = field(default_factory=next_number, compare=False, repr=False)
    """The number of that time: arrays of function calls that ended earlier are constants."""

    def __hash__(self) -> int:
        return hash((self.name, self.differentiable, self.captured_types))

    # ---- what stands for the arguments -------------------------------------------------------------------

    @cached_property
    def inputs(self) -> list[Argument]:
        """All inputs of a call; rules never receive the closed-over ones."""
        captured = [Argument(type, f"captured{place}") for place, type in enumerate(self.captured_types)]
        return [leaf for leaf in self.leaves if isinstance(leaf, Argument)] + captured

    @cached_property
    def primals_tree(self) -> Any:
        return self.tree.children()[0]

    @cached_property
    def primal_leaves(self) -> tuple[Leaf, ...]:
        return self.leaves[: self.primals_tree.num_leaves]

    @cached_property
    def setting_arrays(self) -> list[Argument]:
        rest = self.leaves[self.primals_tree.num_leaves :]
        return [leaf for leaf in rest if isinstance(leaf, Argument)]

    @cached_property
    def primals(self) -> tuple[Any, ...]:
        return self.unflattened(self.primals_tree, self.primal_leaves)  # type: ignore[no-any-return]

    @cached_property
    def settings(self) -> dict[str, Any]:
        tree = self.tree.children()[1]
        return self.unflattened(tree, self.leaves[self.primals_tree.num_leaves :])  # type: ignore[no-any-return]

    def unflattened(self, tree: Any, leaves: Sequence[Any]) -> Any:
        return optree.tree_unflatten(tree, list(leaves))

    def is_differentiable(self, leaf: Leaf) -> bool:
        return isinstance(leaf, Argument) and is_inexact(leaf.type.dtype)

    def tangent_leaves(self) -> list[Any]:
        """The tangent of each leaf of the primals; None if it has none.

        Numbers that are not inputs of the call have one too, so that a rule need not check: it is 0.
        """
        return [_tangent_of(leaf, f"d{place}") for place, leaf in enumerate(self.primal_leaves)]

    def cotangent_leaves(self) -> list[Any]:
        """The cotangent of each leaf of the output; None if it has none."""
        return [
            Argument(self.returned.types[leaf.index], f"ct{leaf.index}", is_scalar=leaf.is_scalar)
            if isinstance(leaf, ArrayOutput) and self.returned.has_tangent(leaf)
            else None
            for leaf in self.returned.leaves
        ]

    # ---- tracing -----------------------------------------------------------------------------------------

    def graph(
        self,
        kind: str,
        function: Rule,
        args: tuple[Any, ...],
        order: Sequence[Argument],
    ) -> Graph:
        """`function` traced on `args` and the settings, which contain the values of their leaves.

        The inputs come in the given `order`, which may contain more than the arguments. The function returns a flat
        tuple of arrays. Outside arrays become constants.
        """
        name = f"{self.name}_{kind}"
        leaves, tree = flatten_arguments(args, self.settings)
        token = LATEST_END.set(self.made_at)
        try:
            program = trace(named(function, name), tree, leaves)
        except EscapedTracerError:
            raise self.failure(
                kind,
                "uses a traced array from outside, which is gone when the rule is asked for: make it an argument, "
                "a nondiff one if it needs no derivative",
            ) from None
        finally:
            LATEST_END.reset(token)
        graph = program.graph
        entering = [leaf for leaf in leaves if isinstance(leaf, Argument)]
        if any(index >= len(entering) for index, _ in program.mutated):
            raise self.failure(kind, "writes to an array from outside, which no transform can see")
        made = {id(leaf): value for leaf, value in zip(entering, graph.inputs, strict=False)}
        inputs = tuple(made.get(id(leaf)) or Value(leaf.type) for leaf in order)
        outside = [Constant(array) for array in program.captured]
        with recording(Builder()) as builder:
            outputs = inline(graph, (*graph.inputs[: len(entering)], *outside))
        calls, names = tuple(builder.calls), tuple(leaf.name for leaf in order)
        return Graph(name, inputs, calls, outputs[: len(program.out_leaves)], names)

    # ---- what rules return -------------------------------------------------------------------------------

    def failure(self, kind: str, problem: str) -> CustomRuleError:
        rule = self.rules["vjp" if kind == "forward" else kind]
        return CustomRuleError(f"the {kind} rule of {self.name} {problem}", line_of(rule))

    def pair(self, kind: str, result: Any, parts: str) -> tuple[Any, Any]:
        """The two results of a rule that returns two."""
        if not isinstance(result, tuple) or len(result) != 2:
            raise self.failure(kind, f"must return a pair ({parts}), not {_described(result)}")
        return result

    def outputs(self, kind: str, given: Any, *, batch: tuple[int, ...] = ()) -> list[Any]:
        """The arrays of an output, which must have the function's own types, with `batch` as the first axis."""
        leaves, tree = flatten(given)
        returned = self.returned
        if tree != returned.tree:
            raise self.failure(
                kind, f"must return an output of the structure {show(returned.tree)}, not {show(tree)}"
            )
        triples = zip(leaves, returned.leaves, path_names(tree, "output"), strict=True)
        return [
            self._fitting(kind, leaf, batched_type(returned.types[own.index], batch), path)
            for leaf, own, path in triples
            if isinstance(own, ArrayOutput)
        ]

    def rates(self, kind: str, given: Any) -> list[Any]:
        """The tangents of the floating-point outputs."""
        returned = self.returned
        found = self._spread(kind, given, returned.tree, "a tangent")
        triples = zip(found, returned.leaves, path_names(returned.tree, "tangent"), strict=True)
        return [
            self._fitting(kind, leaf, returned.types[own.index], path, none_is_zero=True)
            for leaf, own, path in triples
            if isinstance(own, ArrayOutput) and returned.has_tangent(own)
        ]

    def pulled(self, kind: str, given: Any) -> list[Any]:
        """The cotangents of the differentiable arguments."""
        tree = self.primals_tree
        if not isinstance(given, tuple) or len(given) != tree.num_children:
            raise self.failure(
                kind,
                f"must return a tuple with a cotangent for each of {tree.num_children} arguments, not "
                f"{_described(given)}",
            )
        found = self._spread(kind, given, tree, "cotangents")
        triples = zip(found, self.primal_leaves, path_names(tree, "cotangents"), strict=True)
        return [
            self._fitting(kind, leaf, own.type, path, none_is_zero=True, casts=own.weak is not None)
            for leaf, own, path in triples
            if isinstance(own, Argument) and self.is_differentiable(own)
        ]

    def _spread(self, kind: str, given: Any, tree: Any, what: str) -> list[Any]:
        """One thing per leaf of a tree; None may stand for a part of it."""
        try:
            return spread(given, tree, lambda part, own: part is None or (own.is_leaf() and _is_leaf(part)))
        except LookupError:
            raise self.failure(
                kind, f"must return {what} of the structure {show(tree)}, not {_described(given)}"
            ) from None

    def _fitting(
        self,
        kind: str,
        given: Any,
        type: ArrayType,
        path: str,
        *,
        none_is_zero: bool = False,
        casts: bool = False,
    ) -> Any:
        """An array of exactly this type; Python numbers take the dtype, and with `casts` all of its kind do."""
        if given is None and none_is_zero:
            return wrap(zeros_like(Value(type)))
        if not is_array_like(given):
            raise self.failure(kind, f"returns {path} = {shown(given)}, where {type} is expected")
        found = leaf_type(given, path)
        weak = weak_type(given)
        casts = weak is not None or (casts and np.can_cast(found.dtype, type.dtype, "same_kind"))
        if found.shape != type.shape or (found.dtype != type.dtype and not casts):
            raise self.failure(kind, f"returns {path} of type {found}, where {type} is expected")
        if is_traced(given) and not casts:
            return given
        return wrap(convert(as_value(given), type.dtype) if is_traced(given) else constant(given, type.dtype))


def _is_leaf(part: Any) -> bool:
    return optree.tree_is_leaf(part, none_is_leaf=True, namespace=NAMESPACE)


def _tangent_of(leaf: Leaf, name: str) -> Argument | None:
    """The tangent of an argument. A Python number's tangent also takes the dtype of what it is combined with."""
    if isinstance(leaf, Argument):
        return replace(leaf, name=name) if is_inexact(leaf.type.dtype) else None
    number = leaf.value
    if not isinstance(number, (float, complex, np.inexact)):
        return None
    return Argument(leaf_type(number, name), name, weak_type(number), is_scalar=True)


def batched_type(type: ArrayType, batch: tuple[int, ...]) -> ArrayType:
    return ArrayType(type.dtype, (*batch, *type.shape))


def _described(result: Any) -> str:
    if isinstance(result, (tuple, list)):
        return f"a {type(result).__name__} of {len(result)}"
    return type(result).__name__

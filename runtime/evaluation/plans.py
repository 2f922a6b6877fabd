"""`Plan`: how the derivative of one call is computed. It is made once per call, types, and differentiated operands."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from types import FunctionType
from typing import Any, Final, TypeVar, cast

import numpy as np

from ...compiler.builder import Builder, inline, not_recording, recording
from ...compiler.dtypes import is_inexact
from ...compiler.interpreter import depends_on, evaluate
from ...compiler.ir import Call, Constant, Graph, Value, holds_graphs
from ...compiler.op import has_effect, is_reshaped
from ...compiler.substitution import without_outputs
from ...compiler.value_ops import zeros_like
from ...passes.pipeline import apply, run
from ...passes.simplification.remove_dead_code import remove_dead_code
from ...passes.transforms.jvp import jvp
from ...passes.transforms.linearize import linearize
from ...passes.transforms.transpose import transpose
from ...passes.transforms.vjp import conjugated
from ...passes.transforms.vmap import vmap
from ..environment import checking
from ..programs.every_program import DECOMPOSING, INLINING
from ..programs.load_module import load_module
from ..programs.simplifying import SIMPLIFYING
from .operand_types import OperandType, from_array_type

Kept = TypeVar("Kept")
Pick = Callable[[tuple[Any, ...]], tuple[Any, ...]]

MOST_PLANS: Final = 1 << 12
_MOST_PER_PLAN: Final = 1 << 6


class PlanWithoutDerivative:
    """The plan of a call without a derivative."""

    __slots__ = ("out", "views")

    is_recorded = False

    def __init__(self, out: Any, views: Any) -> None:
        self.out, self.views = out, views


class LazyFunction:
    """A graph as a function that is made when it is first called."""

    __slots__ = ("_again", "_function", "_with_tangents", "graph", "kinds", "passes_on")

    def __init__(self, graph: Graph, kinds: Sequence[OperandType]) -> None:
        self.graph = graph
        self.kinds = kinds
        """Those of the inputs."""
        self._function: Callable[..., tuple[Any, ...]] | None = None
        self._again: dict[tuple[int, tuple[bool, ...]], Any] = {}
        self._with_tangents: dict[Any, tuple[LazyFunction, list[bool]]] = {}
        self.passes_on = all(v is graph.inputs[-1] for v in graph.outputs)
        """Whether every result is the last input."""

    @property
    def function(self) -> Callable[..., tuple[Any, ...]]:
        found = self._function
        if found is None:
            found = self._function = _runnable(self.graph, list(map(_scalar_type, self.kinds)))
        return found

    def with_tangents(
        self, moving: tuple[bool, ...], width: int | None = None
    ) -> "tuple[LazyFunction, list[bool]]":
        """The same function followed by the tangents of its results, given those of the inputs that are `moving`; and
        which results have tangents. `width` is as in `Plan.pushing`."""
        key = moving, width
        found = self._with_tangents.get(key)
        if found is None:
            if len(self._with_tangents) >= _MOST_PER_PLAN:
                self._with_tangents.clear()
            found = self._with_tangents[key] = self._made_with_tangents(moving, width)
        return found

    def _made_with_tangents(
        self, moving: tuple[bool, ...], width: int | None
    ) -> "tuple[LazyFunction, list[bool]]":
        with not_recording():
            graph = apply(partial(jvp, wrt=moving), self.graph, check=checking())
        given, count = len(self.graph.inputs), len(self.graph.outputs)
        reached = depends_on(graph, [False] * given + [True] * sum(moving))
        tangents = graph.outputs[count:]
        are_moving = [v in reached for v in tangents]
        kept = (v for v, moves in zip(tangents, are_moving, strict=True) if moves)
        graph = remove_dead_code(replace(graph, outputs=(*graph.outputs[:count], *kept)))
        graph = _widened(graph, given, count, width)
        kinds = [*self.kinds, *(from_array_type(v.type) for v in graph.inputs[given:])]
        return LazyFunction(graph, kinds), are_moving

    def again(self, place: int, wrt: tuple[bool, ...]) -> "Plan | PlanWithoutDerivative":
        """The plan of one output, given which inputs are differentiated."""
        key = place, wrt
        found = self._again.get(key)
        if found is None:
            found = self._again[key] = self._made_again(place, wrt)
        return cast("Plan | PlanWithoutDerivative", found)

    def _made_again(self, place: int, wrt: tuple[bool, ...]) -> "Plan | PlanWithoutDerivative":
        graph = remove_dead_code(replace(self.graph, outputs=(self.graph.outputs[place],)))
        out = from_array_type(graph.outputs[0].type)
        wanted = [is_wanted and kind.is_inexact for is_wanted, kind in zip(wrt, self.kinds, strict=True)]
        return Plan(graph, wanted, self.kinds, out) if any(wanted) else PlanWithoutDerivative(out, None)


class Plan:
    """The derivative of a call: what it needs from the forward pass, and the function for the backward pass."""

    __slots__ = (
        "_pushing",
        "forward",
        "head",
        "is_recorded",
        "kinds",
        "linear",
        "moving",
        "out",
        "parents",
        "places",
        "primal",
        "pull",
        "pulling",
        "push",
        "saved",
        "squares",
        "types",
        "views",
        "wrt",
    )  # fmt: skip

    def __init__(
        self,
        graph: Graph,
        wrt: Sequence[bool],
        kinds: Sequence[OperandType],
        out: Any,
        views: Any = None,
        *,
        keeps_residuals: bool = False,
    ) -> None:
        """Of the inputs of `graph`, those marked in `wrt` have derivatives. Every floating-point output has one.

        If it `keeps_residuals`, `forward` must run instead of the call. Its outputs after those of the call are saved.
        """
        self.primal = graph
        self.squares: dict[Any, Any] = {}
        """Plans of the squares of lengths; see `squared_lengths`."""
        self.wrt = tuple(wrt)
        self.out: Any = out
        """The kind of the output, if there is only one."""
        self.views = views
        """The views from the first operand to the result, if they share memory."""
        self.parents = picker([place for place, is_wanted in enumerate(wrt) if is_wanted])
        """Picks the differentiated operands."""
        self.types = [v.type for v in graph.outputs if is_inexact(v.dtype)]
        """The types of the floating-point outputs."""
        self.push = None
        self.pull = self._pull_several if len(self.types) > 1 else None
        with not_recording():
            self._prepare(graph, wrt, kinds, keeps_residuals=keeps_residuals)
        self.is_recorded = any(self.moving)

    def _prepare(
        self, graph: Graph, wrt: Sequence[bool], kinds: Sequence[OperandType], *, keeps_residuals: bool
    ) -> None:
        forward, linear = apply(partial(linearize, wrt=wrt), graph, check=checking())
        count = sum(wrt)
        residuals = len(linear.inputs) - count
        marks = [False] * residuals + [True] * count
        reached = depends_on(linear, marks)
        self.moving = [v in reached for v in linear.outputs]
        """Whether each floating-point output depends on the operands, and its derivative is not always 0."""
        backward = conjugated(transpose(linear, linear=marks), residuals)
        self.forward = forward if keeps_residuals else None
        self.head = _passed_on(linear.inputs[:residuals]) if keeps_residuals else _head(graph, forward)
        self.linear = linear
        cotangents = backward.inputs[residuals:]
        with recording(Builder()) as builder:
            builder.calls += self.head.calls
            results = inline(backward, (*self.head.outputs, *cotangents))
        whole = Graph(
            f"{graph.name}_backward",
            (*self.head.inputs, *cotangents),
            tuple(builder.calls),
            results,
            (
                *(f"x{i}" for i in range(len(self.head.inputs))),
                *(f"ct{i}" for i in range(len(cotangents))),
            ),
        )
        whole = remove_dead_code(whole)
        used = _used_in(whole) | _used_in(self._whole_linear())
        given = len(self.head.inputs)
        self.places = [place for place, v in enumerate(whole.inputs[:given]) if v in used]
        """The operands and outputs that the derivative needs."""
        self.saved = picker(self.places)
        names = whole.input_names
        inputs = (*(whole.inputs[i] for i in self.places), *whole.inputs[given:])
        graph = replace(whole, inputs=inputs, input_names=(*(names[i] for i in self.places), *names[given:]))
        self.kinds = [
            kinds[place] if place < len(kinds) else from_array_type(whole.inputs[place].type)
            for place in self.places
        ]
        """The kinds of what is saved."""
        self.pulling = LazyFunction(graph, [*self.kinds, *(from_array_type(v.type) for v in cotangents)])
        """From what is saved and the cotangents to the cotangents of the differentiated operands."""
        self._pushing: dict[tuple[tuple[bool, ...], int | None], LazyFunction] = {}

    def pushed(self) -> Graph:
        """The tangents of the floating-point outputs, given what is saved and the tangents of the operands."""
        whole, known = self._whole_linear(), len(self.head.inputs)
        inputs = (*(whole.inputs[place] for place in self.places), *whole.inputs[known:])
        return replace(whole, inputs=inputs)

    def _whole_linear(self) -> Graph:
        """The same, given all operands and outputs."""
        tangents = self.linear.inputs[len(self.linear.inputs) - sum(self.wrt) :]
        with recording(Builder()) as builder:
            builder.calls += self.head.calls
            results = inline(self.linear, (*self.head.outputs, *tangents))
        inputs = (*self.head.inputs, *tangents)
        return remove_dead_code(Graph(self.linear.name, inputs, tuple(builder.calls), results))

    def _pull_several(self, node: Any, arrived: Any, cotangents: Any) -> None:
        """The backward pass for a call with several floating-point outputs."""
        given = [
            np.zeros(type.shape, type.dtype) if one is None else one
            for one, type in zip(arrived, self.types, strict=True)
        ]
        for parent, result in zip(node.parents, self.backward(*node.saved, *given), strict=True):
            cotangents.add(parent, result)

    @property
    def backward(self) -> Callable[..., tuple[Any, ...]]:
        """``backward(*saved, *cotangents)``: the cotangents of the differentiated operands."""
        return self.pulling.function

    def pushing(self, moving: tuple[bool, ...], width: int | None = None) -> LazyFunction:
        """``push(*saved, *tangents)``: the tangents of the outputs, given those of the operands that are `moving`.

        With `width`, that many directions are the first axis of each.
        """
        key = moving, width
        found = self._pushing.get(key)
        if found is None:
            if len(self._pushing) >= _MOST_PER_PLAN:
                self._pushing.clear()
            graph = self.pushed()
            known = len(self.places)
            own = graph.inputs[known:]
            with not_recording(), recording(Builder()) as builder:
                full = [v if moves else zeros_like(v) for v, moves in zip(own, moving, strict=True)]
                results = inline(graph, (*graph.inputs[:known], *full))
            inputs = [*graph.inputs[:known], *(v for v, moves in zip(own, moving, strict=True) if moves)]
            graph = Graph(f"{graph.name}_forward", tuple(inputs), tuple(builder.calls), results)
            graph = _widened(remove_dead_code(graph), known, 0, width)
            kinds = [*self.kinds, *(from_array_type(v.type) for v in graph.inputs[known:])]
            found = self._pushing[key] = LazyFunction(graph, kinds)
        return found


def _widened(graph: Graph, inputs: int, outputs: int, width: int | None) -> Graph:
    """The graph with `width` directions as the first axis of its tangents: of the inputs and outputs after so many."""
    if width is None:
        return graph
    in_axes = [None] * inputs + [0] * (len(graph.inputs) - inputs)
    out_axes = [None] * outputs + [0] * (len(graph.outputs) - outputs)
    with not_recording():
        return apply(partial(vmap, in_axes=in_axes, size=width, out_axes=out_axes), graph, check=checking())


def _runnable(graph: Graph, numbers: Sequence[str]) -> Callable[..., tuple[Any, ...]]:
    from ...compiler.backends.numpy.writer import NUMPY
    from ...compiler.backends.python.empty_module import entry_name
    from ...compiler.backends.python.printer import print_statements

    with not_recording():
        if _is_opaque(graph):
            return lambda *given: evaluate(graph, *map(np.asarray, given))
        graph = run(graph, (*INLINING, *DECOMPOSING, *SIMPLIFYING), check=checking())
        text = print_statements(graph, NUMPY, numbers)
    function = load_module(text, entry_name(graph))
    for constant in cast(FunctionType, function).__globals__.values():
        if isinstance(constant, np.ndarray):
            constant.flags.writeable = False  # results may be views of it
    return function


def _scalar_type(kind: OperandType) -> str:
    """What NumPy calls the type of a Python number; empty for an array."""
    return "" if kind.weak is None else kind.type.dtype.name


def _is_opaque(graph: Graph) -> bool:
    """Whether the graph is interpreted instead of printed: it calls functions, or has loops or branches."""
    return holds_graphs(graph) or any(has_effect(call) for call in graph.calls)


def _used_in(graph: Graph) -> set[Value]:
    return {v for call in graph.calls for v in call.inputs}.union(graph.outputs)


def _passed_on(residuals: Sequence[Value]) -> Graph:
    """A graph that returns what was saved."""
    values = tuple(Value(v.type) for v in residuals)
    return Graph("saved", values, (), values)


def _head(graph: Graph, forward: Graph) -> Graph:
    """The residuals as a function of the inputs and the outputs, which are known."""
    outputs = forward.outputs[: len(graph.outputs)]
    known = dict.fromkeys(forward.inputs)
    places: list[Value] = [
        Value(v.type) if isinstance(v, Constant) or v in known or outputs.index(v) < place else v
        for place, v in enumerate(outputs)
    ]
    before = _before_reshape(forward.calls, places)
    computed = {*known, *places, *(v for call in before for v in call.outputs)}
    calls: list[Call] = [
        *before,
        *(call for call in forward.calls if not (call.outputs and all(v in computed for v in call.outputs))),
    ]
    calls = [call if call in before else without_outputs(call, computed) for call in calls]
    head = Graph(
        forward.name, (*forward.inputs, *places), tuple(calls), forward.outputs[len(graph.outputs) :]
    )
    return remove_dead_code(head)


def _before_reshape(calls: Sequence[Call], outputs: Sequence[Value]) -> list[Call]:
    """Calls that give what outputs have been reshaped from, such as the solution of a system with one column."""
    producers = {v: call for call in calls for v in call.outputs}
    found: dict[Value, Call] = {}
    for output in outputs:
        call = producers.get(output)
        if call is not None and is_reshaped(call) and call.inputs[0] in producers:
            (inner,) = call.inputs
            found.setdefault(inner, Call("reshape", (output,), {"shape": inner.shape}, (inner,)))
    return list(found.values())


def picker(places: Sequence[int]) -> Pick:
    """A function that picks the entries at these places from a tuple."""
    if not places:
        return lambda given: ()
    if len(places) == 1:
        (place,) = places
        return lambda given: (given[place],)
    return itemgetter(*places)


PLANS: dict[Hashable, Any] = {}
"""The plans by call, kinds of the operands, and which of them are differentiated; None where the call is recorded op
by op."""


def remember(key: Hashable, plan: Kept) -> Kept:
    """Remember a plan. The oldest ones are forgotten if there are too many."""
    if len(PLANS) >= MOST_PLANS:
        for old in list(PLANS)[: MOST_PLANS // 4]:
            PLANS.pop(old, None)
    PLANS[key] = plan
    return plan

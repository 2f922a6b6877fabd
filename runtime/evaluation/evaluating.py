"""`Evaluating`: the trace of a function that is differentiated without `compile`. It computes each call at once.

What a call needs for its derivative is kept in a `Node`. Nodes hold those of their operands, so an array that no
derivative needs lives only as long as the user's variables.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Final
from weakref import ref

import numpy as np

from ...compiler.builder import as_tuple, not_recording
from ...compiler.callers.user_code import user_location
from ...compiler.dtypes import Array, is_inexact
from ...compiler.errors import ArgumentValueError
from ...compiler.interpreter import are_calls_observed, evaluate, run_call
from ...compiler.ir import ArrayType, Call, Graph, Location, Param, Value, exact, graphs_in
from ...compiler.memory_layout.layout import Layout, layout_of
from ...compiler.op import lookup
from ...compiler.tracing.foreign_memory import ForeignMemory
from ...compiler.tracing.known_values import Known
from ...compiler.tracing.trace import LARGEST_CONTENT, Storage, Trace, array_type, content_of
from ..eager.generator_states import DrawnFrom
from ..eager.grad_mode import is_grad_enabled
from .evaluated_memory import BorrowedMemory, Evaluated, EvaluatedMemory, MustTraceError, elements, laid_out
from .nodes import NUMBERS, Node, NodeOfGraphs, NodeOfSeveral, OneOfSeveral
from .operand_types import OperandType, operand_type
from .plans import PLANS, LazyFunction, Plan, remember


class Captured:
    """A NumPy array that the function uses, with its contents at that time."""

    __slots__ = ("array", "content", "value")

    def __init__(self, array: Array, *, keeps: bool) -> None:
        array_type(array)
        self.array = array
        self.content = content_of(array)
        own = array
        if keeps or array.nbytes <= LARGEST_CONTENT:
            own = array.copy(order="K")
        self.value = Evaluated(own)


_NOTHING: Final = nullcontext()
_RAISING: Final = frozenset({"check_index", "raise_if", "expect", "expect_size", "length"})
"""Ops with errors of their own."""


class Evaluating(Trace):
    """Computes each call at once."""

    is_evaluating: ClassVar[bool] = True
    keeps_calls: ClassVar[bool] = True
    """Whether nodes lead to those of their operands, for derivatives that go back through them."""
    new_node: Callable[..., Node] = Node
    """Makes the node of a call, given its number, its plan, its parents and what it saves."""
    meaning: ClassVar[Callable[[Any], Callable[..., Any] | None]]
    """What converted code calls instead of a function of NumPy; None for other functions. Set by `functions`."""

    def __init__(self, name: str, *, keeps: bool) -> None:
        super().__init__(name, check_bounds=True)
        self.keeps = keeps
        """Whether the derivative is computed after the call, when arrays from outside may have changed."""
        self.numbers_of_nodes = NUMBERS
        self.first_number = next(NUMBERS)
        self.outside: dict[int, Captured] = {}
        """The NumPy arrays that the function has used, by id."""
        self.converted: dict[Any, Any] = {}
        """The user's functions that the function has called, with hooks."""

        self.originals: dict[int, tuple[Any, Any]] = {}
        """By id: copies of arguments, and the arguments."""
        self.variables: dict[int, tuple[Storage, Storage]] = {}
        """By id: the memory of variables of `tracemill.autograd` that the function has used, and this trace's."""
        self.has_ended = False
        """Whether the function has returned or raised an exception. What it has kept is its values since."""
        self.ended_at = 0
        """The number of that time, as `tracing.trace.next_number` counts."""
        self.drawn: DrawnFrom | None = None
        """The random generators that the function has used."""

    def note_draw(self, generator: Any) -> None:
        """Note a random generator before the function draws from it."""
        self.drawn = self.drawn or DrawnFrom()
        self.drawn.note(generator)

    def next_number(self) -> int:
        return next(self.numbers_of_nodes)

    def node_of_zero_derivative(self, name: str, nodes: Sequence[Any]) -> Node | None:
        """The node of a result whose derivative is always 0, given the operands' nodes; None if none is needed."""
        return None

    def plan_of(
        self, name: str, make: Callable[[], Plan], types: Sequence[ArrayType], wrt: Sequence[bool]
    ) -> Any:
        """The plan of a call of an op, which is made if there is a derivative."""
        return make()

    # ---- forward mode ----------------------------------------------------------------------------------

    def complete(self, node: Node) -> None:
        """Compute the tangent of a node that `new_node` has not made, if nodes have tangents."""

    def keeping_calls(self) -> AbstractContextManager[None]:
        """Keep the calls of the block, because a derivative goes back through them."""
        return _NOTHING

    def require_calls(self) -> None:
        """Raise an exception unless the nodes lead back to those of their operands."""

    def without_history(self, node: Any) -> Any:
        """A node with the same derivative, for what comes after a `keeping_calls` block."""
        return node

    def at_once(
        self, prepared: LazyFunction, inputs: Sequence[Any], sources: Sequence[Any]
    ) -> Sequence[tuple[Any, Any]] | None:
        """The results of a prepared function, each with its node, given those of its inputs; None if each result is
        recorded by a plan of its own."""
        return None

    # ---- computing -------------------------------------------------------------------------------------

    def emit(self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> tuple[Value, ...]:
        record = lookup(op)
        types = record.type(*[value.type for value in inputs], **params)
        arrays = [elements(value) for value in inputs]
        nodes = [value.node if isinstance(value, Evaluated) else None for value in inputs]
        if any(node is not None for node in nodes) and any(
            True for param in params.values() for _ in graphs_in(param)
        ):
            return self._run_graphs(op, inputs, params, as_tuple(types), nodes, arrays)
        if record.effect is not None and not self.is_open_ended and any(node is not None for node in nodes):
            self._require_derivative(op, inputs, params, as_tuple(types), nodes)
        with not_recording():
            if record.effect is None and op not in _RAISING and not are_calls_observed():
                outputs = as_tuple(record.numpy(*arrays, **params))
            else:
                outputs = run_call(Call(op, inputs, params, (), self.where()), arrays)
        found = tuple(Evaluated(np.asarray(out)) for out in outputs)
        if any(node is not None for node in nodes):
            self._record(op, inputs, params, as_tuple(types), found, nodes, arrays)
        return found

    def _require_derivative(
        self,
        op: str,
        inputs: Sequence[Value],
        params: Mapping[str, Param],
        types: tuple[ArrayType, ...],
        nodes: Sequence[Any],
    ) -> None:
        """Refuse a call without a derivative before it has an effect."""
        kinds = [OperandType(value.type) for value in inputs]
        wrt = _differentiated(nodes, kinds)
        if any(wrt) and any(is_inexact(type.dtype) for type in types):
            Plan(graph_of_op(op, params, types, [value.type for value in inputs]), wrt, kinds, None)

    def _record(
        self,
        op: str,
        inputs: Sequence[Value],
        params: Mapping[str, Param],
        types: tuple[ArrayType, ...],
        found: Sequence[Evaluated],
        nodes: Sequence[Any],
        arrays: Sequence[Array],
    ) -> None:
        """Note what the derivative of a call needs."""
        kinds = tuple(map(operand_type, arrays))
        wrt = _differentiated(nodes, kinds)
        outs = [operand_type(out.array) for out in found]
        if not any(wrt) or not any(out.is_inexact for out in outs):
            return
        settings = tuple((name, exact(params[name])) for name in sorted(params))
        key = op, id(lookup(op)), settings, kinds, wrt
        plan = PLANS.get(key)
        if plan is None:
            graph = graph_of_op(op, params, types, [value.type for value in inputs])
            out = outs[0] if len(outs) == 1 else None
            plan = self.plan_of(op, lambda: remember(key, Plan(graph, wrt, kinds, out)), types, wrt)
        made = NodeOfSeveral if len(plan.types) > 1 else Node
        outputs = tuple(out.array for out in found)
        node = made(self.next_number(), plan, plan.parents(tuple(nodes)), plan.saved((*arrays, *outputs)))
        if op == "where" or self.is_open_ended:
            node.place = self.where()
        self.complete(node)
        self._attach(node, found)

    def _run_graphs(
        self,
        op: str,
        inputs: Sequence[Value],
        params: Mapping[str, Param],
        types: tuple[ArrayType, ...],
        nodes: Sequence[Any],
        arrays: Sequence[Array],
    ) -> tuple[Evaluated, ...]:
        """The outputs of a call that holds graphs, such as a loop. What its derivative needs is computed with them."""
        kinds = tuple(map(operand_type, arrays))
        wrt = _differentiated(nodes, kinds)
        graph = graph_of_op(op, params, types, [value.type for value in inputs])
        if not any(wrt) or not any(is_inexact(type.dtype) for type in types):
            return tuple(map(Evaluated, evaluate(graph, *arrays)))
        return self.run_graph(graph, wrt, inputs, nodes, arrays)

    def run_graph(
        self,
        graph: Graph,
        wrt: tuple[bool, ...],
        inputs: Sequence[Value],
        nodes: Sequence[Any],
        arrays: Sequence[Array],
    ) -> tuple[Evaluated, ...]:
        """The outputs of a graph of such a call, some of whose inputs are differentiated."""
        kinds, types = tuple(map(operand_type, arrays)), [value.type for value in graph.outputs]
        plan = self.plan_of(
            graph.name, lambda: Plan(graph, wrt, kinds, None, keeps_residuals=True), types, wrt
        )
        outputs = evaluate(graph if plan.forward is None else plan.forward, *arrays)
        found = tuple(map(Evaluated, outputs[: len(types)]))
        node = NodeOfGraphs(
            self.next_number(), plan, plan.parents(tuple(nodes)), plan.saved(outputs[len(types) :])
        )
        node.graph = graph
        node.inputs = tuple(inputs)
        if self.is_open_ended:
            node.place = self.where()
        self.complete(node)
        self._attach(node, found)
        return found

    def _attach(self, node: Node, found: Sequence[Evaluated]) -> None:
        """Make a node that of the outputs."""
        floating = [out for out in found if is_inexact(out.dtype)]
        moving = node.plan.moving
        if len(floating) == 1:
            floating[0].node = (
                node if moving[0] else self.node_of_zero_derivative(node.plan.primal.name, node.parents)
            )
        else:
            for place, out in enumerate(floating):
                if moving[place]:
                    out.node = Node(self.next_number(), OneOfSeveral, (node,), (place, len(floating)))
                    self.complete(out.node)
                else:
                    out.node = self.node_of_zero_derivative(node.plan.primal.name, node.parents)
        if isinstance(node, NodeOfSeveral):
            node.outputs = tuple(None if out.node is None else ref(out.node) for out in found)

    def where(self) -> Location | None:
        return self.location or user_location()  # code that runs at once obeys the current error state

    # ---- memory ----------------------------------------------------------------------------------------

    def new_storage(self, value: Value, layout: Layout | None = None) -> Storage:
        """Memory whose array has the layout that NumPy would give it."""
        return EvaluatedMemory(self, laid_out(value, layout), layout)

    def shadow(self, outer: Storage) -> Storage:
        if outer.trace is not self and outer.trace.is_open_ended:
            return self._memory_of_variable(outer)
        return super().shadow(outer)

    def _memory_of_variable(self, outer: Storage) -> Storage:
        """The elements of a variable, with the node that the tape has recorded."""
        if not (self.keeps_calls and self.parent is None):
            raise MustTraceError
        if id(outer) not in self.variables:
            self.keep_arrays()
            value: Any = outer.value
            node = value.node if is_grad_enabled() else None
            self.variables[id(outer)] = (
                outer,
                BorrowedMemory(self, Evaluated(value.array, node), outer.layout),
            )
        return self.variables[id(outer)][1]

    def storage_of_array(self, array: Array | ForeignMemory) -> Storage:
        if isinstance(array, ForeignMemory):
            raise MustTraceError
        found = self._storages.get(id(array))
        if found is not None and found.version:
            return found
        what = self.captured_array(np.asarray(array))
        if found is not None and found.value is what.value:
            return found
        layout = layout_of(np.asarray(array))
        storage: Any = self._capture(array, what.value, lambda: what.value.array, layout)
        storage.array = array
        return storage  # type: ignore[no-any-return]

    def captured_array(self, array: Array) -> Captured:
        """The array as the function sees it now."""
        found = self.outside.get(id(array))
        if found is None or found.content != content_of(array):
            if found is not None and found.value.array is array:
                self._refuse(found)
            found = self.outside[id(array)] = Captured(array, keeps=self.keeps)
        return found

    def keep_arrays(self) -> None:
        """Copy arrays from outside. They may change before what is computed is differentiated again."""
        if any(found.value.array is found.array for found in self.outside.values()):
            raise MustTraceError
        self.keeps = True

    def outside_arrays(self) -> list[Array]:
        """The NumPy arrays that the function has used."""
        return [found.array for found in self.outside.values()]

    def check_captured(self) -> None:
        """Raise an error if the derivative would be computed with other values than the function."""
        for found in self.outside.values():
            if found.value.array is found.array and found.content != content_of(found.array):
                self._refuse(found)

    def _refuse(self, found: Captured) -> None:
        raise ArgumentValueError(
            f"the function uses {array_type(found.array)}, and writes to it with NumPy alone, so that its derivative "
            "would mix old and new values: make a new array (w = w * 0.5), or write to a traced one "
            "(w = np.asarray(w))",
            user_location(),
        )

    # ---- knowing ---------------------------------------------------------------------------------------

    def add_input(
        self, value: Value, name: str, known: Known | None = None, layout: Layout | None = None
    ) -> Storage:
        self.inputs.append(value)
        self.input_names.append(name)
        storage = EvaluatedMemory(self, value, layout)
        storage.is_input = True
        return storage

    def producer(self, value: Value) -> Call | None:
        return None

    def concrete(self, value: Value) -> Array:
        return elements(value)

    def can_be_known(self, value: Value) -> bool:
        return True

    def depends_on_arguments(self, value: Value) -> bool:
        return isinstance(value, Evaluated) and value.node is not None

    def numbers_used_by(self, value: Value) -> frozenset[int]:
        return frozenset()

    def follows_from_loop_counters(self, value: Value) -> bool:
        return False

    def close(self) -> None:
        self.give_back()
        self._storages.clear()
        self.captured.clear()
        self.at_return.clear()
        self.adopted.clear()
        self.outside.clear()
        self.originals.clear()
        self.converted.clear()
        self.variables.clear()


def _differentiated(nodes: Sequence[Any], kinds: Sequence[OperandType]) -> tuple[bool, ...]:
    """Which operands of a call are differentiated."""
    return tuple(node is not None and kind.is_inexact for node, kind in zip(nodes, kinds, strict=True))


def graph_of_op(
    op: str, params: Mapping[str, Param], types: tuple[ArrayType, ...], inputs: Sequence[ArrayType]
) -> Graph:
    """A graph of one call."""
    given, outputs = tuple(map(Value, inputs)), tuple(map(Value, types))
    return Graph(op, given, (Call(op, given, params, outputs),), outputs)

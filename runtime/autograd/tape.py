"""`Tape`: the trace of the variables of `tracemill.autograd`. It computes each call at once, like that of a function.

It holds nothing itself. A variable holds the node that its derivative comes from, and nodes hold those of their
operands, so what is recorded lives as long as the variables that were computed from it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ...compiler.callers.user_code import user_location, users_place
from ...compiler.dtypes import Array, is_inexact
from ...compiler.error_state import begin_quiet, end_quiet
from ...compiler.errors import NotRecordedError, TracemillError
from ...compiler.ir import ArrayType, Param, Value
from ...compiler.memory_layout.layout import Layout, layout_of
from ...compiler.tracing.foreign_memory import ForeignMemory
from ...compiler.tracing.trace import Storage, array_type
from ..eager.current_tape import Tapes
from ..eager.grad_mode import is_grad_enabled
from ..evaluation.evaluated_memory import Evaluated, EvaluatedMemory, elements, laid_out
from ..evaluation.evaluating import Evaluating
from ..evaluation.nodes import NUMBERS, Node, NodeOfGraphs, OneOfSeveral
from ..evaluation.plans import Plan, picker


class Gradient:
    """Where `backward` adds the gradient of a variable."""

    __slots__ = ("array",)

    def __init__(self) -> None:
        self.array: Any = None


class LeafNode(Node):
    """The node of a variable that the user made, with which recording starts."""

    __slots__ = ("gradient", "type")

    def __init__(self, type: ArrayType, gradient: Gradient) -> None:
        super().__init__(next(NUMBERS), None)
        self.type = type
        self.gradient = gradient


def leaf_of(array: Array, gradient: Gradient) -> Evaluated:
    """The initial value of a variable."""
    return Evaluated(array, LeafNode(ArrayType(array.dtype, array.shape), gradient))


class RecordedNode(Node):
    """The node of a call. Errors may name its line."""

    __slots__ = ()

    def __init__(
        self, number: int, plan: Any, parents: tuple[Node, ...] = (), saved: tuple[Any, ...] = ()
    ) -> None:
        self.number, self.plan, self.parents, self.saved = number, plan, parents, saved
        self.place = users_place()


class ZeroDerivativePlan:
    """The plan of a call whose derivative is always 0, such as that of ``np.sign``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def pull(self, node: Node, cotangent: Any, cotangents: Any) -> None:
        """Nothing arrives at the operands."""

    def push(self, node: Node, tangents: Any) -> None:
        """The result has no tangent."""


class PlanThatFails:
    """The plan of a call that has no derivative. Asking for it raises the error."""

    out = None
    forward = None

    def __init__(
        self, name: str, error: TracemillError, types: Sequence[ArrayType], wrt: Sequence[bool]
    ) -> None:
        self.name, self.error = name, error
        self.types = [type for type in types if is_inexact(type.dtype)]
        self.moving = [True] * len(self.types)
        self.parents = picker([place for place, is_wanted in enumerate(wrt) if is_wanted])
        self.saved = picker([])

    def pull(self, *given: Any) -> None:
        raise self.error

    push = move = pull


class Released:
    """The plan of a call whose operands have been released. The nodes of the operands stay."""

    def __init__(self, name: str) -> None:
        self.name = name


def release(node: Node) -> None:
    """Release the elements that the derivative of a call needs."""
    if not isinstance(node.plan, Released):
        node.plan, node.saved = Released(op_of(node)), ()
        if isinstance(node, NodeOfGraphs):
            node.inputs = ()


def op_of(node: Node) -> str:
    """The name of the call of a node."""
    plan = node.plan
    if plan is OneOfSeveral:
        return op_of(node.parents[0])
    name: str = plan.primal.name if isinstance(plan, Plan) else plan.name
    return name


class NumPyMemory(Storage):
    """The memory of a NumPy array that is combined with a variable. Its current contents are a constant."""

    __slots__ = ("array",)

    def __init__(self, trace: "Tape", array: Array) -> None:
        array_type(array)
        super().__init__(trace, Evaluated(array.copy(order="K")), layout_of(array))
        self.array = array

    def write(self, value: Value) -> None:
        if isinstance(value, Evaluated) and value.node is not None:
            raise NotRecordedError(
                f"writing a variable to {ArrayType(self.array.dtype, self.array.shape)}, a NumPy array, would lose its "
                "derivative: make the array a variable, too, with requires_grad=False, or write x.detach()",
                user_location(),
            )
        super().write(value)
        self.array[...] = elements(value)


class VariableMemory(EvaluatedMemory):
    """Shared by a variable and its views."""

    __slots__ = ("leaf",)

    def __init__(
        self, trace: "Tape", value: Evaluated, layout: Layout | None, leaf: Evaluated | None = None
    ) -> None:
        super().__init__(trace, value, layout)
        self.leaf = leaf
        """The initial value of the variable, if gradients with respect to it are requested."""

    def write(self, value: Value) -> None:
        super().write(value)
        if self.leaf is not None and not is_grad_enabled():
            self.value = self.leaf = leaf_of(elements(self.value), self.leaf.node.gradient)


class Snapshot:
    """The current contents of a NumPy array from outside, which nodes may keep."""

    __slots__ = ("value",)

    def __init__(self, array: Array) -> None:
        array_type(array)
        self.value = Evaluated(array.copy(order="K") if is_grad_enabled() else array)


def _unrecorded(value: Value) -> Value:
    """The same elements, without a node."""
    return Evaluated(value.array) if isinstance(value, Evaluated) and value.node is not None else value


class Tape(Evaluating):
    """The trace of variables. Each thread has one."""

    is_open_ended: ClassVar[bool] = True
    new_node: Callable[..., Node] = RecordedNode

    def __init__(self, name: str) -> None:
        super().__init__(name, keeps=True)
        self.parent = None

    # ---- computing -------------------------------------------------------------------------------------

    def emit(self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> tuple[Value, ...]:
        """Run the call; record it if the mode allows it."""
        if not is_grad_enabled():
            inputs = tuple(map(_unrecorded, inputs))
        quiet = begin_quiet()
        try:
            return super().emit(op, inputs, params)
        finally:
            end_quiet(quiet)

    def node_of_zero_derivative(self, name: str, nodes: Sequence[Any]) -> Node | None:
        parents = tuple(node for node in nodes if node is not None)
        return RecordedNode(self.next_number(), ZeroDerivativePlan(name), parents) if parents else None

    def plan_of(
        self, name: str, make: Callable[[], Plan], types: Sequence[ArrayType], wrt: Sequence[bool]
    ) -> Any:
        try:
            return make()
        except TracemillError as error:  # perhaps the derivative is never asked for
            error.locate(user_location())
            return PlanThatFails(name, error, types, wrt)

    # ---- memory ----------------------------------------------------------------------------------------

    def new_storage(self, value: Value, layout: Layout | None = None) -> Storage:
        return VariableMemory(self, laid_out(value, layout), layout)

    def storage_of_array(self, array: Array | ForeignMemory) -> Storage:
        return NumPyMemory(self, np.asarray(array))

    def captured_array(self, array: Array) -> Any:
        return Snapshot(array)

    def shadow(self, outer: Storage) -> Storage:
        return outer if outer.trace.is_open_ended else super().shadow(outer)


Tapes.new = Tape

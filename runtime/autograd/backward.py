"""`grad` and `backward` of `tracemill.autograd`: derivatives of recorded operations."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import optree

from ...compiler.arguments.leaves import NAMESPACE
from ...compiler.builder import not_recording
from ...compiler.callers.user_code import user_location
from ...compiler.dtypes import dtype_name, is_inexact
from ...compiler.error_state import quiet_unless_strict
from ...compiler.errors import (
    BackwardInTransformError,
    NotRecordedError,
    TransformArgumentError,
    TransformTypeError,
    UnusedInputError,
)
from ...compiler.ir import ArrayType, Constant, Value
from ...compiler.nesting import refusing_deep_nesting
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.registry import method
from ...compiler.tracing.trace import current_trace
from ...compiler.tracing.traced_array import wrap
from ...compiler.tracing.traced_memory import is_traced
from ..derivatives.masked_nan import has_nan, warn_of_masked_nan
from ..eager.current_tape import joined, on_tape, tape_of_this_thread
from ..eager.grad_mode import enable_grad, no_grad
from ..evaluation.evaluated_memory import Evaluated
from ..evaluation.evaluating import Evaluating
from ..evaluation.sweep import reached
from ..tracebacks import with_users_frames
from .grad_outputs import cotangents
from .node_pullback import NodePullback, Source
from .recorded_graph import Pullback
from .tape import LeafNode, op_of

_Input: TypeAlias = Value | LeafNode


@dataclass(frozen=True, slots=True, eq=False)
class GradientEdge:
    """The place where a value was computed. Made by `gradient_edge`.

    >>> import numpy as np, tracemill as tm
    >>> tm.autograd.gradient_edge(np.sin(tm.autograd.variable(2.0)))
    <edge of f64[] made by sin at ...>
    """

    value: Value

    def __repr__(self) -> str:
        node = getattr(self.value, "node", None)
        origin = "" if node is None or node.plan is None else f" made by {op_of(node)} at {node.location}"
        return f"<edge of {self.value.type}{origin}>"


def gradient_edge(x: Any) -> GradientEdge:
    """The place where the current value of `x` was computed: an output or input of `grad` that survives updates of
    `x`.

    >>> import numpy as np, tracemill as tm
    >>> x = tm.autograd.variable(np.ones(2))
    >>> y = x * 3
    >>> edge = gradient_edge(y)
    >>> y += 1
    >>> grad(np.sum(y), edge)
    (array([1., 1.]),)
    """
    return GradientEdge(_value(x, "gradient_edge: x", is_input=False))


@with_users_frames
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    *,
    safe_where: bool = False,
) -> Any:
    """The sum of the gradients of recorded `outputs` with respect to `inputs`.

    Args:
        outputs: a variable or a sequence of them, or of edges (`gradient_edge`).
        inputs: the same, or a dict. A variable that the user made stands for its value from then on, another one
            for the value that it has now.
        grad_outputs: the cotangent of each output, an array of its shape; None for one real number means 1.
        retain_graph: keep what was recorded, so that it can be differentiated again; by default only with
            `create_graph`. Within a traced function nothing is ever released.
        create_graph: record the gradients, too, so that they can be differentiated.
        allow_unused: give None for inputs that the outputs do not depend on, instead of an error.
        is_grads_batched: the first axis of each of `grad_outputs` is a batch, and that of the results, too. Computed
            in one go.
        materialize_grads: give zeros for inputs that the outputs do not depend on.
        safe_where: as of `tracemill.grad`: what a `where` does not choose has the derivative 0, also where its slope
            is infinite. Without it that is NaN, with a `MaskedNaNWarning`.

    Returns:
        A tuple of arrays, one per input; for a dict a dict. With `create_graph` they are variables. Inside of a
        traced function they are traced arrays.

    Raises:
        NotRecordedError: (a RuntimeError) for outputs and inputs that are not variables with ``requires_grad``.
        UnusedInputError: (a RuntimeError) for an input that the outputs do not depend on.
        ReleasedGraphError: (a RuntimeError) at the second call without ``retain_graph=True``.
        NonScalarOutputError: (a TypeError) where `grad_outputs` is needed.
        ShapeError, DTypeError: for `grad_outputs` that do not fit.

    >>> import numpy as np, tracemill as tm
    >>> x = tm.autograd.variable(np.array([1.0, 2.0]))
    >>> grad(np.sum(x**3), x)
    (array([ 3., 12.]),)
    """
    if materialize_grads and allow_unused is False:
        raise TransformArgumentError(
            "autograd.grad: materialize_grads=True gives zeros for unused inputs, which allow_unused=False forbids"
        )
    leaves, tree = _flat_inputs(inputs)
    if materialize_grads and any(isinstance(x, GradientEdge) for x in leaves):
        raise TransformArgumentError(
            "autograd.grad: materialize_grads=True cannot be used with gradient edges as inputs: pass allow_unused=True"
        )
    values = [_value(x, f"autograd.grad: inputs[{place}]", is_input=True) for place, x in enumerate(leaves)]
    derivative = _Derivative("autograd.grad", outputs, values)
    for place, is_used in enumerate(derivative.used):
        if not (is_used or allow_unused or materialize_grads):
            raise UnusedInputError(
                f"autograd.grad: the outputs do not depend on inputs[{place}]: pass allow_unused=True to get None for "
                "it, or materialize_grads=True to get zeros",
                user_location(),
            )
    found = derivative.gradients(
        "grad_outputs",
        grad_outputs,
        create_graph=create_graph,
        is_batched=is_grads_batched,
        materialize=materialize_grads,
        safe_where=safe_where,
    )
    if not (create_graph if retain_graph is None else retain_graph):
        derivative.release()
    return tuple(found) if tree is None else optree.tree_unflatten(tree, found)


@with_users_frames
def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
    *,
    safe_where: bool = False,
) -> None:
    """Add the gradients of `tensors` to ``.grad`` of the variables from which they were computed.

    Args:
        tensors: a variable or a sequence of them.
        grad_tensors: the cotangent of each, as `grad_outputs` of `grad`.
        retain_graph: keep what was recorded; by default only with `create_graph`.
        create_graph: record the gradients, too.
        inputs: the variables whose ``.grad`` is wanted; by default all.
        safe_where: as of `grad`.

    Raises:
        BackwardInTransformError: (a RuntimeError) inside of a traced function, where `vjp` and `grad` are the way.
        Otherwise as `grad`.

    >>> import numpy as np, tracemill as tm
    >>> w = tm.autograd.variable(np.array([1.0, 2.0]))
    >>> backward(np.sum(w**2))
    >>> backward(np.sum(w))
    >>> w.grad
    array([3., 5.])
    """
    if not on_tape():
        raise BackwardInTransformError(
            "backward inside a traced function would store into .grad, which is not part of the graph: use "
            "autograd.grad(y, x) there, or vjp",
            user_location(),
        )
    wanted = _outputs("autograd.backward", tensors)
    leaves = _wanted_leaves(inputs) if inputs is not None else _leaves_of(wanted)
    derivative = _Derivative("autograd.backward", tensors, leaves)
    found = derivative.gradients(
        "grad_tensors", grad_tensors, create_graph=create_graph, safe_where=safe_where
    )
    for leaf, gradient in zip(leaves, found, strict=True):
        if gradient is not None:
            _add_up(leaf, gradient, create_graph)
    if not (create_graph if retain_graph is None else retain_graph):
        derivative.release()


@method("backward")
def _backward_of_a_traced_array(x: Any, *args: Any, **kwargs: Any) -> None:
    backward(x, *args, **kwargs)


class _Derivative:
    """Outputs, inputs, and the backward pass between them."""

    def __init__(self, where: str, outputs: Any, inputs: Sequence[_Input]) -> None:
        self.where = where
        values = _outputs(where, outputs)
        self.types = [value.type for value in values]
        self.input_types = [one.type for one in inputs]
        trace = current_trace()
        self.nodes: NodePullback | None = None
        self.calls: Pullback | None = None
        if trace is None or isinstance(trace, Evaluating):
            if trace is not None:
                trace.require_calls()
            home: Any = trace or tape_of_this_thread()
            self.nodes = NodePullback(home, [_source(v) for v in values], [_source(x) for x in inputs])
            self.used = self.nodes.used
        else:
            given = [x for x in inputs if isinstance(x, Value)]
            distinct = list(dict.fromkeys(given))
            self.places = [distinct.index(x) for x in given]
            self.calls = Pullback(trace.producer, values, distinct)
            self.used = [self.calls.used[place] for place in self.places]

    def gradients(
        self,
        name: str,
        given: Any,
        *,
        create_graph: bool,
        safe_where: bool,
        is_batched: bool = False,
        materialize: bool = False,
    ) -> list[Any]:
        """One per input: an array, a variable with `create_graph`, a traced array in a trace; or None."""
        with _computing(create_graph) as records:
            seeds, batch = cotangents(self.where, name, given, self.types, is_batched=is_batched)
            found = self._pulled(seeds, batch, safe=safe_where, records=records)
            if not (records or safe_where):
                self._warn_of_masked_nan(found, seeds, batch)
            if materialize:
                lead = () if batch is None else (batch,)
                found = [
                    _zeros(type, lead, records) if gradient is None else gradient
                    for type, gradient in zip(self.input_types, found, strict=True)
                ]
            return found

    def _pulled(self, seeds: Sequence[Any], batch: int | None, *, safe: bool, records: bool) -> list[Any]:
        if self.nodes is not None:
            return self.nodes.pull(seeds, batch, safe=safe, records=records)
        assert self.calls is not None
        found = self.calls.pull(list(map(as_value, seeds)), batch, safe=safe)
        arrays = [None if gradient is None else wrap(gradient) for gradient in found]
        return [arrays[place] for place in self.places]

    def _warn_of_masked_nan(self, found: Sequence[Any], seeds: Sequence[Any], batch: int | None) -> None:
        assert self.nodes is not None
        used = [place for place, gradient in enumerate(found) if gradient is not None]
        if not any(has_nan(found[place]) for place in used):
            return

        def again() -> list[Any]:
            masked = self._pulled(seeds, batch, safe=True, records=False)
            return [masked[place] for place in used]

        warn_of_masked_nan(self.where, self.nodes.linear(), [found[place] for place in used], again)

    def release(self) -> None:
        """Release the recording; in a trace it is kept, because it is the graph."""
        if self.nodes is not None and on_tape():
            self.nodes.release()


@contextmanager
def _computing(create_graph: bool) -> Generator[bool]:
    """Whether gradients are recorded, in the current trace or on the tape; otherwise they are computed at once."""
    if not on_tape():
        yield True
    elif create_graph:
        with joined(), enable_grad():
            yield True
    else:
        with not_recording(), no_grad():
            yield False


def _source(x: _Input) -> Source:
    """Where a value with a derivative comes from."""
    node: Any = x if isinstance(x, LeafNode) else getattr(x, "node", None)
    return node, x.type


# ---- arguments -------------------------------------------------------------------------------------------


def _is_one(x: Any) -> bool:
    return is_traced(x) or isinstance(x, (GradientEdge, np.ndarray, np.generic))


def _outputs(where: str, given: Any) -> list[Value]:
    each = [given] if _is_one(given) or not isinstance(given, (tuple, list)) else list(given)
    if not each:
        raise TransformArgumentError(f"{where}: there are no outputs to differentiate")
    return [_value(x, f"{where}: outputs[{place}]", is_input=False) for place, x in enumerate(each)]


def _flat_inputs(given: Any) -> tuple[list[Any], Any]:
    """The inputs, and the structure of the result if it is not a plain tuple."""
    if _is_one(given):
        return [given], None
    with refusing_deep_nesting("autograd.grad: inputs", given):
        leaves, tree = optree.tree_flatten(given, none_is_leaf=True, namespace=NAMESPACE)
    if not leaves:
        raise TransformArgumentError("autograd.grad: inputs is empty: there is nothing to differentiate for")
    is_flat = isinstance(given, (tuple, list)) and tree.num_nodes == len(leaves) + 1
    return leaves, None if is_flat else tree


def _value(x: Any, path: str, *, is_input: bool) -> Value:
    """The value of an output or input; raises `NotRecordedError` if nothing was recorded for it."""
    if isinstance(x, GradientEdge):
        return x.value
    if not is_traced(x):
        raise NotRecordedError(
            f"{path} is {type(x).__name__}, which records nothing: make it with tm.autograd.variable",
            user_location(),
        )
    value: Value = x.place if is_input and on_tape() else x.value
    if on_tape():
        if not isinstance(value, Evaluated) or value.node is None:
            raise NotRecordedError(
                f"{path} is a variable {value.type} that does not require a gradient: it was made with "
                "requires_grad=False, or under no_grad, or has no derivative",
                user_location(),
            )
    elif isinstance(value, Constant) or (isinstance(value, Evaluated) and value.node is None):
        raise NotRecordedError(
            f"{path} is a constant of this function: nothing was recorded of it", user_location()
        )
    if not is_inexact(value.dtype):
        raise TransformTypeError(f"{path} has dtype {dtype_name(value.dtype)}, which has no derivative")
    return value


def _wanted_leaves(inputs: Any) -> list[LeafNode]:
    leaves, _ = _flat_inputs(inputs) if _is_one(inputs) or inputs else ([], None)
    if not leaves:
        raise TransformArgumentError("autograd.backward: inputs is empty: leave it out to mean all leaves")
    nodes: dict[LeafNode, None] = {}
    for place, x in enumerate(leaves):
        value: Any = _value(x, f"autograd.backward: inputs[{place}]", is_input=True)
        if not isinstance(value.node, LeafNode):
            raise TransformArgumentError(
                f"autograd.backward: inputs[{place}] was computed from other variables and has no .grad: use "
                "autograd.grad for its gradient"
            )
        nodes[value.node] = None
    return list(nodes)


def _leaves_of(outputs: Sequence[Value]) -> list[LeafNode]:
    return [node for node in reached([_source(value)[0] for value in outputs]) if isinstance(node, LeafNode)]


# ---- gradients -------------------------------------------------------------------------------------------


def _zeros(type: ArrayType, lead: tuple[int, ...], records: bool) -> Any:
    array = np.zeros((*lead, *type.shape), type.dtype)
    return wrap(Constant(array)) if records else array[()] if array.ndim == 0 else array


def _add_up(leaf: LeafNode, gradient: Any, create_graph: bool) -> None:
    before = leaf.gradient.array
    mode: Callable[[], Any] = enable_grad if create_graph else no_grad
    with mode(), quiet_unless_strict():
        leaf.gradient.array = gradient if before is None else before + gradient

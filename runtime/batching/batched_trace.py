"""`BatchedTrace`: the trace of a function that `vmap` maps without `compile`. It records one example and also computes
each call for the whole batch when Python reaches it.

So prints and debuggers show values, and exceptions come where the function can catch them, if all examples raise them.
What cannot be computed call by call, such as arrays of lengths that differ between examples, is computed at the end.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import Any, ClassVar, Final

import numpy as np

from ...compiler.builder import current_builder, inline, recording
from ...compiler.callers.user_code import asked_by_traced_code
from ...compiler.dtypes import Array
from ...compiler.errors import TracemillError
from ...compiler.free_sizes import is_symbolic
from ...compiler.interpreter import are_calls_observed, evaluate
from ...compiler.ir import ArrayType, Call, Constant, Graph, Param, Value, called, exact, graphs_in
from ...compiler.memory_layout.layout import Layout
from ...compiler.message_values import MESSAGE_VALUES
from ...compiler.op import has_effect
from ...compiler.ops.collective_calls import mapped_values
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.exceptions.handlers import handler_count, is_handled
from ...compiler.tracing.foreign_memory import ForeignMemory
from ...compiler.tracing.known_values import Known
from ...compiler.tracing.trace import LARGEST_CONTENT, ExampleIndex, Storage, Trace
from ...compiler.tracing.traced_array import TracedArray
from ...compiler.tracing.traced_memory import is_traced
from ...compiler.value_ops import moveaxis
from ...passes.pipeline import apply
from ...passes.simplification.remove_dead_code import remove_dead_code
from ...passes.transforms.vmap import vmap
from ..eager.mapped_graph import BatchAxis, MappedGraph
from ..eager.transform_log import is_seen
from ..environment import checking
from .arrays_outside import ArraysOutside
from .failing_examples import FailingExamplesError, batched_handler_error, raise_alike

_MOST: Final = 1 << 11
_batched: dict[Any, tuple[Graph, tuple[bool, ...]]] = {}
"""Graphs of one call for a batch, and which outputs have the batch as their first axis."""


class BatchedArray(TracedArray):
    """An array of one example. It shows the values of all examples if they have been computed."""

    __slots__ = ()

    def _text(self, form: str, shown: Callable[[Any], str], asker: FrameType) -> str:
        """The values of all examples; inside of `print` as a statement a mark, which prints a line per example.

        A program may compute with the text of a number, as in ``str(n) == str(n)[::-1]``, so it gets no other text.
        """
        trace: Any = self._storage.trace
        is_for_reading = self.ndim or not asked_by_traced_code(asker)
        values: str | None = (
            trace.shown(self) if MESSAGE_VALUES.get() is None and form in {"!r", "!s", ":"} else None
        )
        if values is not None and (is_for_reading or not trace.is_mapped(self.value)):
            return values
        return super()._text(form, shown, asker)


BatchedArray.__name__ = "traced array"  # what Python's errors call it


class Batch:
    """The arguments of the mapped function for the whole batch."""

    def __init__(
        self, size: int, leaves: Sequence[Any], dims: Sequence[BatchAxis], outside: ArraysOutside
    ) -> None:
        """`leaves` are the arrays among them, and `dims` their batch axes."""
        self.size, self.leaves, self.dims, self.outside = size, leaves, dims, outside


class MustTraceSingleExamplesError(BaseException):
    """A function that is differentiated in a batch must be traced: one of its calls cannot be computed for the whole
    batch."""


class Examples:
    """The arrays of all examples, where they do not come from calls for one example."""

    def __init__(self, known: Value) -> None:
        self.known = known


class BatchedTrace(Trace):
    """Records calls for one example, and computes them for all."""

    array_class: ClassVar[Callable[..., Any] | None] = BatchedArray
    shows_values: ClassVar[bool] = True

    def __init__(self, name: str, *, batch: Batch, **options: Any) -> None:
        super().__init__(name, **options)
        self.batch = batch
        self.base = self.parent
        """The trace that computes the batch; None if no trace does."""
        self._is_differentiated = False
        """Whether a function is running that is differentiated inside of the mapped one."""
        self.computed: dict[Value, tuple[Any, bool]] = {}
        """What is known of the batch: an array, or a value of the trace around this one, and whether its first axis is
        the batch."""
        self.left: list[Call] = []
        """The calls that are left for the end."""
        self._handlers_around = handler_count()
        self._is_late = False
        """Whether a call with an effect is left for the end, so that later ones must wait, too."""
        self.failure: Exception | None = None
        """The error of a call that some examples raise and others do not."""

    def emit(self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> tuple[Value, ...]:
        if self.failure is not None:
            raise FailingExamplesError
        outputs = super().emit(op, inputs, params)
        call = self.calls[-1]
        try:
            found = self._computed(call)
            if found is None and self._is_differentiated:
                raise MustTraceSingleExamplesError
        except BaseException as error:
            self.calls.pop()  # the function may go on without it
            if isinstance(error, Exception) and not self._concerns_all(call):
                self.failure = self._failure_of(error)
                raise FailingExamplesError from error
            raise
        if found is None:
            self.left.append(call)
            self._is_late = self._is_late or has_effect(call)
        else:
            self.computed.update(zip(outputs, found, strict=True))
        return outputs

    def _failure_of(self, error: Exception) -> Exception:
        """What an error of some examples is for the whole call: one that names the handler, if the function has one."""
        return batched_handler_error(error) if is_handled(error, self._handlers_around) else error

    @property
    def waiting(self) -> int:
        return len(self.left)

    def _concerns_all(self, call: Call) -> bool:
        """Whether all examples raise the error of a call that failed, as far as this can be found out."""
        known = [one for one in map(self.of_batch, call.inputs) if one is not None]
        mapped = [is_mapped for _, is_mapped in known]
        if not any(mapped):
            return True
        arrays = [self._elements(one) for one, _ in known]
        if isinstance(self.base, BatchedTrace) or len(known) < len(call.inputs):
            return False
        given = [x for x in arrays if x is not None]
        return len(given) == len(known) and raise_alike(_graph_of(call), given, mapped, self.batch.size)

    def _computed(self, call: Call) -> Sequence[tuple[Any, bool]] | None:
        """The outputs of a call for the batch; None if they must be computed later."""
        if is_symbolic(call) or (self._is_late and has_effect(call)):
            return None
        known = [self.of_batch(v) for v in call.inputs]
        if any(one is None for one in known):
            return None
        inputs = [one[0] for one in known if one is not None]
        mapped = tuple([one[1] for one in known if one is not None])
        if has_effect(call) or any(True for p in call.params.values() for _ in graphs_in(p)):
            graph, are_mapped = _batched_call(call, mapped, self.batch.size)
            with self.batch.outside.callback() if _calls_python(call) else nullcontext():
                found = self._run(graph, inputs)
        else:
            try:
                graph, are_mapped = self._batched_before(call, mapped)
            except TracemillError:  # together with other calls it may have a batch
                return None
            try:
                found = self._run(graph, inputs)
            except Exception:  # the graph has no lines: let the error name that of this call
                found = self._run(_batched_call(call, mapped, self.batch.size)[0], inputs)
        return list(zip(found, are_mapped, strict=True))

    def _batched_before(self, call: Call, mapped: tuple[bool, ...]) -> tuple[Graph, tuple[bool, ...]]:
        """The same graph as for an earlier call, if there was one."""
        params = tuple((name, exact(call.params[name])) for name in sorted(call.params))
        types = tuple((v.type.dtype, v.type.shape) for v in call.inputs)
        key = call.op, params, types, mapped, self.batch.size
        found = _batched.get(key)
        if found is None:
            if len(_batched) >= _MOST:
                _batched.clear()
            found = _batched[key] = _batched_call(replace(call, location=None), mapped, self.batch.size)
        return found

    def _run(self, graph: Graph, inputs: Sequence[Any]) -> Sequence[Any]:
        """The outputs of a graph of the batch: in the trace around this one, if there is any."""
        if self.base is None:
            return evaluate(graph, *map(_array_of, inputs))
        with recording(self.base):
            return inline(graph, [x if isinstance(x, Value) else Constant(x) for x in inputs])

    @contextmanager
    def computing_in(self, base: Trace) -> Generator[None]:
        """Compute the batch in a trace that keeps what derivatives need."""
        before = self.base, self._is_differentiated
        self.base, self._is_differentiated = base, True
        try:
            yield
        finally:
            self.base, self._is_differentiated = before

    @contextmanager
    def failing_as_a_whole(self) -> Generator[None]:
        """Raise errors of the block for the whole call, as it is not known which examples cause them."""
        try:
            yield
        except Exception as error:
            self.failure = error
            raise FailingExamplesError from error

    def of_examples(self, known: Value) -> Value:
        """The array of one example, given those of all with the batch as their first axis."""
        value = Value(ArrayType(known.dtype, known.shape[1:]))
        self._capture(Examples(known), value, lambda: None)  # type: ignore[arg-type]
        return value

    def of_batch(self, value: Value) -> tuple[Any, bool] | None:
        """What is known of the batch of a value."""
        if isinstance(value, Constant):
            return (value.array if self.parent is None else value), False
        found = self.computed.get(value)
        if found is None and value in self.inputs[: len(self.batch.leaves)]:
            place = self.inputs.index(value)
            found = self.computed[value] = self._of_argument(self.batch.leaves[place], self.batch.dims[place])
        return found

    def _capture(
        self,
        what: Storage | Array | ForeignMemory | ExampleIndex,
        value: Value,
        known: Known,
        layout: Layout | None = None,
    ) -> Storage:
        found = self._of_captured(what)
        if found is not None:
            self.computed[value] = found
        return super()._capture(what, value, known, layout)

    def _of_captured(
        self, what: Storage | Array | ForeignMemory | ExampleIndex | Examples
    ) -> tuple[Any, bool] | None:
        if isinstance(what, Examples):
            return what.known, True
        if isinstance(what, ExampleIndex):
            indices = np.arange(what.size)
            return (indices if self.parent is None else Constant(indices)), True
        if isinstance(what, Storage):
            return (what.value, False) if what.trace is self.parent else None
        if isinstance(what, ForeignMemory):
            return None
        return (what.copy(order="K") if what.nbytes <= LARGEST_CONTENT else what), False

    def _of_argument(self, leaf: Any, dim: BatchAxis) -> tuple[Any, bool]:
        if self.parent is None:
            return (leaf if dim is None else np.moveaxis(leaf, dim, 0)), dim is not None
        with recording(self.parent):
            value = as_value(leaf)
            return (value if dim is None else moveaxis(value, dim, 0)), dim is not None

    # ---- results -----------------------------------------------------------------------------------------

    def rest(self, mapped: MappedGraph, inputs: Sequence[Any]) -> tuple[MappedGraph, list[Any]]:
        """What is left to compute of the graph of the function, and its inputs, which are not all needed.

        It repeats the calls without effects that this needs: their lengths follow from how they were made.
        """
        graph = mapped.graph
        given: dict[Value, tuple[Any, BatchAxis]] = {}
        outputs = []
        for value in graph.outputs:
            known = None if isinstance(value, Constant) else self._entering_rest(value)
            outputs.append(value if known is None else Value(value.type))
            if known is not None:
                given[outputs[-1]] = known
        left = set(map(id, self.left))
        calls = [call for call in graph.calls if id(call) in left or not has_effect(call)] if left else []
        made = {v for call in calls for v in call.outputs}
        entering = dict(zip(graph.inputs, zip(inputs, mapped.in_axes, strict=True), strict=True))
        for value in dict.fromkeys((*(v for call in calls for v in call.inputs), *outputs)):
            if value in made or value in given or isinstance(value, Constant):
                continue
            given[value] = self._entering_rest(value) or entering[value]
        rest = remove_dead_code(Graph(graph.name, tuple(given), tuple(calls), tuple(outputs)))
        axes = [axis for _, axis in given.values()]
        entered = [known for known, _ in given.values()]
        return replace(mapped, graph=rest, in_axes=axes), (
            list(map(_array_of, entered)) if self.parent is None else entered
        )

    def _entering_rest(self, value: Value) -> tuple[Any, BatchAxis] | None:
        """What is known of the batch, and the batch axis."""
        found = self.of_batch(value)
        return None if found is None else (found[0], 0 if found[1] else None)

    def shown(self, array: TracedArray) -> str | None:
        """The values of all examples as text; None if they are not computed."""
        found = self.of_batch(array.value) if current_builder() is self else None
        elements = None if found is None else self._elements(found[0])
        if found is None or elements is None:
            return None
        text = str(elements)
        if not found[1]:
            return text
        return f"{array.type} for each of {self.batch.size}:{chr(10) if chr(10) in text else ' '}{text}"

    def is_mapped(self, value: Value) -> bool:
        """Whether the examples may differ in a value."""
        found = self.of_batch(value)
        return found is None or found[1]

    def shared_by_examples(self, value: Value) -> Array | None:
        found = self.of_batch(value)
        if found is None or found[1]:
            return None
        inner = found[0]
        if isinstance(inner, Value) and not hasattr(inner, "array") and self.parent is not None:
            return self.parent.shared_by_examples(inner)
        return self._elements(inner)

    def _elements(self, known: Any) -> Array | None:
        """The array with all examples of this trace, and of those around it."""
        if not isinstance(known, Value) or hasattr(known, "array"):
            return _array_of(known)  # type: ignore[no-any-return]
        parent = self.parent
        if isinstance(parent, BatchedTrace):
            found = parent.of_batch(known)
            return None if found is None else parent._elements(found[0])
        return None if parent is None else parent.concrete(known)


def _array_of(known: Any) -> Any:
    return getattr(known, "array", known) if isinstance(known, Value) else known


def _calls_python(call: Call) -> bool:
    """Whether a call, or one in its graphs, is a callback."""
    return call.op == "callback" or any(
        _calls_python(one) for graph in called((call,)) for one in graph.calls
    )


def _graph_of(call: Call) -> Graph:
    """A call as a graph."""
    inputs, outputs = tuple(Value(v.type) for v in call.inputs), tuple(Value(v.type) for v in call.outputs)
    return Graph(call.op, inputs, (replace(call, inputs=inputs, outputs=outputs),), outputs)


def _batched_call(call: Call, mapped: Sequence[bool], size: int) -> tuple[Graph, tuple[bool, ...]]:
    """A call as a graph for a batch, and which outputs have the batch as their first axis."""
    graph = _graph_of(call)
    outputs = graph.outputs
    reached = mapped_values(graph, mapped)
    are_mapped = tuple([v in reached for v in outputs])
    step = partial(
        vmap,
        in_axes=[0 if is_mapped else None for is_mapped in mapped],
        size=size,
        out_axes=[0 if is_mapped else None for is_mapped in are_mapped],
    )
    return apply(step, graph, check=checking()), are_mapped


def can_compute(leaves: Sequence[Any]) -> bool:
    """Whether calls on these arguments can be computed at once: around this, no function is traced."""
    around = current_builder()
    if are_calls_observed() or is_seen():
        return False
    if around is None:
        return not any(is_traced(leaf) or isinstance(leaf, ForeignMemory) for leaf in leaves)
    if isinstance(around, Trace) and around.is_open_ended:
        return not any(isinstance(leaf, ForeignMemory) for leaf in leaves)
    return isinstance(around, BatchedTrace) or (isinstance(around, Trace) and around.is_evaluating)

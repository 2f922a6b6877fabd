"""The backward pass of `tracemill.autograd.grad` in a function that is traced: the calls between two places, extracted
as a graph and differentiated."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from ...compiler.builder import inline
from ...compiler.interpreter import depends_on
from ...compiler.ir import Call, Constant, Graph, Value
from ...compiler.substitution import without_outputs
from ...compiler.value_ops import add
from ...passes.simplification.remove_dead_code import remove_dead_code
from ...passes.transforms.vjp import vjp
from ...passes.transforms.vmap import vmap
from ..eager.run import transformed

Producer: TypeAlias = Callable[[Value], Call | None]
"""Returns the call that computed a value, None where recording begins."""


def history(producer: Producer, values: Sequence[Value], stops: Sequence[Value]) -> list[Call]:
    """The calls that computed `values`, in an order in which they can run; `stops` are taken as given."""
    done: set[Value] = set(stops)
    begun: dict[Value, Call] = {}
    order: list[Call] = []
    stack = list(values)
    while stack:
        value = stack[-1]
        if value in done or isinstance(value, Constant):
            stack.pop()
        elif value in begun:
            stack.pop()
            order.append(begun.pop(value))
            done.update(order[-1].outputs)
        elif (call := producer(value)) is None:
            done.add(value)
        else:
            begun[value] = call
            stack += call.inputs
    return order


class Pullback:
    """The backward pass from `outputs` to `inputs`, through the calls that `producer` knows."""

    def __init__(self, producer: Producer, outputs: Sequence[Value], inputs: Sequence[Value]) -> None:
        self.outputs, self.inputs = outputs, inputs
        self._segments = [_Segment(history(producer, outputs, inputs), outputs, inputs)]
        self.used = list(self._segments[0].used)
        """Whether the outputs depend on each input."""
        self._through: list[int] = []
        """The inputs that are computed from other inputs, the last one first."""
        for place in self._made_last_first(producer):
            if not self.used[place]:
                continue
            value = inputs[place]
            others = [v for v in inputs if v is not value]
            segment = _Segment(history(producer, [value], others), [value], inputs, but=value)
            if any(segment.used):
                self._segments.append(segment)
                self._through.append(place)
                self.used = [a or b for a, b in zip(self.used, segment.used, strict=True)]

    def _made_last_first(self, producer: Producer) -> list[int]:
        if len(self.inputs) == 1:
            return []
        made = {v: i for i, v in enumerate(self.inputs) if producer(v) is not None}
        calls = history(producer, list(made), ())
        return [made[v] for call in reversed(calls) for v in call.outputs if v in made]

    def pull(self, cotangents: Sequence[Value], batch: int | None, *, safe: bool) -> list[Value | None]:
        """One gradient per input, None if the outputs do not depend on it. With `batch`, it is the first axis of all
        of them.

        `safe` as in `passes.transforms.vjp`.
        """
        first, *others = self._segments
        gradients = first.pull(cotangents, batch, safe=safe)
        for place, segment in zip(self._through, others, strict=True):
            gradient = gradients[place]
            assert gradient is not None
            more = segment.pull([gradient], batch, safe=safe)
            gradients = [
                b if a is None else a if b is None else add(a, b)
                for a, b in zip(gradients, more, strict=True)
            ]
        return gradients


class _Segment:
    """Calls between values, without those that do not lead from `inputs` to `outputs`."""

    def __init__(
        self,
        calls: Sequence[Call],
        outputs: Sequence[Value],
        inputs: Sequence[Value],
        but: Value | None = None,
    ) -> None:
        self.inputs = [v for v in inputs if v is not but]
        given = set(self.inputs)
        calls = [without_outputs(call, given) for call in calls]
        graph = Graph("recorded", tuple(self.inputs), tuple(calls), tuple(outputs))
        reached = depends_on(graph, [True] * len(self.inputs))
        self.of = [v in reached for v in outputs]
        graph = remove_dead_code(
            replace(
                graph,
                calls=tuple(c for c in calls if any(v in reached for v in c.inputs)),
                outputs=tuple(v for v in outputs if v in reached),
            )
        )
        self.calls = graph.calls
        needed = {v for call in self.calls for v in call.inputs}.union(graph.outputs)
        self.used = [v in needed and v is not but for v in inputs]
        self.wrt = [v for v in self.inputs if v in needed]
        outside = dict.fromkeys(_used_from_outside(graph.calls, given))
        self.graph = replace(graph, inputs=(*self.wrt, *outside), input_names=())

    def pull(self, cotangents: Sequence[Value], batch: int | None, *, safe: bool) -> list[Value | None]:
        given = [ct for ct, is_reached in zip(cotangents, self.of, strict=True) if is_reached]
        if not self.wrt:
            return [None] * len(self.used)
        wrt = [True] * len(self.wrt) + [False] * (len(self.graph.inputs) - len(self.wrt))
        forward, backward = transformed(partial(vjp, wrt=wrt, of=[True] * len(given), safe=safe), self.graph)
        head = _what_is_not_known(forward, self.graph)
        residuals = inline(head, head.inputs)
        if batch is not None:
            axes = [None] * len(residuals) + [0] * len(given)
            out_axes = [0] * len(self.wrt)
            backward = transformed(partial(vmap, in_axes=axes, size=batch, out_axes=out_axes), backward)
        found = iter(inline(backward, [*residuals, *given]))
        return [next(found) if is_used else None for is_used in self.used]


def _used_from_outside(calls: Sequence[Call], given: set[Value]) -> list[Value]:
    """Values that calls use and that are neither constants, nor given, nor computed by one of them."""
    made = {v for call in calls for v in call.outputs} | given
    return [v for call in calls for v in call.inputs if v not in made and not isinstance(v, Constant)]


def _what_is_not_known(forward: Graph, recorded: Graph) -> Graph:
    """The residuals of `forward` as a function of the values of `recorded`, none of which is recomputed."""
    made = (v for call in recorded.calls for v in call.outputs)
    known = {*recorded.inputs, *made}
    residuals = forward.outputs[len(recorded.outputs) :]
    calls = [call for call in forward.calls if not all(v in known for v in call.outputs)]
    head = remove_dead_code(Graph(forward.name, (), tuple(calls), residuals))
    computed = {v for call in head.calls for v in call.outputs}
    used = (*(v for call in head.calls for v in call.inputs), *residuals)
    inputs = dict.fromkeys(v for v in used if v not in computed and not isinstance(v, Constant))
    return replace(head, inputs=tuple(inputs), input_names=())

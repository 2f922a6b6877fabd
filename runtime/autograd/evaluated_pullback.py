"""The backward pass of `tm.autograd.grad` inside of a function that is evaluated operation by operation."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...compiler.interpreter import depends_on
from ...compiler.ir import Call, Value
from ...passes.transforms.safe_where import safe_where
from ...passes.transforms.transpose import transpose
from ...passes.transforms.vjp import conjugated
from ...passes.transforms.vmap import vmap
from ..eager.run import transformed
from ..evaluation.evaluating import Evaluated, Evaluating
from ..evaluation.linear_graph import linear_graph
from .recorded_graph import Arithmetic


class EvaluatedPullback:
    """The backward pass from `outputs` to `inputs`, through the nodes of the trace."""

    calls: Sequence[Call] = ()

    def __init__(self, trace: Evaluating, outputs: Sequence[Value], inputs: Sequence[Value]) -> None:
        nodes = [(value.node, value.type) for value in outputs if isinstance(value, Evaluated)]
        leaves = [(value.node, value.type) for value in inputs if isinstance(value, Evaluated)]
        self.graph, self.residuals = linear_graph(nodes, leaves, trace)
        self.marks = [place >= len(self.residuals) for place in range(len(self.graph.inputs))]
        reached = [self._is_reached(place) for place in range(len(inputs))]
        self.used = reached
        """Whether the outputs depend on each input."""

    def _is_reached(self, place: int) -> bool:
        marks = [number == len(self.residuals) + place for number in range(len(self.graph.inputs))]
        reached = depends_on(self.graph, marks)
        return any(value in reached for value in self.graph.outputs)

    def pull(
        self, cotangents: Sequence[Any], arithmetic: Arithmetic, batch: int | None, *, safe: bool
    ) -> list[Any | None]:
        """One gradient per input, None if the outputs do not depend on it; as of `Pullback`."""
        graph = transformed(partial(safe_where, linear=self.marks), self.graph) if safe else self.graph
        backward = conjugated(transformed(partial(transpose, linear=self.marks), graph), len(self.residuals))
        if batch is not None:
            axes = [None] * len(self.residuals) + [0] * len(cotangents)
            out_axes = [0] * len(backward.outputs)
            backward = transformed(partial(vmap, in_axes=axes, size=batch, out_axes=out_axes), backward)
        found = arithmetic.run(backward, [*self.residuals, *cotangents])
        return [one if is_used else None for one, is_used in zip(found, self.used, strict=True)]

"""`BatchedLinear`: the derivative of a function that is differentiated in a batch, for the mapped function to call."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...compiler.builder import current_builder, recording
from ...compiler.frontend.program import ArrayOutput
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.traced_array import wrap
from ...compiler.value_ops import broadcast_to
from ...passes.transforms.vmap import vmap
from ..batching.batched_trace import BatchedTrace, MustTraceSingleExamplesError
from ..eager.run import run, transformed
from .batched_derivative import BatchedDerivative, on_evaluating_trace


class BatchedLinear:
    """Pulls cotangents back or pushes tangents forward, also those of a batch inside of the batch."""

    def __init__(self, call: BatchedDerivative, leaves: Sequence[ArrayOutput], *, is_backward: bool) -> None:
        self._call, self._leaves, self._is_backward = call, leaves, is_backward
        self._results = call.values(keeps=False)

    def __call__(self, given: Sequence[Any], size: int | None = None) -> list[Any]:
        """The results for one direction; with `size`, for that many, which are the first axes."""
        trace, batch = current_builder(), self._call.batched
        if self._call.can_go_on:
            if trace is batch:
                return self._of_one(given) if size is None else self._of_several(given, size)
            if isinstance(trace, BatchedTrace) and trace.base is batch and size is None:
                return self._in_inner_batch(trace, given)
        for result in self._results:
            result.value  # noqa: B018  (refuses to be used after the mapped function)
        raise MustTraceSingleExamplesError

    def _of_one(self, given: Sequence[Any]) -> list[Any]:
        if self._is_backward:
            return self._call.pull_back(self._leaves, given)
        return self._call.push_forward(self._leaves, given)

    def _of_several(self, given: Sequence[Any], size: int) -> list[Any]:
        call = self._call
        made = partial(call.backward, safe=False) if self._is_backward else call.linear
        graph, residuals = made(self._leaves)
        axes = [None] * len(residuals) + [1] * len(given)
        step = partial(vmap, in_axes=axes, size=size, out_axes=[1] * len(graph.outputs))
        directions = [on_evaluating_trace(call.batched, call.home, as_value(one)) for one in given]
        with call.computing():
            found = run(transformed(step, graph), [*residuals, *directions])
        return list(map(call.of_example, found))

    def _in_inner_batch(self, inner: BatchedTrace, given: Sequence[Any]) -> list[Any]:
        """The batch of `inner` becomes the first axis of the directions."""
        size, directions = inner.batch.size, []
        for value in map(as_value, given):
            known = inner.of_batch(value)
            if known is None:
                raise MustTraceSingleExamplesError
            directions.append(known)
        with recording(self._call.batched):
            arrays = [
                wrap(found if is_mapped else broadcast_to(found, (size, *found.shape)))
                for found, is_mapped in directions
            ]
            results = [one.value for one in self._of_several(arrays, size)]
        return [wrap(inner.of_examples(one)) for one in results]

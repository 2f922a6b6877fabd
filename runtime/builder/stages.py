"""Programs that find out lengths: they run in stages, and between these the lengths are known.

Each stage is a program like any other, in which the lengths that stages before it found are named sizes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ...compiler.error_state import quiet_unless_strict
from ...compiler.free_sizes import bound_size, bound_sizes, ends_stage, size_names
from ...compiler.interpreter import OtherValues, run_call
from ...compiler.ir import Constant, Graph, Value
from ...compiler.op import EXPECTS, has_effect
from ...compiler.shapes.solving import SizeReader
from ...compiler.substitution import fixed_call
from ...compiler.symbolic_size import is_symbolic_shape
from ...passes.stages import Stage

Function: TypeAlias = Callable[..., tuple[Any, ...]]


def has_stages(graph: Graph, backend: str) -> bool:
    """Whether a program expects values, or finds out lengths and is for a GPU: others do that as they run."""
    return any(
        has_effect(call, EXPECTS) or (backend == "triton" and ends_stage(call)) for call in graph.calls
    )


@dataclass
class Staged:
    """Runs the stages of a graph, one after the other."""

    graph: Graph
    stages: Sequence[Stage]
    functions: Sequence[Function | None]
    """Of each stage, the program; None where it computes nothing."""
    _dying: list[list[Value]] = field(init=False)
    _reader: SizeReader | None = field(init=False)
    """Reads the named sizes off the inputs, if a call between stages needs them."""

    def __post_init__(self) -> None:
        kept, last = {*self.graph.outputs}, dict[Value, int]()
        for number, stage in enumerate(self.stages):
            uses = [*stage.graph.inputs, *(value for call in stage.calls for value in call.inputs)]
            last.update(dict.fromkeys(uses, number))
        self._dying = [[] for _ in self.stages]
        for value, number in last.items():
            if value not in kept and not isinstance(value, Constant):
                self._dying[number].append(value)
        bound = {str(size) for size in bound_sizes(self.graph)}
        between = [call for stage in self.stages for call in stage.calls]
        needs_sizes = any(size_names(call) - bound for call in between)
        shapes = [value.shape for value in self.graph.inputs]
        self._reader = (
            SizeReader(self.graph.input_names, shapes)
            if needs_sizes and any(map(is_symbolic_shape, shapes))
            else None
        )

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        values: dict[Value, Any] = dict(zip(self.graph.inputs, inputs, strict=True))
        sizes = {} if self._reader is None else self._reader.read([np.shape(x) for x in inputs])
        for stage, function, dying in zip(self.stages, self.functions, self._dying, strict=True):
            if function is not None:
                outputs = function(*[values[value] for value in stage.graph.inputs])
                values.update(zip(stage.graph.outputs, outputs, strict=True))
            for call in stage.calls:
                given = [
                    value.array if isinstance(value, Constant) else values[value] for value in call.inputs
                ]
                try:
                    with quiet_unless_strict():
                        outputs = run_call(fixed_call(call, sizes), given)
                except OtherValues as other:
                    raise OtherValues(call, other.found) from None  # with the names of sizes
                values.update(zip(call.outputs, outputs, strict=True))
                if (size := bound_size(call)) is not None:
                    sizes[str(size)] = outputs[0].shape[0]
            for value in dying:
                values.pop(value, None)
        return self._results(inputs, values)

    def _results(self, inputs: Sequence[Any], values: dict[Value, Any]) -> tuple[Any, ...]:
        """The outputs, as arrays that share no memory."""
        given = set(map(id, inputs))
        results: list[Any] = []
        for value in self.graph.outputs:
            result = value.array if isinstance(value, Constant) else values[value]
            if isinstance(result, np.ndarray):
                if isinstance(value, Constant) or id(result) in given:
                    result = result.copy()
                given.add(id(result))
            results.append(result)
        return tuple(results)

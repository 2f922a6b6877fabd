"""Programs in stages: lengths that depend on values are known between them.

Each stage is a program like any other. In it, the lengths that earlier stages computed are named sizes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ...compiler.error_state import quiet_unless_strict
from ...compiler.free_sizes import bound_size, bound_sizes, ends_stage, size_names
from ...compiler.interpreter import OtherValues, run_call
from ...compiler.ir import Call, Constant, Graph, Value
from ...compiler.op import EXPECTS, has_effect
from ...compiler.shapes.solving import SizeReader
from ...compiler.substitution import fixed_call
from ...compiler.symbolic_size import is_symbolic_shape
from ...passes.stages import Stage

Function: TypeAlias = Callable[..., tuple[Any, ...]]


def has_stages(graph: Graph, backend: str) -> bool:
    """Whether a program runs in stages: it expects values, or it computes lengths on a GPU.

    On a CPU, a program computes lengths as it runs.
    """
    return any(
        has_effect(call, EXPECTS) or (backend == "triton" and ends_stage(call)) for call in graph.calls
    )


@dataclass
class Staged:
    """Runs the stages of a graph, one after the other."""

    graph: Graph
    stages: Sequence[Stage]
    functions: Sequence[Function | None]
    """The program of each stage; None if it computes nothing."""
    _place: dict[Value, int] = field(init=False)
    """The place of each value in the list of all values."""
    _steps: list["_Step"] = field(init=False)
    _start: list[Any] = field(init=False)
    """The values at first: constants, and room for the others."""
    _results_of: tuple[int, ...] | None = field(init=False)
    """The places of the results, if these are always separate new arrays."""
    _reader: SizeReader | None = field(init=False)
    """Reads the named sizes from the inputs, if a call between stages needs them."""

    def __post_init__(self) -> None:
        between = [call for stage in self.stages for call in stage.calls]
        made = [value for stage in self.stages for value in stage.graph.outputs]
        used = [value for call in between for value in (*call.inputs, *call.outputs)]
        values = dict.fromkeys([*self.graph.inputs, *made, *used, *self.graph.outputs])
        self._place = {value: place for place, value in enumerate(values)}
        self._start = [value.array if isinstance(value, Constant) else None for value in values]
        dying = self._dying()
        self._steps = [
            _Step(
                function,
                self._places(stage.graph.inputs),
                self._places(stage.graph.outputs),
                [self._between(call) for call in stage.calls],
                self._places(dying[number]),
            )
            for number, (stage, function) in enumerate(zip(self.stages, self.functions, strict=True))
        ]
        outputs = self.graph.outputs
        is_given = any(isinstance(value, Constant) or value in self.graph.inputs for value in outputs)
        self._results_of = (
            None if is_given or len(set(outputs)) < len(outputs) or not outputs else self._places(outputs)
        )
        bound = {str(size) for size in bound_sizes(self.graph)}
        needs_sizes = any(size_names(call) - bound for call in between)
        shapes = [value.shape for value in self.graph.inputs]
        self._reader = (
            SizeReader(self.graph.input_names, shapes)
            if needs_sizes and any(map(is_symbolic_shape, shapes))
            else None
        )

    def _dying(self) -> list[list[Value]]:
        """For each stage, the values that no later stage needs."""
        kept, last = {*self.graph.outputs}, dict[Value, int]()
        for number, stage in enumerate(self.stages):
            uses = [*stage.graph.inputs, *(value for call in stage.calls for value in call.inputs)]
            last.update(dict.fromkeys(uses, number))
        dying: list[list[Value]] = [[] for _ in self.stages]
        for value, number in last.items():
            if value not in kept and not isinstance(value, Constant):
                dying[number].append(value)
        return dying

    def _places(self, values: Iterable[Value]) -> tuple[int, ...]:
        return tuple(self._place[value] for value in values)

    def _between(self, call: Call) -> "_Between":
        expected = None
        if call.op == "expect" and isinstance(call.inputs[1], Constant):
            expected = call.inputs[1].array.tobytes()
        return _Between(call, self._places(call.inputs), self._places(call.outputs), expected)

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        values = self._start.copy()
        values[: len(inputs)] = inputs
        sizes = {} if self._reader is None else self._reader.read([np.shape(x) for x in inputs])
        for step in self._steps:
            if step.function is not None:
                places, outputs = step.outputs, step.function(*[values[place] for place in step.inputs])
                if len(places) == 1:
                    values[places[0]] = outputs[0]
                else:
                    for place, output in zip(places, outputs, strict=True):
                        values[place] = output
            for between in step.calls:
                if between.expected is None or values[between.inputs[0]].tobytes() != between.expected:
                    between.run(values, sizes)
            for place in step.dying:
                values[place] = None
        if self._results_of is not None:
            return tuple([values[place] for place in self._results_of])
        return self._results(inputs, values)

    def _results(self, inputs: Sequence[Any], values: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs, as arrays that share no memory."""
        given = set(map(id, inputs))
        results: list[Any] = []
        for value in self.graph.outputs:
            result = values[self._place[value]]
            if isinstance(result, np.ndarray):
                if isinstance(value, Constant) or id(result) in given:
                    result = result.copy()
                given.add(id(result))
            results.append(result)
        return tuple(results)


@dataclass(frozen=True, slots=True)
class _Step:
    """A stage, with the places of its values."""

    function: Function | None
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    calls: Sequence["_Between"]
    """The calls that run after the stage."""
    dying: tuple[int, ...]
    """The places of the values that nothing needs afterwards."""


@dataclass(frozen=True, slots=True)
class _Between:
    """A call between two stages, with the places of its values."""

    call: Call
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    expected: bytes | None
    """The bytes that the program was made for, if the call expects a value. Comparing bytes costs next to nothing."""

    def run(self, values: list[Any], sizes: dict[str, int]) -> None:
        """Run the call, and note the length that it computes."""
        try:
            with quiet_unless_strict():
                outputs = run_call(fixed_call(self.call, sizes), [values[place] for place in self.inputs])
        except OtherValues as other:
            own = self.call if self.call.op == other.call.op else other.call  # it may be in a loop
            raise OtherValues(own, other.found) from None  # with the names of sizes
        for place, output in zip(self.outputs, outputs, strict=True):
            values[place] = output
        if (size := bound_size(self.call)) is not None:
            sizes[str(size)] = outputs[0].shape[0]

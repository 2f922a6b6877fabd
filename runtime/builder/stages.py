"""Programs in stages: lengths that depend on values are known between them.

Each stage is a program like any other. In it, the lengths that earlier stages computed are named sizes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from ...compiler.backends.python.text import tuple_text
from ...compiler.error_state import quiet_unless_strict
from ...compiler.free_sizes import bound_size, bound_sizes, ends_stage, size_names
from ...compiler.interpreter import OtherValues, run_call
from ...compiler.ir import Call, Constant, Graph, Value, last_reads
from ...compiler.op import EXPECTS, has_effect
from ...compiler.shapes.arguments.solving import SizeReader
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


class Staged:
    """Runs the stages of a graph, one after the other.

    The text of its `run` is generated, because a loop over the stages would cost more than short stages do.
    """

    def __init__(self, graph: Graph, stages: Sequence[Stage], functions: Sequence[Function | None]) -> None:
        """`functions` are the programs of the stages; None for one that computes nothing."""
        self.graph = graph
        between = [call for stage in stages for call in stage.calls]
        bound = {str(size) for size in bound_sizes(graph)}
        shapes = [value.shape for value in graph.inputs]
        needs_sizes = any(size_names(call) - bound for call in between) and any(
            map(is_symbolic_shape, shapes)
        )
        self._reader = SizeReader(graph.input_names, shapes) if needs_sizes else None
        self._of: dict[Value, str] = {value: f"v{number}" for number, value in enumerate(graph.inputs)}
        self._names: dict[str, Any] = {"read": self._read, "separate": self._separate}
        self._run: Function = self._written(stages, functions)

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        return self._run(*inputs)

    def _written(self, stages: Sequence[Stage], functions: Sequence[Function | None]) -> Function:
        inputs = tuple_text([*map(self._name, self.graph.inputs)])
        lines = ["sizes = {}" if self._reader is None else f"sizes = read{inputs}"]
        for number, (stage, function, dying) in enumerate(
            zip(stages, functions, self._dying(stages), strict=True)
        ):
            if function is not None:
                self._names[f"stage{number}"] = function
                lines.append(self._assigned(stage.graph.outputs, f"stage{number}", stage.graph.inputs))
            for call in stage.calls:
                lines += self._between(call)
            lines += [f"del {self._name(value)}" for value in dying]
        outputs = self.graph.outputs
        results = tuple_text([*map(self._name, outputs)])
        is_given = any(isinstance(value, Constant) or value in self.graph.inputs for value in outputs)
        is_separate = not is_given and len(set(outputs)) == len(outputs)
        lines.append(f"return {results}" if is_separate else f"return separate({inputs}, {results})")
        text = "\n    ".join([f"def run({', '.join(map(self._name, self.graph.inputs))}):", *lines])
        exec(compile(text, f"<stages of {self.graph.name}>", "exec"), self._names)
        run: Function = self._names["run"]
        return run

    def _name(self, value: Value) -> str:
        """The variable of a value, or the name of a constant."""
        if value not in self._of:
            self._of[value] = f"v{len(self._of)}"
            if isinstance(value, Constant):
                self._names[self._of[value]] = value.array
        return self._of[value]

    def _assigned(self, outputs: Sequence[Value], function: str, inputs: Iterable[Value], *first: str) -> str:
        arguments = ", ".join([*first, *map(self._name, inputs)])
        return f"{tuple_text([*map(self._name, outputs)])} = {function}({arguments})"

    def _between(self, call: Call) -> Iterator[str]:
        """Statements that run a call between two stages."""
        number = len(self._names)
        self._names[f"call{number}"] = _Between(call)
        run = self._assigned(call.outputs, f"call{number}", call.inputs, "sizes")
        if call.op == "expect" and isinstance(call.inputs[1], Constant):
            self._names[f"bytes{number}"] = call.inputs[1].array.tobytes()
            yield f"if {self._name(call.inputs[0])}.tobytes() != bytes{number}: {run}"
        else:
            yield run

    def _dying(self, stages: Sequence[Stage]) -> list[list[Value]]:
        """For each stage, the values that no later stage needs."""
        kept = {*self.graph.outputs, *self.graph.inputs}
        reads = ((stage.graph.inputs, *(call.inputs for call in stage.calls)) for stage in stages)
        dying: list[list[Value]] = [[] for _ in stages]
        for value, number in last_reads(map(chain.from_iterable, reads)).items():
            if value not in kept and not isinstance(value, Constant):
                dying[number].append(value)
        return dying

    def _read(self, *inputs: Any) -> dict[str, int]:
        """The named sizes of the inputs."""
        assert self._reader is not None
        return dict(self._reader.read([np.shape(x) for x in inputs]))

    def _separate(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs, as arrays that share no memory."""
        given = set(map(id, inputs))
        results: list[Any] = []
        for value, result in zip(self.graph.outputs, outputs, strict=True):
            if isinstance(result, np.ndarray):
                if isinstance(value, Constant) or id(result) in given:
                    result = result.copy()
                given.add(id(result))
            results.append(result)
        return tuple(results)


@dataclass(frozen=True, slots=True)
class _Between:
    """A call between two stages."""

    call: Call

    def __call__(self, sizes: dict[str, int], *inputs: Any) -> tuple[Any, ...]:
        """Run the call, and note the length that it computes."""
        try:
            with quiet_unless_strict():
                outputs = run_call(fixed_call(self.call, sizes), list(inputs))
        except OtherValues as other:
            own = self.call if self.call.op == other.call.op else other.call  # it may be in a loop
            raise OtherValues(own, other.found) from None  # with the names of sizes
        if (size := bound_size(self.call)) is not None:
            sizes[str(size)] = outputs[0].shape[0]
        return tuple(outputs)

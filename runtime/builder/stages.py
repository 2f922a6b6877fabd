"""Programs that find out lengths: they run in stages, and between these the lengths are known.

Each stage is a program like any other, in which the lengths that stages before it found are named sizes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ...compiler.error_state import quiet_unless_strict
from ...compiler.free_sizes import bound_size, bound_sizes, ends_stage, size_names, sizes_in_param
from ...compiler.interpreter import OtherValues, run_call
from ...compiler.ir import Call, Constant, Graph, Value
from ...compiler.op import EXPECTS, has_effect
from ...compiler.shapes.solving import SizeReader
from ...compiler.substitution import fixed_call
from ...compiler.symbolic_size import is_symbolic_shape

Function: TypeAlias = Callable[..., tuple[Any, ...]]


@dataclass(frozen=True)
class Stage:
    """What runs once the lengths before it are known."""

    graph: Graph
    calls: tuple[Call, ...]
    """What runs after the graph, call by call: the calls that find lengths, alone or in loops."""


def has_stages(graph: Graph, backend: str) -> bool:
    """Whether a program expects values, or finds out lengths and is for a GPU: others do that as they run."""
    return any(
        has_effect(call, EXPECTS) or (backend == "triton" and ends_stage(call)) for call in graph.calls
    )


def stages_of(graph: Graph) -> list[Stage]:
    """The calls of a graph, each as early as the lengths allow that it needs.

    What the program expects of values is looked at before anything that comes later, and before all effects, which
    keep their order: a program that is not for these values has done nothing then.
    """
    after_expected = max((end for call, end in _levels(graph, 0) if has_effect(call, EXPECTS)), default=0)
    parts: list[list[Call]] = [[]]
    found: list[list[Call]] = [[]]
    for call, end in _levels(graph, after_expected):
        while end >= len(parts):
            parts.append([])
            found.append([])
        if ends_stage(call):
            found[end - 1].append(call)
        else:
            parts[end].append(call)
    return [_stage(graph, parts, found, number) for number in range(len(parts))]


def _levels(graph: Graph, effects: int) -> Iterator[tuple[Call, int]]:
    """Each call, and the stage from which on its results are there; `effects` is the first that has any."""
    level: dict[Value, int] = dict.fromkeys(graph.inputs, 0)
    level_of_size: dict[str, int] = {}
    first = 0
    for call in graph.calls:
        needed = [level.get(value, 0) for value in call.inputs]
        needed += [level_of_size.get(name, 0) for name in size_names(call)]
        at = max(needed, default=0)
        if call.op == "expect_size":
            at, first = max(at, 1), max(at, first, 1)
            yield call, at
            continue
        at = max(at, first)
        if has_effect(call) and not has_effect(call, EXPECTS):
            at = effects = max(at, effects)
        at += ends_stage(call)
        level.update(dict.fromkeys(call.outputs, at))
        if (size := bound_size(call)) is not None:
            level_of_size[str(size)] = at
        if has_effect(call, EXPECTS):
            first = at
        yield call, at


def _stage(
    graph: Graph, parts: Sequence[Sequence[Call]], found: Sequence[Sequence[Call]], number: int
) -> Stage:
    """The calls of one stage as a graph, from what they need to what is needed after them."""
    calls = parts[number]
    made = {value for call in calls for value in call.outputs}
    later = [call for calls in (*parts[number + 1 :], *found[number:]) for call in calls]
    needed = {value for call in later for value in call.inputs}.union(graph.outputs)
    outputs = [value for call in calls for value in call.outputs if value in needed]
    used = dict.fromkeys(
        value
        for call in calls
        for value in call.inputs
        if value not in made and not isinstance(value, Constant)
    )
    names = {name for call in calls for name in size_names(call)}
    known = {str(one) for value in used for size in sizes_in_param(value.shape) for one in size.sizes}
    for value in (
        *graph.inputs,
        *(out for calls in found[:number] for call in calls for out in call.outputs),
    ):
        own = {str(one) for size in sizes_in_param(value.shape) for one in size.sizes}
        if own & names - known:  # it says how long the arrays of this stage are
            used[value] = None
            known |= own
    inputs = tuple(used)
    name = graph.name if len(parts) == 1 else f"{graph.name}_stage_{number + 1}"
    return Stage(Graph(name, inputs, tuple(calls), tuple(outputs)), tuple(found[number]))


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

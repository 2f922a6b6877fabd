"""The stages of a graph that computes lengths: each needs lengths that an earlier stage has computed."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..compiler.free_sizes import bound_size, ends_stage, size_names, sizes_in_param
from ..compiler.ir import Call, Constant, Graph, Value
from ..compiler.op import EXPECTS, has_effect


@dataclass(frozen=True)
class Stage:
    """What runs once the lengths before it are known."""

    graph: Graph
    calls: tuple[Call, ...]
    """What runs after the graph, call by call: the calls that find lengths, alone or in loops."""


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
    wanted = {name for call in calls for name in size_names(call)}.union(*map(_names, used))
    known = set[str]().union(*map(_names_that_stand_alone, used))
    lengths = [out for calls in found[:number] for call in calls for out in call.outputs]
    candidates = [value for value in (*graph.inputs, *lengths) if value not in used]
    while more := next((value for value in candidates if _names(value) & (wanted - known)), None):
        candidates.remove(more)
        used[more] = None  # it says how long the arrays of this stage are
        wanted |= _names(more)
        known |= _names_that_stand_alone(more)
    inputs = tuple(used)
    name = graph.name if len(parts) == 1 else f"{graph.name}_stage_{number + 1}"
    return Stage(Graph(name, inputs, tuple(calls), tuple(outputs)), tuple(found[number]))


def in_stages(graph: Graph, transform: Callable[[Graph], Graph]) -> Graph:
    """The graph with each stage transformed by itself, so that nothing is moved before the length that it needs."""
    calls: list[Call] = []
    for stage in stages_of(graph):
        calls += transform(stage.graph).calls
        calls += stage.calls
    is_same = len(calls) == len(graph.calls) and all(a is b for a, b in zip(calls, graph.calls, strict=True))
    return graph if is_same else replace(graph, calls=tuple(calls))


def _names(value: Value) -> set[str]:
    """The named sizes in a shape."""
    return {str(one) for size in sizes_in_param(value.shape) for one in size.sizes}


def _names_that_stand_alone(value: Value) -> set[str]:
    """Those that are the length of an axis: not those of ``n + m``, or of ``max(0, n - 1)``."""
    return {str(size) for size in sizes_in_param(value.shape) if [*map(str, size.sizes)] == [str(size)]}

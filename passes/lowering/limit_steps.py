"""Limit the number of steps of the while loops of a graph, for untrusted programs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ...compiler.builder import Builder, bind, bind_all, current_builder, inline, recording
from ...compiler.errors import StepLimitError
from ...compiler.ir import ArrayType, Call, Constant, Graph, Param, Value, called
from ...compiler.ops.control.loop_params import scan_params, while_params
from ...compiler.ops.nested_graphs import graph_of
from ...compiler.params import graph_param, graphs_param, int_param
from ...compiler.symbolic_size import SymbolicSize

_COUNT: Final = Constant(np.int64(0)).type
"""The type of a counter."""


def limit_steps(graph: Graph, most: int) -> Graph:
    """The graph, which raises `StepLimitError` if its while loops take more than `most` steps in one call of the
    graph.

    Each loop carries its number of remaining steps; inside another loop, from one run to the next::

        n: i64[] = while_loop(x, cond=goes_on, body=step, consts=0)

        n: i64[], left: i64[] = while_loop(x, i64(most), cond=goes_on_and_left, body=step_and_count, consts=0)
        callback(left, function=StepLimit(most=...), types=())

    A loop with no steps left ends, and the code after it sees this in the sign of the counter. Scans end by
    themselves: if one has more steps, `StepLimitError` is raised here.
    """
    longest = _Scans().longest(graph)
    if longest > most:
        raise StepLimitError(f"{graph.name}: a loop of {longest} steps has more than max_steps={most}")
    return _Limiting(most).checked(graph)


@dataclass(frozen=True, slots=True)
class StepLimit:
    """Called with the remaining steps, which are negative if a loop wanted to continue."""

    name: str
    most: int

    def __call__(self, *left: Any) -> tuple[()]:
        if any(np.any(np.asarray(count) < 0) for count in left):
            raise StepLimitError(f"{self.name}: a while loop exceeds max_steps={self.most} steps")
        return ()


class _Scans:
    """The number of steps of the longest scans in graphs; each graph is visited once."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def longest(self, graph: Graph) -> int:
        """The product of the lengths of nested scans; those of named sizes count as 1."""
        if id(graph) not in self._known:
            self._known[id(graph)] = max(map(self._of_call, graph.calls), default=0)
        return self._known[id(graph)]

    def _of_call(self, call: Call) -> int:
        inner = max(map(self.longest, called((call,))), default=0)
        if call.op != "scan":
            return inner
        length = int_param(call, "length")
        return max(inner, 1) * (1 if isinstance(length, SymbolicSize) else length)


class _Limiting:
    """Rewrites graphs so that they take and return the counters of their loops, each graph once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._loops: dict[int, tuple[int, ...]] = {}
        self._with_counters: dict[int, Graph] = {}

    def checked(self, graph: Graph) -> Graph:
        """The graph with the same inputs and outputs, which counts from the start and raises."""
        loops = self.loops(graph)
        nested = self.graph_with_counters(graph)
        if nested is graph:
            return graph
        start = [Constant(np.int64(self.most))] * len(loops)
        count = len(graph.outputs)

        def run(*values: Value) -> Sequence[Value]:
            found = inline(nested, (*values, *start))
            if loops:
                limit = StepLimit(graph.name, self.most)
                bind_all("callback", *found[count:], function=limit, types=(), method="broadcast_all")
            return found[:count]

        return graph_of(graph.name, [value.type for value in graph.inputs], run, graph.input_names)

    def loops(self, graph: Graph) -> tuple[int, ...]:
        """The while loops in a graph whose counters go in and out, by the identity of their calls."""
        if id(graph) not in self._loops:
            found: dict[int, None] = {}
            for call in graph.calls:
                if call.op in _FORMS:
                    found |= dict.fromkeys(self.loops_of(call))
            self._loops[id(graph)] = tuple(found)
        return self._loops[id(graph)]

    def loops_of(self, call: Call) -> tuple[int, ...]:
        """The loops of a call: its own first, if it is one."""
        own = [id(call)] if call.op == "while_loop" else []
        inner = [loop for graph in called((call,)) for loop in self.loops(graph)]
        return tuple(dict.fromkeys([*own, *inner]))

    def graph_with_counters(self, graph: Graph) -> Graph:
        """The graph with counters after its inputs and outputs; the graph itself if there is nothing to count."""
        if id(graph) not in self._with_counters:
            self._with_counters[id(graph)] = self._rewritten(graph)
        return self._with_counters[id(graph)]

    def _rewritten(self, graph: Graph) -> Graph:
        loops = self.loops(graph)
        if not loops and not any(True for _ in called(graph.calls)):
            return graph
        types = [*(value.type for value in graph.inputs), *[_COUNT] * len(loops)]
        names = [*graph.input_names, *(f"steps_left_{number}" for number in range(len(loops)))]

        def run(*values: Value) -> Sequence[Value]:
            env = dict(zip(graph.inputs, values, strict=False))
            left = dict(zip(loops, values[len(graph.inputs) :], strict=True))
            builder = current_builder()
            assert builder is not None
            for call in graph.calls:
                builder.location = call.location
                inputs = tuple(env.get(value, value) for value in call.inputs)
                env.update(zip(call.outputs, self._call(call, inputs, left), strict=True))
            return [*(env.get(value, value) for value in graph.outputs), *left.values()]

        with recording(Builder()):  # only the graph itself has lines
            return graph_of(graph.name, types, run, names)

    def _call(self, call: Call, inputs: tuple[Value, ...], left: dict[int, Value]) -> Sequence[Value]:
        """Record a call; `left` has the counters before it, and afterwards those after it."""
        if call.op not in _FORMS:
            params = {name: self._each_checked(param) for name, param in call.params.items()}
            return bind_all(call.op, *inputs, **params)
        loops = self.loops_of(call)
        if not loops:
            return bind_all(call.op, *inputs, **call.params)
        found = _FORMS[call.op](self, call, inputs, [left[loop] for loop in loops])
        count = len(call.outputs)
        left.update(zip(loops, found[count:], strict=True))
        return found[:count]

    def _each_checked(self, param: Param) -> Param:
        """The graphs of a call that do not take counters, such as rules for derivatives."""
        if isinstance(param, Graph):
            return self.checked(param)
        return tuple(map(self._each_checked, param)) if isinstance(param, tuple) else param

    def with_counters(
        self, graph: Graph, loops: Sequence[int], values: Sequence[Value], counters: Sequence[Value]
    ) -> tuple[Sequence[Value], list[Value]]:
        """Record a graph on values, where counters of more `loops` than its own are known: its outputs, and these
        counters."""
        own = self.loops(graph)
        left = dict(zip(loops, counters, strict=True))
        found = inline(self.graph_with_counters(graph), (*values, *(left[loop] for loop in own)))
        count = len(graph.outputs)
        left.update(zip(own, found[count:], strict=True))
        return found[:count], [left[loop] for loop in loops]


def _types(values: Iterable[Value]) -> list[ArrayType]:
    return [value.type for value in values]


def _call(limiting: _Limiting, call: Call, inputs: Sequence[Value], left: Sequence[Value]) -> Sequence[Value]:
    graph = graph_param(call)
    params = {**call.params, "graph": limiting.graph_with_counters(graph)}
    return bind_all(call.op, *inputs, *left, **params)


def _switch(
    limiting: _Limiting, call: Call, inputs: Sequence[Value], left: Sequence[Value]
) -> Sequence[Value]:
    branches = graphs_param(call)
    loops, count = limiting.loops_of(call), len(inputs) - 1

    def branch(graph: Graph) -> Graph:
        def run(*values: Value) -> Sequence[Value]:
            found, after = limiting.with_counters(graph, loops, values[:count], values[count:])
            return [*found, *after]

        return graph_of(graph.name, _types([*inputs[1:], *left]), run)

    return bind_all("switch", *inputs, *left, branches=tuple(map(branch, branches)))


def _scan(limiting: _Limiting, call: Call, inputs: Sequence[Value], left: Sequence[Value]) -> Sequence[Value]:
    """The counters come after all other carried values."""
    graph, _, consts, carried, *_ = scan_params(call)
    loops = limiting.loops_of(call)
    before, end = consts + carried, consts + carried + len(loops)

    def step(*values: Value) -> Sequence[Value]:
        given = (*values[:before], *values[end:])
        found, after = limiting.with_counters(graph, loops, given, values[before:end])
        return [*found[:carried], *after, *found[carried:]]

    types = [*_types(graph.inputs[:before]), *_types(left), *_types(graph.inputs[before:])]
    with_counters: dict[str, Any] = {
        **call.params,
        "graph": graph_of(graph.name, types, step),
        "counts": (consts, carried + len(loops)),
    }
    found = bind_all("scan", *inputs[:before], *left, *inputs[before:], **with_counters)
    behind = carried + len(loops)
    return [*found[:carried], *found[behind:], *found[carried:behind]]


def _while(
    limiting: _Limiting, call: Call, inputs: Sequence[Value], left: Sequence[Value]
) -> Sequence[Value]:
    """It carries whether it continues, its own counter, and those of the loops in it, before everything else."""
    cond, body, consts, _ = while_params(call)
    loops = limiting.loops_of(call)
    zero = Constant(np.int64(0))
    start = consts + 1 + len(loops)

    def asked(values: Sequence[Value], counters: Sequence[Value]) -> list[Value]:
        (goes_on,), after = limiting.with_counters(cond, loops, values, counters)
        own = bind("subtract", after[0], bind("convert", goes_on, dtype=_COUNT.dtype))
        enough = bind("greater_equal", own, zero)
        return [bind("logical_and", goes_on, enough), own, *after[1:]]

    def step(*values: Value) -> Sequence[Value]:
        given = values[:consts]
        found, after = limiting.with_counters(
            body, loops, (*given, *values[start:]), values[consts + 1 : start]
        )
        return [*asked((*given, *found), after), *found]

    first = asked(inputs, left)
    carry = [*first, *inputs[consts:]]
    types = _types([*inputs[:consts], *carry])
    found = bind_all(
        "while_loop",
        *inputs[:consts],
        *carry,
        **{
            **call.params,
            "cond": graph_of(cond.name, types, lambda *values: [values[consts]]),
            "body": graph_of(body.name, types, step),
        },
    )
    behind = 1 + len(loops)
    return [*found[behind:], *found[1:behind]]


_FORMS: Final[dict[str, Callable[[_Limiting, Call, Sequence[Value], Sequence[Value]], Sequence[Value]]]] = {
    "call": _call,
    "checkpoint": _call,
    "scan": _scan,
    "switch": _switch,
    "while_loop": _while,
}
"""Calls that pass counters on; loops in other calls count for themselves."""

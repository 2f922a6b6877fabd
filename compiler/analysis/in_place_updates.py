"""Which calls in a loop can update its carry in place, and the order of calls that allows it."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from ..ir import Call, Graph, Value
from ..op import has_effect, is_move, is_renamed, lookup
from ..ops.control.loop_params import scan_params, while_params
from ..params import graph_param, graphs_param
from ..symbolic_size import typical


def kept_places(call: Call) -> Mapping[str, Mapping[int, int]]:
    """For each parameter with graphs that pass values on: the input whose memory each output may share.

    The carry of a loop, and values that all branches change in a few places or leave unchanged.
    """
    match call.op:
        case "scan":
            _, _, consts, carried, *_ = scan_params(call)
            return {"graph": {k: consts + k for k in range(carried)}}
        case "while_loop":
            return {"body": {k: while_params(call).consts + k for k in range(len(call.outputs))}}
        case "switch":
            branches = graphs_param(call)
            first, *others = branches
            found = {k: chain.given for k in range(len(call.outputs)) if (chain := _chain(first, k))}
            for branch in others:
                chains = {k: _chain(branch, k) for k in found}
                found = {k: i for k, i in found.items() if (chain := chains[k]) and chain.given == i}
            twice = [i for i in found.values() if list(found.values()).count(i) > 1]
            return {"branches": {k: i for k, i in found.items() if i not in twice}}
        case _:
            return {}


def updated(call: Call, output: Value) -> Value | None:
    """The operand that a call changes in a few places to compute an output, whose memory the output can use."""
    if is_renamed(call):
        return call.inputs[0]
    if lookup(call.op).updates:
        is_few = 2 * typical(call.inputs[1].type.size) <= typical(output.type.size)
        return call.inputs[0] if is_few or not is_move(call) else None
    k = call.outputs.index(output)
    for name, places in kept_places(call).items():
        if k not in places:
            continue
        if name == "branches":
            return call.inputs[1 + places[k]]
        chain = _chain(graph_param(call, name), k)
        if chain is not None and chain.given == places[k]:
            return call.inputs[places[k]]
    return None


def in_place(graph: Graph, kept: Mapping[int, int]) -> tuple[Graph, Mapping[Value, Call]]:
    """A graph in an order in which calls can overwrite passed-on values, and which call overwrites what.

    `kept` gives the input whose memory an output may share. All other calls that read an overwritten value come
    before the overwriting call. If this is impossible, for example because a call reads both the old and the new
    value, nothing is overwritten.
    """
    readers: dict[Value, list[Call]] = defaultdict(list)
    for call in graph.calls:
        for value in dict.fromkeys(call.inputs):
            readers[value].append(call)
    before: dict[Call, set[Call]] = {}
    found: dict[Value, Call] = {}
    calls: Sequence[Call] = graph.calls
    for output, given in kept.items():
        chain = _chain(graph, output)
        if chain is None or chain.given != given:
            continue
        trial = {call: set(earlier) for call, earlier in before.items()}
        for value, call in chain.links.items():
            trial.setdefault(call, set()).update(reader for reader in readers[value] if reader is not call)
        ordered = _ordered(graph.calls, trial)
        if ordered is not None:
            before, calls = trial, ordered
            found.update({value: call for value, call in chain.links.items() if not is_renamed(call)})
    if all(ours is theirs for ours, theirs in zip(calls, graph.calls, strict=True)):
        return graph, found
    return replace(graph, calls=tuple(calls)), found


def links_back(
    graph: Graph, output: Value, operand_of: Callable[[Call, Value], Value | None]
) -> dict[Value, Call]:
    """The calls that compute an output by changing memory in place, last first, by the operand that each changes.

    ``operand_of(call, value)`` is the operand in whose memory a call computes a value; None ends the chain.
    """
    maker = {value: call for call in graph.calls for value in call.outputs}
    links: dict[Value, Call] = {}
    value = output
    while value in maker and (operand := operand_of(maker[value], value)) is not None:
        links[operand] = maker[value]
        value = operand
    return links


@dataclass(frozen=True, slots=True)
class _Chain:
    """An input that becomes an output by changes in a few places, or unchanged."""

    given: int
    """Which input."""
    links: Mapping[Value, Call]
    """The calls that change it, by the value that each changes."""


def _chain(graph: Graph, output: int) -> _Chain | None:
    """How an output comes from an input; None if it is computed in another way, or if the changed value is also
    returned.

    Nested branches and loops ask about their graphs at each level, so the answers are kept.
    """
    known: dict[int, _Chain | None] = graph.facts.setdefault("chains", {})
    if output not in known:
        known[output] = _chain_to(graph, output)
    return known[output]


def _chain_to(graph: Graph, output: int) -> _Chain | None:
    """Find what `_chain` keeps."""

    def operand_of(call: Call, value: Value) -> Value | None:
        operand = updated(call, value)
        if operand is None or call.inputs.count(operand) > 1 or operand in graph.outputs:
            return None
        return operand

    result = graph.outputs[output]
    if graph.outputs.count(result) > 1:
        return None
    links = links_back(graph, result, operand_of)
    first = next(reversed(links), result)
    return _Chain(graph.inputs.index(first), links) if first in graph.inputs else None


def _ordered(calls: Sequence[Call], before: Mapping[Call, Set[Call]]) -> Sequence[Call] | None:
    """The calls in an order close to the given one, with everything in `before` a call before it; None if there is
    none.

    Calls with effects, such as printing, stay in order.
    """
    maker = {value: call for call in calls for value in call.outputs}
    effects = [call for call in calls if has_effect(call)]
    earlier = dict(zip(effects[1:], effects, strict=False))
    missing: dict[Call, int] = {}
    waiting: dict[Call, list[int]] = defaultdict(list)
    for number, call in enumerate(calls):
        needed = {maker[value] for value in call.inputs if value in maker} | before.get(call, set())
        if call in earlier:
            needed.add(earlier[call])
        missing[call] = len(needed)
        for other in needed:
            waiting[other].append(number)
    ready = [number for number, call in enumerate(calls) if not missing[call]]
    ordered: list[Call] = []
    while ready:
        call = calls[heappop(ready)]
        ordered.append(call)
        for number in waiting[call]:
            missing[calls[number]] -= 1
            if not missing[calls[number]]:
                heappush(ready, number)
    return ordered if len(ordered) == len(calls) else None

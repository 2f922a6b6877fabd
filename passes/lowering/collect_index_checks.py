"""Checks of indices as values: the program gives what they found, and the caller raises."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Final, TypeAlias

import numpy as np

from ...compiler.builder import Builder, bind, bind_all, inline, recording
from ...compiler.dtypes import INT64
from ...compiler.errors import InternalError
from ...compiler.ir import ArrayType, Call, Graph, Location, Value
from ...compiler.op import CHECKS_INDICES, has_effect
from ...compiler.ops.nested_graphs import graph_of
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.value_ops import (
    add,
    concatenate,
    constant,
    convert,
    equal,
    greater_equal,
    less,
    logical_and,
    maximum,
    number,
    reshape,
    where,
)

NOTHING: Final = int(np.iinfo(np.int64).min)
"""The record of a check that found every index inside its axis."""

_RECORD = ArrayType(INT64, ())


@dataclass(frozen=True)
class Site:
    """A line of the user's and an axis that it indexes: checks of the same share one record."""

    axis: int
    function: str
    length_text: str
    location: Location | None
    length: Any = field(compare=False, repr=False)

    @classmethod
    def of(cls, call: Call) -> "Site":
        given: Any = call.params
        location = call.location and replace(call.location, is_derivative=False, batch=())
        return cls(given["axis"], given.get("function", ""), str(given["length"]), location, given["length"])


Records: TypeAlias = dict[Site, Value]
"""By site the largest index found beyond the end, else the smallest before the beginning, else `NOTHING`."""


def collect_index_checks(graph: Graph) -> Graph:
    """Replace ``check_index`` by one more output, of a record per site and the lengths of those with symbolic ones.

    Before ``check_index(i, length=3, axis=0)``, after::

        max_1: i64[] = max(i, axes=(0,))
        min_1: i64[] = min(i, axes=(0,))
        … # max_1 if max_1 >= 3, else min_1 if min_1 < -3, else -2**63
        return …, records

    A loop carries the records of its steps, and a choice gives those of the branch that was taken.
    """
    if not checks_indices(graph):
        return graph
    inner, sites = _with_records(graph)
    count = len(graph.outputs)
    with recording(Builder()) as builder:
        lengths = [number(site.length, INT64) for site in sites if isinstance(site.length, SymbolicSize)]
        parts = [reshape(value, (1,)) for value in (*inner.outputs[count:], *lengths)]
        found = concatenate(parts, 0)
    calls = (*inner.calls, *builder.calls)
    return Graph(inner.name, inner.inputs, calls, (*inner.outputs[:count], found), inner.input_names)


def checks_indices(graph: Graph) -> bool:
    """Whether a call of the graph, or of a graph in it, checks an index."""
    return any(has_effect(call, CHECKS_INDICES) for call in graph.calls)


def index_sites(graph: Graph) -> tuple[Site, ...]:
    """What the entries of the output stand for that `collect_index_checks` adds, without the lengths."""
    return _with_records(graph)[1] if checks_indices(graph) else ()


def _with_records(graph: Graph) -> tuple[Graph, tuple[Site, ...]]:
    """The graph with a record per site as further outputs, and these sites."""
    records: Records = {}
    now: dict[Value, Value] = {}
    with recording(Builder()) as builder:
        for call in graph.calls:
            inputs = tuple(now.get(value, value) for value in call.inputs)
            builder.location = call.location
            if call.op == "check_index":
                given: Any = call.params
                _merge(records, {Site.of(call): _record(inputs[0], **given)})
            elif has_effect(call, CHECKS_INDICES):
                rule = _RULES.get(call.op)
                if rule is None:
                    raise InternalError(f"{call.op} holds a graph that checks indices")
                outputs, found = rule(inputs, **call.params)
                now.update(zip(call.outputs, outputs, strict=True))
                _merge(records, found)
            else:
                builder.calls.append(replace(call, inputs=inputs))
    outputs = (*(now.get(value, value) for value in graph.outputs), *records.values())
    made = Graph(graph.name, graph.inputs, tuple(builder.calls), outputs, graph.input_names)
    return made, tuple(records)


def _merge(records: Records, more: Mapping[Site, Value]) -> None:
    for site, value in more.items():
        records[site] = maximum(records[site], value) if site in records else value


def _record(index: Value, length: Any, axis: int, function: str = "") -> Value:
    """What `Records` say of one check."""
    if 0 in index.shape:
        return constant(NOTHING, INT64)
    every = tuple(range(index.ndim))

    def extreme(op: str) -> Value:
        return convert(bind(op, index, axes=every) if every else index, INT64)

    high = extreme("max")
    found: Value = constant(NOTHING, INT64)
    size = number(length, INT64)
    if index.dtype.kind == "i":
        low = extreme("min") if every else high
        least = constant(0, INT64) if function else bind("negative", size)
        found = where(less(low, least), maximum(low, NOTHING + 1), found)
    return where(greater_equal(high, size), high, found)


# ---- graphs in calls ---------------------------------------------------------------------------------

Found: TypeAlias = tuple[Sequence[Value], Records]
"""The outputs of a call, and what it found."""


def _nothing(count: int) -> list[Value]:
    return [constant(NOTHING, INT64) for _ in range(count)]


def _running_once(op: str) -> Callable[..., Found]:
    """The rule of a call that runs its graph once."""

    def rule(inputs: Sequence[Value], graph: Graph, **params: Any) -> Found:
        inner, sites = _with_records(graph)
        results = bind_all(op, *inputs, graph=inner, **params)
        count = len(graph.outputs)
        return results[:count], dict(zip(sites, results[count:], strict=True))

    return rule


def _switch(inputs: Sequence[Value], branches: tuple[Graph, ...]) -> Found:
    parts = [_with_records(branch) for branch in branches]
    sites = tuple(dict.fromkeys(site for _, own in parts for site in own))
    count = len(branches[0].outputs)

    def giving_all(branch: Graph, own: Sequence[Site]) -> Graph:
        found = dict(zip(own, branch.outputs[count:], strict=True))
        records = (found.get(site, none) for site, none in zip(sites, _nothing(len(sites)), strict=True))
        return replace(branch, outputs=(*branch.outputs[:count], *records))

    every = tuple(giving_all(branch, own) for branch, own in parts)
    results = bind_all("switch", *inputs, branches=every)
    return results[:count], dict(zip(sites, results[count:], strict=True))


def _scan(inputs: Sequence[Value], graph: Graph, counts: tuple[int, int], **loop: Any) -> Found:
    inner, sites = _with_records(graph)
    consts, carried = counts
    middle, more = consts + carried, len(sites)
    before = tuple(Value(_RECORD) for _ in sites)
    with recording(Builder()) as builder:
        after = [maximum(*pair) for pair in zip(before, inner.outputs[len(graph.outputs) :], strict=True)]
    step = Graph(
        inner.name,
        (*inner.inputs[:middle], *before, *inner.inputs[middle:]),
        (*inner.calls, *builder.calls),
        (*inner.outputs[:carried], *after, *inner.outputs[carried : len(graph.outputs)]),
        (*inner.input_names[:middle], *_names(more), *inner.input_names[middle:]),
    )
    results = bind_all(
        "scan",
        *inputs[:middle],
        *_nothing(more),
        *inputs[middle:],
        graph=step,
        counts=(consts, carried + more),
        **loop,
    )
    found = dict(zip(sites, results[carried : carried + more], strict=True))
    return (*results[:carried], *results[carried + more :]), found


def _names(count: int) -> list[str]:
    return [f"outside{i}" for i in range(count)]


def _while_loop(
    inputs: Sequence[Value], cond: Graph, body: Graph, consts: int, max_steps: int | None = None
) -> Found:
    """The checks of a condition run in the step that follows it; those of its last run, after the loop.

    The loop ends with the step that finds an index outside: what it reads there instead might never end it.
    """
    asking, asked = _with_records(cond)
    stepping, stepped = _with_records(body)
    sites = tuple(dict.fromkeys((*asked, *stepped)))
    count, given = len(body.outputs), len(inputs)
    is_limited = max_steps is not None and bool(asked)
    types = [*(value.type for value in inputs), *(_RECORD for _ in sites), *([_RECORD] * is_limited)]

    def step(*values: Value) -> list[Value]:
        found: Records = dict(zip(sites, values[given : given + len(sites)], strict=True))
        _merge(found, dict(zip(asked, inline(asking, values[:given])[1:], strict=True)))
        results = inline(stepping, values[:given])
        _merge(found, dict(zip(stepped, results[count:], strict=True)))
        steps = [add(values[-1], 1)] if is_limited else []
        return [*results[:count], *(found[site] for site in sites), *steps]

    def goes_on(*values: Value) -> list[Value]:
        (holds,) = inline(plain, values[:given])
        return [logical_and(holds, _is_right(values[given : given + len(sites)]))]

    limit = {} if max_steps is None else {"max_steps": max_steps}
    names = (*body.input_names, *_names(len(sites)), *(["steps"] * is_limited))
    plain = Graph(cond.name, asking.inputs, asking.calls, asking.outputs[:1], asking.input_names)
    results = bind_all(
        "while_loop",
        *inputs,
        *_nothing(len(sites)),
        *([constant(0, INT64)] * is_limited),
        cond=graph_of(cond.name, types, goes_on, names),
        body=graph_of(body.name, types, step, names),
        consts=consts,
        **limit,
    )
    found: Records = dict(zip(sites, results[count : count + len(sites)], strict=True))
    last = inline(asking, (*inputs[:consts], *results[:count]))[1:]
    is_asked = _is_right(found.values())
    if is_limited:  # after the last step that is allowed, the condition is not asked
        assert max_steps is not None
        is_asked = logical_and(is_asked, less(results[-1], max_steps))
    _merge(found, {site: where(is_asked, value, NOTHING) for site, value in zip(asked, last, strict=True)})
    return results[:count], found


def _is_right(records: Iterable[Value]) -> Value:
    """Whether no record names an index."""
    return reduce(logical_and, [equal(record, NOTHING) for record in records])


_RULES: Mapping[str, Callable[..., Found]] = {
    "call": _running_once("call"),
    "checkpoint": _running_once("checkpoint"),
    "scan": _scan,
    "switch": _switch,
    "while_loop": _while_loop,
}

"""Checks as values: the program returns the findings of index checks and of the user's own checks, and the caller
raises."""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Final, TypeAlias

import numpy as np

from ...compiler.builder import Builder, bind, bind_all, inline, recording
from ...compiler.dtypes import BOOL, FLOAT64, INT64
from ...compiler.errors import InternalError
from ...compiler.free_sizes import bound_sizes
from ...compiler.ir import ArrayType, Call, Extent, Graph, Location, Value, called
from ...compiler.op import RAISES, has_effect
from ...compiler.ops.nested_graphs import graph_of
from ...compiler.params import int_param, text_param
from ...compiler.symbolic_size import SymbolicSize, is_known
from ...compiler.value_ops import (
    add,
    concatenate,
    constant,
    convert,
    equal,
    full,
    greater_equal,
    less,
    logical_and,
    maximum,
    number,
    reshape,
    slice_axis,
    where,
)

NOTHING: Final = int(np.iinfo(np.int64).min)
"""The record of a check that found every index inside its axis."""

_RECORD = ArrayType(INT64, ())


@dataclass(frozen=True)
class Site:
    """A line of the user's with an axis that it indexes, or with an error: equal checks share one record."""

    axis: int
    length_text: str
    location: Location | None
    length: Extent = field(compare=False, repr=False)
    error: str = ""
    """The user's exception that is raised, as `users_errors` names it; empty for a check of an index."""
    part: int = 0
    """0 for whether an exception is raised, otherwise the number of a value in its text, of which this is 64 bits. The
    one value in the text of an index check is the length of its axis, where that is computed in a nested graph."""

    @classmethod
    def of(cls, call: Call) -> "Site":
        location = call.location and replace(call.location, is_derivative=False, batch=())
        if call.op == "raise_if":
            return cls(0, "", location, 0, text_param(call, "error"))
        axis, length = int_param(call, "axis"), int_param(call, "length")
        return cls(axis, str(length), location, length)

    @property
    def has_symbolic_length(self) -> bool:
        return isinstance(self.length, SymbolicSize)

    @property
    def is_length(self) -> bool:
        return bool(self.part) and not self.error


Records: TypeAlias = dict[Site, Value]
"""By site: the largest index beyond the end, otherwise the smallest before the beginning, otherwise `NOTHING`. For
the user's errors, 1 if the error is to be raised."""


def collect_checks(graph: Graph) -> Graph:
    """Replace checks by one more output, with a record per site and the lengths of sites with symbolic ones.

    Before ``check_index(i, length=3, axis=0)``, after::

        max_1: i64[] = max(i, axes=(0,))
        min_1: i64[] = min(i, axes=(0,))
        … # max_1 if max_1 >= 3, else min_1 if min_1 < -3, else -2**63
        return …, records

    A loop carries the records of its steps, and a branch returns those of the branch that was taken.
    """
    if not has_checks(graph):
        return graph
    inner, found_at = _with_records(graph, is_whole=True)
    count = len(graph.outputs)
    records = dict(zip(found_at, inner.outputs[count:], strict=True))
    sites = [site for site in records if not site.is_length]
    with recording(Builder()) as builder:
        lengths = [
            number(site.length, INT64) if (own := records.get(_length_of(site))) is None else own
            for site in sites
            if site.has_symbolic_length
        ]
        values = [*(records[site] for site in sites), *lengths]
        parts = [reshape(value, (1,)) for value in values]
        # One alone stays a number, which a kernel computes beside what reads the same arrays.
        found = concatenate(parts, 0) if len(parts) > 1 else values[0]
    calls = (*inner.calls, *builder.calls)
    return Graph(inner.name, inner.inputs, calls, (*inner.outputs[:count], found), inner.input_names)


def has_checks(graph: Graph) -> bool:
    """Whether a call of the graph, or of a nested graph, may raise."""
    return any(has_effect(call, RAISES) for call in graph.calls)


def check_sites(graph: Graph) -> tuple[Site, ...]:
    """The meaning of the entries of the output that `collect_checks` adds, without the lengths."""
    sites = _with_records(graph, is_whole=True)[1] if has_checks(graph) else ()
    return tuple(site for site in sites if not site.is_length)


def _with_records(
    graph: Graph, *, is_guarded: bool = False, is_whole: bool = False
) -> tuple[Graph, tuple[Site, ...]]:
    """The graph with a record per site as further outputs, and these sites.

    Outside of a nested graph, the lengths that it computes are not known. So it records them beside the indices that
    are beyond them, unless the graph is the whole program.

    Once a user's error is to be raised, no `while_loop` continues: it might never end. A graph that `is_guarded` has
    an additional first input, which says whether no error has occurred before.
    """
    records: Records = {}
    now: dict[Value, Value] = {}
    before = (Value(ArrayType(BOOL, ())),) if is_guarded else ()
    fine = before[0] if before else None
    fresh: list[Value] = []
    """The records that `fine` does not include yet."""
    with recording(Builder()) as builder:
        for call in graph.calls:
            inputs = tuple(now.get(value, value) for value in call.inputs)
            builder.location = call.location
            if call.op in _RECORDS:
                if call.op == "raise_if" and fine is not None:  # the first error is the one that is raised
                    inputs = (logical_and(inputs[0], fine), *inputs[1:])
                record = _RECORDS[call.op](inputs[0], **call.params)
                fresh.append(record)
                site = Site.of(call)
                message_values = _records_of_message_values(inputs[0], inputs[1:])
                parts = {replace(site, part=part): value for part, value in enumerate(message_values, 1)}
                _merge(records, {site: record} | parts)
                if call.op == "raise_if":
                    fine, fresh = _and(fine, _is_right(fresh)), []
            elif (must_end := fine is not None and _loops_freely(call)) or has_effect(call, RAISES):
                rule = _RULES.get(call.op)
                if rule is None:
                    raise InternalError(f"{call.op} holds a graph that may raise")
                is_asked = must_end or _raises(call)
                guard = (constant(True, BOOL) if fine is None else fine,) if is_asked else ()
                outputs, found = rule(guard, inputs, **call.params)
                if is_asked and found:
                    fine = _and(fine, _is_right(found.values()))
                else:
                    fresh += found.values()
                now.update(zip(call.outputs, outputs, strict=True))
                _merge(records, found)
            else:
                builder.calls.append(replace(call, inputs=inputs))
        if not is_whole:
            records |= _lengths_within(records, frozenset(map(str, bound_sizes(graph))))
    outputs = (*(now.get(value, value) for value in graph.outputs), *records.values())
    names = (*(["fine"] * is_guarded), *graph.input_names)
    made = Graph(graph.name, (*before, *graph.inputs), tuple(builder.calls), outputs, names)
    return made, tuple(records)


def _length_of(site: Site) -> Site:
    """Where the length is recorded that an index at `site` is beyond."""
    return replace(site, part=1)


def _lengths_within(records: Records, names: frozenset[str]) -> Records:
    """By site: the length that an index is beyond, if it depends on sizes with these `names`."""
    return {
        _length_of(site): where(equal(record, NOTHING), NOTHING, number(site.length, INT64))
        for site, record in records.items()
        if isinstance(site.length, SymbolicSize)
        and names.intersection(map(str, site.length.sizes))
        and _length_of(site) not in records  # a graph in this one has recorded it
    }


def _loops_freely(call: Call) -> bool:
    """Whether a call is a loop of unknown length, or holds one in a nested graph."""
    return call.op == "while_loop" or any(
        _loops_freely(inner) for graph in called((call,)) for inner in graph.calls
    )


def _raises(call: Call) -> bool:
    """Whether a call raises a user's error, or holds one that does."""
    return call.op == "raise_if" or any(_raises(inner) for graph in called((call,)) for inner in graph.calls)


def _and(one: Value | None, other: Value) -> Value:
    return other if one is None else logical_and(one, other)


def _merge(records: Records, more: Mapping[Site, Value]) -> None:
    for site, value in more.items():
        records[site] = maximum(records[site], value) if site in records else value


def _record(index: Value, length: Any, axis: int) -> Value:
    """The findings of one check, as in `Records`."""
    if any(is_known(dim == 0) for dim in index.shape):
        return constant(NOTHING, INT64)
    if not all(is_known(dim >= 1) for dim in index.shape):  # there may be nothing whose extreme to take
        count = _count(index.shape)
        padded = concatenate([reshape(index, (count,)), full((1,), 0, index.dtype)], 0)
        return where(equal(number(count, INT64), 0), NOTHING, _record(padded, length, axis))
    every = tuple(range(index.ndim))

    def extreme(op: str) -> Value:
        return convert(bind(op, index, axes=every) if every else index, INT64)

    high = extreme("max")
    found: Value = constant(NOTHING, INT64)
    size = number(length, INT64)
    if index.dtype.kind == "i":
        low = extreme("min") if every else high
        found = where(less(low, bind("negative", size)), maximum(low, NOTHING + 1), found)
    return where(greater_equal(high, size), high, found)


def _record_of_error(condition: Value, error: str) -> Value:
    if any(is_known(dim == 0) for dim in condition.shape):
        return constant(NOTHING, INT64)
    every = tuple(range(condition.ndim))
    holds = bind("any", condition, axes=every) if every else condition
    return where(holds, constant(1, INT64), constant(NOTHING, INT64))


def _records_of_message_values(condition: Value, message_values: Sequence[Value]) -> list[Value]:
    """The 64 bits of each number in the text of an exception, if it is raised, for the first example that raises it."""
    numbers = [_count(value.shape[condition.ndim :]) for value in message_values]
    if not message_values or 0 in condition.shape:
        return [constant(NOTHING, INT64) for _ in range(sum(numbers))]
    found: list[Value] = []
    every = tuple(range(condition.ndim))
    holds = bind("any", condition, axes=every) if every else condition
    examples = _count(condition.shape)
    for value, count in zip(message_values, numbers, strict=True):
        bits = _as_bits(value)
        if every:
            first = bind("argmax", convert(reshape(condition, (examples,)), INT64), axis=0)
            rows = reshape(bits, (examples, count))
            bits = bind("dynamic_slice", rows, first, constant(0, INT64), sizes=(1, count))
        flat = reshape(bits, (count,))
        each = [reshape(slice_axis(flat, place, place + 1, 0), ()) for place in range(count)]
        found += [where(holds, one, NOTHING) for one in each]
    return found


def _count(shape: Sequence[Any]) -> Any:
    return reduce(operator.mul, shape, 1)


def _as_bits(value: Value) -> Value:
    if value.dtype.kind != "f":
        return convert(value, INT64)
    return bind("bitcast", convert(value, FLOAT64), dtype=INT64)


_RECORDS: Mapping[str, Callable[..., Value]] = {"check_index": _record, "raise_if": _record_of_error}


# ---- graphs in calls ---------------------------------------------------------------------------------

Guard: TypeAlias = tuple[Value, ...]
"""Whether no error has occurred before, if a loop in the call needs to know."""
Found: TypeAlias = tuple[Sequence[Value], Records]
"""The outputs of a call, and its findings."""


def _nothing(count: int) -> list[Value]:
    return [constant(NOTHING, INT64) for _ in range(count)]


def _running_once(op: str) -> Callable[..., Found]:
    """The rule of a call that runs its graph once."""

    def rule(guard: Guard, inputs: Sequence[Value], graph: Graph, **params: Any) -> Found:
        inner, sites = _with_records(graph, is_guarded=bool(guard))
        results = bind_all(op, *guard, *inputs, graph=inner, **params)
        count = len(graph.outputs)
        return results[:count], dict(zip(sites, results[count:], strict=True))

    return rule


def _switch(guard: Guard, inputs: Sequence[Value], branches: tuple[Graph, ...]) -> Found:
    parts = [_with_records(branch, is_guarded=bool(guard)) for branch in branches]
    sites = tuple(dict.fromkeys(site for _, own in parts for site in own))
    count = len(branches[0].outputs)

    def giving_all(branch: Graph, own: Sequence[Site]) -> Graph:
        found = dict(zip(own, branch.outputs[count:], strict=True))
        records = (found.get(site, none) for site, none in zip(sites, _nothing(len(sites)), strict=True))
        return replace(branch, outputs=(*branch.outputs[:count], *records))

    every = tuple(giving_all(branch, own) for branch, own in parts)
    index, *operands = inputs
    results = bind_all("switch", index, *guard, *operands, branches=every)
    return results[:count], dict(zip(sites, results[count:], strict=True))


def _scan(guard: Guard, inputs: Sequence[Value], graph: Graph, counts: tuple[int, int], **loop: Any) -> Found:
    inner, sites = _with_records(graph, is_guarded=bool(guard))
    inputs, consts, carried = (*guard, *inputs), len(guard) + counts[0], counts[1]
    middle, more, own = consts + carried, len(sites), len(guard)

    def body(*values: Value) -> list[Value]:
        before = values[middle : middle + more]
        fine = [reduce(logical_and, [values[0], *_right(before)])] if guard else []
        found = inline(inner, (*fine, *values[own:middle], *values[middle + more :]))
        after = found[len(graph.outputs) :]
        outputs = found[: len(graph.outputs)]
        return [*outputs[:carried], *map(maximum, before, after), *outputs[carried:]]

    names = (*["fine"] * own, *graph.input_names)
    types = [value.type for value in (*guard, *graph.inputs)]
    step = graph_of(
        inner.name,
        [*types[:middle], *(_RECORD for _ in sites), *types[middle:]],
        body,
        (*names[:middle], *_names(more), *names[middle:]),
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
    guard: Guard,
    inputs: Sequence[Value],
    cond: Graph,
    body: Graph,
    consts: int,
    max_steps: int | None = None,
) -> Found:
    """The checks of a condition run in the step after it, and those of its last run after the loop.

    The loop ends with the step that finds an index outside: the value that it reads instead might never end it.
    """
    asking, asked = _with_records(cond, is_guarded=bool(guard))
    stepping, stepped = _with_records(body, is_guarded=bool(guard))
    inputs, consts = (*guard, *inputs), len(guard) + consts
    sites = tuple(dict.fromkeys((*asked, *stepped)))
    count, given = len(body.outputs), len(inputs)
    is_limited = max_steps is not None and bool(asked)
    types = [*(value.type for value in inputs), *(_RECORD for _ in sites), *([_RECORD] * is_limited)]

    def fine_of(found: Records, values: Sequence[Value]) -> Sequence[Value]:
        """The inputs of a graph whose first input says whether no error has occurred."""
        return (reduce(logical_and, [values[0], *_right(found.values())]), *values[1:]) if guard else values

    def step(*values: Value) -> list[Value]:
        found: Records = dict(zip(sites, values[given : given + len(sites)], strict=True))
        _merge(found, dict(zip(asked, inline(asking, fine_of(found, values[:given]))[1:], strict=True)))
        results = inline(stepping, fine_of(found, values[:given]))
        _merge(found, dict(zip(stepped, results[count:], strict=True)))
        steps = [add(values[-1], 1)] if is_limited else []
        return [*results[:count], *(found[site] for site in sites), *steps]

    def goes_on(*values: Value) -> list[Value]:
        (holds,) = inline(plain, values[:given])
        conditions = [holds, *values[: len(guard)], *_right(values[given : given + len(sites)])]
        return [reduce(logical_and, conditions)]

    limit = {} if max_steps is None else {"max_steps": max_steps}
    names = (*(["fine"] * len(guard)), *body.input_names, *_names(len(sites)), *(["steps"] * is_limited))
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
    if not asked:
        return results[:count], found
    last = inline(asking, fine_of(found, (*inputs[:consts], *results[:count])))[1:]
    is_asked = _is_right(found.values())
    if is_limited:  # after the last allowed step, the condition is not evaluated
        assert max_steps is not None
        is_asked = logical_and(is_asked, less(results[-1], max_steps))
    _merge(found, {site: where(is_asked, value, NOTHING) for site, value in zip(asked, last, strict=True)})
    return results[:count], found


def _is_right(records: Iterable[Value]) -> Value:
    """Whether nothing is to be raised."""
    return reduce(logical_and, _right(records))


def _right(records: Iterable[Value]) -> list[Value]:
    return [equal(record, NOTHING) for record in records]


_RULES: Mapping[str, Callable[..., Found]] = {
    "call": _running_once("call"),
    "checkpoint": _running_once("checkpoint"),
    "scan": _scan,
    "switch": _switch,
    "while_loop": _while_loop,
}

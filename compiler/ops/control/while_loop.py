"""`while_loop`: steps that run as long as a condition holds.

The number of steps is not known in advance, so reverse mode has no arrays of fixed size for its residuals. With a
limit, it uses scans: blocks of steps, and those after the end are skipped; the backward pass runs one block at a time
again. Without a limit, it stores the state at a few steps and recomputes the states in between.
"""

from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any, Final

import numpy as np

from ...builder import bind, bind_all, inline, not_recording
from ...dtypes import BOOL, INT64
from ...error_state import quiet_unless_strict
from ...errors import DTypeError, ShapeError
from ...interpreter import Interpreter
from ...ir import ArrayType, Graph, Value, types_text
from ...op import DifferentiateGraph, Linear, Op, Rebuilt, register
from ...value_ops import (
    add,
    broadcast_to,
    constant,
    equal,
    full,
    greater,
    greater_equal,
    less,
    reshape,
    subtract,
    where,
    zeros_like,
)
from ..batch_axes import in_front, leading
from ..batched_branches import (
    fill_inactive_examples,
    refuse_collectives_in,
    refuse_prints_in,
    select_examples,
)
from ..collective_calls import mapped_values
from ..nested_graphs import graph_of, needed_calls, rearranged, spread, spreading

FAMILY = "while_loop"


def _while_type(
    *inputs: ArrayType, cond: Graph, body: Graph, consts: int, max_steps: int | None = None
) -> tuple[ArrayType, ...]:
    if not 0 <= consts <= len(inputs) or (max_steps is not None and max_steps < 0):
        raise ShapeError(f"while_loop of {body.name}: consts {consts} and max_steps {max_steps} cannot be")
    for graph in (cond, body):
        expected = tuple(value.type for value in graph.inputs)
        if inputs != expected:
            raise ShapeError(
                f"while_loop: {graph.name}({types_text(expected)}) is called with ({types_text(inputs)})"
            )
    carried = inputs[consts:]
    outputs = tuple(value.type for value in body.outputs)
    if outputs != carried:
        raise ShapeError(
            f"while_loop: {body.name} carries ({types_text(carried)}) and gives ({types_text(outputs)})"
        )
    result = tuple(value.type for value in cond.outputs)
    if result != (ArrayType(BOOL, ()),):
        raise DTypeError(f"while_loop: {cond.name} must give a bool[], not ({types_text(result)})")
    return carried


def _while_numpy(
    *inputs: Any, cond: Graph, body: Graph, consts: int, max_steps: int | None = None
) -> tuple[Any, ...]:
    given, carry = inputs[:consts], inputs[consts:]
    goes_on, step = Interpreter(cond), Interpreter(body)
    steps = 0
    with not_recording(), quiet_unless_strict():
        while steps != max_steps and goes_on.run(*given, *carry)[0]:
            carry = step.run(*given, *carry)
            steps += 1
    return tuple(map(np.asarray, carry))


# ---- derivatives -----------------------------------------------------------------------------------


def _while_jvp(
    inputs: tuple[Value, ...],
    tangents: tuple[Value | None, ...],
    outputs: tuple[Value, ...],
    cond: Graph,
    body: Graph,
    consts: int,
    *,
    recurse: DifferentiateGraph,
    **limit: Any,
) -> Rebuilt:
    wrt = spreading(body, [tangent is not None for tangent in tangents], consts, len(outputs), inexact=True)
    of = wrt[consts:]
    loop: dict[str, Any] = {"cond": cond, "body": body, "consts": consts, **limit}
    if not any(of):
        return Rebuilt(bind_all("while_loop", *inputs, **loop), (None,) * len(outputs))
    given = [
        zeros_like(x) if tangent is None else tangent
        for x, tangent, marked in zip(inputs, tangents, wrt, strict=True)
        if marked
    ]
    forward, linear = recurse(body, wrt, of)
    if linear is None:
        results, pushed = _joint(inputs, given, forward, wrt, loop)
    elif limit:
        head, tail = recurse(_as_scans([x.type for x in inputs], **loop), wrt, of)
        assert tail is not None, "what splits the body splits the loop"
        found = inline(head, inputs)
        results, pushed = found[: len(outputs)], inline(tail, (*found[len(outputs) :], *given))
    else:
        # The tangents come from a loop that recomputes the values: it is linear in the tangents, and forward mode is
        # done.
        results = bind_all("while_loop", *inputs, **loop)
        _, pushed = _joint(inputs, given, _joined(forward, linear, len(outputs)), wrt, loop)
    return Rebuilt(results, spread(iter(pushed), of))


def _joined(forward: Graph, linear: Graph, count: int) -> Graph:
    """``(inputs, tangents) -> (outputs, tangents)`` of a derivative that was split."""
    tangents = linear.inputs[len(forward.outputs) - count :]
    types = [value.type for value in (*forward.inputs, *tangents)]

    def both(*values: Value) -> tuple[Value, ...]:
        found = inline(forward, values[: len(forward.inputs)])
        return *found[:count], *inline(linear, (*found[count:], *values[len(forward.inputs) :]))

    return graph_of(f"{forward.name}_jvp", types, both)


def _joint(
    inputs: Sequence[Value], given: Sequence[Value], joint: Graph, wrt: Sequence[bool], loop: dict[str, Any]
) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """One loop that carries values and tangents, and runs as long as the loop of the values."""
    consts, cond = loop["consts"], loop["cond"]
    count, also = len(inputs), sum(wrt[:consts])
    order = [*range(consts), *range(count, count + also), *range(consts, count)]
    order += range(count + also, len(joint.inputs))
    values = [*inputs, *given]
    goes_on = rearranged(cond, [i if i < count else values[i].type for i in order], [0])
    step = rearranged(joint, order, range(len(joint.outputs)))
    found = bind_all(
        "while_loop",
        *(values[i] for i in order),
        **{**loop, "cond": goes_on, "body": step, "consts": consts + also},
    )
    return found[: count - consts], found[count - consts :]


def _as_scans(types: Sequence[ArrayType], cond: Graph, body: Graph, consts: int, max_steps: int) -> Graph:
    """The same loop as scans: blocks of about the square root of the maximum number of steps, then the remaining
    steps."""
    every = max(1, isqrt(max_steps))
    blocks, left = divmod(max_steps, every)
    counts = (consts, len(types) - consts)

    def stepping(step: Graph, length: int) -> Graph:
        return graph_of(
            step.name, types, lambda *v: bind_all("scan", *v, graph=step, counts=counts, length=length)
        )

    def while_it_holds(graph: Graph) -> Graph:
        ways = (graph_of("done", types, lambda *values: values[consts:]), graph)
        return graph_of(
            body.name, types, lambda *v: bind_all("switch", inline(cond, v)[0], *v, branches=ways)
        )

    step = while_it_holds(body)
    steps = stepping(step, every)
    again = graph_of(f"{body.name}_block", types, lambda *v: bind_all("checkpoint", *v, graph=steps))

    def loop(*values: Value) -> tuple[Value, ...]:
        carry = inline(stepping(while_it_holds(again), blocks), values)
        return inline(stepping(step, left), (*values[:consts], *carry)) if left else carry

    return graph_of(body.name, types, loop)


def _while_transpose(
    cotangents: tuple[Value, ...],
    inputs: tuple[Any, ...],
    cond: Graph,
    body: Graph,
    consts: int,
    *,
    recurse: Callable[..., Graph],
    **limit: Any,
) -> tuple[Value | None, ...]:
    """The steps backwards. A loop of the known values first finds out how many there are.

    The known values before each step are recomputed from the last stored step before it. The distances between stored
    steps are halved repeatedly, so that their number, and the number of times that a step is repeated, is the
    logarithm of the number of steps: Griewank, "Achieving logarithmic growth of temporal and spatial complexity in
    reverse automatic differentiation", 1992.
    """
    given = [isinstance(x, Linear) for x in inputs]
    linear = spreading(body, given, consts, len(inputs) - consts, inexact=False)
    known = [x for x, is_linear in zip(inputs, linear, strict=True) if not is_linear]
    own = linear[:consts].count(False)
    goes_on = _known_part(cond, linear, [False])
    step = _known_part(body, linear, linear[consts:])
    steps = _count(known, own, goes_on, step, limit)
    kept = [
        bind("dynamic_update_slice", full((_PLACES, *x.shape), 0, x.dtype), _row(x), *_at(0, x.ndim))
        for x in known[own:]
    ]
    back = recurse(body, linear=linear)
    sums = [zeros_like(x) for x, is_linear in zip(inputs[:consts], linear, strict=False) if is_linear]
    carried = [ct for ct, is_linear in zip(cotangents, linear[consts:], strict=True) if is_linear]
    positions, zero = full((_PLACES,), 0, INT64), constant(0, INT64)
    first = [*known[:own], subtract(steps, 1), zero, positions, *kept, *sums, *carried]
    slots = slice(own + 3, own + 3 + len(kept))

    def backwards(*values: Value) -> list[Value]:
        mine, (at, top, places) = values[:own], values[own : own + 3]
        top = where(greater(_entry(places, top), at), subtract(top, 1), top)
        top, places, now, then = _advanced(mine, at, top, places, values[slots], step)
        before, cts = values[slots.stop : slots.stop + len(sums)], values[slots.stop + len(sums) :]
        every = iter(cts)
        wanted = [
            next(every) if is_linear else zeros_like(out)
            for out, is_linear in zip(body.outputs, linear[consts:], strict=True)
        ]
        found = inline(back, (*mine, *then, *wanted))
        return [subtract(at, 1), top, places, *now, *map(add, before, found), *found[len(sums) :]]

    given_types = [value.type for value in first]
    found = bind_all(
        "while_loop",
        *first,
        cond=graph_of("steps_are_left", given_types, lambda *v: [greater_equal(v[own], 0)]),
        body=graph_of(back.name, given_types, backwards),
        consts=own,
    )
    results = spread(iter(found[3 + len(kept) :]), linear)
    return tuple(x if is_linear else None for x, is_linear in zip(results, given, strict=True))


_PLACES: Final = 34
"""The number of stored states while steps run backwards, plus one: enough for 2**32 steps."""


def _known_part(graph: Graph, linear: Sequence[bool], outputs_are_linear: Sequence[bool]) -> Graph:
    """The part of a condition or a step that only involves values that are not linear."""
    inputs = [(v, n) for v, n, m in zip(graph.inputs, graph.input_names, linear, strict=True) if not m]
    outputs = tuple(out for out, m in zip(graph.outputs, outputs_are_linear, strict=True) if not m)
    values, names = zip(*inputs, strict=True)
    return Graph(graph.name, values, needed_calls(graph, outputs), outputs, names)


def _count(known: Sequence[Value], own: int, goes_on: Graph, step: Graph, limit: dict[str, Any]) -> Value:
    """The number of steps."""
    types = [*(x.type for x in known), ArrayType(INT64, ())]
    return bind_all(
        "while_loop",
        *known,
        constant(0, INT64),
        cond=graph_of(goes_on.name, types, lambda *v: inline(goes_on, v[:-1])),
        body=graph_of(step.name, types, lambda *v: [*inline(step, v[:-1]), add(v[-1], 1)]),
        consts=own,
        **limit,
    )[-1]


def _advanced(
    mine: Sequence[Value], at: Value, top: Value, places: Value, kept: Sequence[Value], step: Graph
) -> tuple[Value, Value, Sequence[Value], Sequence[Value]]:
    """The known values before step `at`, computed from the last stored step; some of the states in between are
    stored."""
    own, base = len(mine), _entry(places, top)
    begin = [*mine, at, base, base, top, places, *kept, *(_entry(slot, top) for slot in kept)]
    types = [value.type for value in begin]
    count = len(kept)

    def onwards(*values: Value) -> list[Value]:
        goal, place, low, last, spots = values[own : own + 5]
        slots, now = values[own + 5 : own + 5 + count], values[own + 5 + count :]
        new, place, free = inline(step, (*values[:own], *now)), add(place, 1), add(last, 1)
        # The rows above the last stored step are free, so writing unneeded values there does no harm.
        spots = bind("dynamic_update_slice", spots, reshape(place, (1,)), free)
        written = [_put(slot, x, free) for slot, x in zip(slots, new, strict=True)]
        middle = add(low, bind("right_shift", add(subtract(goal, low), 1), constant(1, INT64)))
        is_kept = equal(place, middle)
        return [place, where(is_kept, place, low), where(is_kept, free, last), spots, *written, *new]

    found = bind_all(
        "while_loop",
        *begin,
        cond=graph_of("is_before", types, lambda *v: [less(v[own + 1], v[own])]),
        body=graph_of(step.name, types, onwards),
        consts=own + 1,
    )
    return found[2], found[3], found[4 : 4 + count], found[4 + count :]


def _row(x: Value) -> Value:
    return reshape(x, (1, *x.shape))


def _at(place: "int | Value", ndim: int) -> list[Value]:
    """The start of a row along each axis: its position, then zeros for its `ndim` axes."""
    first = constant(place, INT64) if isinstance(place, int) else place
    return [first, *(constant(0, INT64) for _ in range(ndim))]


def _put(slots: Value, x: Value, place: Value) -> Value:
    return bind("dynamic_update_slice", slots, _row(x), *_at(place, x.ndim))


def _entry(slots: Value, place: Value) -> Value:
    """The row at a place."""
    shape = slots.shape[1:]
    return reshape(bind("dynamic_slice", slots, *_at(place, len(shape)), sizes=(1, *shape)), shape)


# ---- batching --------------------------------------------------------------------------------------


@in_front
def _while_batch(
    inputs: tuple[Value, ...],
    mapped: Sequence[bool],
    size: int,
    cond: Graph,
    body: Graph,
    consts: int,
    *,
    recurse: Callable[..., Graph],
    **limit: Any,
) -> tuple[Value, ...]:
    marks = spreading(body, mapped, consts, len(inputs) - consts, inexact=False)
    each_its_own = cond.outputs[0] in mapped_values(cond, marks)
    if each_its_own:
        refuse_collectives_in((cond, body))
        refuse_prints_in((cond, body))
        marks = [*mapped[:consts], *(True for _ in inputs[consts:])]
    carry_axes = [0 if mark else None for mark in marks[consts:]]
    in_axes = [0 if is_mapped else None for is_mapped in mapped[:consts]] + carry_axes
    given = inputs[:consts]
    carry = [
        leading(x, is_mapped, size) if mark else x
        for x, is_mapped, mark in zip(inputs[consts:], mapped[consts:], marks[consts:], strict=True)
    ]
    step = recurse(body, in_axes=in_axes, size=size, out_axes=carry_axes)
    goes_on = recurse(cond, in_axes=in_axes, size=size, out_axes=[0 if each_its_own else None])
    if each_its_own:
        return _until_all_are_done(given, carry, marks, size, goes_on, step, limit)
    found = bind_all("while_loop", *given, *carry, cond=goes_on, body=step, consts=consts, **limit)
    return tuple(
        x if mark else broadcast_to(x, (size, *x.shape))
        for x, mark in zip(found, marks[consts:], strict=True)
    )


def _until_all_are_done(
    given: Sequence[Value],
    carry: Sequence[Value],
    marks: Sequence[bool],
    size: int,
    cond: Graph,
    body: Graph,
    limit: dict[str, Any],
) -> tuple[Value, ...]:
    """Steps run for all examples as long as one of them continues; those that are done keep their values.

    The loop also carries which examples continue. The graph shows this: its steps are ``…_until_all_are_done``.
    """
    if not size:
        return tuple(carry)
    consts = len(given)
    running = inline(cond, (*given, *carry))[0]
    types = [value.type for value in (*given, running, *carry)]

    def step(*values: Value) -> list[Value]:
        going, before = values[consts], (*values[:consts], *values[consts + 1 :])
        new = inline(body, fill_inactive_examples(going, before, marks))
        after = [select_examples(going, a, b) for a, b in zip(new, before[consts:], strict=True)]
        return [inline(cond, (*before[:consts], *after))[0], *after]

    found = bind_all(
        "while_loop",
        *given,
        running,
        *carry,
        cond=graph_of("some_go_on", types, lambda *values: [bind("any", values[consts], axes=(0,))]),
        body=graph_of(f"{body.name}_until_all_are_done", types, step),
        consts=consts,
        **limit,
    )
    return found[1:]


register(
    Op(
        "while_loop",
        FAMILY,
        _while_type,
        _while_numpy,
        _while_jvp,
        _while_transpose,
        _while_batch,
        spelling=None,
        effect=None,  # the calls in the graphs have their own
        doc="What is carried after steps of `body`, ``(*constants, *carried) -> carried``, as long as `cond` of the "
        "same inputs holds, and at most `max_steps`. The first `consts` inputs are constants.",
    )
)

"""`while_loop`: steps as long as a condition holds.

How many steps there will be is not known, so reverse mode has no room to keep what they compute, unless there is
a limit. Then it goes through scans: blocks of steps, of which those after the end are skipped, and of which the
backward pass runs one at a time again.
"""

from collections.abc import Callable, Sequence
from math import isqrt
from typing import Any, NoReturn

import numpy as np

from ...batching import leading
from ...builder import bind, bind_all, current_builder, inline, not_recording
from ...dtypes import BOOL
from ...error_state import quiet_unless_strict
from ...errors import DTypeError, NotDifferentiableError, ShapeError
from ...interpreter import Interpreter
from ...ir import ArrayType, Graph, Value
from ...op import DifferentiateGraph, Op, Rebuilt, refuses, register
from ...value_ops import broadcast_to, zeros_like
from ..batched_branches import fill_inactive_examples, refuse_collectives_in, select_lanes
from ..collective_calls import mapped_values
from ..nested_graphs import graph_of, rearranged, spread, spreading

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
                f"while_loop: {graph.name}({_shown(expected)}) is called with ({_shown(inputs)})"
            )
    carried = inputs[consts:]
    outputs = tuple(value.type for value in body.outputs)
    if outputs != carried:
        raise ShapeError(f"while_loop: {body.name} carries ({_shown(carried)}) and gives ({_shown(outputs)})")
    result = tuple(value.type for value in cond.outputs)
    if result != (ArrayType(BOOL, ()),):
        raise DTypeError(f"while_loop: {cond.name} must give a bool[], not ({_shown(result)})")
    return carried


def _shown(types: Sequence[ArrayType]) -> str:
    return ", ".join(map(str, types))


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
        # The tangents come from a loop that runs the values again: it is linear in them, and forward mode is done.
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
    """One loop that carries values and tangents, and goes on as long as the loop of the values."""
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
    """The same loop as scans: blocks of about the root of the most steps, then the steps left over."""
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


@refuses("only with max_steps, as scans: how many steps there are is not known")
def _no_reverse(cotangents: Any, inputs: Any, **loop: Any) -> NoReturn:
    builder = current_builder()
    raise NotDifferentiableError(
        "reverse mode needs to know how many steps a while_loop takes at most: give while_loop(…, max_steps=n). A "
        "fori_loop needs bounds that are known when it is traced. Forward mode (jvp, jacfwd) needs neither",
        None if builder is None else builder.where(),
    )


# ---- batching --------------------------------------------------------------------------------------


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
    """Steps for all examples as long as one of them goes on; those that are done keep their values.

    The loop also carries which examples go on. The graph says so: its steps are ``…_until_all_are_done``.
    """
    if not size:
        return tuple(carry)
    consts = len(given)
    running = inline(cond, (*given, *carry))[0]
    types = [value.type for value in (*given, running, *carry)]

    def step(*values: Value) -> list[Value]:
        going, before = values[consts], (*values[:consts], *values[consts + 1 :])
        new = inline(body, fill_inactive_examples(going, before, marks))
        after = [select_lanes(going, a, b) for a, b in zip(new, before[consts:], strict=True)]
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
        _no_reverse,
        _while_batch,
        spelling=None,
        effect=None,  # that of the calls in the graphs
        doc="What is carried after steps of `body`, ``(*constants, *carried) -> carried``, as long as `cond` of the "
        "same inputs holds, and at most `max_steps`. The first `consts` inputs are constants.",
    )
)

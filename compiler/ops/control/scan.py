"""`scan`: a loop of known length that carries values from step to step, reads slices and stacks results.

Its derivative is also a scan. The residuals of the steps are stacked. Residuals that depend only on the loop's
constants are shared by all steps, and are computed once instead of being stacked.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ...builder import bind_all, inline, not_recording
from ...dtypes import is_inexact
from ...error_state import quiet_unless_strict
from ...errors import ShapeError
from ...interpreter import Interpreter, depends_on
from ...ir import ArrayType, Graph, Value, types_text
from ...op import DifferentiateGraph, Linear, Op, Rebuilt, register
from ...value_ops import add, broadcast_to, moveaxis, zeros_like
from ..batch_axes import in_front, leading
from ..nested_graphs import graph_of, needed_calls, rearranged, refuse_own_lengths, spread, spreading

FAMILY = "scan"

Counts: TypeAlias = tuple[int, int]
"""How many inputs are constants of the loop, and how many are carried; the rest are sliced."""

T = TypeVar("T")


def _parts(items: Sequence[T], counts: Counts) -> tuple[list[T], list[T], list[T]]:
    """Constants, carried, sliced."""
    consts, carried = counts
    return list(items[:consts]), list(items[consts : consts + carried]), list(items[consts + carried :])


def _scan_type(
    *inputs: ArrayType, graph: Graph, counts: Counts, length: int, reverse: bool = False, unroll: int = 1
) -> tuple[ArrayType, ...]:
    if length < 0 or unroll < 1 or min(counts) < 0:
        raise ShapeError(
            f"scan of {graph.name}: length {length}, unroll {unroll} and counts {counts} cannot be"
        )
    consts, carried, xs = _parts(inputs, counts)
    for x in xs:
        if x.shape[:1] != (length,):
            raise ShapeError(f"scan of {graph.name} of length {length} over {x}")
    given = (*consts, *carried, *(ArrayType(x.dtype, x.shape[1:]) for x in xs))
    expected = tuple(value.type for value in graph.inputs)
    if given != expected:
        raise ShapeError(f"scan: {graph.name}({types_text(expected)}) is called with ({types_text(given)})")
    outputs = tuple(value.type for value in graph.outputs)
    if outputs[: counts[1]] != tuple(carried):
        raise ShapeError(
            f"scan: {graph.name} carries ({types_text(carried)}) and gives ({types_text(outputs[: counts[1]])})"
        )
    return (*carried, *(ArrayType(y.dtype, (length, *y.shape)) for y in outputs[counts[1] :]))


def _scan_numpy(
    *inputs: Any, graph: Graph, counts: Counts, length: int, reverse: bool = False, unroll: int = 1
) -> tuple[Any, ...]:
    consts, carried, xs = _parts(inputs, counts)
    ys = [np.empty((length, *y.shape), y.dtype) for y in graph.outputs[counts[1] :]]
    step = Interpreter(graph)
    with not_recording(), quiet_unless_strict():
        for i in range(length)[:: -1 if reverse else 1]:
            results = step.run(*consts, *carried, *(x[i] for x in xs))
            carried = list(results[: counts[1]])
            for y, result in zip(ys, results[counts[1] :], strict=True):
                y[i] = result
    return (*map(np.asarray, carried), *ys)


# ---- derivatives -----------------------------------------------------------------------------------


def _scan_jvp(
    inputs: tuple[Value, ...],
    tangents: tuple[Value | None, ...],
    outputs: tuple[Value, ...],
    graph: Graph,
    counts: Counts,
    *,
    recurse: DifferentiateGraph,
    **loop: Any,
) -> Rebuilt:
    wrt = spreading(graph, [tangent is not None for tangent in tangents], *counts, inexact=True)
    reached = depends_on(graph, wrt)
    carried = counts[1]
    of = _parts(wrt, counts)[1]
    of += [value in reached and is_inexact(value.dtype) for value in graph.outputs[carried:]]
    given = [
        zeros_like(x) if tangent is None else tangent
        for x, tangent, marked in zip(inputs, tangents, wrt, strict=True)
        if marked
    ]
    forward, linear = recurse(graph, wrt, of)
    if linear is None:
        results, pushed = _joint(inputs, given, forward, counts, wrt, of, loop)
    else:
        results, pushed = _split(inputs, given, forward, linear, counts, wrt, of, loop)
    return Rebuilt(tuple(results), spread(iter(pushed), of))


def _joint(
    inputs: Sequence[Value],
    given: Sequence[Value],
    joint: Graph,
    counts: Counts,
    wrt: Sequence[bool],
    of: Sequence[bool],
    loop: dict[str, Any],
) -> tuple[list[Value], list[Value]]:
    """One loop that carries values and tangents: the step's inputs and outputs in the order of a scan's."""
    places = list(range(len(inputs)))
    tangent_at = spread(iter(range(len(inputs), len(joint.inputs))), wrt)
    order: list[int] = []
    taken: list[int] = []
    for part in _parts(places, counts):
        also = [place for i in part if (place := tangent_at[i]) is not None]
        order += [*part, *also]
        taken.append(len(part) + len(also))
    count, carried = len(of), counts[1]
    also_out = spread(iter(range(count, len(joint.outputs))), of)
    carries = [place for place in also_out[:carried] if place is not None]
    stacks = [place for place in also_out[carried:] if place is not None]
    out_order = [*range(carried), *carries, *range(carried, count), *stacks]
    values = [*inputs, *given]
    step = rearranged(joint, order, out_order)
    found = bind_all("scan", *(values[i] for i in order), graph=step, counts=(taken[0], taken[1]), **loop)
    by_place = dict(zip(out_order, found, strict=True))
    return [by_place[i] for i in range(count)], [by_place[i] for i in range(count, len(joint.outputs))]


def _split(
    inputs: Sequence[Value],
    given: Sequence[Value],
    forward: Graph,
    linear: Graph,
    counts: Counts,
    wrt: Sequence[bool],
    of: Sequence[bool],
    loop: dict[str, Any],
) -> tuple[list[Value], list[Value]]:
    """Two loops: forward, which stacks the residuals of its steps, and one that is linear in the tangents."""
    count, (consts, carried) = len(of), counts
    residuals = forward.outputs[count:]
    varying = depends_on(forward, [False] * consts + [True] * (len(inputs) - consts))
    shared = [value for value in residuals if value not in varying]
    # Values that are stacked or sliced anyway need not be stacked again for the derivative.
    known = dict(zip(forward.inputs[consts + carried :], inputs[consts + carried :], strict=True))
    stacked = [value for value in residuals if value in varying and value not in known]
    refuse_own_lengths(forward, stacked)
    ys = forward.outputs[carried:count]
    new = [value for value in stacked if value not in ys]
    step = Graph(
        forward.name,
        forward.inputs,
        needed_calls(forward, (*forward.outputs[:count], *new), effects=True),
        (*forward.outputs[:count], *new),
        forward.input_names,
    )
    results = bind_all("scan", *inputs, graph=step, counts=counts, **loop)
    known.update(zip((*ys, *new), results[carried:], strict=True))
    known.update(zip(shared, _computed_once(forward, shared, inputs[:consts]), strict=True))
    place = {value: i for i, value in enumerate(residuals)}
    tangent_places = range(len(residuals), len(linear.inputs))
    dconsts, dcarried = (sum(marks) for marks in _parts(wrt, counts)[:2])
    order = [
        *(place[value] for value in shared),
        *tangent_places[: dconsts + dcarried],
        *(place[value] for value in residuals if value in varying),
        *tangent_places[dconsts + dcarried :],
    ]
    values = [*(known[value] for value in residuals), *given]
    pushed = bind_all(
        "scan",
        *(values[i] for i in order),
        graph=rearranged(linear, order, range(len(linear.outputs))),
        counts=(len(shared) + dconsts, dcarried),
        **loop,
    )
    return list(results[:count]), list(pushed)


def _computed_once(graph: Graph, values: Sequence[Value], consts: Sequence[Value]) -> tuple[Value, ...]:
    """Record the calls that depend only on the loop's constants outside the loop."""
    inputs = graph.inputs[: len(consts)]
    part = Graph(graph.name, inputs, needed_calls(graph, values), tuple(values))
    return inline(part, consts)


def _scan_transpose(
    cotangents: tuple[Value, ...],
    inputs: tuple[Any, ...],
    graph: Graph,
    counts: Counts,
    *,
    recurse: Callable[..., Graph],
    reverse: bool = False,
    **loop: Any,
) -> tuple[Value | None, ...]:
    """The loop backwards: it carries the cotangents of the carry and the sums of the cotangents of the constants.

    Carried values that are not linear, such as the number of the step, are first computed by a loop of their own.
    """
    given = [isinstance(x, Linear) for x in inputs]
    linear = spreading(graph, given, *counts, inexact=False)
    consts, carried, xs = _parts(list(zip(inputs, linear, strict=True)), counts)
    known_consts = [x for x, is_linear in consts if not is_linear]
    known_carries = [x for x, is_linear in carried if not is_linear]
    known_xs = [x for x, is_linear in xs if not is_linear]
    if known_carries:
        first = [*known_consts, *known_carries, *known_xs]
        step_of_known = _known_part(graph, linear, counts)
        sizes = (len(known_consts), len(known_carries))
        on = {"reverse": True} if reverse else {}
        stacks = bind_all("scan", *first, graph=step_of_known, counts=sizes, **on, **loop)
        known_xs = [*stacks[len(known_carries) :], *known_xs]
    sums = [zeros_like(x) for x, is_linear in consts if is_linear]
    carries = [is_linear for _, is_linear in carried]
    ct_carries = [ct for ct, is_linear in zip(cotangents, carries, strict=False) if is_linear]
    places = (len(known_consts), len(sums) + len(ct_carries))
    back = recurse(graph, linear=linear)

    def step(*values: Value) -> list[Value]:
        mine, carry, slices = _parts(values, places)
        before, ct_carry = carry[: len(sums)], iter(carry[len(sums) :])
        residuals, ct_ys = slices[: len(known_xs)], slices[len(known_xs) :]
        cts = [
            next(ct_carry) if is_linear else zeros_like(out)
            for out, is_linear in zip(graph.outputs, carries, strict=False)
        ]
        found = inline(back, (*mine, *residuals, *cts, *ct_ys))
        return [*map(add, before, found), *found[len(sums) :]]

    values = [*known_consts, *sums, *ct_carries, *known_xs, *cotangents[len(carried) :]]
    types = [
        ArrayType(value.dtype, value.shape[1:]) if i >= sum(places) else value.type
        for i, value in enumerate(values)
    ]
    on = {} if reverse else {"reverse": True}
    found = bind_all("scan", *values, graph=graph_of(back.name, types, step), counts=places, **on, **loop)
    results = spread(iter(found), linear)
    return tuple(x if is_linear else None for x, is_linear in zip(results, given, strict=True))


def _known_part(graph: Graph, linear: Sequence[bool], counts: Counts) -> Graph:
    """The step for the carried values that are not linear, which also returns their values before the step."""
    inputs = [(v, n) for v, n, m in zip(graph.inputs, graph.input_names, linear, strict=True) if not m]
    _, carries, _ = _parts(list(zip(graph.inputs, linear, strict=True)), counts)
    before = [value for value, is_linear in carries if not is_linear]
    after = [out for out, (_, is_linear) in zip(graph.outputs, carries, strict=False) if not is_linear]
    values, names = zip(*inputs, strict=True)
    return Graph(graph.name, values, needed_calls(graph, after), (*after, *before), names)


# ---- batching --------------------------------------------------------------------------------------


@in_front
def _scan_batch(
    inputs: tuple[Value, ...],
    mapped: Sequence[bool],
    size: int,
    graph: Graph,
    counts: Counts,
    *,
    recurse: Callable[..., Graph],
    **loop: Any,
) -> tuple[Value, ...]:
    """The batch axis comes after the axis of the loop. A carried value has a batch axis if a step gives it one."""
    marks = spreading(graph, mapped, *counts, inexact=False)
    carries = _parts(marks, counts)[1]
    reached = depends_on(graph, marks)
    out_mapped = [*carries, *(value in reached for value in graph.outputs[counts[1] :])]
    consts, carried, xs = _parts(list(zip(inputs, mapped, strict=True)), counts)
    values = [x for x, _ in consts]
    values += [
        leading(x, is_mapped, size) if mark else x
        for (x, is_mapped), mark in zip(carried, carries, strict=True)
    ]
    values += [moveaxis(x, 0, 1) if is_mapped else x for x, is_mapped in xs]
    batched = recurse(
        graph,
        in_axes=[0 if mark else None for mark in marks],
        size=size,
        out_axes=[0 if mark else None for mark in out_mapped],
    )
    found = bind_all("scan", *values, graph=batched, counts=counts, **loop)
    return tuple(
        (x if i < counts[1] else moveaxis(x, 1, 0)) if is_mapped else broadcast_to(x, (size, *x.shape))
        for i, (x, is_mapped) in enumerate(zip(found, out_mapped, strict=True))
    )


register(
    Op(
        "scan",
        FAMILY,
        _scan_type,
        _scan_numpy,
        _scan_jvp,
        _scan_transpose,
        _scan_batch,
        spelling=None,
        effect=None,  # the calls in the step have their own
        doc="`length` steps of a graph ``(*constants, *carried, *slices) -> (*carried, *results)``, from the last "
        "slice to the first if `reverse`: what was carried at last, then the stacked results. ``counts`` says how "
        "many inputs are constants, and how many are carried.",
    )
)

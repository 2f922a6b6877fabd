"""`switch`: one of several graphs, chosen at run time."""

from collections.abc import Callable, Sequence
from typing import Any

from ...builder import Builder, bind, bind_all, inline, recording
from ...dtypes import BOOL, INT64, is_inexact
from ...errors import DTypeError, ShapeError
from ...interpreter import depends_on, evaluate
from ...ir import ArrayType, Graph, Value, types_text
from ...op import DifferentiateGraph, Linear, Op, Rebuilt, register
from ...symbolic_size import same_shape
from ...value_ops import convert, equal, full, logical_not, maximum, minimum
from ..batch_axes import in_front
from ..batched_branches import (
    fill_inactive_examples,
    refuse_collectives_in,
    refuse_prints_in,
    select_examples,
)
from ..nested_graphs import graph_of, refuse_own_lengths, spread

FAMILY = "branching"


def _switch_type(
    index: ArrayType, *operands: ArrayType, branches: tuple[Graph, ...]
) -> tuple[ArrayType, ...]:
    if index.shape or index.dtype not in (BOOL, INT64):
        raise DTypeError(f"switch chooses by a bool[] or an i64[], not by {index}")
    if not branches:
        raise ShapeError("switch needs at least one branch")
    results = tuple(value.type for value in branches[0].outputs)
    for branch in branches:
        expected = tuple(value.type for value in branch.inputs)
        if operands != expected:
            raise ShapeError(
                f"switch: {branch.name}({types_text(expected)}) is called with ({types_text(operands)})"
            )
        given = tuple(value.type for value in branch.outputs)
        if given != results:
            raise ShapeError(
                f"switch: {branches[0].name} gives ({types_text(results)}), {branch.name} gives ({types_text(given)})"
            )
    return results


def _switch_numpy(index: Any, *operands: Any, branches: tuple[Graph, ...]) -> tuple[Any, ...]:
    return evaluate(branches[min(max(int(index), 0), len(branches) - 1)], *operands)


# ---- derivatives -----------------------------------------------------------------------------------


def _switch_jvp(
    inputs: tuple[Value, ...],
    tangents: tuple[Value | None, ...],
    outputs: tuple[Value, ...],
    branches: tuple[Graph, ...],
    *,
    recurse: DifferentiateGraph,
) -> Rebuilt:
    index, *operands = inputs
    wrt = [tangent is not None for tangent in tangents[1:]]
    given = [tangent for tangent in tangents if tangent is not None]
    reached = [depends_on(branch, wrt) for branch in branches]
    of = [
        is_inexact(out.dtype)
        and any(branch.outputs[i] in found for branch, found in zip(branches, reached, strict=True))
        for i, out in enumerate(outputs)
    ]
    parts = [recurse(branch, wrt, of) for branch in branches]
    split = [(forward, linear) for forward, linear in parts if linear is not None]
    if not split:
        results = bind_all("switch", *inputs, *given, branches=tuple(joint for joint, _ in parts))
        pushed = results[len(outputs) :]
    else:
        for forward, _ in split:
            refuse_own_lengths(forward, forward.outputs[len(outputs) :])
        forwards, linears, shared = _with_shared_residuals(split, len(outputs))
        results = bind_all("switch", *inputs, branches=forwards)
        known = [*(operands[place] for place in shared), *results[len(outputs) :]]
        pushed = bind_all("switch", index, *known, *given, branches=linears)
    return Rebuilt(results[: len(outputs)], spread(iter(pushed), of))


def _with_shared_residuals(
    split: Sequence[tuple[Graph, Graph]], count: int
) -> tuple[tuple[Graph, ...], tuple[Graph, ...], list[int]]:
    """Branches that return residuals of the same types, their linear parts, and the operands that those need, too.

    Each type of residual has as many slots as the branch with the most of them needs; a branch fills the others with
    zeros. A residual that is an operand needs no slot.
    """
    slots: list[ArrayType] = []
    filled: list[dict[int, Value]] = []  # per branch: the values of the slots
    operands: list[dict[int, Value]] = []  # per branch: by position, the operand that is a residual
    for forward, linear in split:
        places = {value: place for place, value in enumerate(forward.inputs)}
        mine: dict[int, Value] = {}
        direct: dict[int, Value] = {}
        for residual, inner in zip(forward.outputs[count:], linear.inputs, strict=False):
            if residual in places:
                direct[places[residual]] = inner
                continue
            free = (i for i, slot in enumerate(slots) if _is_same(slot, residual.type) and i not in mine)
            slot = next(free, len(slots))
            if slot == len(slots):
                slots.append(residual.type)
            mine[slot] = residual
        filled.append(mine)
        operands.append(direct)
    shared = sorted({place for direct in operands for place in direct})
    forwards = [_filling(split[i][0], count, slots, mine) for i, mine in enumerate(filled)]
    linears = []
    for (forward, linear), mine, direct in zip(split, filled, operands, strict=True):
        inner_of = dict(zip(forward.outputs[count:], linear.inputs, strict=False))
        inputs = [direct.get(place) or Value(forward.inputs[place].type) for place in shared]
        inputs += [inner_of[mine[i]] if i in mine else Value(slot) for i, slot in enumerate(slots)]
        inputs += linear.inputs[len(forward.outputs) - count :]
        linears.append(Graph(linear.name, tuple(inputs), linear.calls, linear.outputs))
    return tuple(forwards), tuple(linears), shared


def _is_same(one: ArrayType, other: ArrayType) -> bool:
    """Whether two types are the same for all sizes."""
    return one.dtype == other.dtype and same_shape(one.shape, other.shape)


def _filling(forward: Graph, count: int, slots: Sequence[ArrayType], mine: dict[int, Value]) -> Graph:
    """A branch that returns its own residuals in their slots, and zeros in the others."""
    with recording(Builder()) as builder:
        residuals = [mine[i] if i in mine else full(t.shape, 0, t.dtype) for i, t in enumerate(slots)]
    calls = (*forward.calls, *builder.calls)
    outputs = (*forward.outputs[:count], *residuals)
    return Graph(forward.name, forward.inputs, calls, outputs, forward.input_names)


def _switch_transpose(
    cotangents: tuple[Value, ...],
    inputs: tuple[Any, ...],
    branches: tuple[Graph, ...],
    *,
    recurse: Callable[..., Graph],
) -> tuple[Value | None, ...]:
    linear = [isinstance(x, Linear) for x in inputs]
    known = [x for x in inputs if not isinstance(x, Linear)]
    transposed = tuple(recurse(branch, linear=linear[1:]) for branch in branches)
    return spread(iter(bind_all("switch", *known, *cotangents, branches=transposed)), linear)


# ---- batching --------------------------------------------------------------------------------------


@in_front
def _switch_batch(
    inputs: tuple[Value, ...],
    mapped: Sequence[bool],
    size: int,
    branches: tuple[Graph, ...],
    *,
    recurse: Callable[..., Graph],
) -> tuple[Value, ...]:
    index, *operands = inputs
    in_axes = [0 if is_mapped else None for is_mapped in mapped[1:]]
    out_axes = [0] * len(branches[0].outputs)
    batched = [recurse(branch, in_axes=in_axes, size=size, out_axes=out_axes) for branch in branches]
    if not mapped[0]:
        return bind_all("switch", *inputs, branches=tuple(batched))
    refuse_collectives_in(branches)
    refuse_prints_in(branches)
    if not size:
        return tuple(full(value.shape, 0, value.dtype) for value in batched[0].outputs)
    return _select_branch(index, operands, mapped[1:], batched)


def _select_branch(
    index: Value, operands: Sequence[Value], mapped: Sequence[bool], branches: Sequence[Graph]
) -> tuple[Value, ...]:
    """Each example has its own branch: every branch that some example takes runs for all, and each example then gets
    its own result.

    The graph shows this: it has one `switch` per branch, between ``…_for_all`` and ``…_for_none``.
    """
    if index.dtype == BOOL and len(branches) == 2:
        takes = [logical_not(index), index]
    else:
        clamped = minimum(maximum(convert(index, INT64), 0), len(branches) - 1)
        takes = [equal(clamped, i) for i in range(len(branches))]
    results: tuple[Value, ...] = ()
    for mask, branch in zip(takes, branches, strict=True):
        types = [mask.type, *(value.type for value in branch.inputs)]
        ways = (_for_none(branch, types), _for_all(branch, types, mapped))
        found = bind_all("switch", bind("any", mask, axes=(0,)), mask, *operands, branches=ways)
        results = tuple(map(select_examples, (mask,) * len(found), found, results)) if results else found
    return results


def _for_all(branch: Graph, types: Sequence[ArrayType], mapped: Sequence[bool]) -> Graph:
    def run(mask: Value, *operands: Value) -> tuple[Value, ...]:
        return inline(branch, fill_inactive_examples(mask, operands, mapped))

    return graph_of(f"{branch.name}_for_all", types, run, ("taken", *branch.input_names))


def _for_none(branch: Graph, types: Sequence[ArrayType]) -> Graph:
    def nothing(*inputs: Value) -> list[Value]:
        return [full(value.shape, 0, value.dtype) for value in branch.outputs]

    return graph_of(f"{branch.name}_for_none", types, nothing, ("taken", *branch.input_names))


register(
    Op(
        "switch",
        FAMILY,
        _switch_type,
        _switch_numpy,
        _switch_jvp,
        _switch_transpose,
        _switch_batch,
        spelling=None,
        effect=None,  # the calls in the branches have their own
        doc="The outputs of ``branches[index]`` on the operands; an index beyond either end chooses the last there. "
        "A bool chooses between two.",
    )
)

"""Which outputs of a linear graph depend on which entries of its inputs: sets of columns, propagated through every
call.

The pattern of a value has a row per entry of the value, a column per entry of the linear inputs, and True where the
first may depend on the second. Every op moves or unites rows. Floating-point values are ignored unless they are
fixed: a factor that is 0 at one point is not 0 at another. Integers count: the target of an index is part of the
pattern.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ...compiler.builder import not_recording
from ...compiler.dtypes import Array
from ...compiler.interpreter import run_call
from ...compiler.ir import Call, Constant, Graph, Value
from ...compiler.op import lookup
from ...compiler.ops.control.loop_params import scan_params
from ...compiler.params import flag_param, graph_param, graphs_param, int_param, ints_param

Pattern: TypeAlias = Any
"""A `scipy.sparse.csr_array` of bools."""


@dataclass(frozen=True, slots=True)
class Known:
    """A value that does not depend on the linear inputs."""

    array: Array | None
    """Its value at the point, if it has been computed."""
    fixed: bool
    """Whether it is the same at every point, so that its zeros stay zeros."""


Operand: TypeAlias = Known | Pattern


def sparsity(graph: Graph, residuals: Sequence[Known]) -> tuple[list[Pattern], tuple[str, ...]]:
    """The pattern of each output of a linear graph ``(*residuals, *tangents) -> outputs``.

    Also returns the names of the ops without a rule. Every entry of their results counts as depending on everything
    that any entry of their operands depends on.
    """
    tangents = graph.inputs[len(residuals) :]
    columns = sum(value.type.size for value in tangents)
    spread = _Propagation(columns)
    inputs: list[Operand] = [*residuals]
    first = 0
    for value in tangents:
        size = value.type.size
        places = np.arange(size)
        inputs.append(_marks(places, places + first, (size, columns)))
        first += size
    with not_recording(), np.errstate(all="ignore"):
        outputs = spread.run(graph, inputs)
    patterns = [spread.pattern(x, v) for x, v in zip(outputs, graph.outputs, strict=True)]
    return patterns, tuple(sorted(spread.without_rule))


class _Propagation:
    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.without_rule: set[str] = set()

    def run(self, graph: Graph, inputs: Sequence[Operand]) -> list[Operand]:
        """The outputs of a graph, nested or not."""
        env: dict[Value, Operand] = dict(zip(graph.inputs, inputs, strict=True))

        def operand(value: Value) -> Operand:
            return Known(value.array, fixed=True) if isinstance(value, Constant) else env[value]

        for call in graph.calls:
            operands = [operand(v) for v in call.inputs]
            is_known = all(isinstance(x, Known) for x in operands)
            results = _computed(call, operands) if is_known else self._results(call, operands)
            env.update(zip(call.outputs, results, strict=True))
        return [operand(v) for v in graph.outputs]

    def pattern(self, operand: Operand, value: Value) -> Pattern:
        """The pattern of an operand; a known value depends on nothing."""
        if not isinstance(operand, Known):
            return operand
        nothing = np.zeros(0, int)
        return _marks(nothing, nothing, (value.type.size, self.columns))

    def _results(self, call: Call, operands: Sequence[Operand]) -> Sequence[Operand]:
        nested = _NESTED.get(call.op)
        if nested is not None:
            return nested(self, call, operands)
        rule = _rule_of(call)
        patterns = [self.pattern(x, v) for x, v in zip(operands, call.inputs, strict=True)]
        found = None if rule is None else rule(call, operands, patterns)
        return [found] if found is not None else self._everything(call, patterns)

    def _everything(self, call: Call, patterns: Sequence[Pattern]) -> list[Pattern]:
        """Each entry of the results depends on everything that any entry of the operands depends on."""
        self.without_rule.add(call.op)
        used = np.unique(np.concatenate([pattern.indices for pattern in patterns]))
        results = []
        for value in call.outputs:
            rows = np.repeat(np.arange(value.type.size), len(used))
            results.append(_marks(rows, np.tile(used, value.type.size), (value.type.size, self.columns)))
        return results


def _marks(rows: Any, columns: Any, shape: tuple[int, int]) -> Pattern:
    """A pattern from the positions that are True; they may repeat."""
    from scipy.sparse import coo_array

    marks = np.ones(len(rows), np.bool_)
    return coo_array((marks, (rows, columns)), shape=shape).tocsr()


def _computed(call: Call, operands: Sequence[Known]) -> list[Known]:
    fixed = all(x.fixed for x in operands)
    arrays = [x.array for x in operands if x.array is not None]
    if len(arrays) < len(operands):
        return [Known(None, fixed) for _ in call.outputs]
    return [Known(np.asarray(out), fixed) for out in run_call(call, arrays)]


def _entries(value: Value) -> Array:
    """An array that holds the number of each entry at its position."""
    return np.arange(value.type.size).reshape(value.shape)


def _united(pattern: Pattern, targets: Any, sources: Any, size: int) -> Pattern:
    """Row t of the result unites the rows s of all pairs (t, s)."""
    return _marks(np.ravel(targets), np.ravel(sources), (size, pattern.shape[0])) @ pattern


# ---- rules: the result's pattern, or None if there is none for this call -----------------------------


def _elementwise(call: Call, operands: Sequence[Operand], patterns: Sequence[Pattern]) -> Pattern:
    """The union of the entries at the same position. A fixed factor of 0 removes them."""
    (out,) = call.outputs
    total = None
    for value, operand, pattern in zip(call.inputs, operands, patterns, strict=True):
        if isinstance(operand, Known):
            continue
        rows = pattern
        if value.shape != out.shape:
            rows = pattern[np.broadcast_to(_entries(value), out.shape).ravel()]
        total = rows if total is None else total + rows
    if call.op == "multiply":
        for operand in operands:
            if isinstance(operand, Known) and operand.fixed and operand.array is not None:
                kept = np.flatnonzero(np.broadcast_to(operand.array != 0, out.shape))
                if len(kept) < out.type.size:
                    total = _united(total, kept, kept, out.type.size)
    return total


def _moved(call: Call, operands: Sequence[Operand], patterns: Sequence[Pattern]) -> Pattern | None:
    """Let the op move the numbers of entries, and see where they went. Number 0 stands for known values."""
    moves = lookup(call.op).moves or len(operands)
    arguments: list[Any] = []
    rows: list[Pattern] = []
    first = 1
    for place, (value, operand) in enumerate(zip(call.inputs, operands, strict=True)):
        if place >= moves:
            if not isinstance(operand, Known) or operand.array is None:
                return None
            arguments.append(operand.array)
        elif isinstance(operand, Known):
            arguments.append(np.zeros(value.shape, int))
        else:
            arguments.append(_entries(value) + first)
            rows.append(patterns[place])
            first += value.type.size
    (moved,) = run_call(call, arguments)
    flat = np.ravel(moved)
    there = np.flatnonzero(flat)
    return _united(_stacked(rows), there, flat[there] - 1, flat.size)


def _stacked(patterns: Sequence[Pattern]) -> Pattern:
    from scipy.sparse import vstack

    return patterns[0] if len(patterns) == 1 else vstack(patterns, format="csr")


def _scattered(call: Call, operands: Sequence[Operand], patterns: Sequence[Pattern]) -> Pattern | None:
    """Each position unites its old dependencies and those of the written value."""
    indices = [x.array for x in operands[2:] if isinstance(x, Known) and x.array is not None]
    if len(indices) < len(operands) - 2:
        return None
    (out,) = call.outputs
    places = lookup("gather").numpy(_entries(out), *indices, axes=ints_param(call, "axes"))
    updates = call.inputs[1].type.size
    return patterns[0] + _united(patterns[1], places, np.arange(updates), out.type.size)


def _summed(call: Call, operands: Sequence[Operand], patterns: Sequence[Pattern]) -> Pattern:
    (x,), (out,) = call.inputs, call.outputs
    axes = ints_param(call, "axes")
    targets = np.broadcast_to(np.expand_dims(_entries(out), axes), x.shape)
    return _united(patterns[0], targets, _entries(x), out.type.size)


def _accumulated(call: Call, operands: Sequence[Operand], patterns: Sequence[Pattern]) -> Pattern:
    (x,), (out,) = call.inputs, call.outputs
    axis = int_param(call, "axis")
    length = x.shape[axis]
    lines = np.moveaxis(_entries(x), axis, -1).reshape(x.type.size // max(length, 1), length)
    later, earlier = np.tril_indices(length)
    if flag_param(call, "reverse"):
        later, earlier = earlier, later
    return _united(patterns[0], lines[:, later], lines[:, earlier], out.type.size)


def _contracted(call: Call, operands: Sequence[Operand], patterns: Sequence[Pattern]) -> Pattern | None:
    """Sums of products with a known factor. Its zeros count if it is fixed."""
    linear = [not isinstance(x, Known) for x in operands]
    if all(linear):
        return None
    (out,) = call.outputs
    x, y = (_as_matrices(call, place) for place in (0, 1))  # batch × rows × length, batch × length × columns
    batch, rows, columns = *x.shape[:2], y.shape[2]
    factor = operands[linear.index(False)]
    target = np.arange(out.type.size).reshape(batch, rows, columns)
    if factor.fixed and factor.array is not None:
        nonzero = np.ravel(factor.array != 0)
        if linear[0]:
            b, k, j = np.nonzero(nonzero[y])
            return _united(patterns[0], target[b, :, j], x[b, :, k], out.type.size)
        b, i, k = np.nonzero(nonzero[x])
        return _united(patterns[1], target[b, i], y[b, k], out.type.size)
    if linear[0]:
        sums = np.arange(batch * rows).reshape(batch, rows, 1)
        united = _united(patterns[0], np.broadcast_to(sums, x.shape), x, sums.size)
        return united[np.broadcast_to(sums, target.shape).ravel()]
    sums = np.arange(batch * columns).reshape(batch, 1, columns)
    united = _united(patterns[1], np.broadcast_to(sums, y.shape), y, sums.size)
    return united[np.broadcast_to(sums, target.shape).ravel()]


def _as_matrices(call: Call, place: int) -> Array:
    """The numbers of an operand's entries in the order in which `dot` multiplies them."""
    value, side = call.inputs[place], "xy"[place]
    contract, batch = ints_param(call, f"contract_{side}"), ints_param(call, f"batch_{side}", ())
    free = [axis for axis in range(value.ndim) if axis not in (*contract, *batch)]
    groups = (batch, free, contract) if place == 0 else (batch, contract, free)
    shape = [int(np.prod([value.shape[axis] for axis in group], dtype=int)) for group in groups]
    order = [axis for group in groups for axis in group]
    return np.transpose(_entries(value), order).reshape(shape)


Rule: TypeAlias = Callable[[Call, Sequence[Operand], Sequence[Pattern]], "Pattern | None"]

_RULES: dict[str, Rule] = {
    "checkpoint_name": _moved,
    "cumsum": _accumulated,
    "dot": _contracted,
    "scatter": _scattered,
    "sum": _summed,
}


def _rule_of(call: Call) -> Rule | None:
    op = lookup(call.op)
    return _moved if op.moves else _RULES.get(call.op, _elementwise if op.spelling else None)


# ---- calls that hold graphs --------------------------------------------------------------------------


def _through_call(spread: _Propagation, call: Call, operands: Sequence[Operand]) -> list[Operand]:
    graph = graph_param(call)
    return spread.run(graph, operands)


def _through_scan(spread: _Propagation, call: Call, operands: Sequence[Operand]) -> list[Operand]:
    """Step by step, as the loop runs."""
    graph, length, consts, carried, reverse, _ = scan_params(call)
    given, carry, xs = (
        operands[:consts],
        list(operands[consts : consts + carried]),
        operands[consts + carried :],
    )
    stacked: list[list[Operand]] = [[] for _ in graph.outputs[carried:]]
    for i in range(length)[:: -1 if reverse else 1]:
        slices = [
            _slice_of(x, i, v.type.size) for x, v in zip(xs, graph.inputs[consts + carried :], strict=True)
        ]
        results = spread.run(graph, [*given, *carry, *slices])
        carry = results[:carried]
        for column, result in zip(stacked, results[carried:], strict=True):
            column.append(result)
    if reverse:
        stacked = [column[::-1] for column in stacked]
    inner = graph.outputs[carried:]
    ys = [
        spread.pattern(Known(None, fixed=False), out)
        if not column
        else _stacked([spread.pattern(x, v) for x in column])
        for column, v, out in zip(stacked, inner, call.outputs[carried:], strict=True)
    ]
    return [*carry, *ys]


def _slice_of(x: Operand, i: int, size: int) -> Operand:
    if isinstance(x, Known):
        return Known(None if x.array is None else x.array[i], x.fixed)
    return x[i * size : (i + 1) * size]


def _through_switch(spread: _Propagation, call: Call, operands: Sequence[Operand]) -> list[Operand]:
    """Everything that a branch may depend on, because another point may take it."""
    branches = graphs_param(call)
    found = [spread.run(branch, operands[1:]) for branch in branches]
    return [
        sum((spread.pattern(x, v) for x in results[1:]), start=spread.pattern(results[0], v))
        for v, *results in zip(call.outputs, *found, strict=True)
    ]


Nested: TypeAlias = Callable[[_Propagation, Call, Sequence[Operand]], list[Operand]]

_NESTED: dict[str, Nested] = {
    "call": _through_call,
    "checkpoint": _through_call,
    "scan": _through_scan,
    "switch": _through_switch,
}

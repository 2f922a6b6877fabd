"""A scan whose backward pass recomputes its steps block by block, instead of storing the residuals of each step.

The method is that of Griewank and Walther, "Algorithm 799: revolve" (2000), with two levels. For n steps in blocks of
k, the forward pass stores the carry at the start of each of the n / k blocks. The backward pass runs one block at a
time again, and stores its k steps.
"""

from collections.abc import Sequence
from typing import Any

from ...compiler.builder import bind_all
from ...compiler.ir import ArrayType, Graph, Value
from ...compiler.ops.nested_graphs import graph_of
from ...compiler.symbolic_size import is_known
from ...compiler.value_ops import concatenate, reshape, slice_axis


def scan_in_blocks(
    step: Graph, values: Sequence[Value], counts: tuple[int, int], length: int, every: int, **loop: Any
) -> tuple[Value, ...]:
    """Record ``scan(*values, graph=step, …)`` as a scan over blocks of `every` steps, and one over the remaining
    steps."""
    start = sum(counts)
    carried = counts[1]
    blocks, left = divmod(length, every)
    consts, carry, xs = values[: counts[0]], values[counts[0] : start], values[start:]
    reverse = loop.get("reverse", False)
    first = left if reverse else 0  # the blocks run first, at the end where the loop begins
    rest = 0 if reverse else length - left
    rows = [slice_axis(x, first, first + blocks * every, 0) for x in xs]
    rows = [reshape(x, (blocks, every, *x.shape[1:])) for x in rows]
    block = _block(step, [*consts, *carry, *rows], counts, every, loop)
    results = bind_all("scan", *consts, *carry, *rows, graph=block, counts=counts, length=blocks, **loop)
    carry = results[:carried]
    stacks = [reshape(y, (blocks * every, *y.shape[2:])) for y in results[carried:]]
    if is_known(left == 0):
        return *carry, *stacks
    others = [slice_axis(x, rest, rest + left, 0) for x in xs]
    results = bind_all("scan", *consts, *carry, *others, graph=step, counts=counts, length=left, **loop)
    pairs = zip(stacks, results[carried:], strict=True)
    whole = [concatenate([b, a] if reverse else [a, b], 0) for a, b in pairs]
    return *results[:carried], *whole


def _block(
    step: Graph, values: Sequence[Value], counts: tuple[int, int], every: int, loop: dict[str, Any]
) -> Graph:
    """`every` steps, of which the derivative stores only the inputs."""
    types = [ArrayType(v.dtype, v.shape[1:]) if i >= sum(counts) else v.type for i, v in enumerate(values)]
    steps = graph_of(
        f"{step.name}_block",
        types,
        lambda *inner: bind_all("scan", *inner, graph=step, counts=counts, length=every, **loop),
        step.input_names,
    )
    return graph_of(
        steps.name, types, lambda *inner: bind_all("checkpoint", *inner, graph=steps), step.input_names
    )

"""`scan`: a loop over the first axis of arrays that carries values from step to step."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
import optree

from ...compiler.arguments.leaves import is_array_like, leaf_type, path_names, remedy_for
from ...compiler.arguments.option_checks import flag
from ...compiler.builder import bind_all
from ...compiler.callers.function_names import describe
from ...compiler.dtypes import INT64
from ...compiler.errors import CarryMismatchError, TransformArgumentError, TransformTypeError
from ...compiler.frontend.program import Argument
from ...compiler.ir import ArrayType, Value
from ...compiler.nesting import shown
from ...compiler.ops.nested_graphs import graph_of
from ...compiler.symbolic_size import SymbolicSize, is_known, typical
from ...compiler.tracing.traced_array import located, wrap
from ...compiler.value_ops import add, number
from ..eager.nested_function import Captures, NestedFunction
from ..eager.run import overwrite, require_function, run
from ..int_options import int_option, joint_length, size_option
from ..tracebacks import with_users_frames
from ..trees import flatten, show, structure
from .carry import Carry
from .checkpointed_scan import scan_in_blocks
from .python_loop import PythonLoop, Stacks, running_bodies, runs_in_python, separate


@with_users_frames
def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int = 1,
    checkpoint_every: "int | str | None" = None,
) -> Any:
    """A loop that runs ``carry, y = f(carry, x)`` for the slices x of `xs`, and stacks the y.

    A compiled function traces `f`, and the compiled loop is a loop; outside of any transform it is one of Python. It
    works under every transform; the gradient of n steps takes time and memory proportional to n. Writes of `f` to
    outside arrays are kept; writes to `carry` and `x` stay inside.

    Args:
        f: the step, from ``(carry, x)`` to ``(carry, y)``. It must return the carry in the structure, shapes and dtypes
            in which it gets it; Python numbers in `init` take the dtype that `f` gives them.
        init: the first carry, a pytree of arrays and numbers.
        xs: a pytree of arrays, all with the same first axis, over which the loop runs; None for none.
        length: how many steps; needed where `xs` is None.
        reverse: begin at the last slice. The y are stacked in the order of the slices all the same.
        unroll: how many steps are written out in one iteration of the compiled loop.
        checkpoint_every: keep the carry of every n-th step for the backward pass, and compute the rest again;
            ``"sqrt"`` keeps the least, about twice the root of the number of steps.

    Returns:
        ``(carry, ys)``: the last carry, and the y with a new first axis.

    Raises:
        CarryMismatchError: (a TypeError and ValueError) `f` returns another carry than it gets, or no pair.
        TransformArgumentError: (a ValueError) the slices do not have one length, or there is none.
        TransformTypeError: (a TypeError) for arguments of wrong types.

    >>> import numpy as np
    >>> scan(lambda total, x: (total + x, total), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([0., 1., 3.]))
    """
    require_function("scan", f)
    return located(_scan, f, init, xs, length, reverse, unroll, checkpoint_every)


def _scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any,
    length: int | None,
    reverse: bool,
    unroll: int,
    checkpoint_every: "int | str | None",
) -> Any:
    where = f"scan({describe(f)})"
    slices = slices_of(where, xs, length)
    loop: dict[str, Any] = {"reverse": True} if flag("reverse", reverse) else {}
    if int_option(where, "unroll", unroll, minimum=1) > 1:
        loop["unroll"] = int(unroll)
    every = _block_length(where, checkpoint_every, slices.length)
    carry = Carry(where, "init", init)
    is_short = not isinstance(slices.length, SymbolicSize) and slices.length > 0
    if is_short and runs_in_python([*carry.leaves, *slices.leaves], f, keeps_all=checkpoint_every is None):
        return _in_python(where, f, carry, xs, slices.length, reverse=reverse)
    tree = structure(((init, xs), {}))
    step = carry.settle(
        lambda: NestedFunction(where, f, tree, [*carry.arguments(), *slices.arguments], repeats=True),
        _carried_tree,
    )
    last, stacks = run_loop(step, carry, slices, loop, every)
    carry_tree, y_tree = step.tree.children()
    return optree.tree_unflatten(carry_tree, last), optree.tree_unflatten(y_tree, stacks)


def _in_python(
    where: str, f: Callable[..., Any], carry: Carry, xs: Any, length: int, *, reverse: bool
) -> tuple[Any, Any]:
    loop = PythonLoop(where, f, carry)
    stacks = Stacks(loop)
    leaves, tree = flatten(xs)
    with running_bodies() as ready:
        step = ready(f)
        for place in reversed(range(length)) if reverse else range(length):
            x = optree.tree_unflatten(tree, [separate(leaf[place]) for leaf in leaves])
            following, y = loop.pair(step(optree.tree_unflatten(carry.tree, loop.leaves), x))
            loop.follow(following)
            stacks.add(y)
        ys = stacks.stacked(reverse=reverse)
    return optree.tree_unflatten(carry.tree, loop.leaves), ys


def _carried_tree(step: NestedFunction) -> Any:
    if step.tree.type is not tuple or step.tree.num_children != 2:
        raise CarryMismatchError(
            f"{step.where}: {step} must return a pair (carry, y), not {show(step.tree)}: y may be None"
        )
    return step.tree.children()[0]


@dataclass(frozen=True)
class Slices:
    """The arrays that a loop runs over, and a slice of each as its step receives it."""

    leaves: list[Any]
    arguments: list[Argument]
    length: int


def array_leaves(where: str, leaves: Sequence[Any], tree: Any) -> Iterator[tuple[str, ArrayType]]:
    """The path and the type of each leaf of `xs`, which must be arrays."""
    for leaf, path in zip(leaves, path_names(tree, "xs"), strict=True):
        if not is_array_like(leaf):
            raise TransformTypeError(
                f"{where}: {path} is {type(leaf).__name__}, not an array{remedy_for(leaf)}"
            )
        yield path, leaf_type(leaf, f"{where}: {path}")


def slices_of(where: str, xs: Any, length: int | None) -> Slices:
    """The slices of `xs`, checked, and how many there are: as many as `length`, if it is given."""
    leaves, tree = flatten(xs)
    arguments: list[Argument] = []
    lengths: dict[str, int] = {}
    for path, found in array_leaves(where, leaves, tree):
        if not found.shape:
            raise TransformArgumentError(f"{where}: {path} has no axes to run over")
        part = ArrayType(found.dtype, found.shape[1:])
        arguments.append(Argument(part, path, None, not part.shape))
        lengths[path] = found.shape[0]
    if length is not None:
        lengths["length"] = size_option(where, "length", length)
    if not lengths:
        raise TransformArgumentError(f"{where}: how many steps? Give xs, or length")
    steps = joint_length(lengths.values())
    if steps is None:
        shown = ", ".join(
            f"length={n}" if path == "length" else f"{path} has {n}" for path, n in lengths.items()
        )
        raise TransformArgumentError(f"{where}: the numbers of steps differ: {shown}")
    return Slices(leaves, arguments, steps)


def run_loop(
    step: NestedFunction,
    carry: Carry,
    slices: Slices,
    loop: dict[str, Any],
    every: int | None,
    *,
    first: int | None = None,
) -> tuple[list[Any], list[Any]]:
    """Run or record the loop: the leaves of the last carry, and the stacked ones.

    The step takes ``(carry, slices)``; if it counts, starting at `first`, ``(number, carry, slices)``.
    """
    count = len(carry.leaves)
    outside = Captures.of(step)
    counter = [] if first is None else [_number(first)]
    inputs = [*outside.read.values(), *carry.initial(), *outside.written.values(), *counter, *slices.leaves]
    types = [leaf_type(x, step.where) for x in inputs]
    consts, kept = len(outside.read), count + len(outside.written)
    carried = kept + len(counter)
    out_types = [*carry.types, *(result.type for result in step.results[count:])]

    def body(*values: Value) -> list[Value]:
        mine, number = values[consts : consts + count], values[consts + kept : consts + carried]
        now = outside.values(values[:consts], values[consts + count : consts + kept])
        results, new = step.record_as([*number, *mine, *values[consts + carried :]], now, out_types)
        following = [add(i, 1) for i in number]
        return [*results[:count], *map(new.__getitem__, outside.written), *following, *results[count:]]

    read, written = outside.names()
    graph = graph_of(
        step.program.graph.name,
        [*types[: consts + carried], *(argument.type for argument in slices.arguments)],
        body,
        [
            *read,
            *carry.paths,
            *written,
            *["i" for _ in counter],
            *(argument.name for argument in slices.arguments),
        ],
    )

    def record(*values: Value) -> Sequence[Value]:
        if every is None or is_known(slices.length == 0):
            return bind_all(
                "scan", *values, graph=graph, counts=(consts, carried), length=slices.length, **loop
            )
        return scan_in_blocks(graph, values, (consts, carried), slices.length, every, **loop)

    outputs = run(graph_of("scan", types, record), inputs)
    for array, new in zip(outside.written.values(), outputs[count:kept], strict=True):
        overwrite(array, new)
    last = carry.returned(step.results, outputs[:count])
    return last, outputs[carried:]


def _number(first: int) -> Any:
    return wrap(number(first, INT64)) if isinstance(first, SymbolicSize) else np.int64(first)


def _block_length(where: str, given: "int | str | None", length: int) -> int | None:
    if given is None:
        return None
    if given == "sqrt":
        return max(1, isqrt(typical(length)))
    if isinstance(given, str):
        raise TransformArgumentError(
            f'{where}: checkpoint_every must be an int or "sqrt", not {shown(given)}'
        )
    every = int_option(where, "checkpoint_every", given, minimum=1)
    return every if isinstance(length, SymbolicSize) else min(every, max(1, length))

"""`while_loop`: steps as long as a condition on their carry holds."""

from collections.abc import Callable, Sequence
from typing import Any

import optree

from ...compiler.arguments.leaves import leaf_type
from ...compiler.builder import bind_all
from ...compiler.callers.function_names import describe
from ...compiler.errors import TransformArgumentError, TransformTypeError
from ...compiler.ir import Value
from ...compiler.ops.nested_graphs import graph_of
from ...compiler.tracing.traced_array import located
from ...compiler.value_ops import nonzero_mask
from ..eager.nested_function import Captures, NestedFunction
from ..eager.run import overwrite, require_function, run
from ..int_options import int_option
from ..tracebacks import with_users_frames
from ..trees import show, structure
from .carry import Carry
from .python_loop import PythonLoop, holds, running_bodies, runs_in_python


@with_users_frames
def while_loop(
    cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, max_steps: int | None = None
) -> Any:
    """A loop that runs ``carry = body(carry)`` as long as ``cond(carry)`` holds.

    A compiled function traces both functions, and the compiled loop is a loop; outside of any transform it is one of
    Python. Under `vmap`, if the condition differs between
    examples, it runs until all are done, and those that are done keep their values. `body` may write to outside
    arrays.

    Args:
        cond: from the carry to a bool, or a number, which goes on unless it is 0.
        body: from the carry to the next one, of the same structure, shapes and dtypes; Python numbers in `init` take
            the dtype that `body` gives them.
        init: the first carry, a pytree of arrays and numbers.
        max_steps: stop after this many steps in any case. With it, reverse mode needs memory for about
            ``2 * sqrt(max_steps)`` carries, and runs each step once more. Without it, reverse mode needs memory for 34
            carries, and runs each of n steps about ``log2(n)`` times more.

    Returns:
        The last carry.

    Raises:
        CarryMismatchError: (a TypeError and ValueError) `body` returns another carry than it gets.
        TransformTypeError, TransformArgumentError: `cond` does not return one number, or writes to arrays from outside.

    >>> import numpy as np
    >>> while_loop(lambda c: c < 100, lambda c: 2 * c, 3)
    192
    """
    require_function("while_loop: cond", cond)
    require_function("while_loop: body", body)
    return located(_while_loop, cond, body, init, max_steps)


def _while_loop(cond: Any, body: Any, init: Any, max_steps: int | None) -> Any:
    where = f"while_loop({describe(body)})"
    limit = {} if max_steps is None else {"max_steps": int_option(where, "max_steps", max_steps)}
    carry = Carry(where, "init", init)
    if runs_in_python(carry.leaves, cond, body, keeps_all=True):
        return _in_python(where, cond, body, carry, limit.get("max_steps"))
    return optree.tree_unflatten(structure(init), run_while(where, carry, cond, body, limit))


def _in_python(where: str, cond: Any, body: Any, carry: Carry, max_steps: int | None) -> Any:
    """Run the loop as one of Python. If its condition is not known after some turns, the rest is recorded."""
    loop = PythonLoop(where, body, carry)
    goes_on: bool | None = True
    carried, done = optree.tree_unflatten(carry.tree, loop.leaves), 0
    with running_bodies() as ready:
        test, step = ready(cond), ready(body)
        while done != max_steps and (goes_on := holds(where, cond, test(carried))):
            loop.follow(step(carried))
            carried, done = optree.tree_unflatten(carry.tree, loop.leaves), done + 1
    if goes_on is None:
        limit = {} if max_steps is None else {"max_steps": max_steps - done}
        loop.leaves = run_while(where, Carry(where, "init", carried), cond, body, limit)
    return optree.tree_unflatten(carry.tree, loop.leaves)


def run_while(
    where: str,
    carry: Carry,
    cond: Callable[[Any], Any],
    body: Callable[[Any], Any],
    limit: dict[str, int],
    users: Callable[..., Any] | None = None,
) -> list[Any]:
    """Run or record the loop: the leaves of the last carry. Messages name `users` instead of `body`."""
    tree = optree.treespec_tuple(
        [optree.treespec_tuple([carry.tree]), structure({})], namespace=carry.tree.namespace
    )
    step = carry.settle(
        lambda: NestedFunction(where, body, tree, carry.arguments(), users, repeats=True),
        lambda step: step.tree,
    )
    goes_on = NestedFunction(where, cond, tree, carry.arguments(), beside=step)
    _check_condition(goes_on)
    return record_while(where, carry, step, goes_on, limit)


def record_while(
    where: str, carry: Carry, step: NestedFunction, goes_on: NestedFunction, limit: dict[str, int]
) -> list[Any]:
    """Run or record a loop whose functions are traced: the leaves of the last carry."""
    outside = Captures.of(step, goes_on)
    inputs = [*outside.read.values(), *carry.initial(), *outside.written.values()]
    types = [leaf_type(x, where) for x in inputs]
    consts, count = len(outside.read), len(carry.leaves)

    def step_on(*values: Value) -> list[Value]:
        now = outside.values(values[:consts], values[consts + count :])
        results, new = step.record_as(values[consts : consts + count], now, carry.types)
        return [*results, *map(new.__getitem__, outside.written)]

    def holds(*values: Value) -> Sequence[Value]:
        now = outside.values(values[:consts], values[consts + count :])
        (result,), _ = goes_on.record(values[consts : consts + count], now)
        return [nonzero_mask(result)]

    read, written = outside.names()
    names = [*read, *carry.paths, *written]
    loop: dict[str, Any] = {
        "cond": graph_of(goes_on.program.graph.name, types, holds, names),
        "body": graph_of(step.program.graph.name, types, step_on, names),
        "consts": consts,
        **limit,
    }
    outputs = run(
        graph_of("while_loop", types, lambda *values: bind_all("while_loop", *values, **loop)), inputs
    )
    for array, new in zip(outside.written.values(), outputs[count:], strict=True):
        overwrite(array, new)
    return carry.returned(step.results, outputs[:count])


def _check_condition(cond: NestedFunction) -> None:
    if cond.tree.num_nodes != 1 or len(cond.results) != 1 or cond.results[0].type.shape:
        found = cond.results[0].type if cond.tree.num_nodes == 1 and cond.results else show(cond.tree)
        raise TransformTypeError(
            f"{cond.where}: {cond} must return one bool or number, not {found}: use .any() or .all()"
        )
    if cond.written:
        raise TransformArgumentError(
            f"{cond.where}: {cond} writes to an array; only the body of a loop may: compute the condition there, and "
            "carry it"
        )

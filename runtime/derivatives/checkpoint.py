"""`checkpoint` and `checkpoint_name`: recompute values in the backward pass instead of storing them."""

from collections.abc import Callable
from typing import Any

from ...compiler.arguments.leaves import argument_names, flatten_arguments
from ...compiler.builder import Builder, bind_all, recording
from ...compiler.callers.function_names import describe
from ...compiler.errors import TransformTypeError
from ...compiler.frontend.program import Static
from ...compiler.frontend.traced_program import trace
from ...compiler.ir import Graph, Value
from ...compiler.nesting import shown
from ...compiler.ops.control.checkpoint import require_name
from ..eager.current_tape import is_recording
from ..eager.run import (
    as_argument,
    inputs_of,
    is_array,
    like_function,
    on_traced_leaves,
    overwrite,
    require_function,
    run,
    with_own_memory,
)
from ..tracebacks import with_users_frames
from .checkpoint_policies import Policy, nothing


@with_users_frames
def checkpoint(func: Callable[..., Any], *, policy: Policy = nothing) -> Callable[..., Any]:
    """`func`, whose derivative stores only the arguments and recomputes the rest when it needs it.

    Reverse mode keeps every intermediate result until the backward pass has used it. Around the layers of a deep
    network, `checkpoint` trades one more forward pass for that memory. Values are bit-identical. `func` itself runs
    once: only values are recomputed, and what it prints is printed once.

    Args:
        func: any function of arrays, numbers and pytrees of them. It may write to its arguments.
        policy: what to save beside the arguments, one of `tracemill.checkpoint_policies`: ``nothing``,
            ``everything``, ``matmuls``, ``named("a", …)``. It sees the results of `func` itself, not those within
            the bodies of loops and branches.

    Raises:
        TransformTypeError: (a TypeError) `func` is not a function, or `policy` is not a policy.

    Higher derivatives and `vmap` stay checkpointed.

    >>> import numpy as np, tracemill as tm
    >>> layer = tm.checkpoint(lambda x: np.sin(np.sin(x)))
    >>> tm.grad(lambda x: layer(layer(x)))(0.0)
    np.float64(1.0)
    """
    require_function("checkpoint", func)
    if not isinstance(policy, Policy):
        raise TransformTypeError(
            f"checkpoint({describe(func)}): policy must be one of tracemill.checkpoint_policies, not "
            f"{shown(policy)}"
        )

    @like_function(func)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = flatten_arguments(args, kwargs)
        if not is_recording(leaves):
            return with_own_memory(f"the result of {describe(func)}", func(*args, **kwargs))
        names = argument_names(tree)
        entering = [
            as_argument(leaf, name, known=True) if is_array(leaf) else Static(leaf)
            for leaf, name in zip(leaves, names, strict=True)
        ]
        program = trace(func, tree, entering)
        inputs = inputs_of(program, [leaf for leaf in leaves if is_array(leaf)])
        outputs = run(_calling(program.graph, policy), inputs)
        for index, output in program.mutated:
            overwrite(inputs[index], outputs[output])
        return program.result(outputs)

    return checkpointed


def _calling(graph: Graph, policy: Policy) -> Graph:
    """A graph that only calls `graph`."""
    inputs = tuple(Value(value.type) for value in graph.inputs)
    with recording(Builder()) as builder:
        if policy.saves_all:
            outputs = bind_all("call", *inputs, graph=graph)
        else:
            saves = {"save_ops": policy.ops, "save_names": policy.names}
            given = {name: saved for name, saved in saves.items() if saved}
            outputs = bind_all("checkpoint", *inputs, graph=graph, **given)
    return Graph(graph.name, inputs, tuple(builder.calls), outputs, graph.input_names)


def checkpoint_name(x: Any, name: str) -> Any:
    """`x`, with a name under which the policy ``checkpoint_policies.named(name)`` saves it.

    Args:
        x: an array, a number, or a pytree of them. Leaves that are not traced are returned as they are.
        name: a string.

    Raises:
        TransformTypeError: (a TypeError) the name is not a string, or empty.

    >>> import numpy as np, tracemill as tm
    >>> def layer(x, w):
    ...     return np.tanh(tm.checkpoint_name(x @ w, "products"))
    >>> saving = tm.checkpoint(layer, policy=tm.checkpoint_policies.named("products"))
    >>> tm.grad(lambda w: np.sum(saving(np.ones(2), w)))(np.zeros((2, 1)))
    array([[1.],
           [1.]])
    """
    require_name(name)
    return on_traced_leaves("checkpoint_name", x, name=name)

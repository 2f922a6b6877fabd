"""`checkpoint`: a call whose derivative recomputes its residuals, and names for values to store.

The method is that of Griewank and Walther, "Algorithm 799: revolve" (2000), with one level: the forward pass stores
the inputs of a call. The backward pass is also one call, and runs the forward pass inside itself. Because this call
is opaque, no pass can share its computations with those of the forward pass.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from ...builder import Builder, bind_all, inline, recording
from ...errors import TransformTypeError
from ...interpreter import evaluate
from ...ir import ArrayType, Call, Graph, Param, Value
from ...nesting import shown
from ...op import DONE_ONCE, Aliasing, DifferentiateGraph, Op, Rebuilt, has_effect, lookup, register
from ..elementwise.broadcasting import batch_elementwise
from ..nested_graphs import needed_calls, spread
from .graph_call import batched_call, differentiation, result_types, transposed_call

FAMILY = "checkpoint"

Names = tuple[str, ...]


def _checkpoint_jvp(
    inputs: tuple[Value, ...],
    tangents: tuple[Value | None, ...],
    outputs: tuple[Value, ...],
    graph: Graph,
    *,
    recurse: DifferentiateGraph,
    **saves: Names,
) -> Rebuilt:
    wrt, of, given = differentiation(graph, tangents)
    forward, linear = recurse(graph, wrt, of)
    count = len(outputs)
    if linear is None:
        results = bind_all("checkpoint", *inputs, *given, graph=forward, **saves)
        pushed = results[count:]
    else:
        again, needed, saved = _recomputation(forward, linear, count, **saves)
        kept = (*forward.outputs[:count], *saved)
        calls = needed_calls(forward, kept, effects=True)
        head = Graph(graph.name, forward.inputs, calls, kept, forward.input_names)
        results = bind_all("checkpoint", *inputs, graph=head, **saves)
        known = [x for x, value in zip(inputs, forward.inputs, strict=True) if value in needed]
        pushed = bind_all("checkpoint", *known, *results[count:], *given, graph=again, **saves)
    return Rebuilt(results[:count], spread(iter(pushed), of))


def _recomputation(
    forward: Graph, linear: Graph, count: int, save_ops: Names = (), save_names: Names = ()
) -> tuple[Graph, set[Value], tuple[Value, ...]]:
    """The linear part after the computation of its residuals: ``(inputs, saved, tangents) -> tangents``.

    Also returns which inputs of `forward` it takes, and what is saved for it, as values of `forward`.
    """
    residuals = forward.outputs[count:]
    kept = _kept(forward.calls, save_ops, save_names)
    calls = needed_calls(forward, residuals, known=kept)
    reached = {*residuals, *(value for call in calls for value in call.inputs)}
    saved = tuple(value for value in kept if value in reached)
    used = [(v, n) for v, n in zip(forward.inputs, forward.input_names, strict=True) if v in reached]
    tangents = linear.inputs[len(residuals) :]
    with recording(Builder()) as builder:
        builder.calls += without_effects(calls)
        outputs = inline(linear, (*residuals, *tangents))
    names = (
        *(name for _, name in used),
        *(f"saved{i}" for i in range(len(saved))),
        *linear.input_names[len(residuals) :],
    )
    inputs = (*(value for value, _ in used), *saved, *tangents)
    again = Graph(f"{forward.name}_again", inputs, tuple(builder.calls), outputs, names)
    return again, {value for value, _ in used}, saved


def without_effects(calls: Sequence[Call], effects: Collection[str] = DONE_ONCE) -> list[Call]:
    """The calls without those that print or check, also in nested graphs: the forward pass has done this."""
    return [
        replace(call, params={name: _silenced(param, effects) for name, param in call.params.items()})
        if any(has_effect(call, effect) for effect in effects)
        else call
        for call in calls
        if lookup(call.op).effect not in effects
    ]


def _silenced(param: Param, effects: Collection[str]) -> Param:
    if isinstance(param, Graph):
        return replace(param, calls=tuple(without_effects(param.calls, effects)))
    return tuple(_silenced(one, effects) for one in param) if isinstance(param, tuple) else param


def _kept(calls: Sequence[Call], save_ops: Names, save_names: Names) -> dict[Value, None]:
    """The values that a policy saves. For a named value it is the value itself, which its own derivative may use."""
    kept: dict[Value, None] = {}
    made: set[Value] = set()
    for call in calls:
        made.update(call.outputs)
        if call.op in save_ops:
            kept.update(dict.fromkeys(call.outputs))
        elif call.op == "checkpoint_name" and call.params["name"] in save_names and call.inputs[0] in made:
            kept[call.inputs[0]] = None
    return kept


def _checkpoint_type(
    *inputs: ArrayType, graph: Graph, save_ops: tuple[str, ...] = (), save_names: tuple[str, ...] = ()
) -> tuple[ArrayType, ...]:
    return result_types("checkpoint", graph, inputs)


register(
    Op(
        "checkpoint",
        FAMILY,
        _checkpoint_type,
        lambda *inputs, graph, save_ops=(), save_names=(): evaluate(graph, *inputs),
        _checkpoint_jvp,
        transposed_call("checkpoint"),
        batched_call("checkpoint"),
        spelling=None,
        effect=None,  # the calls in the graph have their own
        doc="The outputs of a nested graph, whose derivative computes again what it needs, but for the results "
        "of `save_ops` and what `checkpoint_name` calls by one of `save_names`.",
    )
)


# ---- checkpoint_name ---------------------------------------------------------------------------------


def require_name(name: Any) -> None:
    """Raises `TransformTypeError` unless this is a valid name for a checkpoint policy."""
    if not isinstance(name, str) or not name:
        raise TransformTypeError(
            f"the name of a checkpoint must be a string that is not empty, not {shown(name)}"
        )


def _name_type(x: ArrayType, *, name: str) -> ArrayType:
    require_name(name)
    return x


register(
    Op(
        "checkpoint_name",
        FAMILY,
        _name_type,
        lambda x, name: x,
        lambda inputs, tangents, outputs, name: tangents[0],
        lambda cotangents, inputs, name: cotangents[0],
        batch_elementwise("checkpoint_name"),
        spelling=None,
        effect=None,
        doc="x, by a name that a checkpoint's policy can save it by.",
        aliasing=Aliasing.SAME,
    )
)

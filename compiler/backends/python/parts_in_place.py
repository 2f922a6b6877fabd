"""Parts of arrays that are computed in their place: ``np.exp(y, out=x[1:])`` instead of a result and a copy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...analysis.fusible_ops import is_elementwise
from ...analysis.memory_plan import MemoryPlan
from ...ir import Call, Graph, Value
from ...op import is_view
from ...params import ints_param
from ...symbolic_size import same_shape
from .module import Form


@dataclass(frozen=True, slots=True)
class Part:
    """Where a result is written to."""

    update: Call
    """The call that would copy it there."""
    view: Value | None
    """The view of this place that the result is computed from, if it is."""


def parts_in_place(graph: Graph, plan: MemoryPlan, form_of: Callable[[Call], Form]) -> Mapping[Value, Part]:
    """The results that can be written at once to where an `update_slice` would copy them.

    The update must overwrite its array, and nothing may read the array from the call that computes the part to the
    update, except that call the part itself.
    """
    updates = [(number, call) for number, call in enumerate(graph.calls) if call.op == "update_slice"]
    if not updates:
        return {}
    made_at = {output: number for number, call in enumerate(graph.calls) for output in call.outputs}
    uses: dict[Value, int] = {}
    for value in (*graph.outputs, *(value for call in graph.calls for value in call.inputs)):
        uses[value] = uses.get(value, 0) + 1
    found: dict[Value, Part] = {}
    for number, update in updates:
        base, part = update.inputs
        first = made_at.get(part)
        if first is None or uses[part] != 1 or not part.ndim or made_at.get(base, -1) >= first:
            continue
        if plan.overwritten.get(update.outputs[0]) is not base:
            continue
        between = [value for call in graph.calls[first + 1 : number] for value in call.inputs]
        if any(_share(plan, value, base) for value in between):
            continue
        call = graph.calls[first]
        form = form_of(call)
        if not (form.into and is_elementwise(call)) or is_view(call):
            continue
        own = {place: value for place, value in enumerate(call.inputs) if _share(plan, value, base)}
        views = {value for value in own.values() if _is_place(value, update, graph, made_at)}
        if len(own) == len(views) <= 1 and own.keys() <= {*form.overwrites}:
            found[part] = Part(update, next(iter(views), None))
    return found


def _share(plan: MemoryPlan, one: Value, other: Value) -> bool:
    """Whether two values use the same memory."""
    return plan.root.get(one, one) is plan.root.get(other, other)


def _is_place(value: Value, update: Call, graph: Graph, made_at: Mapping[Value, int]) -> bool:
    """Whether a value is the part of an array that an update replaces."""
    call = graph.calls[made_at[value]] if value in made_at else None
    if call is None or call.op != "slice" or call.inputs[0] is not update.inputs[0]:
        return False
    places = ("start", "stop", "step")
    return all(same_shape(ints_param(call, name), ints_param(update, name)) for name in places)

"""Move the part of a function that does not depend on some of its inputs out, to compute it once for many values of
them."""

from collections.abc import Sequence

from ...compiler.interpreter import depends_on
from ...compiler.ir import Constant, Graph, Value
from ..simplification.remove_dead_code import remove_dead_code


def hoist(graph: Graph, *, varying: Sequence[bool]) -> tuple[Graph, Graph]:
    """``(shared, each)``: the part that does not depend on the inputs marked in `varying`, and the part that does.

    ``shared`` takes the other inputs. It returns the outputs that do not vary, then the values that ``each`` needs.
    ``each`` takes these values, then the varying inputs, and returns the outputs that vary.

    Before ``def f(x: f64[], w: f64[3])`` with ``sin_1 = sin(w); multiply_1 = multiply(x, sin_1)``, varying in x::

        def f_shared(w: f64[3]) -> f64[3]:
            sin_1: f64[3] = sin(w)
            return sin_1
        def f(sin_1: f64[3], x: f64[]) -> f64[3]:
            multiply_1: f64[3] = multiply(x, sin_1)
            return multiply_1
    """
    reached = depends_on(graph, varying)
    named = list(zip(graph.inputs, graph.input_names, varying, strict=True))
    calls = [call for call in graph.calls if any(v in reached for v in call.inputs)]
    each = remove_dead_code(
        Graph(graph.name, graph.inputs, tuple(calls), tuple(v for v in graph.outputs if v in reached))
    )
    needed: dict[Value, None] = {}
    for value in (v for call in each.calls for v in call.inputs):
        if value not in reached and not isinstance(value, Constant):
            needed[value] = None
    names = {value: name for value, name, _ in named}
    each = Graph(
        graph.name,
        (*needed, *(value for value, _, varies in named if varies)),
        each.calls,
        each.outputs,
        (
            *(names.get(value, f"shared{i}") for i, value in enumerate(needed)),
            *(n for _, n, varies in named if varies),
        ),
    )
    shared = Graph(
        f"{graph.name}_shared",
        tuple(value for value, _, varies in named if not varies),
        tuple(call for call in graph.calls if not any(v in reached for v in call.inputs)),
        (*(v for v in graph.outputs if v not in reached), *needed),
        tuple(name for _, name, varies in named if not varies),
    )
    return remove_dead_code(shared), each

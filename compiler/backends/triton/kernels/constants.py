"""Large constants of a kernel, which its functions read from memory like inputs."""

from dataclasses import replace

from ....ir import Constant, Graph, Value


def with_constants_as_inputs(graph: Graph) -> tuple[Graph, tuple[Constant, ...]]:
    """A graph that takes constants of several elements as additional inputs, after its own; and these constants."""
    values = (*(value for call in graph.calls for value in call.inputs), *graph.outputs)
    large = {value: None for value in values if isinstance(value, Constant) and value.type.size > 1}
    if not large:
        return graph, ()
    given: dict[Value, Value] = {constant: Value(constant.type) for constant in large}
    calls = tuple(
        replace(call, inputs=tuple(given.get(value, value) for value in call.inputs)) for call in graph.calls
    )
    outputs = tuple(given.get(value, value) for value in graph.outputs)
    names = (*graph.input_names, *("constant" for _ in given))
    return Graph(graph.name, (*graph.inputs, *given.values()), calls, outputs, names), tuple(large)

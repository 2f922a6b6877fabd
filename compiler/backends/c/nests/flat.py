"""A graph whose kernels are inlined, with its own values."""

from dataclasses import replace

from ....ir import Call, Constant, Graph, Value, called


def flattened(graph: Graph) -> Graph:
    """The calls of a graph and of its kernels in one list. No value belongs to another graph, however often it runs."""
    own: dict[Value, Value] = {value: Value(value.type) for value in graph.inputs}
    calls: list[Call] = []
    _take(graph, own, calls)
    return replace(
        graph,
        inputs=tuple(own[value] for value in graph.inputs),
        calls=tuple(calls),
        outputs=tuple(_of(value, own) for value in graph.outputs),
    )


def _take(graph: Graph, own: dict[Value, Value], calls: list[Call]) -> None:
    for call in graph.calls:
        inputs = tuple(_of(value, own) for value in call.inputs)
        if call.op == "kernel":
            (inner,) = called((call,))
            names = dict(zip(inner.inputs, inputs, strict=True))
            _take(inner, names, calls)
            own.update(zip(call.outputs, (_of(value, names) for value in inner.outputs), strict=True))
            continue
        outputs = tuple(Value(value.type) for value in call.outputs)
        own.update(zip(call.outputs, outputs, strict=True))
        calls.append(replace(call, inputs=inputs, outputs=outputs))


def _of(value: Value, own: dict[Value, Value]) -> Value:
    return value if isinstance(value, Constant) else own[value]

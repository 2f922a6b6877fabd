"""A graph in FX's vocabulary: nodes, their table, and a Mermaid flowchart."""

from collections.abc import Iterator

from ..ir import Call, Graph, Node, Value
from .naming import Naming
from .printer import constant_text, location_text, param_text


def nodes(graph: Graph) -> tuple[Node, ...]:
    """Placeholders, then calls, each after the constants that it needs, then the output.

    >>> from tracemill.compiler.text.parser import parse
    >>> graph = parse("# tracemill ir 1\\ndef f(x: f64[3]) -> f64[3]:\\n    sin_1: f64[3] = sin(x)\\n    return sin_1")
    >>> [(node.op, node.name, node.args) for node in graph.nodes]
    [('placeholder', 'x', ()), ('call', 'sin_1', ('x',)), ('output', 'output', ('sin_1',))]
    """
    scope = Naming(graph)
    found = [
        Node("placeholder", (name,), name, types=(value.type,))
        for value, name in zip(graph.inputs, graph.input_names, strict=False)
    ]
    for call in graph.calls:
        found += _constants(scope, call.inputs)
        found.append(_call(scope, call))
    found += _constants(scope, graph.outputs)
    returned = tuple(map(scope.use, graph.outputs))
    found.append(Node("output", (), "output", returned, types=tuple(v.type for v in graph.outputs)))
    return tuple(found)


def _call(scope: Naming, call: Call) -> Node:
    args = tuple(map(scope.use, call.inputs))
    types = tuple(value.type for value in call.outputs)
    return Node("call", scope.make(call), call.op, args, dict(call.params), types, call.location)


def _constants(scope: Naming, values: tuple[Value, ...]) -> Iterator[Node]:
    for name, constant in scope.introduce(values):
        yield Node("constant", (name,), constant_text(constant), types=(constant.type,))


# ---- as a table ------------------------------------------------------------------------------------

HEAD = ("opcode", "name", "type", "target", "args", "kwargs", "source")


def tabular(graph: Graph) -> str:
    """One row per node, in aligned columns."""
    rows = [HEAD, *map(_row, graph.nodes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    rows.insert(1, tuple("-" * width for width in widths))
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _row(node: Node) -> tuple[str, ...]:
    return (
        node.op,
        ", ".join(node.names) or node.name,
        ", ".join(map(str, node.types)),
        node.target,
        ", ".join(node.args),
        ", ".join(_params(node)),
        location_text(node.location) if node.location else "",
    )


def _params(node: Node) -> list[str]:
    return [f"{key}={param_text(param, {}, {})}" for key, param in node.kwargs.items()]


# ---- as a picture ----------------------------------------------------------------------------------

SHAPES = {
    "placeholder": ('(["', '"])'),
    "constant": ('[/"', '"/]'),
    "call": ('["', '"]'),
    "output": ('(["', '"])'),
}


def mermaid(graph: Graph) -> str:
    """A flowchart in Mermaid's language: https://mermaid.js.org/syntax/flowchart.html."""
    lines = ["flowchart TD"]
    maker: dict[str, int] = {}
    for index, node in enumerate(graph.nodes):
        left, right = SHAPES[node.op]
        lines.append(f"    n{index}{left}{'<br/>'.join(map(_escape, _label(node)))}{right}")
        lines += [f"    n{maker[arg]} --> n{index}" for arg in node.args if arg in maker]
        maker.update(dict.fromkeys(node.names, index))
    return "\n".join(lines)


def _label(node: Node) -> list[str]:
    """The lines in a node's box."""
    made = ", ".join(f"{name}: {type}" for name, type in zip(node.names, node.types, strict=False))
    if node.op == "placeholder":
        return [made]
    if node.op == "call":
        settings = [*(arg for arg in node.args if "(" in arg), *_params(node)]
        return [f"{node.target}({', '.join(settings)})" if settings else node.target, made]
    return [node.target, made] if made else [node.target]


def _escape(text: str) -> str:
    """Characters with a meaning in Mermaid or HTML as entity codes."""
    return "".join(char if char.isalnum() or char in " _.,:=()[]-+/" else f"#{ord(char)};" for char in text)

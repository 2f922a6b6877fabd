"""A graph as text: short typed Python that `parse` can read."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import Array, dtype_name
from ..free_sizes import sizes_in_graph
from ..ir import Call, Constant, Graph, Location, Param, Value, called
from ..symbolic_size import SymbolicSize
from .literals import array_text
from .naming import INLINE_SIZE, Naming

HEADER = "# tracemill ir 1"
INDENT = "    "
COMMENT_COLUMN = 80  # a longer line does not move the comments of the others to the right
LONGEST_COMMENT = 160
LONGEST_LINE = 240  # a longer one is folded after commas
FOLDED_WIDTH = 110

_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|, ')


def to_text(graph: Graph, *, locations: bool = True) -> str:
    """The graph as text with its version line; `locations` adds the user's source lines as comments."""
    return f"{HEADER}\n{to_code(graph, locations=locations)}"


def to_code(graph: Graph, *, locations: bool = True, naming: Callable[[Graph], Naming] = Naming) -> str:
    """`to_text` without the version line; `naming` creates the scope of each definition."""
    lines = list(statements(graph, naming))
    comments = list(_comments(lines)) if locations else [""] * len(lines)
    comments[0] = declarations(graph)
    return "\n".join(_lines(lines, comments))


def declarations(graph: Graph) -> str:
    """What is known about the named sizes in a graph and its nested graphs: ``N in 1..4096, N % 16 == 0``."""
    limits = _limits(graph)
    return ", ".join(limit for name in sorted(limits) for limit in limits[name])


def _limits(graph: Graph) -> dict[str, list[str]]:
    """What is known about each named size, by name."""
    limits: dict[str, list[str]] = {}
    for size in sizes_in_graph(graph):
        limits.update(size.limits)
    return limits


def graph_constants(graph: Graph) -> dict[str, Array]:
    """The arrays that the text of `graph` names only by their digest, including those of nested graphs."""
    found: dict[str, Array] = {}
    for value in (*(v for call in graph.calls for v in call.inputs), *graph.outputs):
        if isinstance(value, Constant) and value.type.size > INLINE_SIZE:
            found.setdefault(value.digest, value.array)
    for nested in called(graph.calls):
        found.update(graph_constants(nested))
    return found


def graph_functions(graph: Graph) -> dict[str, Callable[..., Any]]:
    """The Python functions in the text of `graph`, by their names in the text."""
    printer = _Printer(graph, Naming)
    for _ in printer.definition(graph, (graph.name,)):
        pass
    return printer.functions


def param_text(param: Param, names: Mapping[Graph, str], functions: dict[str, Callable[..., Any]]) -> str:
    """One parameter of a call. `names` names nested graphs; Python functions are added to `functions`."""
    if param is None or isinstance(param, bool | int | float):
        return repr(param)
    if isinstance(param, SymbolicSize):
        return str(param)
    if isinstance(param, str):
        return json.dumps(param)
    if isinstance(param, np.dtype):
        return dtype_name(param)
    if isinstance(param, Graph):
        return names.get(param, param.name)
    if isinstance(param, tuple):
        items = [param_text(item, names, functions) for item in param]
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    if callable(param):
        return f"callable({json.dumps(_function_name(param, functions))})"
    return f"<{type(param).__name__}>"  # not allowed in a graph; `check` says so


def _function_name(function: Callable[..., Any], functions: dict[str, Callable[..., Any]]) -> str:
    """``module:qualname``, numbered if several functions of one text share it."""
    described: Any = function if hasattr(function, "__qualname__") else type(function)
    stem = f"{described.__module__}:{described.__qualname__}"
    number, name = 1, stem
    while functions.setdefault(name, function) is not function:
        number += 1
        name = f"{stem}#{number}"
    return name


def call_text(
    call: Call, scope: Naming, names: Mapping[Graph, str], functions: dict[str, Callable[..., Any]]
) -> str:
    """One call, with names of the scope, in which its outputs get theirs; otherwise like `param_text`."""
    arguments = [scope.use(value) for value in call.inputs]
    arguments += [f"{key}={param_text(param, names, functions)}" for key, param in call.params.items()]
    outputs = zip(scope.make(call), call.outputs, strict=True)
    left = ", ".join(f"{name}: {value.type}" for name, value in outputs)
    right = f"{call.op}({', '.join(arguments)})"
    return f"{left} = {right}" if left else right


def location_text(location: Location) -> str:
    """``train.py:14  h = x @ w``, on one line and with limited length."""
    text = str(location)
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= LONGEST_COMMENT else f"{text[: LONGEST_COMMENT - 1]}…"


class Statement(NamedTuple):
    """One line of a graph's text before it is folded: a call, the head, a constant or the end of a definition."""

    code: str
    call: Call | None
    path: tuple[str, ...]
    """The names of the enclosing definitions, from the outside in."""


def statements(graph: Graph, naming: Callable[[Graph], Naming] = Naming) -> Iterator[Statement]:
    """The lines of the text of a graph and its nested graphs; `naming` creates the scope of each definition."""
    return _Printer(graph, naming).definition(graph, (graph.name,))


class _Printer:
    """Prints a graph and its nested graphs; the names of Python functions are valid in the whole text."""

    def __init__(self, graph: Graph, naming: Callable[[Graph], Naming]) -> None:
        self.naming = naming
        self.sizes = _limits(graph).keys()
        """The named sizes, whose names nested graphs must not have."""
        self.functions: dict[str, Callable[..., Any]] = {}

    def definition(self, graph: Graph, path: tuple[str, ...]) -> Iterator[Statement]:
        """The lines of one ``def``."""
        scope = self.naming(graph)
        indent = INDENT * (len(path) - 1)
        pairs = zip(graph.inputs, graph.input_names, strict=False)
        inputs = ", ".join(f"{name}: {value.type}" for value, name in pairs)
        yield Statement(f"{indent}def {path[-1]}({inputs}) -> {_return_type(graph)}:", None, path)
        yield from self._body(graph, scope, path)

    def _body(self, graph: Graph, scope: Naming, path: tuple[str, ...]) -> Iterator[Statement]:
        graphs: dict[Graph, str] = {}
        indent = INDENT * len(path)
        for call in graph.calls:
            yield from _constants(scope, call.inputs, path)
            for nested in called((call,)):
                if nested not in graphs:
                    graphs[nested] = scope.claim(nested.name, self.sizes)
                    yield from self.definition(nested, (*path, graphs[nested]))
            yield Statement(f"{indent}{call_text(call, scope, graphs, self.functions)}", call, path)
        yield from _constants(scope, graph.outputs, path)
        yield Statement(f"{indent}return {', '.join(map(scope.use, graph.outputs)) or '()'}", None, path)


def _constants(scope: Naming, values: Sequence[Value], path: tuple[str, ...]) -> Iterator[Statement]:
    for name, constant in scope.introduce(values):
        code = f"{INDENT * len(path)}{name}: {constant.type} = constant({constant_text(constant)})"
        yield Statement(code, None, path)


def constant_text(constant: Constant) -> str:
    """The entries of a small constant, the digest of a large one."""
    return array_text(constant.array) if constant.type.size <= INLINE_SIZE else f'"{constant.digest}"'


def _return_type(graph: Graph) -> str:
    types = [str(value.type) for value in graph.outputs]
    return types[0] if len(types) == 1 else f"({', '.join(types)})"


def _comments(statements: Sequence[Statement]) -> Iterator[str]:
    """The user's line of each call, if it differs from the one before in that definition."""
    shown: dict[tuple[str, ...], Location] = {}
    for _, call, path in statements:
        location = call.location if call else None
        if location is None or location == shown.get(path):
            yield ""
        else:
            shown[path] = location
            yield location_text(location)


def _lines(statements: Sequence[Statement], comments: Sequence[str]) -> Iterator[str]:
    """Fold long lines and align the comments of a definition."""
    columns: dict[tuple[str, ...], int] = {}
    for (code, _, path), comment in zip(statements, comments, strict=True):
        if comment and len(code) <= COMMENT_COLUMN:
            columns[path] = max(columns.get(path, 0), len(code))
    for (code, _, path), comment in zip(statements, comments, strict=True):
        *before, last = _fold(code)
        yield from before
        yield f"{last:{columns.get(path, 0)}}  # {comment}" if comment else last


def _fold(line: str) -> Iterator[str]:
    """Break a very long line after commas: a line that ends in a comma continues in the next."""
    if len(line) <= LONGEST_LINE:
        yield line
        return
    indent = " " * (len(line) - len(line.lstrip()) + 2 * len(INDENT))
    start, end = 0, 0  # for the piece that is being filled
    for comma in _COMMA.finditer(line):
        if comma.group() == ", ":
            if comma.end() - start > FOLDED_WIDTH and end > start:
                yield f"{indent if start else ''}{line[start:end].rstrip()}"
                start = end
            end = comma.end()
    yield f"{indent if start else ''}{line[start:]}"

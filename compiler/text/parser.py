"""Text to graph: reads what `to_text` prints, and refuses everything else with `ParseError`.

Nothing in the text is executed, so it may come from anyone. Lines, nesting and sizes are limited, types are checked
against the ops' type rules, and large constants against their digests.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import Array, dtype_named
from ..errors import DimSpecError, ParseError, TransformTypeError, UndecidedDimError
from ..errors.tracemill_error import text_of
from ..ir import ArrayType, Call, Constant, Graph, Location, Param, Value, called, types_text
from ..nesting import shown
from ..op import all_ops
from ..verifier import output_types
from .lexer import Line, lines
from .naming import RESERVED
from .number_reader import read_array, read_number, read_scalar, read_string
from .param_types import param_problem
from .printer import HEADER, INDENT, LONGEST_COMMENT
from .type_reader import DTYPES, declared_sizes, read_return_types, read_size, read_type

if TYPE_CHECKING:
    from ..shapes.reading import Sizes

DEEPEST = 32  # nested definitions, and nested tuples
LONGEST_REASON = 600  # characters of the message of an op's rule
MOST_CALLS = 1 << 20  # calls of a text; nested graphs count as often as they are called

_COMMENT = re.compile(r"# (.+?):([0-9]{1,9})(?:  (.*))?")
_WORDS: dict[str, Any] = {"None": None, "True": True, "False": False, "inf": math.inf, "nan": math.nan}


def parse(
    text: str,
    constants: Mapping[str, Array | Constant] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Graph:
    """The graph that `text` describes: ``parse(str(graph)) == graph``.

    `constants` has the arrays that the text names by their digest (`graph_constants` returns them), and `functions`
    the Python functions that it names (`graph_functions`). Raises `ParseError` for every other text; the error names
    the line and what was expected there.

    >>> graph = parse('''# tracemill ir 1
    ... def f(x: f32[3]) -> f32[3]:
    ...     sin_1: f32[3] = sin(x)
    ...     return sin_1''')
    """
    for name, given in (("constants", constants), ("functions", functions)):
        if not (given is None or isinstance(given, Mapping)):
            raise TransformTypeError(
                f"parse: {name} must be a dict, not {type(given).__name__}: {shown(given)}"
            )
    reader = Reader(text, constants or {}, functions or {})
    try:
        return reader.read()
    except (DimSpecError, UndecidedDimError) as error:
        raise ParseError(f"line {reader.last}: {error.message}") from error


# ---- the grammar -----------------------------------------------------------------------------------


@dataclass
class _Scope:
    """The names to which the lines of one definition may refer."""

    values: dict[str, Value] = field(default_factory=dict[str, Value])
    graphs: dict[str, Graph] = field(default_factory=dict[str, Graph])
    calls: list[Call] = field(default_factory=list[Call])
    location: Location | None = None
    count: int = 0
    """The number of calls, including those of nested graphs."""

    def define(self, name: str, value: Value, line: Line) -> None:
        if name in self.values:
            raise line.error(f"{name} is made twice")
        self.values[name] = value


class Reader:
    """Reads definitions from the lines of a text."""

    def __init__(
        self,
        text: str,
        constants: Mapping[str, Array | Constant],
        functions: Mapping[str, Callable[..., Any]],
    ) -> None:
        self.constants = constants
        self.given: dict[str, Constant] = {}
        """The arrays that have been named: each is stored once, however often it is named."""
        self.functions = functions
        if not isinstance(text, str):
            raise TransformTypeError(f"parse needs a text, not {type(text).__name__}: {shown(text)}")
        first, _, _ = text.partition("\n")
        if first.rstrip() != HEADER:
            raise ParseError(f"line 1: expected {HEADER!r}, found {first[:40]!r}")
        self.lines = lines(text)
        self.sizes: Sizes = {}
        """The dims in the types, by name."""
        self.last = 1
        self.counts: dict[int, tuple[int, Graph]] = {}
        """The number of calls of a graph, by its identity; the graph is kept alive as long as its entry."""

    def read(self) -> Graph:
        line = self.next_line("a definition")
        if line.indent or not line.at("def"):
            raise line.expected("'def' without indentation")
        _, graph = self.definition(line, 0)
        extra = next(self.lines, None)
        if extra is not None:
            raise extra.expected("the end of the text")
        return graph

    def next_line(self, expected: str) -> Line:
        line = next(self.lines, None)
        if line is None:
            raise ParseError(f"line {self.last}: expected {expected} after it, found the end of the text")
        self.last = line.number
        return line

    def definition(self, line: Line, depth: int) -> tuple[str, Graph]:
        """A ``def`` that starts at `line`: its name in the text, and the graph."""
        if depth > DEEPEST:
            raise line.error(f"definitions are nested more than {DEEPEST} deep")
        scope = _Scope()
        if not depth:
            self.sizes = declared_sizes(line)
        line.expect("def")
        name = line.take_identifier("the name of the graph")
        line.expect("(")
        while not line.accept(")"):
            input_name = line.take_identifier("the name of an input, or ')'")
            line.expect(":")
            scope.define(input_name, Value(read_type(line, self.sizes)), line)
            if not line.at(")"):
                line.expect(",")
        line.expect("->")
        returned = read_return_types(line, self.sizes)
        line.expect(":")
        _end(line)
        inputs = dict(scope.values)
        outputs = self.body(scope, returned, depth)
        graph = Graph(name, tuple(inputs.values()), tuple(scope.calls), outputs, tuple(inputs))
        self.counts[id(graph)] = scope.count, graph
        return name, graph

    def body(self, scope: _Scope, returned: tuple[ArrayType, ...], depth: int) -> tuple[Value, ...]:
        """The lines of a definition up to its ``return``: the outputs."""
        indent = len(INDENT) * (depth + 1)
        while True:
            line = self.next_line("'return'")
            if line.indent != indent:
                raise line.error(f"expected an indentation of {indent}, found {line.indent}")
            if line.at("def"):
                name, graph = self.definition(line, depth + 1)
                if name in scope.graphs or name in RESERVED:
                    raise line.error(f"a nested graph cannot be called {name} here")
                scope.graphs[name] = graph
            elif line.accept("return"):
                return self.outputs(line, scope, returned)
            else:
                self.statement(line, scope)

    def outputs(self, line: Line, scope: _Scope, returned: tuple[ArrayType, ...]) -> tuple[Value, ...]:
        values: list[Value] = []
        if line.accept("("):
            line.expect(")")
        else:
            values.append(_value(line, scope))
            while line.accept(","):
                values.append(_value(line, scope))
        _end(line)
        types = tuple(value.type for value in values)
        if types != returned:
            raise line.error(
                f"expected values of the types {types_text(returned)}, found {types_text(types)}"
            )
        return tuple(values)

    def statement(self, line: Line, scope: _Scope) -> None:
        """A call or a constant."""
        names: list[str] = []
        types: list[ArrayType] = []
        op = line.take_identifier("a name")
        if not line.at("("):
            names.append(op)
            line.expect(":")
            types.append(read_type(line, self.sizes))
            while line.accept(","):
                names.append(line.take_identifier("a name"))
                line.expect(":")
                types.append(read_type(line, self.sizes))
            line.expect("=")
            op = line.take_identifier("an op")
        if op == "constant" and len(types) == 1:
            scope.define(names[0], self.constant(line, types[0]), line)
            return
        call = self.call(line, scope, op, tuple(map(Value, types)))
        for name, value in zip(names, call.outputs, strict=True):
            scope.define(name, value, line)
        scope.calls.append(call)

    def call(self, line: Line, scope: _Scope, op: str, outputs: tuple[Value, ...]) -> Call:
        """A call, from its opening bracket on."""
        if op not in all_ops():
            line.position -= 1
            raise line.expected("the name of an op")
        line.expect("(")
        inputs: list[Value] = []
        params: dict[str, Param] = {}
        while not line.accept(")"):
            if line.at_keyword():
                name = line.take_identifier("the name of a parameter")
                if name in params:
                    raise line.error(f"parameter {name} is given twice")
                line.expect("=")
                params[name] = self.param(line, scope, 0)
            elif params:
                raise line.expected("a parameter, as 'name=…', or ')'")
            else:
                inputs.append(_value(line, scope))
            if not line.at(")"):
                line.expect(",")
        _end(line)
        scope.location = _location(line.comment) or scope.location
        call = Call(op, tuple(inputs), params, outputs, scope.location)
        scope.count += 1 + sum(self.counts[id(graph)][0] for graph in called((call,)))
        if scope.count > MOST_CALLS:
            raise line.error(f"expected at most {MOST_CALLS} calls, with those of nested graphs")
        _check_types(line, call)
        return call

    def param(self, line: Line, scope: _Scope, depth: int) -> Param:
        """The value of a parameter."""
        if depth > DEEPEST:
            raise line.error(f"tuples are nested more than {DEEPEST} deep")
        if line.at_size(self.sizes):
            return read_size(line, self.sizes)
        if line.accept("("):
            return self.tuple(line, scope, depth)
        kind, text = line.tokens[line.position]
        if kind == "number":
            line.position += 1
            return read_number(line, text)
        if kind == "string":
            return read_string(line)
        name = line.take("name", "the value of a parameter")
        if name in _WORDS:
            return _WORDS[name]  # type: ignore[no-any-return]
        if name in DTYPES:
            return dtype_named(name)
        if name == "callable":
            return self.function(line)
        if name in scope.graphs:
            return scope.graphs[name]
        line.position -= 1
        raise line.expected("a number, a string, a dtype or a nested graph")

    def tuple(self, line: Line, scope: _Scope, depth: int) -> tuple[Any, ...]:
        items: list[Any] = []
        while not line.accept(")"):
            items.append(self.param(line, scope, depth + 1))
            if not (line.at(")") and len(items) > 1):
                line.expect(",")
        return tuple(items)

    def function(self, line: Line) -> Callable[..., Any]:
        line.expect("(")
        name = read_string(line)
        line.expect(")")
        if name not in self.functions:
            raise line.error(f"expected the Python function {name[:200]!r} in functions=")
        return self.functions[name]

    def constant(self, line: Line, type: ArrayType) -> Constant:
        """A constant, from its opening bracket on: nested lists, or the digest of a given array."""
        line.expect("(")
        if not all(isinstance(dim, int) for dim in type.shape):
            raise line.error(f"a constant has no symbolic sizes, unlike {type}")
        if line.tokens[line.position][0] == "string":
            constant = self.given_constant(line, type)
        else:
            constant = Constant(read_array(line, type))
        line.expect(")")
        _end(line)
        return constant

    def given_constant(self, line: Line, type: ArrayType) -> Constant:
        digest = read_string(line)
        if digest not in self.constants:
            raise line.error(f"expected the array {digest[:80]!r} in constants=")
        given = self.given.get(digest, self.constants[digest])
        array = given.array if isinstance(given, Constant) else np.asarray(given)
        if ArrayType(array.dtype, array.shape) != type:
            raise line.error(f"expected {type} in constants=, found {array.dtype}{list(array.shape)}")
        constant = self.given[digest] = given if isinstance(given, Constant) else Constant(array)
        if constant.digest != digest:
            raise line.error(f"expected the array {digest} in constants=, found {constant.digest}")
        return constant


def _end(line: Line) -> None:
    if line.tokens[line.position][0] != "end":
        raise line.expected("the end of the line")


def _value(line: Line, scope: _Scope) -> Value:
    """The name of a value, or a number: ``f32(0.5)``."""
    name = line.take("name", "a value")
    if name in DTYPES and line.accept("("):
        return Constant(read_scalar(line, dtype_named(name)))
    if name not in scope.values:
        line.position -= 1
        raise line.expected("a value that is made before")
    return scope.values[name]


def _location(comment: str) -> Location | None:
    """The source line in a comment."""
    match = (
        _COMMENT.fullmatch(comment) if comment.isprintable() and len(comment) <= LONGEST_COMMENT + 2 else None
    )
    return Location(match[1], int(match[2]), match[3] or "") if match else None


def _check_types(line: Line, call: Call) -> None:
    """The outputs' types are those given by the op's type rule."""
    if problem := param_problem(call.op, call.params):
        raise line.error(f"expected what {call.op} takes: {problem}")
    try:
        types = output_types(call.op, call.inputs, call.params)
    except Exception as error:  # a rule may fail on parameters that the op does not have
        reason = re.sub(
            r"^\S+\(\) ", "", text_of(error)
        )  # Python's message starts with the name of the rule's function
        if len(reason) > LONGEST_REASON:
            reason = f"{reason[:LONGEST_REASON]}…"
        raise ParseError(f"line {line.number}: expected what {call.op} takes: {reason}") from error
    given = tuple(value.type for value in call.outputs)
    if types != given:
        raise line.error(
            f"expected {types_text(types)} as the result of {call.op}, found {types_text(given)}"
        )

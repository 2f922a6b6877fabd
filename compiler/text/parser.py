"""Text to graph: reads what `to_text` prints, and refuses everything else with `ParseError`.

Nothing in the text is executed, so it may come from anyone. Lines, nesting and sizes are limited, types are checked
against the ops' type rules, and large constants against their digests.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import Array, DType, dtype_named, dtype_names
from ..errors import DimSpecError, InternalError, ParseError, TransformTypeError, UndecidedDimError
from ..ir import ArrayType, Call, Constant, Dim, Graph, Location, Param, Shape, Value, called
from ..nesting import shown
from ..op import all_ops
from ..verifier import LONGEST_INT, MOST_AXES, MOST_ELEMENTS, output_types, shape_problem
from .lexer import Line, lines
from .literals import LONGEST_NUMBER, read_numbers
from .naming import INLINE_SIZE, RESERVED
from .param_types import param_problem
from .printer import HEADER, INDENT, LONGEST_COMMENT

if TYPE_CHECKING:
    from ..shapes.reading import Sizes

DEEPEST = 32  # nested definitions, and nested tuples
LONGEST_DIM_DIGITS = 15
LONGEST_REASON = 600  # characters of the message of an op's rule
MOST_CALLS = 1 << 20  # calls of a text; nested graphs count as often as they are called

_COMMENT = re.compile(r"# (.+?):([0-9]{1,9})(?:  (.*))?")
_DECLARATION = r"\s*[A-Za-z_]\w*\s+(?:in\s+[0-9]+\.\.[0-9]*|%\s+[0-9]+\s+==\s+0)\s*"
_DECLARATIONS = re.compile(rf"#{_DECLARATION}(?:,{_DECLARATION})*", re.ASCII)
_WORDS: dict[str, Any] = {"None": None, "True": True, "False": False, "inf": math.inf, "nan": math.nan}
_DTYPES = frozenset(dtype_names())


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
    reader = _Reader(text, constants or {}, functions or {})
    try:
        return reader.read()
    except (DimSpecError, UndecidedDimError) as error:
        raise ParseError(f"line {reader.last}: {error.message}") from error


class UnknownConstant(Constant):
    """An array of which only type and digest are known. It uses no memory, and its numbers are meaningless."""

    __slots__ = ()

    def __init__(self, type: ArrayType, digest: str) -> None:
        Value.__init__(self, type)
        self.array = np.broadcast_to(np.zeros((), type.dtype), type.shape)
        self._digest = digest


def parse_to_show(text: str) -> Graph:
    """Like `parse`, but only for inspection: the result cannot run if the text names arrays or Python functions.

    Arrays are `UnknownConstant`; their contents are not known.
    """
    return _Shown(text).read()


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


class _Reader:
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
            self.sizes = _declared(line)
        line.expect("def")
        name = line.take_identifier("the name of the graph")
        line.expect("(")
        while not line.accept(")"):
            input_name = line.take_identifier("the name of an input, or ')'")
            line.expect(":")
            scope.define(input_name, Value(_type(line, self.sizes)), line)
            if not line.at(")"):
                line.expect(",")
        line.expect("->")
        returned = _return_types(line, self.sizes)
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
            raise line.error(f"expected values of the types {_shown(returned)}, found {_shown(types)}")
        return tuple(values)

    def statement(self, line: Line, scope: _Scope) -> None:
        """A call or a constant."""
        names: list[str] = []
        types: list[ArrayType] = []
        op = line.take_identifier("a name")
        if not line.at("("):
            names.append(op)
            line.expect(":")
            types.append(_type(line, self.sizes))
            while line.accept(","):
                names.append(line.take_identifier("a name"))
                line.expect(":")
                types.append(_type(line, self.sizes))
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
            return _size(line, self.sizes)
        if line.accept("("):
            return self.tuple(line, scope, depth)
        kind, text = line.tokens[line.position]
        if kind == "number":
            line.position += 1
            return _number(line, text)
        if kind == "string":
            return _string(line)
        name = line.take("name", "the value of a parameter")
        if name in _WORDS:
            return _WORDS[name]  # type: ignore[no-any-return]
        if name in _DTYPES:
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
        name = _string(line)
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
            constant = Constant(_array(line, type))
        line.expect(")")
        _end(line)
        return constant

    def given_constant(self, line: Line, type: ArrayType) -> Constant:
        digest = _string(line)
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


class _Shown(_Reader):
    """Reads texts without their arrays and Python functions."""

    def __init__(self, text: str) -> None:
        super().__init__(text, {}, {})
        self.known: dict[str, Callable[..., Any]] = {}

    def given_constant(self, line: Line, type: ArrayType) -> Constant:
        if type.nbytes >= MOST_ELEMENTS:
            raise line.error(f"expected an array of fewer than 2**56 bytes, found {type}")
        return UnknownConstant(type, _string(line))

    def function(self, line: Line) -> Callable[..., Any]:
        line.expect("(")
        name = _string(line)
        line.expect(")")
        return self.known.setdefault(name, _stand_in(name))


def _stand_in(name: str) -> Callable[..., Any]:
    """Stands for a Python function of this name."""

    def function(*_args: Any) -> Any:
        raise InternalError(f"{name} is called, of which only the name is there")

    function.__module__, _, function.__qualname__ = name.partition(":")
    return function


# ---- the leaves of the grammar -----------------------------------------------------------------------


def _end(line: Line) -> None:
    if line.tokens[line.position][0] != "end":
        raise line.expected("the end of the line")


def _declared(line: Line) -> "Sizes":
    """The dims whose limits are in the comment of the first definition; other comments have none."""
    if not _DECLARATIONS.fullmatch(line.comment):
        return {}
    from ..shapes.reading import read_declarations

    return read_declarations(line.comment.removeprefix("#").split(","))[0]


def _type(line: Line, sizes: "Sizes") -> ArrayType:
    """``f32[2, 3]``, ``f32[N, 2*K + 1]``."""
    dtype = _dtype(line)
    line.expect("[")
    shape: list[Dim] = []
    while not line.accept("]"):
        shape.append(_dim(line, sizes))
        if not line.at("]"):
            line.expect(",")
    if problem := shape_problem(tuple(shape)):
        raise line.error(problem)
    return ArrayType(dtype, tuple(shape))


def _dim(line: Line, sizes: "Sizes") -> Dim:
    """A number, or an expression of sizes up to the comma or bracket that ends it."""
    kind, dim = line.tokens[line.position]
    if kind == "number" and line.tokens[line.position + 1][1] in (",", "]"):
        line.position += 1
        if not dim.isdecimal() or len(dim) > LONGEST_DIM_DIGITS:
            raise line.error(f"expected a dimension from 0 to 2**48 − 1, found {dim[:40]}")
        return int(dim)
    return _size(line, sizes)


def _size(line: Line, sizes: "Sizes") -> Dim:
    """An expression of sizes."""
    words = line.take_size()
    if not words:
        raise line.expected("a dimension, or ']'")
    from ..shapes.reading import read_dim

    found: Any = read_dim(" ".join(words), sizes)
    return found  # type: ignore[no-any-return]


def _dtype(line: Line) -> DType:
    name = line.take("name", "a dtype")
    if name not in _DTYPES:
        line.position -= 1
        raise line.expected(f"a dtype ({', '.join(dtype_names())})")
    return dtype_named(name)


def _return_types(line: Line, sizes: "Sizes") -> tuple[ArrayType, ...]:
    if not line.accept("("):
        return (_type(line, sizes),)
    types: list[ArrayType] = []
    while not line.accept(")"):
        types.append(_type(line, sizes))
        if not line.at(")"):
            line.expect(",")
    return tuple(types)


def _value(line: Line, scope: _Scope) -> Value:
    """The name of a value, or a number: ``f32(0.5)``."""
    name = line.take("name", "a value")
    if name in _DTYPES and line.accept("("):
        dtype = dtype_named(name)
        texts = _entry(line, dtype)
        line.expect(")")
        return Constant(_read(line, texts, dtype).reshape(()))
    if name not in scope.values:
        line.position -= 1
        raise line.expected("a value that is made before")
    return scope.values[name]


def _entry(line: Line, dtype: DType) -> list[str]:
    """The texts of one number: two, separated by a comma, for a complex number."""
    texts = [_number_text(line)]
    if dtype.kind == "c":
        line.expect(",")
        texts.append(_number_text(line))
    return texts


def _number_text(line: Line) -> str:
    kind, text = line.tokens[line.position]
    if kind != "number" and text not in ("True", "False", "inf", "nan"):
        raise line.expected("a number")
    line.position += 1
    return text


def _read(line: Line, texts: list[str], dtype: DType) -> Array:
    try:
        return read_numbers(texts, dtype)
    except ValueError as error:
        raise line.error(f"expected numbers of the dtype {dtype}: {error}") from error


def _array(line: Line, type: ArrayType) -> Array:
    """The nested lists of a small constant of this type."""
    if type.size > INLINE_SIZE:
        raise line.expected(f"a digest, as more than {INLINE_SIZE} elements have one")
    if type.size == 0:
        line.expect("[")
        line.expect("]")
        return np.zeros(type.shape, type.dtype)
    return _read(line, _entries(line, type.dtype, type.shape), type.dtype).reshape(type.shape)


def _entries(line: Line, dtype: DType, shape: Shape) -> list[str]:
    assert len(shape) <= MOST_AXES  # limits the recursion
    if not shape:
        in_pair = dtype.kind == "c"
        if in_pair:
            line.expect("(")
        texts = _entry(line, dtype)
        if in_pair:
            line.expect(")")
        return texts
    texts = []
    for index in range(shape[0]):
        line.expect("," if index else "[")
        texts += _entries(line, dtype, shape[1:])
    line.expect("]")
    return texts


def _number(line: Line, text: str) -> int | float:
    """A number among parameters."""
    if len(text) > LONGEST_NUMBER or text.startswith(("0x", "-0x")):
        raise line.error(f"expected a decimal number of at most {LONGEST_NUMBER} digits, found {text[:40]}")
    number = int(text) if text.removeprefix("-").isdecimal() else float(text)
    if isinstance(number, int) and number.bit_length() > LONGEST_INT:
        raise line.error(f"expected an integer of at most {LONGEST_INT} bits, found {text[:40]}…")
    return number


def _string(line: Line) -> str:
    text = line.take("string", "a string")
    try:
        found = json.loads(text)
    except ValueError as error:
        raise line.error(f"expected a string as in JSON: {error}") from error
    return str(found)


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
            r"^\S+\(\) ", "", str(error)
        )  # Python's message starts with the name of the rule's function
        if len(reason) > LONGEST_REASON:
            reason = f"{reason[:LONGEST_REASON]}…"
        raise ParseError(f"line {line.number}: expected what {call.op} takes: {reason}") from error
    given = tuple(value.type for value in call.outputs)
    if types != given:
        raise line.error(f"expected {_shown(types)} as the result of {call.op}, found {_shown(given)}")


def _shown(types: tuple[ArrayType, ...]) -> str:
    return ", ".join(map(str, types)) or "none"

"""The NumPy definition of an op as source text: inline if it is one expression, otherwise as a function."""

import ast
import builtins
import inspect
import linecache
import re
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from types import FunctionType
from typing import Final

import numpy as np

from ...errors import InternalError
from ...op import lookup


def numpy_function(op: str) -> str | None:
    """``np.tanh`` if the definition of `op` is a NumPy function, else None."""
    meaning = lookup(op).numpy
    name = getattr(meaning, "__name__", "")
    return f"np.{name}" if getattr(np, name, None) is meaning else None


def expression(op: str, inputs: Sequence[str], params: Mapping[str, str]) -> str | None:
    """The definition of `op` applied to expressions, if it is a NumPy function or a lambda; else None."""
    return _expression(op, tuple(inputs), tuple(params.items()))


@lru_cache(4096)
def _expression(op: str, inputs: tuple[str, ...], params: tuple[tuple[str, str], ...]) -> str | None:
    if name := numpy_function(op):
        return f"{name}({', '.join([*inputs, *(f'{key}={text}' for key, text in params)])})"
    meaning = _function(op)
    if meaning.__name__ != "<lambda>":
        return None
    names, rest = _argument_names(meaning)
    given = dict(zip(names, inputs, strict=False)) | dict(params)
    if rest:
        given[rest] = f"({', '.join(inputs)},)"
    body = ast.parse(_lambda_body(op), mode="eval").body
    text = ast.unparse(_Substitution(given).visit(body))
    return text if '"' in text else text.replace("'", '"')  # a text with quotes in it does not change


def function_text(op: str, name: str) -> list[str]:
    """The definition of `op` as the lines of a function called `name`, without annotations."""
    arguments, body = _definition(op)
    return [f"def {name}({arguments}):", *body]


@cache
def _definition(op: str) -> tuple[str, tuple[str, ...]]:
    """The arguments and the body of the function that defines `op`. It takes a while to find them."""
    source = textwrap.dedent(inspect.getsource(_function(op)))
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef), "lambdas are written in place"
    _check_names(op, definition)
    doc = lookup(op).doc
    body = definition.body[1:] if ast.get_docstring(definition) else definition.body
    lines = source.splitlines()[body[0].lineno - 1 : definition.end_lineno]
    lines = [part for line in lines for part in _with_numbers(op, line)]
    shown = [f'    """{doc}"""'] if len(doc) < 100 else []
    return _without_annotations(definition.args), (*shown, *lines)


_SUM: Final = re.compile(r"(\s*)for (\w+(?:, \w+)?) in ([A-Z]\w*):")


def _with_numbers(op: str, line: str) -> list[str]:
    """A line of a definition; a loop over a table of coefficients gets the numbers instead."""
    found = _SUM.fullmatch(line)
    if found is None:
        return [line]
    indent, variable, table = found.groups()
    numbers = _table(op, table)
    count = 2 if "," in variable else 4
    rows = [", ".join(map(repr, numbers[i : i + count])) for i in range(0, len(numbers), count)]
    return [
        f"{indent}for {variable} in (", *(f"{indent}    {row}," for row in rows), f"{indent}):  # fmt: skip"
    ]  # fmt: skip


def _table(op: str, name: str) -> tuple[float | tuple[float, float], ...]:
    """The coefficients, or pairs of them, that a definition refers to by a name; empty if there are none."""
    found = _function(op).__globals__.get(name, ())
    is_table = isinstance(found, tuple) and all(
        isinstance(x, float) for entry in found for x in (entry if isinstance(entry, tuple) else (entry,))
    )
    return found if is_table else ()


def _function(op: str) -> FunctionType:
    meaning = lookup(op).numpy
    if not isinstance(meaning, FunctionType) or meaning.__code__.co_freevars:
        raise InternalError(f"the NumPy definition of {op} is not a plain function and cannot be quoted")
    return meaning


def _argument_names(function: FunctionType) -> tuple[list[str], str | None]:
    """The names of the positional arguments, and that of ``*rest``."""
    spec = inspect.getfullargspec(function)
    return spec.args, spec.varargs


@cache
def _lambda_body(op: str) -> str:
    """The source of the expression that a lambda returns, found by the positions of its instructions."""
    code = _function(op).__code__
    starts: list[tuple[int, int]] = []
    ends: list[tuple[int, int]] = []
    for line, end_line, column, end_column in code.co_positions():
        if line is None or end_line is None or column is None or end_column is None:
            continue
        if (line, column) != (code.co_firstlineno, 0):  # where the function itself begins
            starts.append((line, column))
            ends.append((end_line, end_column))
    (line, column), (end_line, end_column) = min(starts), max(ends)
    lines = [text.encode() for text in linecache.getlines(code.co_filename)[line - 1 : end_line]]  # in bytes
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    text = f"({b''.join(lines).decode()})"
    _check_names(op, ast.parse(text))
    return text


def _check_names(op: str, tree: ast.AST) -> None:
    """A quoted definition may refer only to NumPy, its arguments and variables, Python's builtins, tables, and what it
    imports itself."""
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    own |= set(inspect.signature(_function(op)).parameters)
    own |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    own |= {node.asname or node.name for node in ast.walk(tree) if isinstance(node, ast.alias)}
    annotations = {"Any"}
    foreign = {node.id for node in names} - own - annotations - {"np"} - set(dir(builtins))
    foreign = {name for name in foreign if not _table(op, name)}
    if foreign:
        raise InternalError(
            f"the NumPy definition of {op} refers to {', '.join(sorted(foreign))}, not only to np"
        )


def _without_annotations(arguments: ast.arguments) -> str:
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return ast.unparse(arguments).replace("'", '"')


class _Substitution(ast.NodeTransformer):
    """Replaces names by expressions."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        text = self.given.get(node.id)
        return node if text is None else ast.parse(text, mode="eval").body

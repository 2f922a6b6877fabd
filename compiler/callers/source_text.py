"""`tree_around`: the syntax tree of the statement that a code object comes from, if the file has not changed since."""

import __future__

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, Final

_CONTINUES: Final = frozenset({"", *" \t\f\r\n#)]}"})
"""The first characters of lines that continue a statement of the module, or contain none."""
_IMPORT: Final = re.compile(r"^(?:import|from(?! __future__)) [^\n(]*(?:\([^)]*\))?", re.MULTILINE)


def tree_around(code: CodeType, lines: Sequence[str]) -> ast.Module | None:
    """The statement of the module that contains a code object, or the entire module; None if the source has changed.

    One statement is enough if it compiles to the same code. Reading it takes much less time than reading the file.
    """
    if not lines:
        return None
    return _matching_tree(code, _statement_around(lines, code.co_firstlineno)) or _matching_tree(
        code, "".join(lines)
    )


def _matching_tree(code: CodeType, text: str) -> ast.Module | None:
    tree, compiled = _parsed(code.co_filename, text, future_flags(code))
    return tree if any(_is_same(code, one) for one in compiled) else None


def _statement_around(lines: Sequence[str], line: int) -> str:
    """The text of the module's statement at a line, after empty lines that keep its place.

    The imports of the module follow it, because Python compiles calls of functions of imported modules differently. How
    a line begins tells what it is. Inside a string, this may be wrong.
    """
    first = min(line, len(lines)) - 1
    while first > 0 and lines[first][:1] in _CONTINUES:
        first -= 1
    last, begins_with = first + 1, lines[first][:1]
    while last < len(lines) and (lines[last][:1] in _CONTINUES or begins_with == "@"):
        begins_with = begins_with if lines[last][:1] in _CONTINUES else lines[last][:1]
        last += 1
    return "\n" * first + "".join([*lines[first:last], "\n", _imports("".join(lines))])


@lru_cache(64)
def _imports(text: str) -> str:
    return "\n".join(_IMPORT.findall(text))


@lru_cache(64)
def _parsed(file: str, text: str, flags: int) -> tuple[ast.Module | None, tuple[CodeType, ...]]:
    """The syntax tree of a text, and all its code objects; None if it is not valid Python."""
    try:
        tree = ast.parse(text, file)
        return tree, tuple(codes(compile(tree, file, "exec", flags, dont_inherit=True)))
    except (SyntaxError, ValueError):
        return None, ()


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of all functions defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def _is_same(code: CodeType, other: CodeType) -> bool:
    """Whether code was compiled from the same text in the same place."""
    is_there = code.co_firstlineno == other.co_firstlineno and code.co_name == other.co_name
    return is_there and _identity(code) == _identity(other)


def _identity(code: CodeType) -> Any:
    """What code does, and its place in the text: all of it except what Python records in it at run time."""
    names = code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return (
        code.co_firstlineno,
        code.co_code,
        names,
        code.co_flags,
        code.co_linetable,
        _of_constant(code.co_consts),
    )


def _of_constant(constant: Any) -> Any:
    """Distinguishes 1 from 1.0 and True, and 0.0 from -0.0."""
    if isinstance(constant, CodeType):
        return _identity(constant)
    if isinstance(constant, tuple):
        return tuple(map(_of_constant, constant))
    if isinstance(constant, frozenset):
        return frozenset(map(_of_constant, constant))
    return type(constant), repr(constant)


def future_flags(code: CodeType) -> int:
    """The flags of ``from __future__ import …``."""
    flags = {getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}
    return sum(flag for flag in flags if flag & code.co_flags)

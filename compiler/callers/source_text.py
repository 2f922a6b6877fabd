"""`tree_of`: the syntax tree of the file of a code object, if the file has not changed since."""

import __future__

import ast
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Any


def tree_of(code: CodeType, text: str) -> ast.Module | None:
    """A text as the source of the code; None if the code was compiled from another text."""
    tree = _tree(code.co_filename, text)
    is_its = tree is not None and _identity(code) in _identities(tree, code.co_filename, future_flags(code))
    return tree if is_its else None


@lru_cache(16)
def _tree(file: str, text: str) -> ast.Module | None:
    try:
        return ast.parse(text, file)
    except (SyntaxError, ValueError):
        return None


@lru_cache(16)
def _identities(tree: ast.Module, file: str, flags: int) -> frozenset[Any]:
    """All code that a text compiles to."""
    return frozenset(map(_identity, codes(compile(tree, file, "exec", flags, dont_inherit=True))))


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of all functions defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def _identity(code: CodeType) -> Any:
    """What code does, and its place in the text: all of it except what Python records in it at run time."""
    names = code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, names, code.co_flags, tuple(code.co_positions()), _of_constant(code.co_consts)


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

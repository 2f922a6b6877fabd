"""`LoopSource`: the text of a loop over a range, or over an array, that a running function is about to begin."""

import __future__

import ast
import builtins
import linecache
import opcode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR, CO_OPTIMIZED
from itertools import islice
from types import CodeType, FrameType
from typing import Any, Final

_CALLS: Final = frozenset(code for name, code in opcode.opmap.items() if name in ("CALL", "PRECALL"))
_GET_ITER: Final = opcode.opmap["GET_ITER"]
_SUSPENDED: Final = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR

Position = tuple[int | None, int | None, int | None, int | None]


@dataclass(frozen=True, slots=True)
class LoopSource:
    """A loop, and the function that it stands in."""

    loop: ast.For
    function: ast.FunctionDef
    code: CodeType

    @property
    def bounds(self) -> list[ast.expr]:
        """The arguments of ``range``, of a loop over one."""
        assert isinstance(self.loop.iter, ast.Call)
        return self.loop.iter.args


def loop_source(frame: FrameType) -> LoopSource | None:
    """The loop for which a function calls ``range``, or asks an array for its rows, right now.

    None if that is not what it does, or its text is gone.

    The text is that of the running code: what it compiles to is compared.
    """
    code = frame.f_code
    if not code.co_flags & CO_OPTIMIZED or code.co_flags & _SUSPENDED:
        return None
    is_call = code.co_code[frame.f_lasti] in _CALLS
    if not (
        is_builtin_range(code, frame.f_globals, frame.f_builtins)
        if is_call
        else code.co_code[frame.f_lasti] == _GET_ITER
    ):
        return None
    text = "".join(linecache.getlines(code.co_filename, frame.f_globals))
    position = next(islice(code.co_positions(), frame.f_lasti // 2, None))
    found = _found(code, text, position, is_call) if text and None not in position else None
    return None if found is None else LoopSource(*found, code)


def is_builtin_range(code: CodeType, module: Mapping[str, Any], python: Mapping[str, Any]) -> bool:
    """Whether ``range`` means Python's in code of a module; `python` are the names that it has from Python."""
    if "range" in (*code.co_varnames, *code.co_cellvars, *code.co_freevars):
        return False
    return module.get("range", python.get("range")) is builtins.range


def function_source(code: CodeType) -> ast.FunctionDef | None:
    """The text of a function that only returns what it computes; None if it is not at hand, or is no ``def``."""
    text = "".join(linecache.getlines(code.co_filename))
    return None if code.co_flags & _SUSPENDED or not text else _defined(code, text)


@lru_cache(256)
def _defined(code: CodeType, text: str) -> ast.FunctionDef | None:
    tree = _tree_of(code, text)
    if tree is None:
        return None
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name == code.co_name
        and code.co_firstlineno == min([node.lineno, *(one.lineno for one in node.decorator_list)])
    ]
    return found[0] if len(found) == 1 else None


@lru_cache(256)
def _found(
    code: CodeType, text: str, position: Position, is_call: bool
) -> tuple[ast.For, ast.FunctionDef] | None:
    tree = _tree_of(code, text)
    if tree is None:
        return None
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name == code.co_name:
            for loop in ast.walk(function):
                if not isinstance(loop, ast.For):
                    continue
                if (
                    _is_over_range(loop) and _place(loop.iter) == position
                    if is_call
                    else position in (_place(loop), _place(loop.iter))
                ):
                    return loop, _innermost(function, loop)
    return None


def _innermost(function: ast.FunctionDef, loop: ast.For) -> ast.FunctionDef:
    """The function that a loop belongs to, which may be defined inside of one of the same name."""
    inner = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.FunctionDef) and any(one is loop for one in ast.walk(node))
    ]
    return inner[-1]  # they are walked from the outside


def _is_over_range(loop: ast.For) -> bool:
    call = loop.iter
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "range"
        and not call.keywords
        and not any(isinstance(x, ast.Starred) for x in call.args)
    )


def _place(node: ast.stmt | ast.expr) -> Position:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _tree_of(code: CodeType, text: str) -> ast.Module | None:
    """A text as what the code was made of; None if it was made of another one."""
    tree = _tree(code.co_filename, text)
    is_its = tree is not None and _identity(code) in _identities(tree, code.co_filename, _future(code))
    return tree if is_its else None


@lru_cache(16)
def _tree(file: str, text: str) -> ast.Module | None:
    try:
        return ast.parse(text, file)
    except (SyntaxError, ValueError):
        return None


@lru_cache(16)
def _identities(tree: ast.Module, file: str, flags: int) -> frozenset[Any]:
    """Of all code that a text compiles to."""
    return frozenset(map(_identity, _codes(compile(tree, file, "exec", flags, dont_inherit=True))))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _identity(code: CodeType) -> Any:
    """What code does, and where in its text: all of it but what Python notes in it as it runs."""
    names = code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, names, code.co_flags, tuple(code.co_positions()), _of_constant(code.co_consts)


def _of_constant(constant: Any) -> Any:
    """Tells 1 from 1.0 and True, and 0.0 from -0.0."""
    if isinstance(constant, CodeType):
        return _identity(constant)
    if isinstance(constant, tuple):
        return tuple(map(_of_constant, constant))
    if isinstance(constant, frozenset):
        return frozenset(map(_of_constant, constant))
    return type(constant), repr(constant)


def _future(code: CodeType) -> int:
    """The flags of ``from __future__ import …``."""
    flags = {getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}
    return sum(flag for flag in flags if flag & code.co_flags)

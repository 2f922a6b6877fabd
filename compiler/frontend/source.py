"""`source_of`: the syntax tree of a function, with the variables of enclosing functions that it can see."""

import ast
import linecache
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import CodeType, FunctionType
from typing import TypeAlias

from ..callers.source_text import tree_of
from ..callers.user_code import HOOKS
from .cells import shared_variables
from .desugaring import desugared, unset_in
from .names import FUNCTIONS, bound, declared, is_suspended, mentioned, parameters

FunctionNode: TypeAlias = "ast.FunctionDef | ast.Lambda"

ITEM = f"{HOOKS}_item"
"""The variable that holds the item of an iteration."""

_SEES_VARIABLES = frozenset({"locals", "vars", "eval", "exec", "dir", "_getframe", "currentframe"})


@dataclass(frozen=True, eq=False)
class Scope:
    """A function that is being converted: its syntax tree, and the variables that it can see."""

    node: FunctionNode
    own: frozenset[str]
    """Its own variables."""
    outer: frozenset[str]
    """The variables of enclosing functions."""

    @cached_property
    def is_suspended(self) -> bool:
        """Whether it is a generator. Python runs its statements, and only expressions get hooks."""
        return is_suspended(self.node)

    @property
    def name(self) -> str:
        return self.node.name if isinstance(self.node, ast.FunctionDef) else "<lambda>"

    @cached_property
    def unset(self) -> frozenset[str]:
        """Its variables that may be unset when they are read."""
        return unset_in(self.node)

    @cached_property
    def declared(self) -> frozenset[str]:
        """The variables that it declares as global or nonlocal."""
        return frozenset() if isinstance(self.node, ast.Lambda) else declared(self.node.body)

    @cached_property
    def shared(self) -> frozenset[str]:
        """The variables that inner functions set or read while its blocks run."""
        return shared_variables(self.node, self.own, self.outer)

    def inner(self, node: FunctionNode) -> "Scope":
        """The scope of an inner function."""
        return Scope(node, own_variables(node), self.own | self.outer)


def own_variables(node: FunctionNode) -> frozenset[str]:
    """The local variables of a function."""
    if isinstance(node, ast.Lambda):
        return parameters(node) | bound([node.body])
    return (parameters(node) | bound(node.body)) - declared(node.body)


def source_of(function: FunctionType, *, is_wanted: bool) -> "Scope | str":
    """The scope of a function, or the reason why it is not converted."""
    code = function.__code__
    if HOOKS in code.co_freevars:
        return "it is converted already"
    if not is_wanted:
        return "it belongs to a library"
    if seen := _SEES_VARIABLES & {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}:
        return f"it uses {min(seen)}, which sees the variables of the function as they are"
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    tree = tree_of(code, text) if text else None
    if tree is None:
        return "its source is not there, has changed since it was imported, or is not what runs"
    return _scope_of(_node_of(tree, code), code)


def _scope_of(found: "FunctionNode | ast.AsyncFunctionDef | None", code: CodeType) -> "Scope | str":
    if found is None:
        return "it cannot be told apart from others in its source"
    if isinstance(found, ast.AsyncFunctionDef):
        return "it is a coroutine"
    if any(name.startswith(HOOKS) for name in mentioned([found])):
        return f"it has names that begin with {HOOKS}"
    if any(name.startswith("__") and not name.endswith("__") for name in mentioned([found])):
        return "it has private names, which Python changes in a class"
    found = desugared(found)
    return Scope(found, own_variables(found), frozenset(code.co_freevars))


def _node_of(tree: ast.Module, code: CodeType) -> "FunctionNode | ast.AsyncFunctionDef | None":
    """The function in a tree that code was compiled from: by name and first line; a lambda by the place of its body."""
    found = [node for node in _functions(tree) if _is_made_of(code, node)]
    return found[0] if len(found) == 1 else None


@lru_cache(16)
def _functions(tree: ast.Module) -> "tuple[FunctionNode | ast.AsyncFunctionDef, ...]":
    return tuple(node for node in ast.walk(tree) if isinstance(node, FUNCTIONS))


def _is_made_of(code: CodeType, node: "FunctionNode | ast.AsyncFunctionDef") -> bool:
    if isinstance(node, ast.Lambda):
        if code.co_name != "<lambda>" or code.co_firstlineno != node.lineno:
            return False
        body = node.body
        place = body.lineno, body.end_lineno, body.col_offset, body.end_col_offset
        return place == _extent(code)
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return node.name == code.co_name and first == code.co_firstlineno


def _extent(code: CodeType) -> tuple[int, int, int, int]:
    """The range of places in the file that the instructions of some code come from."""
    starts: list[tuple[int, int]] = []
    ends: list[tuple[int, int]] = []
    for line, end_line, column, end_column in code.co_positions():
        if line and end_line and column is not None and end_column:
            starts.append((line, column))
            ends.append((end_line, end_column))
    start, end = min(starts, default=(0, 0)), max(ends, default=(0, 0))
    return start[0], end[0], start[1], end[1]

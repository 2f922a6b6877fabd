"""`source_of`: the syntax tree of a function, with the variables of enclosing functions that it can see."""

import ast
import linecache
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FunctionType
from typing import TypeAlias

from ..callers.source_text import tree_around
from ..callers.user_code import HOOKS
from .closure_cells import shared_variables
from .desugaring import desugared, unset_in
from .liveness import Liveness
from .names import FUNCTIONS, FactsByNode, Names, parameters
from .syntax import children, statements, walk

FunctionNode: TypeAlias = "ast.FunctionDef | ast.Lambda"

ITEM = f"{HOOKS}_item"
"""The variable that holds the item of an iteration."""
ITEMS = f"{HOOKS}_items"
"""The variable that holds what a comprehension goes over."""

_SEES_VARIABLES = frozenset({"locals", "vars", "eval", "exec", "dir", "_getframe", "currentframe"})


@dataclass(frozen=True, eq=False)
class Scope:
    """A function that is being converted: its syntax tree, and the variables that it can see."""

    node: FunctionNode
    own: frozenset[str]
    """Its own variables."""
    outer: frozenset[str]
    """The variables of enclosing functions."""
    facts: FactsByNode
    """The facts of its nodes, shared with the functions around it."""
    qualified_name: str

    @cached_property
    def is_suspended(self) -> bool:
        """Whether it is a generator. Python runs its statements, and only expressions get hooks."""
        return self.facts.of(children(self.node)).suspends

    @cached_property
    def may_be_bound_to_place(self) -> bool:
        """Whether it contains expressions that bind a name or wait."""
        return self.facts[self.node].is_bound_to_place

    @cached_property
    def liveness(self) -> Liveness:
        """The variables that may be read after each statement."""
        return Liveness(self.node, self.facts)

    @property
    def name(self) -> str:
        return _name_of(self.node)

    @cached_property
    def unset(self) -> frozenset[str]:
        """Its variables that may be unset when they are read."""
        return unset_in(self.node)

    @cached_property
    def declared(self) -> frozenset[str]:
        """The variables that it declares as global or nonlocal."""
        return frozenset() if isinstance(self.node, ast.Lambda) else self.facts.of(self.node.body).declared

    @cached_property
    def shared(self) -> frozenset[str]:
        """The variables that inner functions set or read while its blocks run."""
        return shared_variables(self.node, self.own, self.outer, self.facts)

    def inner(self, node: FunctionNode) -> "Scope":
        """The scope of an inner function."""
        qualified_name = f"{self.qualified_name}.<locals>.{_name_of(node)}"
        return Scope(node, own_variables(node, self.facts), self.own | self.outer, self.facts, qualified_name)


def _name_of(node: FunctionNode) -> str:
    return node.name if isinstance(node, ast.FunctionDef) else "<lambda>"


def own_variables(node: FunctionNode, facts: FactsByNode) -> Names:
    """The local variables of a function."""
    if isinstance(node, ast.Lambda):
        return parameters(node) | facts[node.body].bound
    body = facts.of(node.body)
    return (parameters(node) | body.bound) - body.declared


def source_of(function: FunctionType, *, is_wanted: bool) -> "Scope | str":
    """The scope of a function, or the reason why it is not converted."""
    code = function.__code__
    if HOOKS in code.co_freevars:
        return "it is converted already"
    if not is_wanted:
        return "it belongs to a library"
    if seen := _SEES_VARIABLES & {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}:
        return f"it uses {min(seen)}, which sees the variables of the function as they are"
    tree = tree_around(code, linecache.getlines(code.co_filename, function.__globals__))
    if tree is None:
        return "its source is not there, has changed since it was imported, or is not what runs"
    return _scope_of(_node_of(tree, code), code)


def _scope_of(found: "FunctionNode | ast.AsyncFunctionDef | None", code: CodeType) -> "Scope | str":
    if found is None:
        return "it cannot be told apart from others in its source"
    if isinstance(found, ast.AsyncFunctionDef):
        return "it is a coroutine"
    facts = FactsByNode()
    names = facts[found].mentioned
    inside = facts[found].used | facts[found].assigned | own_variables(found, facts)
    private = [name for name in inside if name.startswith("_")]
    if any(name.startswith(HOOKS) for name in private):
        return f"it has names that begin with {HOOKS}"
    if any(name.startswith("__") and not name.endswith("__") for name in private):
        return "it has private names, which Python changes in a class"
    written, found = found, desugared(found, names)
    if found is not written:
        facts = FactsByNode()
    return Scope(found, own_variables(found, facts), frozenset(code.co_freevars), facts, code.co_qualname)


def _node_of(tree: ast.Module, code: CodeType) -> "FunctionNode | ast.AsyncFunctionDef | None":
    """The function in a tree that code was compiled from: by name and first line; a lambda by the place of its body."""
    nodes = walk(tree) if code.co_name == "<lambda>" else statements(tree)
    found = [node for node in nodes if isinstance(node, FUNCTIONS) and _is_made_of(code, node)]
    return found[0] if len(found) == 1 else None


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

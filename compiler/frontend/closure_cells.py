"""Variables that a function shares with functions defined inside it: blocks read and set them in their cells.

An inner function may run while a branch or a loop of the outer one is traced. Each must read what the other sets.
"""

import ast
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..callers.user_code import HOOKS
from .names import FactsByNode, Names, of_text, parameters
from .syntax import copied, walk

CELL: Final = f"{HOOKS}_cell_"
"""The prefix of the variables that hold the cells of other variables."""
_COMPOUND: Final = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)


def shared_variables(
    function: "ast.FunctionDef | ast.Lambda", own: Names, outer: Names, facts: FactsByNode
) -> Names:
    """The variables of a function that other functions set or read while its blocks run."""
    if isinstance(function, ast.Lambda):
        return frozenset()
    inner = [one for one in facts[function].functions if one is not function]
    found = facts.of(function.body).declared & outer
    for one in inner:
        if isinstance(one, ast.FunctionDef):
            found |= facts.of(one.body).declared & own
    for statement in function.body if inner else ():
        if isinstance(statement, _COMPOUND):
            earlier = facts.of([n for n in inner if n.lineno < statement.lineno])
            found |= facts[statement].bound & own & earlier.mentioned
    return found - _bound_as_definitions(function) if found else found


def _bound_as_definitions(function: ast.FunctionDef) -> Names:
    """The names that a function binds by statements other than assignments."""
    kinds = (ast.FunctionDef, ast.ClassDef, ast.alias, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
    names = [n for n in walk(function) if isinstance(n, kinds) and n is not function]
    return frozenset(str(name) for n in names for name in (n.name, getattr(n, "asname", None)) if name)


def cells_of(names: Iterable[str]) -> str:
    """The statements that get the cells of variables."""
    return "\n".join(f"{CELL}{name} = (lambda: {name}).__closure__[0]" for name in sorted(names))


class InClosureCells(ast.NodeTransformer):
    """Reads and sets variables in their cells."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self._names:
            return node
        cell = ast.copy_location(ast.Name(f"{CELL}{node.id}", ast.Load()), node)
        return ast.copy_location(ast.Attribute(cell, "cell_contents", node.ctx), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> "ast.stmt | None":
        left = [name for name in node.names if name not in self._names]
        return ast.copy_location(ast.Nonlocal(left), node) if left else ast.copy_location(ast.Pass(), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        body = of_text(*node.body)
        return self._within(node, (parameters(node) | body.bound) - body.declared)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._within(node, parameters(node))

    def _within(self, node: Any, own: Names) -> ast.AST:
        before, self._names = self._names, self._names - own
        try:
            return self.generic_visit(node)
        finally:
            self._names = before


def in_closure_cells(statements: Iterable[ast.stmt], names: Names) -> Iterator[ast.stmt]:
    """Statements that read and set variables in their cells."""
    transformer = InClosureCells(names)
    return (transformer.visit(copied(one)) for one in statements)

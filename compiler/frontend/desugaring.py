"""`desugared`: the syntax tree of a function with loops and tests in the forms that the rewriter knows.

``super()`` gets its arguments, the class and the object. ``assert test`` becomes ``if not test: raise AssertionError``.
In ``while test: body; else: last``, a variable says whether a `break` ended the loop, and `last` runs if it did not. A
test that binds a name becomes the first statement of the body.
"""

import ast
from collections.abc import Sequence
from typing import TypeGuard, TypeVar

from .assignment import may_be_unset
from .leaving_blocks import at, without_jumps
from .matching import as_branches
from .names import Names, of_text
from .syntax import children, copied, statements, walk

N = TypeVar("N", bound=ast.AST)
_LOOPS = (ast.For, ast.While)
_UNSET = "may_be_unset"
"""The attribute of a desugared function that holds its unset variables from before."""


def desugared(function: N, names: Names) -> N:
    """The function in these forms; the function itself if nothing changes. `names` are all names in it."""
    if not any(map(_is_special, statements(function))) and not (
        "super" in names and any(map(_is_super, walk(function)))
    ):
        return function
    found: N = _Statements().visit(copied(function))
    _name_what_super_means(found)
    return found


def _name_what_super_means(function: ast.AST) -> None:
    """``super()`` looks at the function that contains it, so in a converted one it needs arguments."""
    waiting: list[tuple[ast.AST, str | None]] = [(function, None)]
    while waiting:
        node, first = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = [*node.args.posonlyargs, *node.args.args]
            first = given[0].arg if given else None
        elif first is not None and _is_super(node):
            node.args = [ast.copy_location(ast.Name(name, ast.Load()), node) for name in ("__class__", first)]
        waiting += [(child, first) for child in children(node)]


def _is_super(node: ast.AST) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "super"
        and not (node.args or node.keywords)
    )


def unset_in(function: "ast.FunctionDef | ast.Lambda") -> Names:
    """The variables that may be unset when they are read, in the function as it was written."""
    found: Names | None = getattr(function, _UNSET, None)
    return may_be_unset(function) if found is None else found


def _is_special(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return __debug__
    if isinstance(node, ast.Match):
        return True
    if isinstance(node, ast.With | ast.Try):
        return of_text(node).jumps
    has_walrus = isinstance(node, ast.While) and bool(of_text(node.test).bound)
    return has_walrus or (isinstance(node, _LOOPS) and bool(node.orelse))


class _Statements(ast.NodeTransformer):
    """Rewrites statements from the innermost outwards."""

    def __init__(self) -> None:
        self._number = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        setattr(node, _UNSET, may_be_unset(node))  # desugaring hides which path sets what
        self.generic_visit(node)
        return node

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        self.generic_visit(node)
        return self._without_else(node)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        self.generic_visit(node)
        if not of_text(node.test).bound:
            return self._without_else(node)
        # The `break` that ends the loop is not the user's, so ``else`` runs after it.
        leave = at(ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], []), node.test)
        node.test = at(ast.Constant(value=True), node.test)
        return self._without_else(node, [leave])

    def visit_With(self, node: ast.With) -> list[ast.stmt]:
        return self._without_jumps(node)

    def visit_Try(self, node: ast.Try) -> list[ast.stmt]:
        return self._without_jumps(node)

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        self._number += 1
        found = as_branches(node, f"_subject_{self._number}")
        if found is None:
            return self._without_jumps(node)
        visited: list[ast.stmt] = []
        for one in found:
            new = self.visit(at(one, node))
            visited += new if isinstance(new, list) else [new]
        return visited

    def _without_jumps(self, node: "ast.With | ast.Try | ast.Match") -> list[ast.stmt]:
        self.generic_visit(node)
        self._number += 1
        found = without_jumps(node, self._number)
        return [node] if found is None else [at(one, node) for one in found]

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        if not __debug__:
            return node
        name = ast.Name("AssertionError", ast.Load())
        error: ast.expr = name if node.msg is None else ast.Call(name, [node.msg], [])
        test = ast.UnaryOp(ast.Not(), node.test)
        found: ast.stmt = at(ast.If(test, [ast.Raise(error)], []), node)
        return found

    def _without_else(self, loop: "ast.For | ast.While", first: Sequence[ast.stmt] = ()) -> list[ast.stmt]:
        """A loop whose body begins with other statements. ``else`` runs after it, unless a `break` ended it."""
        orelse, loop.orelse = loop.orelse, []
        broken = self._flag() if orelse and of_text(*loop.body).breaks else ""
        loop.body = [*first, *(_noted(loop.body, broken) if broken else loop.body)]
        if not broken:
            return [loop, *orelse]
        test = ast.UnaryOp(ast.Not(), ast.Name(broken, ast.Load()))
        return [at(_set(broken, value=False), loop), loop, at(ast.If(test, orelse, []), orelse[0])]

    def _flag(self) -> str:
        self._number += 1
        return f"_broken_{self._number}"


def _noted(body: list[ast.stmt], broken: str) -> list[ast.stmt]:
    """The body of a loop, which sets a variable before each `break`."""
    found: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.Break):
            found.append(at(_set(broken, value=True), node))
        found.append(_Breaks(broken).visit(node))
    return found


class _Breaks(ast.NodeTransformer):
    """Finds the blocks within a statement whose `break` leaves the loop around it."""

    def __init__(self, broken: str) -> None:
        self._broken = broken

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, (*_LOOPS, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
            return node
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, name, _noted(value, self._broken))
            elif isinstance(value, list):  # handlers of exceptions, cases of a match
                for one in value:
                    if isinstance(one, ast.AST):
                        self.generic_visit(one)
        return node


def _set(name: str, *, value: bool) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))

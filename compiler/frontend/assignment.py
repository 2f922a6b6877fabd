"""`may_be_unset`: the variables of a function that may be unset when they are read, as far as its source shows.

The forward analysis of definite assignment, as in section 16 of the Java Language Specification: a variable is assigned
after a branch if it is assigned on every path that continues. If only some paths set a variable, but it is set on every
path to a read, its value on the other paths does not matter.
"""

import ast
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from .names import Names, of_text, parameters
from .syntax import suppressed_by, walk

Set: TypeAlias = "Names | None"
"""The variables that are set at a point of the function; None if the point cannot be reached."""


def may_be_unset(function: "ast.FunctionDef | ast.Lambda") -> Names:
    """The variables that may be unset when they are read.

    >>> text = "def f(x):\\n for i in x:\\n  if i: a = i; break\\n else: a = 0\\n if x: b = 1\\n return a, b"
    >>> sorted(may_be_unset(ast.parse(text).body[0]))
    ['b']
    """
    if isinstance(function, ast.Lambda):
        return frozenset()
    walk = _Walk(of_text(*function.body).bound)
    walk.block(function.body, parameters(function))
    return frozenset(walk.unset)


class _Walk:
    """Walks the statements in the order in which they run."""

    def __init__(self, own: Names) -> None:
        self.own, self.unset = own, set[str]()
        self.breaks: list[list[Set]] = []
        """For each enclosing loop, the variables that are set at each `break`."""

    def block(self, statements: Iterable[ast.stmt], before: Set) -> Set:
        now = before
        for one in statements:
            if now is None:
                return None
            now = self.statement(one, now)
        return now

    def statement(  # noqa: C901, PLR0911, PLR0912 (a line for each kind)
        self, node: ast.stmt, now: Names
    ) -> Set:
        match node:
            case ast.Return() | ast.Raise():
                self.read(node, now)
                return None
            case ast.Break():
                self.breaks[-1].append(now)
                return None
            case ast.Continue():
                return None
            case ast.If(test=test, body=body, orelse=orelse):
                now = self.read(test, now)
                return _joined(self.block(body, now), self.block(orelse, now))
            case ast.For(target=target, iter=iterated, body=body, orelse=orelse):
                now = self.read(iterated, now)
                return self._loop(body, orelse, now | of_text(target).assigned, now)
            case ast.While(test=test, body=body, orelse=orelse):
                now = self.read(test, now)
                forever = isinstance(test, ast.Constant) and bool(test.value)
                return self._loop(body, orelse, now, None if forever else now)
            case ast.With(items=items, body=body):
                for item in items:
                    now = self.read(item, now)
                found = self.block(body, now)
                ends_early = any(suppressed_by(item.context_expr) is not None for item in items)
                return _joined(found, now - _deleted(body)) if ends_early else found
            case ast.Try() | ast.TryStar():
                return self._try(node, now)
            case ast.Match():
                return self._uncertain(node, now)
            case ast.Delete():
                return now - of_text(node).bound
            case ast.AugAssign(target=ast.Name(id=name)):
                self._check({name}, now)
                return self.read(node, now)
            case _:
                return self.read(node, now)

    def _loop(self, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], first: Names, ended: Set) -> Set:
        self.breaks.append([])
        self.block(body, first)
        left = self.breaks.pop()
        now = None if ended is None else self.block(orelse, ended)
        for one in left:
            now = _joined(now, one)
        return now

    def _try(self, node: "ast.Try | ast.TryStar", now: Names) -> Set:
        """A variable is set afterwards if the body and each handler that continues set it, or ``finally`` does."""
        stopped = now - _deleted(node.body)  # the body may stop anywhere
        tried = self.block(node.body, now)
        found = None if tried is None else self.block(node.orelse, tried)
        for handler in node.handlers:
            own = frozenset() if handler.name is None else frozenset({handler.name})
            caught = self.block([*_class_of(handler), *handler.body], stopped | own)
            found = _joined(found, None if caught is None else caught - own)
        stopped -= _deleted([*node.handlers, *node.orelse])
        last = self.block(node.finalbody, stopped)
        if found is None or last is None:
            return None
        return (found - _deleted(node.finalbody)) | last

    def _uncertain(self, node: ast.stmt, now: Names) -> Set:
        """Blocks that may stop anywhere: a variable that they bind may or may not be set when they read it."""
        inner = of_text(node).bound
        read = {n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        self._check(read & inner, now)
        for one in self.breaks[-1:]:
            one.append(now)
        return now

    def read(self, node: ast.AST, now: Names) -> Names:
        """Check the reads of an expression or a simple statement. Returns the variables that are set afterwards."""
        names = {n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        self._check(names - _walruses(node), now)
        uncertain = [n for n in walk(node) if isinstance(n, ast.BoolOp | ast.IfExp)]
        return now | (of_text(node).bound - frozenset(name for n in uncertain for name in _walruses(n)))

    def _check(self, names: Iterable[str], now: Names) -> None:
        self.unset |= (set(names) & self.own) - now


def _deleted(statements: "Iterable[ast.stmt | ast.ExceptHandler]") -> Names:
    """The variables that statements may delete. The end of a handler deletes the variable of its exception."""
    inside = [n for one in statements for n in walk(one)]
    names = frozenset(n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del))
    return names | {n.name for n in inside if isinstance(n, ast.ExceptHandler) and n.name is not None}


def _class_of(handler: ast.ExceptHandler) -> list[ast.stmt]:
    """The classes that a handler waits for, as a statement that evaluates them."""
    return [] if handler.type is None else [ast.Expr(handler.type)]


def _joined(one: Set, other: Set) -> Set:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _walruses(node: ast.AST) -> set[str]:
    return {n.target.id for n in walk(node) if isinstance(n, ast.NamedExpr)}

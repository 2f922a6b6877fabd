"""What the rewriter asks about statements: the targets of an assignment, suspensions, and calls that print."""

import ast
from typing import Final

from .syntax import walk


def target_parts(target: ast.expr) -> list[ast.expr]:
    """The targets of an assignment that are not tuples."""
    if isinstance(target, ast.Tuple | ast.List):
        return [part for one in target.elts for part in target_parts(one)]
    return target_parts(target.value) if isinstance(target, ast.Starred) else [target]


def contains_suspension(node: ast.AST, *others: type[ast.AST]) -> bool:
    """Whether it contains an expression at which a generator or a coroutine is left for a while, or one of `others`."""
    return any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await, *others)) for n in walk(node))


def looks_at(node: ast.ExceptHandler) -> bool:
    """Whether a handler uses its exception for more than to raise it again."""
    inside = [n for statement in node.body for n in walk(statement)]
    raised = [one for n in inside if isinstance(n, ast.Raise) for one in (n.exc, n.cause)]
    return any(
        isinstance(n, ast.Name) and n.id == node.name and not any(n is one for one in raised) for n in inside
    )


_SAYING: Final = frozenset("critical debug error exception fatal info log print warn warning".split())
"""Names of functions, and of methods of loggers, that say something."""


def says(function: ast.expr) -> bool:
    """Whether a function may be `print`, or one of `logging` or `warnings`."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _SAYING
        case _:
            return False

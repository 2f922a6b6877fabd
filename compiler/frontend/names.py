"""The names that part of a function reads and binds, and its own variables."""

import ast
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

Names: TypeAlias = frozenset[str]

FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES: Final = (*FUNCTIONS, ast.ClassDef)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def used(node: ast.AST) -> Names:
    """The names that are read or deleted anywhere in part of a function."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}
    updates = [n.target for n in ast.walk(node) if isinstance(n, ast.AugAssign)]
    return frozenset(names | {target.id for target in updates if isinstance(target, ast.Name)})


def assigned(node: ast.AST) -> Names:
    """The names that are bound anywhere in part of a function."""
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def mentioned(block: Iterable[ast.AST]) -> Names:
    """All names in statements or expressions, including those in inner functions."""
    return frozenset(n.id for node in block for n in ast.walk(node) if isinstance(n, ast.Name)) | bound(block)


def bound(block: Iterable[ast.AST]) -> Names:
    """The variables that statements bind or delete in their own function.

    >>> sorted(bound(ast.parse("import a.b\\nfor i in x:\\n  def f(): y = 1\\n  z = [w for w in x if (v := w)]").body))
    ['a', 'f', 'i', 'v', 'z']
    """
    return frozenset(name for node in block for name in _bound(node))


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name.partition(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name
        case _:
            pass
    if isinstance(node, _SCOPES):
        return
    if isinstance(node, _COMPREHENSIONS):
        walrus = [n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)]
        yield from walrus
        return
    for child in ast.iter_child_nodes(node):
        yield from _bound(child)


def parameters(function: "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda") -> Names:
    """The names of a function's parameters."""
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return frozenset(one.arg for one in (*named, given.vararg, given.kwarg) if one is not None)


def declared(block: Iterable[ast.stmt]) -> Names:
    """The names that a function declares as global or nonlocal."""
    return frozenset(
        name
        for node in block
        for n in _own_nodes(node)
        if isinstance(n, ast.Global | ast.Nonlocal)
        for name in n.names
    )


def is_suspended(function: ast.AST) -> bool:
    """Whether a function is a generator or a coroutine."""
    kinds = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
    return isinstance(function, ast.AsyncFunctionDef) or any(
        isinstance(n, kinds) for child in ast.iter_child_nodes(function) for n in _own_nodes(child)
    )


def has_jump(block: Iterable[ast.stmt]) -> bool:
    """Whether a block may return, or leave an enclosing loop or its iteration."""
    return any(_jumps(node, in_loop=False) for node in block)


def has_return(block: Iterable[ast.stmt]) -> bool:
    """Whether a block may return from its function."""
    return any(isinstance(n, ast.Return) for node in block for n in _own_nodes(node))


def has_break(body: Iterable[ast.stmt]) -> bool:
    """Whether the body of a loop has a `break` that leaves the loop."""
    return any(_breaks(node) for node in body)


def _breaks(node: ast.AST) -> bool:
    if isinstance(node, ast.For | ast.AsyncFor | ast.While):
        return any(map(_breaks, node.orelse))
    inner = ast.iter_child_nodes(node) if not isinstance(node, (*_SCOPES, *_COMPREHENSIONS)) else ()
    return isinstance(node, ast.Break) or any(map(_breaks, inner))


def _jumps(node: ast.AST, *, in_loop: bool) -> bool:
    if isinstance(node, ast.Return) or (isinstance(node, ast.Break | ast.Continue) and not in_loop):
        return True
    if isinstance(node, (*_SCOPES, *_COMPREHENSIONS)):
        return False
    if isinstance(node, ast.For | ast.AsyncFor | ast.While):
        inner = any(_jumps(one, in_loop=True) for one in node.body)
        return inner or any(_jumps(one, in_loop=in_loop) for one in node.orelse)
    return any(_jumps(child, in_loop=in_loop) for child in ast.iter_child_nodes(node))


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and the nodes in it that belong to the same function."""
    yield node
    if not isinstance(node, _SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _own_nodes(child)

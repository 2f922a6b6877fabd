"""Walks through syntax trees, copies of them, and what statements are. Walks of `ast` take several times as long."""

import ast
from typing import Any, Final, TypeVar

N = TypeVar("N", bound=ast.AST)

_LEAVES: Final = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop, ast.type_ignore)
_NO_NODES: Final = frozenset(
    "arg asname attr conversion ctx id is_async kind kwd_attrs level module name op ops rest simple str".split()
) | {"type_comment"}
"""The fields that never hold a node with children."""
_NO_NODES_OF: Final[dict[str, frozenset[str]]] = {
    "Constant": _NO_NODES | {"value"},
    "MatchSingleton": _NO_NODES | {"value"},
    "Global": _NO_NODES | {"names"},
    "Nonlocal": _NO_NODES | {"names"},
    "TypeAlias": _NO_NODES - {"name"},
}
"""The exceptions, by class."""


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields that may hold nodes, by class; found when a class is first met."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        without = _NO_NODES_OF.get(kind.__name__, _NO_NODES)
        names = () if issubclass(kind, _LEAVES) else kind._fields
        found = self[kind] = tuple(name for name in names if name not in without)
        return found


class _Blocks(dict[type[ast.AST], tuple[str, ...]]):
    """The fields that hold statements, handlers or cases, by class."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        of_blocks = ("body", "orelse", "handlers", "finalbody", "cases")
        is_expression = issubclass(kind, ast.expr)
        found = self[kind] = (
            () if is_expression else tuple(name for name in of_blocks if name in kind._fields)
        )
        return found


FIELDS: Final = _Fields()
_BLOCKS: Final = _Blocks()


def children(node: ast.AST) -> list[Any]:
    """The nodes directly below a node, without operators and contexts."""
    found: list[Any] = []
    for name in FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if type(value) is list:
            found += filter(None, value)
        elif value is not None:
            found.append(value)
    return found


def walk(*nodes: ast.AST) -> list[Any]:
    """Nodes and all nodes below them, without operators and contexts, level by level.

    >>> [type(node).__name__ for node in walk(ast.parse("f(x)[1]", mode="eval").body)]
    ['Subscript', 'Call', 'Constant', 'Name', 'Name']
    """
    found: list[Any] = [*nodes]
    for node in found:  # which grows
        found += children(node)
    return found


def statements(node: ast.AST) -> list[Any]:
    """A node and all statements, handlers and cases below it."""
    found: list[Any] = [node]
    for one in found:  # which grows
        for name in _BLOCKS[one.__class__]:
            found += getattr(one, name)
    return found


def copied(node: N) -> N:
    """A copy of a tree, which shares operators and contexts with it."""
    new = shallow(node)
    for name in FIELDS[node.__class__]:
        value = getattr(node, name, None)
        if type(value) is list:
            setattr(new, name, [None if one is None else copied(one) for one in value])
        elif value is not None:
            setattr(new, name, copied(value))
    return new


def shallow(node: N) -> N:
    """A new node with the same children, in the same place."""
    new: N = node.__class__.__new__(node.__class__)
    new.__dict__.update(node.__dict__)
    return new


def placed(new: N, old: Any) -> N:
    """Give a node the place of another one, if that has a place."""
    made: Any = new
    if hasattr(old, "lineno"):
        made.lineno, made.col_offset = old.lineno, old.col_offset
        made.end_lineno, made.end_col_offset = old.end_lineno, old.end_col_offset
    return new


# ---- what statements are -----------------------------------------------------------------------------


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


def suppressed_by(manager: ast.expr) -> "list[ast.expr] | None":
    """The classes of exceptions in ``contextlib.suppress(…)``; None for any other context manager."""
    match manager:
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=classes):
            return classes
        case _:
            return None

"""`Facts`: the names that part of a function reads and binds, and which jumps it has, found for all parts at once."""

import ast
from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import chain
from operator import or_
from typing import Any, Final, NamedTuple, TypeAlias

from .syntax import FIELDS, children, walk

Names: TypeAlias = frozenset[str]

FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS: Final = frozenset({ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp})
_STATEMENTS: Final = (ast.stmt, ast.ExceptHandler, ast.match_case)
_COMPOUND: Final = (ast.If, ast.With, ast.Try, ast.TryStar, ast.Match, ast.ExceptHandler, ast.match_case)
_SIMPLE: Final = frozenset(
    {ast.Assign, ast.AnnAssign, ast.Expr, ast.Name, ast.Call, ast.Subscript, ast.Compare, ast.BinOp}
)
"""The most frequent nodes whose facts are those of their expressions."""
_NAMED: Final = frozenset({ast.alias, ast.MatchAs, ast.MatchStar, ast.MatchMapping})
_PLACE_MATTERS: Final = frozenset({ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await})
_RETURNS, _BREAKS, _CONTINUES, _SUSPENDS, _BOUND_TO_PLACE = (1 << place for place in range(5))
_NONE: Names = frozenset()


class Facts(NamedTuple):
    """What statements or expressions contain, however deep."""

    used: Names = _NONE
    """The names that are read or deleted, including those in inner functions."""
    assigned: Names = _NONE
    """The names that are assigned, including those in inner functions."""
    bound: Names = _NONE
    """The variables that the function itself binds or deletes."""
    declared: Names = _NONE
    """The names that the function declares as global or nonlocal."""
    functions: tuple[Any, ...] = ()
    """The inner functions, and those in them."""
    kinds: int = 0
    """The bits that are set say which statements and expressions it contains."""

    @property
    def returns(self) -> bool:
        """Whether it may return from its function."""
        return bool(self.kinds & _RETURNS)

    @property
    def breaks(self) -> bool:
        """Whether it has a `break` that leaves an enclosing loop."""
        return bool(self.kinds & _BREAKS)

    @property
    def jumps(self) -> bool:
        """Whether it may return, or leave an enclosing loop or its iteration."""
        return bool(self.kinds & (_RETURNS | _BREAKS | _CONTINUES))

    @property
    def suspends(self) -> bool:
        """Whether it makes its function a generator or a coroutine."""
        return bool(self.kinds & _SUSPENDS)

    @property
    def is_bound_to_place(self) -> bool:
        """Whether an expression in it binds a name or waits, so that it must stay in its function."""
        return bool(self.kinds & _BOUND_TO_PLACE)

    @property
    def mentioned(self) -> Names:
        """All names in it, including those in inner functions."""
        return self.used | self.assigned | self.bound


_NOTHING: Final = Facts()


class FactsByNode(dict[ast.AST, Facts]):
    """The facts of the nodes of a tree that no longer changes. Each statement is read once.

    >>> function = ast.parse("def f(x):\\n for i in x:\\n  if i: break\\n return [w for w in x if (v := w)]").body[0]
    >>> facts = FactsByNode()
    >>> sorted(facts.of(function.body).bound), facts.of(function.body).breaks, facts[function.body[0].body[0]].breaks
    (['i', 'v'], False, True)
    """

    def __missing__(self, node: ast.AST) -> Facts:
        found = self[node] = self._found(node)
        return found

    def of(self, block: Iterable[ast.AST]) -> Facts:
        """The facts of several statements or expressions together."""
        return _together([self[node] for node in block])

    def _found(self, node: ast.AST) -> Facts:  # noqa: PLR0911 (a line for each kind of statement)
        if node.__class__ in _SIMPLE:
            return _of_expressions([node])
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                inner = self._parts(node)
                return Facts(
                    inner.used,
                    inner.assigned,
                    frozenset({name}),
                    functions=inner.functions if isinstance(node, ast.ClassDef) else (node, *inner.functions),
                    kinds=inner.kinds & _BOUND_TO_PLACE,
                )
            case ast.For(body=body) | ast.AsyncFor(body=body) | ast.While(body=body):
                head = self.of([node.test] if isinstance(node, ast.While) else [node.target, node.iter])
                once, orelse = self.of(body), self.of(node.orelse)
                kinds = head.kinds | (once.kinds & ~(_BREAKS | _CONTINUES)) | orelse.kinds
                kinds |= _SUSPENDS if isinstance(node, ast.AsyncFor) else 0
                return _together([head, once, orelse])._replace(kinds=kinds)
            case ast.AsyncWith():
                found = self._parts(node)
                return found._replace(kinds=found.kinds | _SUSPENDS)
            case ast.ExceptHandler(name=str(name)):
                found = self._parts(node)
                return found._replace(bound=found.bound | {name})
            case ast.AugAssign(target=ast.Name(id=name)):
                found = _of_expressions([node])
                return found._replace(used=found.used | {name})
            case ast.Return():
                found = _of_expressions([node])
                return found._replace(kinds=found.kinds | _RETURNS)
            case ast.Break():
                return Facts(kinds=_BREAKS)
            case ast.Continue():
                return Facts(kinds=_CONTINUES)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                return Facts(declared=frozenset(names))
            case _:
                return self._parts(node) if isinstance(node, _COMPOUND) else _of_expressions([node])

    def _parts(self, node: ast.AST) -> Facts:
        """The facts of all children of a node together."""
        parts = children(node)
        expressions = [one for one in parts if not isinstance(one, _STATEMENTS)]
        return _together(
            [_of_expressions(expressions), *[self[one] for one in parts if isinstance(one, _STATEMENTS)]]
        )


def _together(parts: Sequence[Facts]) -> Facts:
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return _NOTHING
    used, assigned, bound, declared, functions, kinds = zip(*parts, strict=True)
    return Facts(
        _NONE.union(*used),
        _NONE.union(*assigned),
        _NONE.union(*bound),
        _NONE.union(*declared),
        tuple(chain.from_iterable(functions)),
        reduce(or_, kinds),
    )


def _of_expressions(nodes: Sequence[Any]) -> Facts:
    """The facts of expressions, and of statements without statements in them."""
    used, assigned, bound = set[str](), set[str](), set[str]()
    functions: list[Any] = []
    kinds = 0
    found = [*nodes]
    for node in found:  # which grows
        kind = node.__class__
        if kind is ast.Name:
            context = node.ctx.__class__
            if context is not ast.Load:
                bound.add(node.id)
            (assigned if context is ast.Store else used).add(node.id)
            continue
        if kind is ast.Lambda or kind in _COMPREHENSIONS:
            inner = _of_expressions(children(node))
            used |= inner.used
            assigned |= inner.assigned
            functions += inner.functions
            kinds |= inner.kinds & (_BOUND_TO_PLACE if kind is ast.Lambda else ~0)
            if kind is ast.Lambda:
                functions.append(node)
                continue
            if inner.is_bound_to_place:
                bound |= {one.target.id for one in walk(node) if isinstance(one, ast.NamedExpr)}
            continue
        if kind in _PLACE_MATTERS:
            kinds |= _BOUND_TO_PLACE if kind is ast.NamedExpr else _BOUND_TO_PLACE | _SUSPENDS
        elif kind in _NAMED and (own := _bound_name(node)):
            bound.add(own)
        known = node.__dict__
        for name in FIELDS[kind]:
            value = known.get(name)
            if value.__class__ is list:
                found += filter(None, value)
            elif value is not None:
                found.append(value)
    return Facts(frozenset(used), frozenset(assigned), frozenset(bound), _NONE, tuple(functions), kinds)


def _bound_name(node: Any) -> "str | None":
    """The name that an import or a pattern binds."""
    if isinstance(node, ast.alias):
        return node.asname or node.name.partition(".")[0]
    name: str | None = node.rest if isinstance(node, ast.MatchMapping) else node.name
    return name


def parameters(function: "ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda") -> Names:
    """The names of a function's parameters."""
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return frozenset(one.arg for one in (*named, given.vararg, given.kwarg) if one is not None)


def of_text(*nodes: ast.AST) -> Facts:
    """The facts of nodes of a tree that may still change."""
    return FactsByNode().of(nodes)

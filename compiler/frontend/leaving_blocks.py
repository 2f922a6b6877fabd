"""`without_jumps`: replaces jumps out of ``with``, ``try`` and ``match`` by a variable that is tested after the block.

``with a: if t: return x`` becomes::

    how = 0
    with a:
        for _ in (None,):
            if t: value = x; how = 1; break
    if how == 1: return value

The jump may then depend on values, because it only leaves a loop.
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from .names import of_text
from .syntax import walk

_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS: Final = (ast.For, ast.While)
_RETURN, _BREAK, _CONTINUE = 1, 2, 3


def without_jumps(node: "ast.With | ast.Try | ast.Match", number: int) -> "list[ast.stmt] | None":
    """The statements that replace a block; None if no jump in it depends on a test. `number` makes variables unique."""
    blocks = _blocks_of(node)
    if not any(map(_may_be_left, blocks)) or (isinstance(node, ast.Try) and of_text(*node.finalbody).jumps):
        return None
    how, value = f"_how_{number}", f"_value_{number}"
    leaving = _Leaving(how, value)
    for case in node.cases if isinstance(node, ast.Match) else ():
        case.body = leaving.once(case.body)
    if isinstance(node, ast.With):
        node.body = leaving.once(node.body)
    elif isinstance(node, ast.Try):
        is_left = of_text(*node.body).jumps
        node.body = leaving.once(node.body)
        for handler in node.handlers:
            handler.body = leaving.once(handler.body)
        if node.orelse and is_left:
            node.orelse = [ast.If(_is(how, 0), leaving.once(node.orelse), [])]
        else:
            node.orelse = leaving.once(node.orelse)
    jumps: dict[int, ast.stmt] = {
        _RETURN: ast.Return(ast.Name(value, ast.Load())),
        _BREAK: ast.Break(),
        _CONTINUE: ast.Continue(),
    }
    after = [ast.If(_is(how, kind), [jumps[kind]], []) for kind in sorted(leaving.kinds)]
    return [_set(how, ast.Constant(0)), node, *after]


def _blocks_of(node: "ast.With | ast.Try | ast.Match") -> list[list[ast.stmt]]:
    if isinstance(node, ast.Match):
        return [case.body for case in node.cases]
    if isinstance(node, ast.With):
        return [node.body]
    return [node.body, *(handler.body for handler in node.handlers), node.orelse]


def _may_be_left(block: Iterable[ast.stmt]) -> bool:
    """Whether a jump out of a block depends on a test in it."""
    return any(isinstance(n, ast.If | ast.For | ast.While) and of_text(n).jumps for n in _own_nodes(block))


def _own_nodes(block: Iterable[ast.AST]) -> Iterable[ast.AST]:
    for node in block:
        yield node
        if not isinstance(node, _SCOPES):
            yield from _own_nodes(ast.iter_child_nodes(node))


class _Leaving:
    """Replaces jumps out of blocks."""

    def __init__(self, how: str, value: str) -> None:
        self._how, self._value = how, value
        self.kinds: set[int] = set()

    def once(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """A block as a loop of one iteration, which jumps leave; the block itself if it has no jumps."""
        if not of_text(*block).jumps:
            return block
        target: ast.expr = ast.Name(f"{self._how}_iteration", ast.Store())
        only = ast.Tuple([ast.Constant(None)], ast.Load())
        return [ast.For(target, only, self._replaced(block, in_loop=False), [])]

    def _replaced(self, block: Sequence[ast.stmt], *, in_loop: bool) -> list[ast.stmt]:
        return [new for node in block for new in self._statement(node, in_loop=in_loop)]

    def _statement(self, node: ast.stmt, *, in_loop: bool) -> list[ast.stmt]:
        if isinstance(node, ast.Return):
            value = ast.Constant(None) if node.value is None else node.value
            return [at(_set(self._value, value), node), *self._jump(_RETURN, node)]
        if isinstance(node, ast.Break | ast.Continue) and not in_loop:
            return self._jump(_BREAK if isinstance(node, ast.Break) else _CONTINUE, node)
        if isinstance(node, _SCOPES) or not of_text(node).jumps:
            return [node]
        is_loop = isinstance(node, _LOOPS)
        self._within(node, lambda block: self._replaced(block, in_loop=in_loop or is_loop))
        # A jump inside has left the inner loop; it must leave this one, too.
        return [node, at(ast.If(_is(self._how, _RETURN), [ast.Break()], []), node)] if is_loop else [node]

    def _within(self, node: Any, replaced: Callable[[Sequence[ast.stmt]], list[ast.stmt]]) -> None:
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, name, replaced(value))
            elif isinstance(value, list):
                for one in value:
                    if isinstance(one, ast.ExceptHandler | ast.match_case):
                        one.body = replaced(one.body)

    def _jump(self, kind: int, node: ast.stmt) -> list[ast.stmt]:
        self.kinds.add(kind)
        return [at(_set(self._how, ast.Constant(kind)), node), ast.copy_location(ast.Break(), node)]


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _is(name: str, kind: int) -> ast.expr:
    return ast.Compare(ast.Name(name, ast.Load()), [ast.Eq()], [ast.Constant(kind)])


def at(new: Any, old: ast.AST) -> Any:
    """Give a new node and its parts the place of an old one."""
    for node in walk(new):
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            ast.copy_location(node, old)
    return new

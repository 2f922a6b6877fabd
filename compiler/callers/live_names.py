"""Which variables of a function may still be read after a loop, or in its next turn, before they are assigned again.

From the function's text. Where that is not plain, as in ``try``, all names that are mentioned may be.
"""

import ast
from functools import lru_cache
from typing import TypeAlias

Names: TypeAlias = frozenset[str]
_NOTHING: Names = frozenset()


@lru_cache(256)
def live_around(function: ast.FunctionDef, loop: ast.For) -> tuple[Names, Names]:
    """The names that may be read after a loop of a function, and those, with them, that may be after each turn.

    >>> function = ast.parse("def f(x):\\n for i in x:\\n  t = i\\n  s = s + t\\n return s").body[0]
    >>> [sorted(names) for names in live_around(function, function.body[0])]
    [['s'], ['s']]
    """
    after = _after_loop(function.body, loop, _NOTHING, _NOTHING)
    assert after is not None
    return after, _at_head(loop, after)


def used(node: ast.AST) -> Names:
    """The names that are read or deleted anywhere in a piece of a function."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}
    updates = [n.target for n in ast.walk(node) if isinstance(n, ast.AugAssign)]
    return frozenset(names | {target.id for target in updates if isinstance(target, ast.Name)})


def assigned(node: ast.AST) -> Names:
    """The names that are bound anywhere in a piece of a function."""
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _after_loop(block: list[ast.stmt], loop: ast.For, live: Names, jump: Names) -> Names | None:
    """What is live behind a loop that stands in a block; `live` is so behind the block, `jump` where a break leads."""
    for place, statement in enumerate(block):
        rest = _before(block[place + 1 :], live, jump)
        if statement is loop:
            return rest | _before(loop.orelse, rest, jump)
        if not any(node is loop for node in ast.walk(statement)):
            continue
        if isinstance(statement, ast.If):
            found = _after_loop(statement.body, loop, rest, jump)
            return _after_loop(statement.orelse, loop, rest, jump) if found is None else found
        if isinstance(statement, ast.For) and not statement.orelse:
            head = _at_head(statement, rest)
            return _after_loop(statement.body, loop, head, head)
        return rest | jump | used(statement)
    return None


def _before(block: list[ast.stmt], live: Names, jump: Names) -> Names:
    for statement in reversed(block):
        live = _before_one(statement, live, jump)
    return live


def _before_one(statement: ast.stmt, live: Names, jump: Names) -> Names:
    if isinstance(statement, ast.Assign):
        return (live - _bound(*statement.targets)) | used(statement)
    if isinstance(statement, ast.If):
        branches = _before(statement.body, live, jump) | _before(statement.orelse, live, jump)
        return used(statement.test) | branches
    if isinstance(statement, ast.For):
        return used(statement.iter) | _at_head(statement, live | _before(statement.orelse, live, jump))
    if isinstance(statement, ast.Break | ast.Continue):
        return jump
    return live | jump | used(statement)


def _at_head(loop: ast.For, after: Names) -> Names:
    """What is live where the next turn begins, or the loop ends."""
    head, before = after, None
    while head != before:
        before = head
        head |= _before(loop.body, head, head) - _bound(loop.target)
    return head


def _bound(*targets: ast.expr) -> Names:
    """The names that an assignment to targets binds for sure."""
    parts = [part for x in targets for part in (x.elts if isinstance(x, ast.Tuple | ast.List) else [x])]
    return frozenset(part.id for part in parts if isinstance(part, ast.Name))

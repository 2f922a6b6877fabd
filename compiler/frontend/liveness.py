"""`Liveness`: the variables that may be read after a statement before they are assigned again.

The classic backward analysis, on the syntax tree: Aho, Lam, Sethi and Ullman, "Compilers", 9.2.5. Loops are walked
until nothing changes. Every name that a ``try``, ``with`` or ``match`` mentions counts as read there. A name that an
inner function captures counts as read everywhere.
"""

import ast
from functools import lru_cache

from .names import FUNCTIONS, Names, assigned, used

_NOTHING: Names = frozenset()


class Liveness:
    """The live names after each statement of a function, and at the head of each loop.

    >>> function = ast.parse("def f(x):\\n for i in x:\\n  t = i\\n  s = s + t\\n return s").body[0]
    >>> live = Liveness(function)
    >>> sorted(live.after[function.body[0]]), sorted(live.head[function.body[0]])
    (['s'], ['s'])
    """

    def __init__(self, function: "ast.FunctionDef | ast.Lambda") -> None:
        self.after: dict[ast.stmt, Names] = {}
        self.head: dict[ast.stmt, Names] = {}
        """For each loop, the names that may be read in the next iteration or after the last."""
        self._captured = _captured(function)
        if isinstance(function, ast.FunctionDef):
            self._before(function.body, _NOTHING, _NOTHING, _NOTHING)

    def _before(self, block: list[ast.stmt], live: Names, to_break: Names, to_continue: Names) -> Names:
        """The names that are live before a block. `live` are live after it, the others at the targets of jumps."""
        for statement in reversed(block):
            self.after[statement] = live | self._captured
            live = self._before_one(statement, live, to_break, to_continue)
        return live

    def _before_one(  # noqa: PLR0911 (a line for each kind of statement)
        self, node: ast.stmt, live: Names, to_break: Names, to_continue: Names
    ) -> Names:
        match node:
            case ast.Assign(targets=targets):
                return (live - _bound(*targets)) | used(node)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                return (live - _bound(target)) | used(node)
            case ast.If(test=test, body=body, orelse=orelse):
                one = self._before(body, live, to_break, to_continue)
                return used(test) | one | self._before(orelse, live, to_break, to_continue)
            case ast.For(iter=iterated) | ast.AsyncFor(iter=iterated):
                return used(iterated) | self._at_head(node, live, to_break, to_continue)
            case ast.While():
                return self._at_head(node, live, to_break, to_continue)
            case ast.Return() | ast.Raise():
                return used(node)
            case ast.Break():
                return to_break
            case ast.Continue():
                return to_continue
            case ast.Try() | ast.TryStar() | ast.With() | ast.AsyncWith() | ast.Match():
                return self._within(node, live, to_break, to_continue)
            case _:
                return live | used(node)

    def _at_head(
        self, loop: "ast.For | ast.AsyncFor | ast.While", live: Names, to_break: Names, to_continue: Names
    ) -> Names:
        """The names that are live where the next iteration begins or the loop ends."""
        test, target = (
            (used(loop.test), _NOTHING) if isinstance(loop, ast.While) else (_NOTHING, _bound(loop.target))
        )
        head, before = live | test | self._before(loop.orelse, live, to_break, to_continue), None
        while head != before:
            before = head
            head |= test | (self._before(loop.body, head, live, head) - target)
        self.head[loop] = head
        return head

    def _within(
        self, node: "ast.Try | ast.TryStar | ast.With | ast.AsyncWith | ast.Match", live: Names, *jumps: Names
    ) -> Names:
        """The names that are live before a statement that may stop anywhere or whose effect is not clear."""
        inside = live.union(used(node), *jumps)
        blocks = [block for _, block in ast.iter_fields(node) if isinstance(block, list)]
        for block in blocks:
            for part in block:
                if isinstance(part, ast.ExceptHandler | ast.match_case):
                    self._before(part.body, inside, inside, inside)
            self._before([part for part in block if isinstance(part, ast.stmt)], inside, inside, inside)
        return inside


@lru_cache(256)
def liveness(function: "ast.FunctionDef | ast.Lambda") -> Liveness:
    """The analysis of a function, made once."""
    return Liveness(function)


def live_around(function: ast.FunctionDef, loop: ast.For) -> tuple[Names, Names]:
    """The names that may be read after a loop, and those that may be read after each iteration."""
    found = liveness(function)
    return found.after[loop], found.head[loop] | found.after[loop]


def _captured(function: "ast.FunctionDef | ast.Lambda") -> Names:
    """The names that inner functions mention, because these may run at any time."""
    inner = [node for node in ast.walk(function) if isinstance(node, FUNCTIONS) and node is not function]
    return frozenset[str]().union(*map(used, inner), *map(assigned, inner))


def _bound(*targets: ast.expr) -> Names:
    """The names that an assignment to these targets always binds."""
    parts = [part for x in targets for part in (x.elts if isinstance(x, ast.Tuple | ast.List) else [x])]
    names = frozenset(part.id for part in parts if isinstance(part, ast.Name))
    nested = [part for part in parts if isinstance(part, ast.Tuple | ast.List)]
    return names | _bound(*nested) if nested else names

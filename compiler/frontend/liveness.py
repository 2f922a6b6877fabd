"""`Liveness`: the variables that may be read after a statement before they are assigned again.

The classic backward analysis, on the syntax tree: Aho, Lam, Sethi and Ullman, "Compilers", 9.2.5. Every name that a
``try``, ``with`` or ``match`` mentions counts as read there. A name that an inner function captures counts as read
everywhere.
"""

import ast

from .names import FactsByNode, Names

_NOTHING: Names = frozenset()


class Liveness:
    """The live names after each statement of a function, and at the head of each loop.

    >>> function = ast.parse("def f(x):\\n for i in x:\\n  t = i\\n  s = s + t\\n return s").body[0]
    >>> live = Liveness(function, FactsByNode())
    >>> sorted(live.after[function.body[0]]), sorted(live.head[function.body[0]])
    (['s'], ['s'])
    """

    def __init__(self, function: "ast.FunctionDef | ast.Lambda", facts: FactsByNode) -> None:
        self.after: dict[ast.stmt, Names] = {}
        self.head: dict[ast.stmt, Names] = {}
        """For each loop, the names that may be read in the next iteration or after the last."""
        self._facts, self._captured = facts, _captured(function, facts)
        self._is_noted = True
        """Whether to keep the live names. The first walk through a loop does not know all of them yet."""
        if isinstance(function, ast.FunctionDef):
            self._before(function.body, _NOTHING, _NOTHING, _NOTHING)

    def _before(self, block: list[ast.stmt], live: Names, to_break: Names, to_continue: Names) -> Names:
        """The names that are live before a block. `live` are live after it, the others at the targets of jumps."""
        for statement in reversed(block):
            if self._is_noted:
                self.after[statement] = live | self._captured
            live = self._before_one(statement, live, to_break, to_continue)
        return live

    def _before_one(  # noqa: PLR0911 (a line for each kind of statement)
        self, node: ast.stmt, live: Names, to_break: Names, to_continue: Names
    ) -> Names:
        match node:
            case ast.Assign(targets=targets):
                return (live - _bound(*targets)) | self._facts[node].used
            case ast.AnnAssign(target=target, value=value) if value is not None:
                return (live - _bound(target)) | self._facts[node].used
            case ast.If(test=test, body=body, orelse=orelse):
                one = self._before(body, live, to_break, to_continue)
                return self._facts[test].used | one | self._before(orelse, live, to_break, to_continue)
            case ast.For(iter=iterated) | ast.AsyncFor(iter=iterated):
                return self._facts[iterated].used | self._at_head(node, live, to_break, to_continue)
            case ast.While():
                return self._at_head(node, live, to_break, to_continue)
            case ast.Return() | ast.Raise():
                return self._facts[node].used
            case ast.Break():
                return to_break
            case ast.Continue():
                return to_continue
            case ast.Try() | ast.TryStar() | ast.With() | ast.AsyncWith() | ast.Match():
                return self._within(node, live, to_break, to_continue)
            case _:
                return live | self._facts[node].used

    def _at_head(
        self, loop: "ast.For | ast.AsyncFor | ast.While", live: Names, to_break: Names, to_continue: Names
    ) -> Names:
        """The names that are live where the next iteration begins or the loop ends.

        A walk through a body removes the names that it binds and adds those that it reads. So one walk finds all names
        that are live at the head. A second walk notes what is live between the statements.
        """
        test, target = (
            (self._facts[loop.test].used, _NOTHING)
            if isinstance(loop, ast.While)
            else (_NOTHING, _bound(loop.target))
        )
        head = live | test | self._before(loop.orelse, live, to_break, to_continue)
        is_noted, self._is_noted = self._is_noted, False
        head |= self._before(loop.body, head, live, head) - target
        self._is_noted = is_noted
        if is_noted:
            self._before(loop.body, head, live, head)
            self.head[loop] = head
        return head

    def _within(
        self, node: "ast.Try | ast.TryStar | ast.With | ast.AsyncWith | ast.Match", live: Names, *jumps: Names
    ) -> Names:
        """The names that are live before a statement that may stop anywhere or whose effect is not clear."""
        inside = live.union(self._facts[node].used, *jumps)
        blocks = [block for _, block in ast.iter_fields(node) if isinstance(block, list)]
        for block in blocks:
            for part in block:
                if isinstance(part, ast.ExceptHandler | ast.match_case):
                    self._before(part.body, inside, inside, inside)
            self._before([part for part in block if isinstance(part, ast.stmt)], inside, inside, inside)
        return inside


def _captured(function: "ast.FunctionDef | ast.Lambda", facts: FactsByNode) -> Names:
    """The names that inner functions mention, because these may run at any time."""
    inner = [facts[one] for one in facts[function].functions if one is not function]
    return _NOTHING.union(*[one.used | one.assigned for one in inner])


def _bound(*targets: ast.expr) -> Names:
    """The names that an assignment to these targets always binds."""
    parts = [part for x in targets for part in (x.elts if isinstance(x, ast.Tuple | ast.List) else [x])]
    names = frozenset(part.id for part in parts if isinstance(part, ast.Name))
    nested = [part for part in parts if isinstance(part, ast.Tuple | ast.List)]
    return names | _bound(*nested) if nested else names

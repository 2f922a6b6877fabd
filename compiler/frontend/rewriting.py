"""`Rewriter`: statements and expressions of a function with hooks instead of the operations that tracing must handle.

Without a trace, the new statements do the same as the old ones, in the same order. The hooks are attributes of a
variable named `HOOKS`; they are defined in `runtime.staging.statements.hooks`.
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final, TypeVar

from ..callers.user_code import HOOKS
from .closure_cells import cells_of
from .expressions import LOAD, ExpressionRewriter, assign, delayed, hook, named, stored
from .matching import number_classes, with_classes_of_hooks
from .names import Facts
from .sites import Block, Region, Site, Unit
from .source import ITEM, Scope
from .syntax import contains_suspension, looks_at, placed, says, suppressed_by, target_parts

N = TypeVar("N", bound=ast.AST)
_JUMPS: Final = (ast.Return, ast.Break, ast.Continue)
_SEES_EXCEPTIONS: Final = frozenset(
    {ast.ExceptHandler, ast.Match, ast.Try, ast.TryStar, ast.With, ast.withitem}
)
"""The kinds of statements, and of parts of them, that get hooks besides those of their expressions."""


class Rewriter(ExpressionRewriter):
    """Rewrites statements of one function. The old nodes do not change; the result has new ones."""

    def __init__(self, unit: Unit, scope: Scope, region: Region, kept: frozenset[str] = frozenset()) -> None:
        super().__init__(unit, scope, region)
        self.kept = kept
        self._left = ""
        """Within a loop that Python runs, the variable that holds how it was left, if that depends on values."""

    def block(self, statements: Sequence[ast.stmt], after: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        """Rewrite a block. `after` are the statements up to the end of the region; None if they are not known."""
        found: list[ast.stmt] = []
        for place, statement in enumerate(statements):
            rest = None if after is None else (*statements[place + 1 :], *after)
            found += [_begins_at(one, statement) for one in self.statement(statement, rest)]
        return found

    def statement(self, node: ast.stmt, rest: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        """Rewrite a statement; `rest` are the statements after it in the region."""
        rule = self._STATEMENTS.get(node.__class__)
        return [self.rebuilt(node)] if rule is None else rule(self, node, rest)

    def rebuilt(self, node: N) -> N:
        """A node of the same kind with rewritten parts. A handler first looks at its exception."""
        new = super().rebuilt(node)
        if node.__class__ not in _SEES_EXCEPTIONS:
            return new
        if isinstance(node, ast.ExceptHandler) and isinstance(new, ast.ExceptHandler):
            seen: list[ast.stmt] = [ast.Expr(hook("handles", delayed(node.type or named("BaseException"))))]
            if node.name is not None and looks_at(node):
                seen.append(assign(node.name, hook("caught", named(node.name))))
            new.body = [*(placed(one, node.body[0]) for one in seen), *new.body]
        if isinstance(new, ast.Match) and isinstance(node, ast.Match):
            kinds = number_classes(node)
            if any(kinds):
                given = (ast.Tuple(list(one), LOAD) for one in kinds)
                new.subject = placed(hook("matched", new.subject, *given), node.subject)
            new.cases = [
                ast.match_case(with_classes_of_hooks(old.pattern, HOOKS), case.guard, case.body)
                for old, case in zip(node.cases, new.cases, strict=True)
            ]  # Python takes no hooks in patterns
        if isinstance(new, ast.withitem):
            managed: N = ast.withitem(self.managed(new.context_expr), new.optional_vars)  # type: ignore[assignment]
            return managed
        if isinstance(new, ast.Try | ast.TryStar | ast.With) and (classes := self._handled(node)):
            new.body = self._with_handlers(new.body, classes)
        return new

    def managed(self, manager: ast.expr) -> ast.expr:
        """The context manager of a `with`, which may see exceptions."""
        return placed(hook("managed", manager), manager)

    def _with_handlers(self, body: list[ast.stmt], classes: list[ast.expr]) -> list[ast.stmt]:
        """The body of a statement whose handlers wait for exceptions of these classes."""
        first = body[0]
        if any(map(contains_suspension, body)):
            return [placed(ast.Expr(hook("fall_back")), first), *body]
        handling = hook("handling", delayed(ast.Tuple(classes, LOAD)))
        return [placed(ast.With([ast.withitem(handling)], body), first)]

    def _handled(self, node: ast.AST) -> list[ast.expr]:
        """The classes of the exceptions that handlers, or `contextlib.suppress`, wait for."""
        if isinstance(node, ast.Try | ast.TryStar):
            ends = [named("BaseException")] if self._facts_of(node.finalbody).jumps else []
            return [named("BaseException") if one.type is None else one.type for one in node.handlers] + ends
        items = node.items if isinstance(node, ast.With) else ()
        return [one for item in items for one in suppressed_by(item.context_expr) or ()]

    # ---- statements ----------------------------------------------------------------------------------

    def _if_statement(self, node: ast.If, rest: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        if self.scope.is_suspended:
            suspends = contains_suspension(node, *_JUMPS)
            return [self.rebuilt(node)] if suspends else self._if(node, rest)
        if not self.is_plain(node.test):
            return self._if(node, rest)
        return [
            ast.If(self.expression(node.test), self.block(node.body, rest), self.block(node.orelse, rest))
        ]

    def _loop(self, node: "ast.For | ast.While", rest: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        if self.scope.is_suspended:
            return [self.rebuilt(node)]
        return self._for(node, rest) if isinstance(node, ast.For) else self._while(node, rest)

    def _if(self, node: ast.If, rest: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        test = self.unit.temporary()
        staged: list[ast.stmt]
        if self._facts_of(node.body, node.orelse).jumps:
            staged = self._leave(node, test, rest)
        else:
            names = self._state(node, [*node.body, *node.orelse])
            kept = frozenset(names)
            blocks = tuple(self._part(side, Region.BRANCH, kept) for side in (node.orelse, node.body))
            site = self.unit.site(Site(node, names, blocks, refusal=self._refusal(node)))
            staged = _assign_state(names, hook("branch", site, named(test), _variables()))
        plain = ast.If(named(test), self.block(node.body, rest), self.block(node.orelse, rest))
        return [
            assign(test, self.tested(node.test)),
            ast.If(hook("is_staged", named(test)), staged, [placed(plain, node)]),
        ]

    def _leave(self, node: ast.If, test: str, rest: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        """A branch with a jump: it includes the statements up to the end of the region."""
        if rest is None:
            return [ast.Expr(hook("refuse_jump", ast.Constant(node.lineno)))]
        region = self._rest_region
        names = (
            tuple(
                sorted((self._facts_of(node.body, node.orelse, rest).bound & self.kept) - self.scope.shared)
            )
            if region is Region.ITERATION
            else ()
        )
        blocks = tuple(self._part([*side, *rest], region) for side in (node.orelse, node.body))
        site = self.unit.site(Site(node, names, blocks, refusal=self._refusal(node)))
        return self._outcome(hook("leave", site, named(test), _variables()))

    @property
    def _rest_region(self) -> Region:
        """The kind of region that ends where the current statements end."""
        if self._left:
            return Region.ITERATION
        return Region.REST if self.region is Region.FUNCTION else self.region

    def _outcome(self, call: ast.expr) -> list[ast.stmt]:
        """End the region with the outcome of a hook. A loop that Python runs continues from this outcome."""
        if self._left:
            return [assign(self._left, call), ast.Break()]
        return [ast.Return(ast.Attribute(call, "value", LOAD) if self.region is Region.FUNCTION else call)]

    def _while(self, node: ast.While, rest: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        test, is_staged, left = (self.unit.temporary() for _ in range(3))
        asked = hook("is_staged", ast.NamedExpr(stored(test), self.tested(node.test)))
        goes_on = ast.BoolOp(
            ast.And(), [ast.UnaryOp(ast.Not(), ast.NamedExpr(stored(is_staged), asked)), named(test)]
        )
        condition = self._part([placed(ast.Return(node.test), node.test)], Region.VALUE)
        names, site = self._loop_parts(node, rest, node.body, (condition,))
        staged = self._after_loop(node, rest, names, hook("while_", site, _variables()))
        plain = ast.While(goes_on, self._in_python(node.body, names, left), [])
        found: list[ast.stmt] = [plain, ast.If(named(is_staged), staged, [])]
        if not self._facts_of(node.body).jumps:
            return found
        whole = self.unit.temporary()
        resumed = self._after_loop(node, rest, names, hook("resumed", site, named(left)))
        found = [assign(left, ast.Constant(None)), *found, ast.If(_is_not_none(left), resumed, [])]
        return [
            assign(whole, hook("tried_while", site, _variables())),
            ast.If(_is_not_none(whole), self._after_loop(node, rest, names, named(whole)), found),
        ]

    def _for(self, node: ast.For, rest: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        over, found, left = (self.unit.temporary() for _ in range(3))
        item = placed(ast.Assign([node.target], named(ITEM)), node.target)
        names, site = self._loop_parts(node, rest, [item, *node.body])
        body = self._in_python(node.body, names, left)
        iterations, target = hook("iterations", named(over)), self.rebuilt(node.target)
        plain: list[ast.stmt] = [ast.For(target, iterations, body, [])]
        if self._facts_of(node.body).jumps:
            remaining = self.unit.temporary()
            resumed = self._after_loop(
                node, rest, names, hook("resumed", site, named(left), named(remaining))
            )
            plain = [
                assign(left, ast.Constant(None)),
                assign(remaining, hook("iterator", named(over))),
                ast.For(target, named(remaining), body, []),
                ast.If(_is_not_none(left), resumed, []),
            ]
        return [
            assign(over, self.expression(node.iter)),
            assign(found, hook("for_", site, named(over), _variables())),
            ast.If(_is_not_none(found), self._after_loop(node, rest, names, named(found)), plain),
        ]

    def _loop_parts(
        self,
        node: "ast.For | ast.While",
        rest: "Sequence[ast.stmt] | None",
        body: Sequence[ast.stmt],
        blocks: tuple[Block, ...] = (),
    ) -> tuple[tuple[str, ...], ast.expr]:
        live, facts = self.scope.liveness, self._facts_of(body)
        kept = (facts.bound & (live.head[node] | live.after[node])) - self.scope.shared
        kept = frozenset(name for name in kept if not name.startswith(HOOKS))
        names = tuple(sorted(kept))
        returns = facts.returns
        refusal = self._refusal(node)
        if returns and rest is None:
            refusal = (
                "it has a `return`, and stands in a `with` or `try` block that runs in Python. Set a variable there, "
                "and return after the block"
            )
        after = self._part(rest, self._rest_region) if returns and rest is not None else None
        parts = (*blocks, self._part(body, Region.ITERATION, kept))
        site = Site(node, names, parts, after, live.after[node], refusal)
        return names, self.unit.site(site)

    def _after_loop(
        self,
        node: "ast.For | ast.While",
        rest: "Sequence[ast.stmt] | None",
        names: tuple[str, ...],
        found: ast.expr,
    ) -> list[ast.stmt]:
        if self._facts_of(node.body).returns and rest is not None:
            return self._outcome(found)
        return _assign_state(names, found)

    def _return(self, node: ast.Return, rest: object) -> list[ast.stmt]:
        if self.scope.is_suspended:
            return [self.rebuilt(node)]
        value = None if node.value is None else self.expression(node.value)
        if self.region in (Region.FUNCTION, Region.VALUE):
            return [ast.Return(value)]
        return [ast.Return(hook("returned", value or ast.Constant(None), _variables()))]

    def _jump(self, node: "ast.Break | ast.Continue", rest: object) -> list[ast.stmt]:
        if self.region is not Region.ITERATION or self._left:
            return [node]
        kind = "broken" if isinstance(node, ast.Break) else "fell"
        return [ast.Return(hook(kind, _variables()))]

    def _raise(self, node: ast.Raise, rest: object) -> list[ast.stmt]:
        error = node.exc
        if error is None or self.is_undelayed([error]):
            return [self.rebuilt(node)]
        made = placed(hook("raised", delayed(self.expression(error))), error)
        return [ast.Raise(made, None if node.cause is None else self.expression(node.cause))]

    def _expression(self, node: ast.Expr, rest: object) -> list[ast.stmt]:
        call = node.value
        if isinstance(call, ast.Call) and says(call.func) and not self.is_undelayed([call]):
            return [placed(ast.Expr(self.printed(call)), node)]
        return [self.rebuilt(node)]

    def _as_it_is(self, node: ast.stmt, rest: object) -> list[ast.stmt]:
        return [node]

    def _function(self, node: ast.FunctionDef, rest: object) -> list[ast.stmt]:
        inner = type(self)(self.unit, self.scope.inner(node), Region.FUNCTION)
        new = ast.FunctionDef(
            name=node.name,
            args=self.rebuilt(node.args),
            body=[*self._cells(inner.scope, node), *inner.block(node.body, ())],
            decorator_list=[self.expression(one) for one in node.decorator_list],
            returns=node.returns,
            type_comment=None,
        )
        return [new]

    def _cells(self, scope: Scope, node: ast.FunctionDef) -> list[ast.stmt]:
        """The statements that get the cells of the variables that a function shares."""
        found = ast.parse(cells_of(scope.shared)).body if scope.shared else []
        return [placed(one, node) for one in found]

    def _assign(self, node: ast.Assign, rest: object) -> list[ast.stmt]:
        """``a[i], b = value``: entries are stored by a hook, in the order of the targets."""
        if not any(isinstance(n, ast.Subscript) for t in node.targets for n in target_parts(t)):
            return [self.rebuilt(node)]
        value = self.expression(node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            return [self._store(node.targets[0], value)]
        given = self.unit.temporary()
        found: list[ast.stmt] = [assign(given, value)]
        for target in node.targets:
            parts: list[ast.stmt] = []
            unpacked = self._unpacked(target, parts)
            found += [ast.Assign([unpacked], named(given)), *parts]
        return found

    def _unpacked(self, target: ast.expr, parts: list[ast.stmt]) -> ast.expr:
        """A target with temporaries instead of its parts, and the statements that store them."""
        if isinstance(target, ast.Tuple | ast.List):
            return type(target)([self._unpacked(one, parts) for one in target.elts], ast.Store())
        if isinstance(target, ast.Starred):
            return ast.Starred(self._unpacked(target.value, parts), ast.Store())
        temporary = self.unit.temporary()
        store = (
            self._store(target, named(temporary))
            if isinstance(target, ast.Subscript)
            else ast.Assign([self.rebuilt(target)], named(temporary))
        )
        parts.append(store)
        return stored(temporary)

    def _delete(self, node: ast.Delete, rest: object) -> list[ast.stmt]:
        has_items = any(isinstance(one, ast.Subscript) for one in node.targets)
        found = [placed(self._deleted(one), node) for one in node.targets]
        return [*found, ast.Expr(placed(hook("settled"), node))] if has_items else found

    def _deleted(self, target: ast.expr) -> ast.stmt:
        match target:
            case ast.Subscript():
                return ast.Expr(hook("delete_item", self.expression(target.value), self.index(target.slice)))
            case ast.Attribute():
                name = ast.Constant(self.attribute_name(target))
                return ast.Expr(hook("delete_attribute", self.expression(target.value), name))
            case _:
                return ast.Delete([self.rebuilt(target)])

    def _update(self, node: ast.AugAssign, rest: object) -> list[ast.stmt]:
        if isinstance(node.target, ast.Subscript):
            return self._update_item(node)
        may_grow = isinstance(node.op, ast.Mult) or (
            isinstance(node.op, ast.Add | ast.BitOr) and not isinstance(node.value, ast.Constant)
        )
        return self._settled(node) if may_grow else [self.rebuilt(node)]

    def _settled(self, node: ast.stmt) -> list[ast.stmt]:
        """A statement that may change a list or a dict in place, and the update of what stands for this one."""
        return [self.rebuilt(node), ast.Expr(placed(hook("settled"), node))]

    def _store(self, target: ast.Subscript, value: ast.expr) -> ast.stmt:
        return ast.Expr(hook("store", value, self.expression(target.value), self.index(target.slice)))

    def _update_item(self, node: ast.AugAssign) -> list[ast.stmt]:
        """``a[i] += value``, in the steps that Python takes."""
        assert isinstance(node.target, ast.Subscript)
        of, index, item = (self.unit.temporary() for _ in range(3))
        return [
            assign(of, self.expression(node.target.value)),
            assign(index, self.index(node.target.slice)),
            assign(item, hook("item", named(of), named(index))),
            self.updated_item(item, node),
            ast.Expr(hook("store", named(item), named(of), named(index))),
        ]

    def updated_item(self, item: str, node: ast.AugAssign) -> ast.stmt:
        """``item op= value`` for an entry that is in a variable."""
        return ast.AugAssign(stored(item), node.op, self.expression(node.value))

    def _in_python(self, body: Sequence[ast.stmt], names: Sequence[str], left: str) -> list[ast.stmt]:
        """The body of a loop that runs in Python."""
        before = self._left, self.kept
        self._left, self.kept = left, frozenset(names)
        try:
            return self.block(body, ())
        finally:
            self._left, self.kept = before

    # ---- sites ---------------------------------------------------------------------------------------

    def _part(
        self, statements: "Sequence[ast.stmt]", region: Region, kept: "frozenset[str] | None" = None
    ) -> Block:
        return Block(self.unit, self.scope, tuple(statements), region, self.kept if kept is None else kept)

    def _facts_of(self, *blocks: Iterable[ast.stmt]) -> Facts:
        return self.scope.facts.of([statement for block in blocks for statement in block])

    def _state(self, node: ast.stmt, body: Iterable[ast.stmt]) -> tuple[str, ...]:
        live = self.scope.liveness.after[node]
        return tuple(sorted((self._facts_of(body).bound & live) - self.scope.shared))

    def _refusal(self, node: ast.stmt) -> str:
        """Why a statement cannot be traced, as far as its source shows; empty if it can."""
        declared = self.scope.declared - self.scope.shared
        shared = self.scope.facts[node].bound & declared if declared else declared
        return (
            f"it sets `{min(shared)}`, a variable of the module or of an enclosing function. Return the value instead"
            if shared
            else ""
        )

    _STATEMENTS: ClassVar[dict[type[ast.AST], Callable[..., list[ast.stmt]]]] = {
        ast.If: _if_statement,
        ast.While: _loop,
        ast.For: _loop,
        ast.Return: _return,
        ast.Break: _jump,
        ast.Continue: _jump,
        ast.FunctionDef: _function,
        ast.Raise: _raise,
        ast.Expr: _expression,
        ast.Assign: _assign,
        ast.Delete: _delete,
        ast.AugAssign: _update,
        ast.ClassDef: _as_it_is,
        ast.AsyncFunctionDef: _as_it_is,
    }


# ---- what the new nodes are made of --------------------------------------------------------------------


def _begins_at(new: ast.stmt, old: ast.stmt) -> ast.stmt:
    """Give a statement without a line the first line of the statement that it replaces."""
    if not hasattr(new, "lineno"):
        new.lineno = new.end_lineno = old.lineno
        new.col_offset = new.end_col_offset = old.col_offset
    return new


def _variables() -> ast.expr:
    """The set variables, by name."""
    return ast.Call(named("locals"), [], [])


def _is_not_none(name: str) -> ast.expr:
    return ast.Compare(named(name), [ast.IsNot()], [ast.Constant(None)])


def _assign_state(names: Sequence[str], found: ast.expr) -> list[ast.stmt]:
    """Set variables to the values from a hook, and unset those that it leaves unset."""
    if not names:
        return [ast.Expr(found)]
    targets = ast.Tuple([stored(name) for name in names], ast.Store())
    unset = ast.Attribute(named(HOOKS), "UNSET", LOAD)
    return [
        ast.Assign([targets], found),
        *(
            ast.If(
                ast.Compare(named(name), [ast.Is()], [unset]), [ast.Delete([ast.Name(name, ast.Del())])], []
            )
            for name in names
        ),
    ]

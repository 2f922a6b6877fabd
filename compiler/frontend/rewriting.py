"""`Rewriter`: the statements of a function with hooks in place of what tracing has to see.

Where nothing is traced, the new statements do what the old ones do, in the same order. The hooks are attributes of a
variable named `HOOKS`; `runtime.staging.hooks` has them.
"""

import ast
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final, TypeVar

from ..callers.user_code import HOOKS
from .liveness import liveness
from .names import bound, declared, has_jump, has_return, used
from .sites import Block, Region, Site, Unit
from .source import ITEM, Scope

N = TypeVar("N")

_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
    ast.Is: "is_", ast.IsNot: "is_not", ast.In: "in_", ast.NotIn: "not_in",
}  # fmt: skip
_FOLDS: Final = frozenset({"sum", "len", "any", "all", "min", "max", "next"})
_PLAIN_TESTS: Final = frozenset({"isinstance", "hasattr", "callable", "issubclass"})


class Rewriter:
    """Rewrites statements of one function, without changing them: what it gives is made of new nodes."""

    def __init__(self, unit: Unit, scope: Scope, region: Region, kept: frozenset[str] = frozenset()) -> None:
        self.unit, self.scope, self.region, self.kept = unit, scope, region, kept
        self._left = ""
        """In a loop that Python runs, within this block: the variable for how it was left, if values decide that."""

    def block(self, statements: Sequence[ast.stmt], after: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        """A block, and `after` it what runs up to the end of the region; None if that is not at hand."""
        found: list[ast.stmt] = []
        for place, statement in enumerate(statements):
            rest = None if after is None else (*statements[place + 1 :], *after)
            found += [_begins_at(one, statement) for one in self.statement(statement, rest)]
        return found

    def statement(  # noqa: PLR0911 (a line for each kind of statement)
        self, node: ast.stmt, rest: "Sequence[ast.stmt] | None"
    ) -> list[ast.stmt]:
        """A statement, and the `rest` up to the end of the region."""
        match node:
            case ast.If() | ast.While() | ast.For() | ast.Return() if self.scope.is_suspended:
                return [self._rebuilt(node)]
            case ast.If() if not _is_plain(node.test):
                return self._if(node, rest)
            case ast.If():
                return [
                    ast.If(
                        self.expression(node.test), self.block(node.body, rest), self.block(node.orelse, rest)
                    )
                ]
            case ast.While():
                return self._while(node, rest)
            case ast.For():
                return self._for(node, rest)
            case ast.Return():
                return [self._return(node)]
            case ast.Break() | ast.Continue() if self.region is Region.TURN and not self._left:
                kind = "broken" if isinstance(node, ast.Break) else "fell"
                return [ast.Return(_hook(kind, _variables()))]
            case ast.FunctionDef():
                return [self._function(node)]
            case ast.Assign() if any(isinstance(n, ast.Subscript) for t in node.targets for n in _parts(t)):
                return self._assign_items(node)
            case ast.AugAssign(target=ast.Subscript()):
                return self._update_item(node)
            case ast.ClassDef() | ast.AsyncFunctionDef():
                return [node]
            case _:
                return [self._rebuilt(node)]

    # ---- statements ----------------------------------------------------------------------------------

    def _if(self, node: ast.If, rest: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        test = self.unit.temporary()
        staged: list[ast.stmt]
        if has_jump([*node.body, *node.orelse]):
            staged = self._leave(node, test, rest)
        else:
            names = self._state(node, [*node.body, *node.orelse])
            sides = (self._part(node.orelse, Region.BRANCH), self._part(node.body, Region.BRANCH))
            blocks = tuple(replace(side, kept=frozenset(names)) for side in sides)
            site = self.unit.site(Site(node, names, blocks, refusal=self._refusal(node)))
            staged = _assign_state(names, _hook("branch", site, _name(test), _variables()))
        plain = ast.If(_name(test), self.block(node.body, rest), self.block(node.orelse, rest))
        return [
            _assign(test, self.expression(node.test)),
            ast.If(_hook("is_staged", _name(test)), staged, [ast.copy_location(plain, node)]),
        ]

    def _leave(self, node: ast.If, test: str, rest: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        """A branch out of which a jump may lead: it goes on to the end of the region."""
        if rest is None:
            return [ast.Expr(_hook("refuse_jump", ast.Constant(node.lineno)))]
        region = self._rest_region
        names = (
            tuple(sorted(bound([*node.body, *node.orelse, *rest]) & self.kept))
            if region is Region.TURN
            else ()
        )
        blocks = tuple(self._part([*side, *rest], region) for side in (node.orelse, node.body))
        site = self.unit.site(Site(node, names, blocks, refusal=self._refusal(node)))
        return self._outcome(_hook("leave", site, _name(test), _variables()))

    @property
    def _rest_region(self) -> Region:
        """What ends where the statements at hand end."""
        if self._left:
            return Region.TURN
        return Region.REST if self.region is Region.FUNCTION else self.region

    def _outcome(self, call: ast.expr) -> list[ast.stmt]:
        """The end of the region by what a hook found; in a loop that Python runs, it goes on from there."""
        if self._left:
            return [_assign(self._left, call), ast.Break()]
        return [
            ast.Return(ast.Attribute(call, "value", ast.Load()) if self.region is Region.FUNCTION else call)
        ]

    def _while(self, node: ast.While, rest: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        test, is_staged, left = (self.unit.temporary() for _ in range(3))
        asked = _hook("is_staged", ast.NamedExpr(_stored(test), self.expression(node.test)))
        goes_on = ast.BoolOp(
            ast.And(), [ast.UnaryOp(ast.Not(), ast.NamedExpr(_stored(is_staged), asked)), _name(test)]
        )
        condition = self._part([ast.copy_location(ast.Return(node.test), node.test)], Region.VALUE)
        names, site = self._loop_parts(node, rest, node.body, (condition,))
        staged = self._after_loop(node, rest, names, _hook("while_", site, _variables()))
        plain = ast.While(goes_on, self._in_python(node.body, names, left), [])
        found: list[ast.stmt] = [plain, ast.If(_name(is_staged), staged, [])]
        if not has_jump(node.body):
            return found
        whole = self.unit.temporary()
        resumed = self._after_loop(node, rest, names, _hook("resumed", site, _name(left)))
        found = [_assign(left, ast.Constant(None)), *found, ast.If(_is_not_none(left), resumed, [])]
        return [
            _assign(whole, _hook("tried_while", site, _variables())),
            ast.If(_is_not_none(whole), self._after_loop(node, rest, names, _name(whole)), found),
        ]

    def _for(self, node: ast.For, rest: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        over, found, left = (self.unit.temporary() for _ in range(3))
        item = ast.copy_location(ast.Assign([node.target], _name(ITEM)), node.target)
        names, site = self._loop_parts(node, rest, [item, *node.body])
        body = self._in_python(node.body, names, left)
        turns, target = _hook("turns", _name(over)), self._rebuilt(node.target)
        plain: list[ast.stmt] = [ast.For(target, turns, body, [])]
        if has_jump(node.body):
            remaining = self.unit.temporary()
            resumed = self._after_loop(
                node, rest, names, _hook("resumed", site, _name(left), _name(remaining))
            )
            plain = [
                _assign(left, ast.Constant(None)),
                _assign(remaining, _hook("iterator", _name(over))),
                ast.For(target, _name(remaining), body, []),
                ast.If(_is_not_none(left), resumed, []),
            ]
        return [
            _assign(over, self.expression(node.iter)),
            _assign(found, _hook("for_", site, _name(over), _variables())),
            ast.If(_is_not_none(found), self._after_loop(node, rest, names, _name(found)), plain),
        ]

    def _loop_parts(
        self,
        node: "ast.For | ast.While",
        rest: "Sequence[ast.stmt] | None",
        body: Sequence[ast.stmt],
        blocks: tuple[Block, ...] = (),
    ) -> tuple[tuple[str, ...], ast.expr]:
        live = liveness(self.scope.node)
        kept = bound(body) & (live.head[node] | live.after[node])
        kept = frozenset(name for name in kept if not name.startswith(HOOKS))
        names = tuple(sorted(kept))
        returns = has_return(body)
        refusal = self._refusal(node)
        if returns and rest is None:
            refusal = "it has a `return`, and stands in a `with` or `try` block that runs in Python"
        after = self._part(rest, self._rest_region) if returns and rest is not None else None
        parts = (*blocks, replace(self._part(body, Region.TURN), kept=kept))
        site = Site(node, names, parts, after, live.after[node], refusal)
        return names, self.unit.site(site)

    def _after_loop(
        self,
        node: "ast.For | ast.While",
        rest: "Sequence[ast.stmt] | None",
        names: tuple[str, ...],
        found: ast.expr,
    ) -> list[ast.stmt]:
        if has_return(node.body) and rest is not None:
            return self._outcome(found)
        return _assign_state(names, found)

    def _return(self, node: ast.Return) -> ast.stmt:
        value = None if node.value is None else self.expression(node.value)
        if self.region in (Region.FUNCTION, Region.VALUE):
            return ast.Return(value)
        return ast.Return(_hook("returned", value or ast.Constant(None), _variables()))

    def _function(self, node: ast.FunctionDef) -> ast.stmt:
        inner = Rewriter(self.unit, self.scope.inner(node), Region.FUNCTION)
        return ast.FunctionDef(
            name=node.name,
            args=self._rebuilt(node.args),
            body=inner.block(node.body, ()),
            decorator_list=[self.expression(one) for one in node.decorator_list],
            returns=node.returns,
            type_comment=None,
        )

    def _assign_items(self, node: ast.Assign) -> list[ast.stmt]:
        """``a[i], b = value``: entries are stored by a hook, in the order of the targets."""
        value = self.expression(node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            return [self._store(node.targets[0], value)]
        given = self.unit.temporary()
        found: list[ast.stmt] = [_assign(given, value)]
        for target in node.targets:
            parts: list[ast.stmt] = []
            unpacked = self._unpacked(target, parts)
            found += [ast.Assign([unpacked], _name(given)), *parts]
        return found

    def _unpacked(self, target: ast.expr, parts: list[ast.stmt]) -> ast.expr:
        """A target with temporaries in the place of all parts, and the statements that store them."""
        if isinstance(target, ast.Tuple | ast.List):
            return type(target)([self._unpacked(one, parts) for one in target.elts], ast.Store())
        if isinstance(target, ast.Starred):
            return ast.Starred(self._unpacked(target.value, parts), ast.Store())
        temporary = self.unit.temporary()
        store = (
            self._store(target, _name(temporary))
            if isinstance(target, ast.Subscript)
            else ast.Assign([self._rebuilt(target)], _name(temporary))
        )
        parts.append(store)
        return _stored(temporary)

    def _store(self, target: ast.Subscript, value: ast.expr) -> ast.stmt:
        return ast.Expr(_hook("store", value, self.expression(target.value), self._index(target.slice)))

    def _update_item(self, node: ast.AugAssign) -> list[ast.stmt]:
        """``a[i] += value``, step by step as Python does it."""
        assert isinstance(node.target, ast.Subscript)
        of, index, item = (self.unit.temporary() for _ in range(3))
        return [
            _assign(of, self.expression(node.target.value)),
            _assign(index, self._index(node.target.slice)),
            _assign(item, _hook("item", _name(of), _name(index))),
            ast.AugAssign(_stored(item), node.op, self.expression(node.value)),
            ast.Expr(_hook("store", _name(item), _name(of), _name(index))),
        ]

    def _in_python(self, body: Sequence[ast.stmt], names: Sequence[str], left: str) -> list[ast.stmt]:
        """The body of a loop that runs in Python."""
        before = self._left, self.kept
        self._left, self.kept = left, frozenset(names)
        try:
            return self.block(body, ())
        finally:
            self._left, self.kept = before

    # ---- sites ---------------------------------------------------------------------------------------

    def _part(self, statements: "Sequence[ast.stmt]", region: Region) -> Block:
        return Block(self.unit, self.scope, tuple(statements), region, self.kept)

    def _state(self, node: ast.stmt, body: Iterable[ast.stmt]) -> tuple[str, ...]:
        return tuple(sorted(bound(body) & liveness(self.scope.node).after[node]))

    def _refusal(self, node: ast.stmt) -> str:
        """Why a statement cannot be traced, as far as its text says."""
        assert isinstance(self.scope.node, ast.FunctionDef)
        shared = bound([node]) & declared(self.scope.node.body)
        return (
            f"it sets `{min(shared)}`, a variable of the module or of an enclosing function" if shared else ""
        )

    # ---- expressions ---------------------------------------------------------------------------------

    def expression(self, node: Any) -> Any:
        """An expression, or what stands in one."""
        rule = self._EXPRESSIONS.get(type(node))
        return self._rebuilt(node) if rule is None else ast.copy_location(rule(self, node), node)

    def _rebuilt(self, node: N) -> N:
        """A node of the same kind with rewritten parts."""
        if not isinstance(node, ast.AST):
            return node
        if isinstance(node, ast.expr_context | ast.operator | ast.cmpop):
            return node
        if isinstance(node, ast.comprehension):
            tests: N = self._comprehension(node)  # type: ignore[assignment]
            return tests
        fields = {name: self._field(value) for name, value in ast.iter_fields(node)}
        new: N = ast.copy_location(type(node)(**fields), node)
        return new

    def _field(self, value: Any) -> Any:
        if isinstance(value, list):
            if value and isinstance(value[0], ast.stmt):
                return self.block(value, None)
            return [self._field(one) for one in value]
        return self.expression(value) if isinstance(value, ast.expr) else self._rebuilt(value)

    def _call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(
                func=ast.Name(id=name),
                args=[(ast.GeneratorExp() | ast.ListComp()) as entries, *rest],
            ) if name in _FOLDS and entries.generators[-1].ifs and not _has_walrus(entries):
                return self._fold(node, entries, rest)
            case _:
                pass
        arguments = [self.expression(one) for one in node.args]
        keywords = [self._rebuilt(one) for one in node.keywords]
        return ast.Call(_hook("callee", self.expression(node.func)), arguments, keywords)

    def _fold(
        self, node: ast.Call, entries: "ast.GeneratorExp | ast.ListComp", rest: list[ast.expr]
    ) -> ast.expr:
        """``sum(x for … if …)``: a function of pairs of a test and a delayed entry."""
        *before, last = entries.generators
        test = last.ifs[0] if len(last.ifs) == 1 else ast.BoolOp(ast.And(), last.ifs)
        pair = ast.Tuple([self.expression(test), _delayed(self.expression(entries.elt))], ast.Load())
        loop = ast.comprehension(self._rebuilt(last.target), self.expression(last.iter), [], last.is_async)
        pairs = ast.GeneratorExp(pair, [*map(self._rebuilt, before), loop])
        is_list = ast.Constant(isinstance(entries, ast.ListComp))
        given = [self.expression(node.func), ast.copy_location(pairs, entries), is_list]
        fold = ast.Attribute(_name(HOOKS), "fold", ast.Load())
        return ast.Call(
            fold, [*given, *map(self.expression, rest)], [self._rebuilt(one) for one in node.keywords]
        )

    def _comprehension(self, node: ast.comprehension) -> ast.comprehension:
        """A `for` of a comprehension, whose `if` must be known."""
        tests = [one if _is_plain(one) else _hook("is_kept", self.expression(one)) for one in node.ifs]
        return ast.comprehension(self._rebuilt(node.target), self.expression(node.iter), tests, node.is_async)

    def _bool_op(self, node: ast.BoolOp) -> ast.expr:
        if self._is_undelayed(node.values[1:]):
            return self._rebuilt(node)
        first, *others = map(self.expression, node.values)
        return _hook("and_" if isinstance(node.op, ast.And) else "or_", first, *map(_delayed, others))

    def _is_undelayed(self, parts: Sequence[ast.expr]) -> bool:
        """Whether parts of an expression bind names, or wait, which no function of their own can do for them."""
        waits = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
        return any(isinstance(n, waits) for one in parts for n in ast.walk(one))

    def _not(self, node: ast.UnaryOp) -> ast.expr:
        if not isinstance(node.op, ast.Not):
            return self._rebuilt(node)
        return _hook("not_", self.expression(node.operand))

    def _if_exp(self, node: ast.IfExp) -> ast.expr:
        if self._is_undelayed((node.body, node.orelse)):
            return self._rebuilt(node)
        return _hook(
            "choose",
            self.expression(node.test),
            _delayed(self.expression(node.body)),
            _delayed(self.expression(node.orelse)),
        )

    def _compare(self, node: ast.Compare) -> ast.expr:
        is_chain = len(node.ops) > 1
        is_seen = is_chain or isinstance(node.ops[0], ast.In | ast.NotIn)
        if not is_seen or self._is_undelayed(node.comparators):
            return self._rebuilt(node)
        names = ast.Tuple([ast.Constant(_COMPARISONS[type(op)]) for op in node.ops], ast.Load())
        others = [_delayed(self.expression(one)) for one in node.comparators]
        return _hook("compare", names, self.expression(node.left), *others)

    def _subscript(self, node: ast.Subscript) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or _is_constant(node.slice):
            return self._rebuilt(node)
        return _hook("item", self.expression(node.value), self._index(node.slice))

    def _index(self, node: ast.expr) -> ast.expr:
        """What stands in brackets as an argument of a function."""
        if isinstance(node, ast.Slice):
            parts = [
                ast.Constant(None) if part is None else self.expression(part)
                for part in (node.lower, node.upper, node.step)
            ]
            return ast.copy_location(_hook("slice", *parts), node)
        if isinstance(node, ast.Tuple):
            return ast.copy_location(ast.Tuple([self._index(one) for one in node.elts], ast.Load()), node)
        found: ast.expr = self.expression(node)
        return found

    def _formatted(self, node: ast.FormattedValue) -> ast.expr:
        spec = None if node.format_spec is None else self._rebuilt(node.format_spec)
        return ast.FormattedValue(_hook("shown", self.expression(node.value)), node.conversion, spec)

    def _lambda(self, node: ast.Lambda) -> ast.expr:
        inner = Rewriter(self.unit, self.scope.inner(node), Region.FUNCTION)
        return ast.Lambda(self._rebuilt(node.args), inner.expression(node.body))

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        """In a class, ``self.__x`` means another name, as which Python compiles it there."""
        new: ast.Attribute = self._rebuilt(node)
        if self.unit.private and new.attr.startswith("__") and not new.attr.endswith("__"):
            new.attr = f"_{self.unit.private.lstrip('_')}{new.attr}"
        return new

    _EXPRESSIONS: ClassVar[dict[type[ast.AST], Callable[..., ast.expr]]] = {
        ast.Attribute: _attribute,
        ast.Call: _call,
        ast.BoolOp: _bool_op,
        ast.UnaryOp: _not,
        ast.IfExp: _if_exp,
        ast.Compare: _compare,
        ast.FormattedValue: _formatted,
        ast.Subscript: _subscript,
        ast.Lambda: _lambda,
    }


# ---- what the new nodes are made of --------------------------------------------------------------------


def _begins_at(new: ast.stmt, old: ast.stmt) -> ast.stmt:
    """A statement, on the first line of that for which it stands if it has no line."""
    if not hasattr(new, "lineno"):
        new.lineno = new.end_lineno = old.lineno
        new.col_offset = new.end_col_offset = old.col_offset
    return new


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _stored(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([_stored(name)], value)


def _hook(hook: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(_name(HOOKS), hook, ast.Load()), list(arguments), [])


def _variables() -> ast.expr:
    """The variables that are set, by name."""
    return ast.Call(_name("locals"), [], [])


def _is_not_none(name: str) -> ast.expr:
    return ast.Compare(_name(name), [ast.IsNot()], [ast.Constant(None)])


def _delayed(value: ast.expr) -> ast.expr:
    nothing = ast.arguments([], [], None, [], [], None, [])
    return ast.copy_location(ast.Lambda(nothing, value), value)


def _assign_state(names: Sequence[str], found: ast.expr) -> list[ast.stmt]:
    """Set variables to what a hook gives for them; those that it leaves unset are unset."""
    if not names:
        return [ast.Expr(found)]
    targets = ast.Tuple([_stored(name) for name in names], ast.Store())
    unset = ast.Attribute(_name(HOOKS), "UNSET", ast.Load())
    return [
        ast.Assign([targets], found),
        *(
            ast.If(
                ast.Compare(_name(name), [ast.Is()], [unset]), [ast.Delete([ast.Name(name, ast.Del())])], []
            )
            for name in names
        ),
    ]


def _parts(target: ast.expr) -> list[ast.expr]:
    """The targets of an assignment that are not tuples."""
    if isinstance(target, ast.Tuple | ast.List):
        return [part for one in target.elts for part in _parts(one)]
    return _parts(target.value) if isinstance(target, ast.Starred) else [target]


def _is_plain(test: ast.expr) -> bool:
    """Whether a test is never traced."""
    match test:
        case ast.Constant():
            return True
        case ast.Compare(ops=ops):
            return all(isinstance(op, ast.Is | ast.IsNot) for op in ops)
        case ast.Call(func=ast.Name(id=name)):
            return name in _PLAIN_TESTS
        case _:
            return False


def _has_walrus(node: ast.expr) -> bool:
    return any(isinstance(one, ast.NamedExpr) for one in ast.walk(node))


def _is_constant(index: ast.expr) -> bool:
    """Whether nothing in brackets can be traced."""
    return not used(index) and not any(
        isinstance(n, ast.Call | ast.Attribute | ast.NamedExpr) for n in ast.walk(index)
    )


def comparison(name: str) -> Callable[[Any, Any], Any]:
    """Python's comparison of a name that the hook of chains gets."""
    match name:
        case "in_":
            return lambda x, container: x in container
        case "not_in":
            return lambda x, container: x not in container
        case _:
            found: Callable[[Any, Any], Any] = getattr(operator, name)
            return found

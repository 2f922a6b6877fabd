"""`ExpressionRewriter`: expressions with hooks instead of the operations that tracing must handle."""

import ast
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from operator import is_not
from typing import Any, ClassVar, Final, TypeVar

from ..callers.user_code import HOOKS
from .sites import Region, Unit
from .source import ITEMS, Scope
from .syntax import FIELDS, placed, shallow, walk

N = TypeVar("N", bound=ast.AST)

COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
    ast.Is: "is_", ast.IsNot: "is_not", ast.In: "in_", ast.NotIn: "not_in",
}  # fmt: skip
_FOLDS: Final = frozenset({"sum", "len", "any", "all", "min", "max", "next"})
_EXHAUSTING: Final = frozenset({"sum", "min", "max", "list", "tuple", "sorted"})
"""Functions that read a generator to its end."""
_SPECIAL_CALLS: Final = _FOLDS | _EXHAUSTING | {"print"}
_PLAIN_TESTS: Final = frozenset({"isinstance", "hasattr", "callable", "issubclass"})


class ExpressionRewriter(ABC):
    """Rewrites expressions of one function. The old nodes do not change; the result has new ones."""

    def __init__(self, unit: Unit, scope: Scope, region: Region) -> None:
        self.unit, self.scope, self.region = unit, scope, region

    @abstractmethod
    def block(self, statements: Sequence[ast.stmt], after: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        """Rewrite the statements in a part that is neither an expression nor a statement, such as a handler."""

    def is_plain(self, test: ast.expr) -> bool:
        """Whether a test is never traced."""
        match test:
            case ast.Constant():
                return True
            case ast.Compare(ops=ops, comparators=others):
                return all(isinstance(op, ast.Is | ast.IsNot) for op in ops) and all(map(_is_none, others))
            case ast.Call(func=ast.Name(id=name)):
                return name in _PLAIN_TESTS
            case _:
                return False

    def tested(self, test: ast.expr) -> ast.expr:
        """The expression of a test."""
        found: ast.expr = self.expression(test)
        return found

    def expression(self, node: Any) -> Any:
        """Rewrite an expression, or a part of one."""
        if not FIELDS[node.__class__]:
            return node
        rule = self._EXPRESSIONS.get(node.__class__)
        if rule is None:
            return self.rebuilt(node)
        new = rule(self, node)
        return new if new is node else placed(new, node)

    def rebuilt(self, node: N) -> N:
        """A node of the same kind with rewritten parts; the same one if they stay as they are."""
        if isinstance(node, ast.comprehension):
            tests: N = self.comprehension(node)  # type: ignore[assignment]
            return tests
        known = node.__dict__
        changed: dict[str, Any] = {}
        for name in FIELDS[node.__class__]:
            value = known.get(name)
            if value.__class__ is not list:
                if value is not None and (new := self.expression(value)) is not value:
                    changed[name] = new
            elif value and isinstance(value[0], ast.stmt):
                changed[name] = self.block(value, None)
            elif value:
                parts = [None if one is None else self.expression(one) for one in value]
                if any(map(is_not, parts, value)):
                    changed[name] = parts
        if not changed:
            return node
        found = shallow(node)
        found.__dict__.update(changed)
        return found

    def _call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id in _SPECIAL_CALLS:
            found = self._special_call(node)
            if found is not None:
                return found
        arguments = [self.expression(one) for one in node.args]
        keywords = [self.rebuilt(one) for one in node.keywords]
        return ast.Call(hook("callee", self.expression(node.func)), arguments, keywords)

    def _special_call(self, node: ast.Call) -> "ast.expr | None":
        """A call that prints, or goes over the entries of a comprehension; None for any other."""
        match node:
            case ast.Call(func=ast.Name(id="print")) if not self.is_undelayed([node]):
                return self.printed(node)
            case ast.Call(
                func=ast.Name(id=name),
                args=[(ast.GeneratorExp() | ast.ListComp()) as entries, *rest],
            ) if name in _FOLDS and entries.generators[-1].ifs and not self.is_undelayed([entries]):
                return self._fold(node, entries, rest)
            case ast.Call(func=ast.Name(id="any" | "all"), args=[ast.GeneratorExp() as entries]) if (
                self._is_of_all(entries)
            ):
                return self._fold(node, entries, [])
            case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as entries, *rest]) if (
                name in _EXHAUSTING and self._is_of_all(entries)
            ):
                function = self.expression(node.func)
                entries_hook = placed(hook("stacked_list", *self._made_of(entries), function), entries)
                rest = [self.expression(one) for one in rest]
                return ast.Call(
                    hook("callee", function), [entries_hook, *rest], [*map(self.rebuilt, node.keywords)]
                )
            case _:
                return None

    def printed(self, node: ast.Call) -> ast.expr:
        """A call that prints or logs. The hook gets its arguments: they may show values that only the program knows."""
        args = ast.Tuple([self.expression(one) for one in node.args], LOAD)
        names: list[ast.expr | None] = [
            None if one.arg is None else ast.Constant(one.arg) for one in node.keywords
        ]
        options = ast.Dict(names, [self.expression(one.value) for one in node.keywords])
        given = delayed(ast.Tuple([args, options], LOAD))
        return placed(hook("printed", self.expression(node.func), given), node)

    def _fold(
        self, node: ast.Call, entries: "ast.GeneratorExp | ast.ListComp", rest: list[ast.expr]
    ) -> ast.expr:
        """``sum(x for … if …)``: a call of the function with pairs of a test and a delayed entry."""
        *before, last = entries.generators
        test: ast.expr = ast.Constant(value=True)
        if last.ifs:
            test = last.ifs[0] if len(last.ifs) == 1 else ast.BoolOp(ast.And(), last.ifs)
        pair = ast.Tuple([self.expression(test), delayed(self.expression(entries.elt))], LOAD)
        pairs: ast.expr
        if before or last.is_async:
            loop = ast.comprehension(self.rebuilt(last.target), self.expression(last.iter), [], last.is_async)
            pairs = ast.GeneratorExp(pair, [*map(self.rebuilt, before), loop])
        else:
            loop = ast.comprehension(self.rebuilt(last.target), named(ITEMS), [], 0)
            items = ast.arguments([], [ast.arg(ITEMS)], None, [], [], None, [])
            make = placed(ast.Lambda(items, placed(ast.GeneratorExp(pair, [loop]), entries)), entries)
            pairs = hook("pairs", make, self.expression(last.iter))
        is_list = ast.Constant(isinstance(entries, ast.ListComp))
        given = [self.expression(node.func), placed(pairs, entries), is_list]
        fold = ast.Attribute(named(HOOKS), "fold", LOAD)
        return ast.Call(
            fold, [*given, *map(self.expression, rest)], [self.rebuilt(one) for one in node.keywords]
        )

    def _list(self, node: ast.ListComp) -> ast.expr:
        """``[x for target in items]``: the hook may trace the entry once, for all items."""
        return hook("stacked_list", *self._made_of(node)) if self._is_of_all(node) else self.rebuilt(node)

    def _is_of_all(self, node: "ast.GeneratorExp | ast.ListComp") -> bool:
        """Whether a comprehension has one entry for each item of one iterable."""
        first, *others = node.generators
        return not (others or first.ifs or first.is_async or self.is_undelayed([node]))

    def _made_of(self, node: "ast.GeneratorExp | ast.ListComp") -> tuple[ast.expr, ast.expr]:
        """A function that makes the list of entries for other items, and the items."""
        first = node.generators[0]
        loop = self.comprehension(ast.comprehension(first.target, named(ITEMS), [], 0))
        entries = ast.ListComp(self.expression(node.elt), [loop])
        items = ast.arguments([], [ast.arg(ITEMS)], None, [], [], None, [])
        return placed(ast.Lambda(items, placed(entries, node)), node), self.expression(first.iter)

    def comprehension(self, node: ast.comprehension) -> ast.comprehension:
        """A `for` of a comprehension, whose `if` must be known while tracing."""
        tests = [one if self.is_plain(one) else hook("is_kept", self.expression(one)) for one in node.ifs]
        return ast.comprehension(self.rebuilt(node.target), self.expression(node.iter), tests, node.is_async)

    def _bool_op(self, node: ast.BoolOp) -> ast.expr:
        if self.is_undelayed(node.values[1:]):
            return self.rebuilt(node)
        first, *others = map(self.expression, node.values)
        return hook("and_" if isinstance(node.op, ast.And) else "or_", first, *map(delayed, others))

    def is_undelayed(self, parts: Sequence[ast.expr]) -> bool:
        """Whether parts of an expression bind names or contain `yield` or `await`, so that they cannot be delayed."""
        return self.scope.may_be_bound_to_place and self.scope.facts.of(parts).is_bound_to_place

    def _not(self, node: ast.UnaryOp) -> ast.expr:
        if not isinstance(node.op, ast.Not):
            return self.rebuilt(node)
        return hook("not_", self.tested(node.operand))

    def _if_exp(self, node: ast.IfExp) -> ast.expr:
        if self.is_undelayed((node.body, node.orelse)):
            return self.rebuilt(node)
        return hook(
            "choose",
            self.tested(node.test),
            delayed(self.expression(node.body)),
            delayed(self.expression(node.orelse)),
        )

    def _compare(self, node: ast.Compare) -> ast.expr:
        is_chain = len(node.ops) > 1
        is_seen = (
            is_chain
            or isinstance(node.ops[0], ast.In | ast.NotIn)
            or (isinstance(node.ops[0], ast.Is | ast.IsNot) and not _is_none(node.comparators[0]))
        )
        return self.compared(node) if is_seen else self.rebuilt(node)

    def compared(self, node: ast.Compare) -> ast.expr:
        """Any comparison. Python evaluates the third operand and later ones only if the comparisons before hold."""
        left, others = self.expression(node.left), node.comparators
        if len(others) == 1:
            return hook(f"compare_{COMPARISONS[type(node.ops[0])]}", left, self.expression(others[0]))
        if self.is_undelayed(others):
            return self.rebuilt(node)
        names: list[ast.expr] = [ast.Constant(COMPARISONS[type(op)]) for op in node.ops]
        return hook(
            "compare", ast.Tuple(names, LOAD), left, *(delayed(self.expression(one)) for one in others)
        )

    def _subscript(self, node: ast.Subscript) -> ast.expr:
        is_plain = is_constant(node.slice) and not _is_environment(node.value)
        if not isinstance(node.ctx, ast.Load) or is_plain:
            return self.rebuilt(node)
        return hook("item", self.expression(node.value), self.index(node.slice))

    def index(self, node: ast.expr) -> ast.expr:
        """The contents of brackets as an argument of a function."""
        if isinstance(node, ast.Slice):
            parts = [
                ast.Constant(None) if part is None else self.expression(part)
                for part in (node.lower, node.upper, node.step)
            ]
            return placed(hook("slice", *parts), node)
        if isinstance(node, ast.Tuple):
            return placed(ast.Tuple([self.index(one) for one in node.elts], LOAD), node)
        found: ast.expr = self.expression(node)
        return found

    def _formatted(self, node: ast.FormattedValue) -> ast.expr:
        spec = None if node.format_spec is None else self.rebuilt(node.format_spec)
        return ast.FormattedValue(hook("shown", self.expression(node.value)), node.conversion, spec)

    def binary(self, node: ast.BinOp) -> ast.expr:
        """``"… %s …" % x``. Other operators need no hook here: their operands implement them."""
        if not (isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant | ast.JoinedStr)):
            return self.rebuilt(node)
        return hook("percent", self.expression(node.left), self.expression(node.right))

    def _lambda(self, node: ast.Lambda) -> ast.expr:
        inner = type(self)(self.unit, self.scope.inner(node), Region.FUNCTION)
        return ast.Lambda(self.rebuilt(node.args), inner.expression(node.body))

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        new, name = self.rebuilt(node), self.attribute_name(node)
        if name != new.attr:
            new = shallow(new)
            new.attr = name
        return new

    def attribute_name(self, node: ast.Attribute) -> str:
        """In a class, Python mangles ``self.__x``."""
        is_private = self.unit.private and node.attr.startswith("__") and not node.attr.endswith("__")
        return f"_{self.unit.private.lstrip('_')}{node.attr}" if is_private else node.attr

    _EXPRESSIONS: ClassVar[dict[type[ast.AST], Callable[..., ast.expr]]] = {
        ast.Attribute: _attribute,
        ast.BinOp: binary,
        ast.Call: _call,
        ast.BoolOp: _bool_op,
        ast.UnaryOp: _not,
        ast.IfExp: _if_exp,
        ast.ListComp: _list,
        ast.Compare: _compare,
        ast.FormattedValue: _formatted,
        ast.Subscript: _subscript,
        ast.Lambda: _lambda,
    }


# ---- what the new nodes are made of --------------------------------------------------------------------


LOAD: Final = ast.Load()
_NOTHING: Final = ast.arguments([], [], None, [], [], None, [])
_STORE: Final = ast.Store()


def named(name: str) -> ast.expr:
    return ast.Name(name, LOAD)


def stored(name: str) -> ast.Name:
    return ast.Name(name, _STORE)


def assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([stored(name)], value)


def hook(hook: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(named(HOOKS), hook, LOAD), list(arguments), [])


def delayed(value: ast.expr) -> ast.expr:
    return placed(ast.Lambda(_NOTHING, value), value)


def is_constant(index: ast.expr) -> bool:
    """Whether nothing in brackets can be traced."""
    return not any(isinstance(n, ast.Name | ast.Call | ast.Attribute) for n in walk(index))


def comparison(name: str) -> Callable[[Any, Any], Any]:
    """Python's comparison, by the name that the hook gets."""
    match name:
        case "in_":
            return lambda x, container: x in container
        case "not_in":
            return lambda x, container: x not in container
        case _:
            found: Callable[[Any, Any], Any] = getattr(operator, name)
            return found


def _is_none(node: ast.expr) -> bool:
    """``None``"""
    return isinstance(node, ast.Constant) and node.value is None


def _is_environment(node: ast.expr) -> bool:
    """Whether this may be ``os.environ``, whose items are compared before each call."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name == "environ"

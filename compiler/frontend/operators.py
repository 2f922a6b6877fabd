"""`OperatorRewriter`: a rewriter that also puts hooks in place of operators and attributes.

Most programs do not need these: arrays and numbers implement operators. But methods of the user's classes must be
converted if they depend on values, and a `OneOf` applies an operator to each of its entries.
"""

import ast
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from .expressions import assign, hook, named
from .rewriting import Rewriter
from .syntax import placed

_BINARY: Final[dict[type[ast.operator], str]] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and",
    ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
_UNARY: Final[dict[type[ast.unaryop], str]] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}


class OperatorRewriter(Rewriter):
    """Rewrites statements of one function, with hooks for operators and attributes."""

    def is_plain(self, test: ast.expr) -> bool:
        """Whether a test is never traced. Even ``x is None`` may be, if `x` is None or not depending on values."""
        return isinstance(test, ast.Constant)

    def tested(self, test: ast.expr) -> ast.expr:
        """The expression of a test."""
        return placed(hook("truth", self.expression(test)), test)

    def statement(self, node: ast.stmt, rest: "Sequence[ast.stmt] | None") -> list[ast.stmt]:
        """Rewrite a statement; `rest` are the statements after it in the region."""
        match node:
            case ast.AugAssign(target=ast.Name(id=name)):
                return [assign(name, self._updated(named(name), node))]
            case ast.AugAssign(target=ast.Attribute() as target):
                of = self.unit.temporary()
                old = hook("attribute", named(of), ast.Constant(self.attribute_name(target)))
                return [
                    assign(of, self.expression(target.value)),
                    self._set_attribute(target, named(of), self._updated(old, node)),
                ]
            case ast.Assign(targets=[ast.Attribute() as target]):
                kept = self.unit.temporary()
                return [
                    assign(kept, self.expression(node.value)),
                    self._set_attribute(target, self.expression(target.value), named(kept)),
                ]
            case ast.Assign(targets=targets) if any(isinstance(one, ast.Tuple | ast.List) for one in targets):
                value = placed(hook("iterated", self.expression(node.value)), node.value)
                given = self.unit.temporary()
                found: list[ast.stmt] = [assign(given, value)]
                for one in targets:
                    if isinstance(one, ast.Tuple | ast.List) and _sets_attributes(one):
                        found += self._set_in_turn(one.elts, named(given), node, rest)
                    else:
                        found += super().statement(placed(ast.Assign([one], named(given)), node), rest)
                return found
            case _:
                return super().statement(node, rest)

    def _set_in_turn(
        self,
        targets: "Sequence[ast.expr]",
        given: ast.expr,
        node: ast.stmt,
        rest: "Sequence[ast.stmt] | None",
    ) -> list[ast.stmt]:
        """``target, target = given``, one assignment after the other, as each may have a hook."""
        kept = [self.unit.temporary() for _ in targets]
        names: list[ast.expr] = [ast.Name(name, ast.Store()) for name in kept]
        for place, target in enumerate(targets):
            if isinstance(target, ast.Starred):
                names[place] = ast.Starred(names[place], ast.Store())
        found: list[ast.stmt] = [placed(ast.Assign([ast.Tuple(names, ast.Store())], given), node)]
        for target, name in zip(targets, kept, strict=True):
            one = target.value if isinstance(target, ast.Starred) else target
            found += self.statement(placed(ast.Assign([one], named(name)), node), rest)
        return found

    def updated_item(self, item: str, node: ast.AugAssign) -> ast.stmt:
        """``item op= value`` for an entry that is in a variable."""
        return assign(item, self._updated(named(item), node))

    def _updated(self, old: ast.expr, node: ast.AugAssign) -> ast.expr:
        return placed(hook(f"update_{_BINARY[type(node.op)]}", old, self.expression(node.value)), node)

    def _set_attribute(self, target: ast.Attribute, of: ast.expr, value: ast.expr) -> ast.stmt:
        name = ast.Constant(self.attribute_name(target))
        return ast.Expr(placed(hook("set_attribute", value, of, name), target))

    def binary(self, node: ast.BinOp) -> ast.expr:
        """Any binary operator."""
        name = _BINARY[type(node.op)]
        return hook(f"operate_{name}", self.expression(node.left), self.expression(node.right))

    def _unary(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return hook("not_", self.tested(node.operand))
        if isinstance(node.operand, ast.Constant):
            return node
        return hook("unary", ast.Constant(_UNARY[type(node.op)]), self.expression(node.operand))

    def _compared(self, node: ast.Compare) -> ast.expr:
        return self.compared(node)

    def _read(self, node: ast.Attribute) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            return self._attribute(node)
        return hook("attribute", self.expression(node.value), ast.Constant(self.attribute_name(node)))

    def _item(self, node: ast.Subscript) -> ast.expr:
        if not isinstance(node.ctx, ast.Load):
            found: ast.expr = self.rebuilt(node)
            return found
        return hook("item", self.expression(node.value), self.index(node.slice))

    def _starred(self, node: ast.Starred) -> ast.expr:
        value = self.expression(node.value)
        return ast.Starred(value if isinstance(node.ctx, ast.Store) else hook("iterated", value), node.ctx)

    def comprehension(self, node: ast.comprehension) -> ast.comprehension:
        """A `for` of a comprehension."""
        new = super().comprehension(node)
        new.iter = placed(hook("iterated", new.iter), new.iter)
        return new

    _EXPRESSIONS: ClassVar[dict[type[ast.AST], Callable[..., ast.expr]]] = {
        **Rewriter._EXPRESSIONS,
        ast.Attribute: _read,
        ast.BinOp: binary,
        ast.Compare: _compared,
        ast.Starred: _starred,
        ast.Subscript: _item,
        ast.UnaryOp: _unary,
    }


def _sets_attributes(target: ast.expr) -> bool:
    return any(isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) for one in ast.walk(target))

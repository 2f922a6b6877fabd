"""`Reader`: what the body of a loop means, for bodies in a small language in which a turn does nothing but compute.

It is read from its text, node by node. Each node that may stand there has a rule; all else, and all values but arrays,
numbers and sizes, is a `NotInLanguageError`. So the user's objects, lists and dicts are never touched, and what differs
from turn to turn is computed from the counter, a `BoundedInt`. Functions of the user's are read in the same way.
"""

import ast
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import CodeType, ModuleType
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from ....compiler.callers.loop_source import function_source, is_builtin_range
from ....compiler.callers.user_code import location_at
from ....compiler.symbolic_size import SymbolicSize
from ....compiler.tracing.trace import require_trace
from .arithmetic import as_operand, binary, check_meets, compared, truth, unary
from .calls import arguments_by_name, call_function, call_method, is_users
from .counted import is_whole
from .indexing import checked_index, read_item
from .values import NUMBERS, NotInLanguageError, is_admitted, is_array, is_traced_exactly, is_weak_float

Variables: TypeAlias = dict[str, Any]
_MODULES: Final = ("numpy", "numpy.linalg", "math")
_ATTRIBUTES: Final = frozenset({"T", "dtype", "imag", "mT", "ndim", "real", "shape", "size"})
_MOST_UNROLLED: Final = 64
_DEEPEST_CALL: Final = 8


class _ReturnedError(Exception):
    """A function that is read returns."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


@dataclass(frozen=True, slots=True)
class Host:
    """What a reader leaves to the loop for which it reads."""

    loop: "Callable[[ast.For, tuple[Any, ...], Variables, Any], None]"
    """Runs a loop in the loop."""
    writing: Callable[[Any], None]
    """Is told of each array before something is written to it."""
    is_data: Callable[[Any], bool]
    """Whether a traced array follows from more than sizes and counters, or is known."""


class Reader:
    """Runs statements of a function on its variables."""

    def __init__(
        self,
        code: CodeType,
        module: Mapping[str, Any],
        python: Mapping[str, Any],
        host: Host,
        depth: int = 0,
    ) -> None:
        """`module` and `python` are the names of the function's module and of Python; `depth` counts calls of it."""
        self.code, self.module, self.python = code, module, python
        self.host, self.depth = host, depth
        self.own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}

    def run(self, block: list[ast.stmt], names: Variables) -> None:
        """Run statements, which bind names."""
        trace = require_trace()
        before = trace.location
        try:
            for statement in block:
                trace.location = location_at(self.code.co_filename, statement.lineno)
                rule = self._STATEMENTS.get(type(statement))
                if rule is None:
                    raise NotInLanguageError(_reason(statement))
                rule(self, statement, names)
        finally:
            trace.location = before

    def returned(self, body: list[ast.stmt], names: Variables) -> Any:
        """What a function returns with this body."""
        try:
            self.run(body, names)
        except _ReturnedError as found:
            return found.value
        return None

    def value(self, node: ast.expr, names: Variables) -> Any:
        """What an expression gives."""
        rule = self._EXPRESSIONS.get(type(node))
        if rule is None:
            raise NotInLanguageError(_reason(node))
        found = rule(self, node, names)
        if not is_admitted(found):
            raise NotInLanguageError(f"it uses `{ast.unparse(node):.40}`, which is no array, number or size")
        return found

    def check_own(self, name: str) -> None:
        """Refuse variables that other functions see, or the module."""
        code = self.code
        if name not in code.co_varnames or name in code.co_cellvars:
            raise NotInLanguageError(f"it binds `{name}`, which is not of the function alone")

    # ---- statements ----------------------------------------------------------------------------------

    def _pass(self, node: ast.Pass, names: Variables) -> None:
        pass

    def _assign(self, node: ast.Assign, names: Variables) -> None:
        value = self.value(node.value, names)
        for target in node.targets:
            self._store(target, value, names)

    def _store(self, target: ast.expr, value: Any, names: Variables) -> None:
        if isinstance(target, ast.Name):
            self._bind(target.id, value, names)
        elif isinstance(target, ast.Subscript):
            array = self._writable(self.value(target.value, names))
            self._store_item(array, self._index(target.slice, names), value)
        elif isinstance(target, ast.Tuple) and type(value) is tuple and len(value) == len(target.elts):
            for part, one in zip(target.elts, value, strict=True):
                self._store(part, one, names)
        else:
            raise NotInLanguageError(f"it assigns to `{ast.unparse(target):.40}`")

    def _bind(self, name: str, value: Any, names: Variables) -> None:
        self.check_own(name)
        names[name] = value

    def _writable(self, array: Any) -> Any:
        if not is_traced_exactly(array) or array.is_scalar:
            raise NotInLanguageError(f"it writes to {type(array).__name__}, not to an array of the program")
        return array

    def _store_item(self, array: Any, index: Any, value: Any) -> None:
        item = checked_index(array.shape, index)
        self.host.writing(array)
        array[item] = _storable(value, array.dtype)

    def _update(self, node: ast.AugAssign, names: Variables) -> None:
        target = node.target
        if isinstance(target, ast.Name):
            old = self.value(ast.Name(target.id, ast.Load()), names)
            self._bind(target.id, self._updated(node.op, old, self.value(node.value, names)), names)
        elif isinstance(target, ast.Subscript):
            array, index = self.value(target.value, names), self._index(target.slice, names)
            new = self._updated(
                node.op, read_item(self._writable(array), index), self.value(node.value, names)
            )
            self._store_item(array, index, new)
        else:
            raise NotInLanguageError(f"it assigns to `{ast.unparse(target):.40}`")

    def _updated(self, op: ast.operator, old: Any, other: Any) -> Any:
        """``old += other``, which writes to an array, and makes a new number."""
        if not is_array(old) or isinstance(old, np.generic) or (is_traced_exactly(old) and old.is_scalar):
            return binary(op, old, other)
        self.host.writing(self._writable(old))
        return binary(op, old, other, in_place=True)

    def _if(self, node: ast.If, names: Variables) -> None:
        self.run(node.body if truth(self.value(node.test, names)) else node.orelse, names)

    def _for(self, node: ast.For, names: Variables) -> None:
        call = node.iter
        is_range = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
        if node.orelse or not isinstance(node.target, ast.Name):
            raise NotInLanguageError("it has a loop with `else`, or of several variables")
        if not is_range:
            self._for_rows(node, node.target.id, names)
            return
        assert isinstance(call, ast.Call)
        if not is_builtin_range(self.code, self.module, self.python):
            raise NotInLanguageError("it has a `range` of its own")
        bounds = tuple(self.value(one, names) for one in call.args)
        if call.keywords or not all(type(one) is int or isinstance(one, SymbolicSize) for one in bounds):
            raise NotInLanguageError("it has a loop whose range depends on the turn")
        if all(type(one) is int for one in bounds) and len(range(*bounds)) <= _MOST_UNROLLED:
            for number in range(*bounds):
                self._bind(node.target.id, number, names)
                self.run(node.body, names)
        else:
            self.host.loop(node, bounds, names, None)

    def _for_rows(self, node: ast.For, target: str, names: Variables) -> None:
        rows = self.value(node.iter, names)
        if type(rows) is tuple:
            length: Any = len(rows)
        elif is_array(rows) and rows.shape:
            length = rows.shape[0]
        else:
            raise NotInLanguageError("it has a loop that is over no range or array")
        if type(length) is int and length <= _MOST_UNROLLED:
            for number in range(length):
                self._bind(target, rows[number], names)
                self.run(node.body, names)
        elif is_traced_exactly(rows):
            self.host.loop(node, (length,), names, rows)
        else:
            raise NotInLanguageError("it has a loop over many values")

    def _return(self, node: ast.Return, names: Variables) -> None:
        if self.depth == 0:
            raise NotInLanguageError(_reason(node))
        raise _ReturnedError(None if node.value is None else self.value(node.value, names))

    def _expression(self, node: ast.Expr, names: Variables) -> None:
        """A call of a function that writes to an array, or a text that says what a function does."""
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            self.value(call, names)
        elif not isinstance(call, ast.Constant):
            raise NotInLanguageError(_reason(node))

    # ---- expressions ---------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant, names: Variables) -> Any:
        return node.value

    def _name(self, node: ast.Name, names: Variables) -> Any:
        found = self._found(node.id, names)
        if is_traced_exactly(found) and node.id not in self.own:
            raise NotInLanguageError(f"it uses `{node.id}`, an array of a program that is gone")
        return found

    def _found(self, name: str, names: Variables) -> Any:
        """What a name stands for."""
        if name.startswith("__") and not name.endswith("__"):
            raise NotInLanguageError(f"it uses `{name}`, which has another name in a class")
        scopes = (names,) if name in self.own else (self.module, self.python)
        for scope in scopes:
            if name in scope:
                return scope[name]
        raise NotInLanguageError(f"`{name}` has no value before it")

    def _tuple(self, node: ast.Tuple, names: Variables) -> Any:
        return tuple(self.value(one, names) for one in node.elts)

    def _binary(self, node: ast.BinOp, names: Variables) -> Any:
        left = self.value(node.left, names)
        return binary(node.op, left, self.value(node.right, names))

    def _unary(self, node: ast.UnaryOp, names: Variables) -> Any:
        value = self.value(node.operand, names)
        return not truth(value) if isinstance(node.op, ast.Not) else unary(node.op, value)

    def _compare(self, node: ast.Compare, names: Variables) -> Any:
        if len(node.ops) > 1:
            raise NotInLanguageError("it chains comparisons")
        left = self.value(node.left, names)
        return compared(node.ops[0], left, self.value(node.comparators[0], names))

    def _all_or_any(self, node: ast.BoolOp, names: Variables) -> bool:
        ends = isinstance(node.op, ast.Or)
        for one in node.values:
            if truth(self.value(one, names)) is ends:
                return ends
        return not ends

    def _choice(self, node: ast.IfExp, names: Variables) -> Any:
        return self.value(node.body if truth(self.value(node.test, names)) else node.orelse, names)

    def _item(self, node: ast.Subscript, names: Variables) -> Any:
        of = self.value(node.value, names)
        return read_item(of, self._index(node.slice, names))

    def _index(self, node: ast.expr, names: Variables) -> Any:
        if isinstance(node, ast.Slice):
            ends = (node.lower, node.upper, node.step)
            return slice(*(None if end is None else self.value(end, names) for end in ends))
        if isinstance(node, ast.Tuple):
            return tuple(self._index(one, names) for one in node.elts)
        found = self.value(node, names)
        if type(found) is tuple:
            raise NotInLanguageError("it indexes by a tuple")
        if is_traced_exactly(found) and not self.host.is_data(found):
            raise NotInLanguageError(f"`{ast.unparse(node):.40}` may be no index of the array")
        return found

    def _attribute(self, node: ast.Attribute, names: Variables) -> Any:
        module = self._module(node.value, names)
        if module is not None:
            return _of_module(module, node.attr)
        of = self.value(node.value, names)
        if is_array(of) and node.attr in _ATTRIBUTES:
            return getattr(of, node.attr)
        raise NotInLanguageError(f"it reads `{ast.unparse(node):.40}`")

    def _module(self, node: ast.expr, names: Variables) -> ModuleType | None:
        """One of NumPy's modules, or Python's ``math``; None for all else."""
        found: Any = None
        if isinstance(node, ast.Name):
            found = self._found(node.id, names)
        elif isinstance(node, ast.Attribute):
            outer = self._module(node.value, names)
            found = None if outer is None else _of_module(outer, node.attr)
        return found if any(found is sys.modules.get(name) for name in _MODULES) else None

    def _call(self, node: ast.Call, names: Variables) -> Any:
        options: dict[str, Any] = {}
        function: Any = None
        of: Any = None
        method = ""
        if isinstance(node.func, ast.Attribute):
            module = self._module(node.func.value, names)
            if module is None:
                of, method = self.value(node.func.value, names), node.func.attr
            else:
                function = _of_module(module, node.func.attr)
        elif isinstance(node.func, ast.Name):
            function = self._found(node.func.id, names)
        args = [self._argument(one, names) for one in node.args]
        for keyword in node.keywords:
            if keyword.arg is None:
                raise NotInLanguageError("it calls a function with `**`")
            options[keyword.arg] = self._argument(keyword.value, names)
        if method:
            return call_method(of, method, args, options)
        if is_users(function):
            return self._call_users(function, args, options)
        return call_function(function, args, options, ast.unparse(node.func))

    def _call_users(self, function: Any, args: list[Any], options: dict[str, Any]) -> Any:
        """What a function of the user's returns, whose text is read."""
        name, body = function.__name__, function_source(function.__code__)
        if body is None or self.depth == _DEEPEST_CALL:
            raise NotInLanguageError(f"it calls `{name}`, whose text is not at hand")

        def no_loop(loop: ast.For, bounds: tuple[Any, ...], names: Variables, rows: Any) -> None:
            raise NotInLanguageError("it has a loop over a size")

        given = function.__code__, function.__globals__, function.__builtins__
        reader = Reader(*given, replace(self.host, loop=no_loop), self.depth + 1)
        try:
            return reader.returned(body.body, arguments_by_name(function, args, options))
        except NotInLanguageError as error:
            raise NotInLanguageError(f"it calls `{name}`, and {error}") from None

    def _argument(self, node: ast.expr, names: Variables) -> Any:
        """An argument of a function, which may be a list as it stands there."""
        return (
            [self._argument(one, names) for one in node.elts]
            if isinstance(node, ast.List)
            else self.value(node, names)
        )

    _STATEMENTS: ClassVar[Mapping[type[ast.stmt], Any]] = {
        ast.Assign: _assign,
        ast.AugAssign: _update,
        ast.Expr: _expression,
        ast.For: _for,
        ast.If: _if,
        ast.Pass: _pass,
        ast.Return: _return,
    }
    _EXPRESSIONS: ClassVar[Mapping[type[ast.expr], Any]] = {
        ast.Attribute: _attribute,
        ast.BinOp: _binary,
        ast.BoolOp: _all_or_any,
        ast.Call: _call,
        ast.Compare: _compare,
        ast.Constant: _constant,
        ast.IfExp: _choice,
        ast.Name: _name,
        ast.Subscript: _item,
        ast.Tuple: _tuple,
        ast.UnaryOp: _unary,
    }


def _of_module(module: ModuleType, name: str) -> Any:
    found = vars(module)
    if name not in found:
        raise NotInLanguageError(f"`{module.__name__}.{name}` has no value before it")
    return found[name]


def _storable(value: Any, dtype: Any) -> Any:
    """What can be written to an array of a dtype: as NumPy converts it."""
    if not (is_array(value) or is_weak_float(value) or is_whole(value) or type(value) in NUMBERS):
        raise NotInLanguageError(f"it writes {type(value).__name__} to an array")
    if is_weak_float(value) and dtype.kind not in "fc":
        raise NotInLanguageError(f"it writes a number of Python's to {dtype}")
    check_meets(value, dtype)
    return as_operand(value)


def _reason(node: ast.AST) -> str:
    """What a node is that may not stand in such a loop."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return f"it calls `{ast.unparse(node.value.func):.40}`"
    words: dict[type[ast.AST], str] = {
        ast.Break: "it has `break`",
        ast.Continue: "it has `continue`",
        ast.Return: "it has `return`",
        ast.While: "it has `while`",
        ast.With: "it has `with`",
        ast.Try: "it has `try`",
        ast.Raise: "it has `raise`",
        ast.Assert: "it has `assert`",
        ast.Delete: "it has `del`",
        ast.Lambda: "it has `lambda`",
        ast.JoinedStr: "it makes a text",
    }
    text = ast.unparse(node).partition("\n")[0]
    return words.get(type(node), f"`{text:.40}` does more than compute")

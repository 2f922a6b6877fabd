"""`converted`: the user's function with hooks instead of the operations that tracing must handle.

The new function has the globals, the closure, the defaults, the file and the lines of the old one. Functions without
source and functions of libraries are not converted.
"""

import ast
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any, ClassVar, Final

from ..callers.number_code import NumberFunctions, are_numbers, key_of, number_functions
from ..callers.qualified_names import with_qualified_name
from ..callers.source_text import future_flags
from ..callers.user_code import CONVERTS, HOOKS, OPERATORS, is_users
from .closure_cells import CELL, cells_of, in_closure_cells
from .operators import OperatorRewriter
from .outside.read_names import REACHED, note_as_written, note_attributes, note_reached, objects_among
from .rewriting import Rewriter
from .sites import Block, Region, Unit
from .source import ITEM, Scope, source_of
from .syntax import FIELDS, placed, walk

_REMEMBERED: Final = 4096
_PYTHONS: Final = ("heapq",)
"""The modules of Python whose functions are converted when they get traced numbers."""
_VARIABLES: Final = f"{HOOKS}_names"
_FUNCTION: Final = f"{HOOKS}_function"
"""The name under which a new function is compiled, so that its own name keeps its meaning inside."""


class OperatorsNeededError(Exception):
    """The function must be traced again with hooks for operators."""


MET: "ContextVar[dict[Conversion, None] | None]" = ContextVar("met", default=None)
"""The conversions that the outermost trace has used, in order."""


class Conversion:
    """A converted function: its new code, and its sites."""

    hooks: ClassVar[Callable[[Unit, FunctionType], Any] | None] = None
    """Makes the hooks of a function. Set by `runtime.staging.statements.hooks`."""

    callee: ClassVar[Callable[[Any], Any] | None] = None
    """The function to call instead of a function of a library. Set by the same module."""

    numpy_meaning: ClassVar[Callable[[Any], Callable[..., Any] | None]] = staticmethod(lambda function: None)
    """The function to call instead of one of NumPy; None for the function itself. Set by the same module."""

    def __init__(self, code: CodeType, scope: Scope, *, has_operators: bool = False) -> None:
        self.unit, self._scope = Unit(code, _code_of, has_operators=has_operators), scope
        tree = _rewritten(self.unit, scope)
        self.code = _compiled(self.unit, tree, scope.outer, scope.qualified_name).replace(
            co_name=code.co_name
        )

    @property
    def text(self) -> str:
        """The new function as text, below the line of the old one."""
        name = self.unit.file.replace("\\", "/").rpartition("/")[2]
        again = Unit(self.unit.original, _code_of, has_operators=self.unit.has_operators)
        tree = _rewritten(again, self._scope)
        return f"# {name}:{tree.lineno}\n" + ast.unparse(tree).replace(
            _FUNCTION, self.code.co_name.strip("<>"), 1
        )

    def bound_to(self, function: FunctionType) -> FunctionType:
        """The new function with the closure and the defaults of the old one."""
        assert Conversion.hooks is not None
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        cells[HOOKS] = CellType(Conversion.hooks(self.unit, function))
        closure = tuple(cells[name] for name in self.code.co_freevars)
        new = FunctionType(self.code, function.__globals__, function.__name__, function.__defaults__, closure)
        new.__kwdefaults__ = function.__kwdefaults__
        new.__qualname__ = function.__qualname__
        return new


@dataclass(frozen=True, slots=True)
class _Known:
    """The result for a code object, which is kept alive so that its id stays unique."""

    code: CodeType
    found: Conversion | str


_conversions: OrderedDict[tuple[int, int, bool, bool], _Known] = OrderedDict()


def converted(function: Any) -> Any:
    """`function` with hooks, if it is the user's and its source is available; otherwise `function` itself."""
    note_reached(function)
    if Conversion.hooks is None or not CONVERTS.get():
        note_as_written(function)
        return function
    if isinstance(function, FunctionType):
        found = conversion_of(function)
        if isinstance(found, str):
            note_as_written(function)
            return function
        if (met := MET.get()) is not None:
            met[found] = None
        return found.bound_to(function)
    if isinstance(function, MethodType):
        inner = converted(function.__func__)
        return function if inner is function.__func__ else MethodType(inner, function.__self__)
    if isinstance(function, partial):
        inner = converted(function.func)
        return function if inner is function.func else partial(inner, *function.args, **function.keywords)
    call = vars(type(function)).get("__call__")
    if type(call) is FunctionType and is_users(call.__code__.co_filename):
        return converted(MethodType(call, function))
    return function


def converted_library(function: FunctionType) -> Any:
    """A function of a library with hooks, if its source is available; otherwise `function` itself."""
    if Conversion.hooks is None or not CONVERTS.get():
        return function
    found = conversion_of(function, is_wanted=True)
    return function if isinstance(found, str) else found.bound_to(function)


def call_converted(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function with hooks, and note which attributes of its arguments it reads. With Python's own numbers, code
    that only computes runs as written."""
    if _runs_as_written(function, args, kwargs):
        return function(*args, **kwargs)
    note_reached(function, objects_among(function, args, kwargs))
    code = getattr(function, "__code__", None)
    if Conversion.callee is not None and not (isinstance(code, CodeType) and is_users(code.co_filename)):
        return Conversion.callee(function)(*args, **kwargs)
    return converted(function)(*args, **kwargs)


def _runs_as_written(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call is on Python's own numbers, and the function only computes with these."""
    found = known_number_functions(function) if CONVERTS.get() else None
    if found is None or not are_numbers((*args, *kwargs.values())):
        return False
    if type(function) is MethodType:
        x = function.__self__
        if not are_numbers(vars(x).values()):
            return False
        if id(x) not in found.noted:
            found.noted.add(id(x))
            note_attributes(x, found.attributes)
    if not found.are_noted:
        found.are_noted = True
        for one in found.functions:
            note_reached(one)
    return True


def known_number_functions(function: Any) -> NumberFunctions | None:
    """A function that computes with Python's numbers, and those that it calls; None for any other."""
    reached = REACHED.get()
    return None if reached is None else number_functions(function, reached.of_numbers)


def has_run_as_written(function: Any) -> bool:
    """Whether calls of a function or a method with Python's own numbers are known to need no hooks."""
    reached = REACHED.get()
    found = None if reached is None else reached.of_numbers.get(key_of(function))
    return found is not None and bool(found.functions)


def conversion_of(function: FunctionType, *, is_wanted: bool = False) -> "Conversion | str":
    """The conversion of a function, or the reason why it has none: by default, whether it belongs to a library."""
    code, is_named = function.__code__, is_wanted or _is_named(function.__module__)
    key = id(code), id(function.__globals__), is_named, OPERATORS.get()
    known = _conversions.get(key)
    if known is None:
        scope = source_of(function, is_wanted=is_named or is_users(code.co_filename))
        found = scope if isinstance(scope, str) else Conversion(code, scope, has_operators=OPERATORS.get())
        known = _conversions[key] = _Known(code, found)
        if len(_conversions) > _REMEMBERED:
            _conversions.popitem(last=False)
    return known.found


def _is_named(module: str | None) -> bool:
    """Whether a module belongs to a library whose functions should be converted, too."""
    named = CONVERTS.get()
    if module in _PYTHONS:
        return True
    return (
        isinstance(named, tuple)
        and module is not None
        and any(module == one or module.startswith(f"{one}.") for one in named)
    )


def _code_of(unit: Unit, block: Block) -> CodeType:
    """A function that runs a block on a dict of variables."""
    scope = block.scope
    body = _rewriter(unit, scope, block.region, block.kept).block(block.statements, ())
    shared = scope.shared
    mentioned = scope.facts.of(block.statements).mentioned
    names = sorted((mentioned | block.kept) & ((scope.own | scope.outer) - shared))
    names += [f"{CELL}{name}" for name in sorted(shared)]
    if ITEM in mentioned:
        names.append(ITEM)
    text = "\n".join(f"if {name!r} in {_VARIABLES}: {name} = {_VARIABLES}[{name!r}]" for name in names)
    ending = {
        Region.REST: f"return {HOOKS}.returned(None, locals())",
        Region.ITERATION: f"return {HOOKS}.fell(locals())",
        Region.BRANCH: f"return {HOOKS}.fell(locals())",
    }.get(block.region, "pass")
    last = block.statements[-1] if block.statements else scope.node
    inside = in_closure_cells(body, shared) if shared else body
    around = _function(_FUNCTION, [_VARIABLES], [*_placed(text, scope.node), *inside, *_placed(ending, last)])
    placed(around, block.statements[0] if block.statements else scope.node)
    code = _compiled(unit, _located(around), frozenset(), scope.qualified_name)
    return code.replace(co_name=scope.name)


def _rewriter(unit: Unit, scope: Scope, region: Region, kept: frozenset[str] = frozenset()) -> Rewriter:
    return (OperatorRewriter if unit.has_operators else Rewriter)(unit, scope, region, kept)


def _rewritten(unit: Unit, scope: Scope) -> ast.FunctionDef:
    rewriter, node = _rewriter(unit, scope, Region.FUNCTION), scope.node
    if isinstance(node, ast.Lambda):
        body: list[ast.stmt] = [placed(ast.Return(rewriter.expression(node.body)), node.body)]
    else:
        body = [*_placed(cells_of(scope.shared), node), *rewriter.block(node.body, ())]
    new = ast.FunctionDef(
        name=_FUNCTION, args=node.args, body=body, decorator_list=[], returns=None, type_comment=None
    )
    found: ast.FunctionDef = _located(placed(new, node))
    return found


def _compiled(unit: Unit, node: ast.FunctionDef, outer: frozenset[str], qualified_name: str) -> CodeType:
    """The code of a function that can see the hooks and the variables of enclosing functions."""
    around = placed(_function(f"{HOOKS}_outer", sorted({HOOKS, *outer}), [node]), node)
    code = compile(
        ast.Module([around], []), unit.file, "exec", future_flags(unit.original), dont_inherit=True
    )
    found = _inner(_inner(code, f"{HOOKS}_outer"), node.name)
    return with_qualified_name(found, qualified_name)


def _function(name: str, parameters: Sequence[str], body: list[ast.stmt]) -> ast.FunctionDef:
    """A function without a place."""
    given = ast.arguments(
        [], [ast.arg(one, lineno=1, col_offset=0) for one in parameters], None, [], [], None, []
    )
    return ast.FunctionDef(
        name=name, args=given, body=body, decorator_list=[], returns=None, type_comment=None
    )


def _located(node: Any, line: int = 1, column: int = 0) -> Any:
    """Give new nodes the place where the nodes around them begin.

    `ast.fix_missing_locations` would also give them the end of these nodes, and Python would then report the last line
    of a loop.
    """
    known = node.__dict__
    if "lineno" in known:
        line, column = known["lineno"], known["col_offset"]
    elif node._attributes:
        node.lineno = node.end_lineno = line
        node.col_offset = node.end_col_offset = column
    for name in FIELDS[node.__class__]:
        value = known.get(name)
        if value.__class__ is list:
            for one in value:
                if one is not None and (FIELDS[one.__class__] or "lineno" not in one.__dict__):
                    _located(one, line, column)
        elif value is not None and (FIELDS[value.__class__] or "lineno" not in value.__dict__):
            _located(value, line, column)
    return node


def _inner(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


def _placed(text: str, where: ast.AST) -> Iterator[ast.stmt]:
    """Give statements the line of another one."""
    for statement in ast.parse(text).body if text else ():
        for node in walk(statement):
            if "lineno" in node.__dict__:
                placed(node, where)
        yield statement

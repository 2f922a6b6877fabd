"""`GrowingLists`: lists that each iteration of a loop appends to. Afterwards, their new entries are rows of arrays."""

import ast
from collections.abc import Sequence
from typing import Any, Final

from ....compiler.frontend.syntax import walk
from ....compiler.tracing.rows import rows_of
from ...branching.slots import Slot
from ...branching.variables import has_memory
from ...eager.nested_function import NestedFunction
from .stacking import why_not_stacked
from .staged_loop import StagedLoop
from .unrolling import RunsInPythonError

_APPENDING: Final = frozenset({"append", "extend"})
_RAISING: Final = (ast.Raise, ast.Assert, ast.Try)
_INNER: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Global, ast.Nonlocal)


class GrowingLists:
    """The lists that the last traced iteration of a loop appended to.

    Raises:
        RunsInPythonError: anything else may see such a list before the loop ends, or an array that is appended.
    """

    def __init__(self, loop: StagedLoop) -> None:
        self.loop = loop
        for slot, items in loop.appended.items():
            names = [name for name, x in loop.names.items() if x is slot.holder]
            if len(names) != 1 or not _is_made_for(names[0], loop.site.node, loop.site.blocks[0].scope.node):
                raise RunsInPythonError("it may read a list that it appends to")
            if reason := why_not_stacked(items, loop.trace, (*loop.entering, *loop.leaving, *loop.rows)):
                raise RunsInPythonError(f"the items that it appends to a list {reason}")
            if any(map(has_memory, items.arrays)) and not _appends_new_arrays(names[0], loop.site.node):
                raise RunsInPythonError("it appends arrays to a list that other variables may see")

    def after(self, count: int, stacks: Sequence[Any], step: NestedFunction) -> dict[Slot, list[Any]]:
        """What the loop appends to each list. The first `count` results of a step are carried."""
        found: dict[Slot, list[Any]] = {}
        results = iter(zip(stacks, step.results[count:], strict=True))
        for slot, items in self.loop.appended.items():
            columns = [
                rows_of(stack, is_scalar=result.is_scalar, weak=result.weak)
                for stack, result in (next(results) for _ in items.arrays)
            ]
            found[slot] = [item for arrays in zip(*columns, strict=True) for item in items.filled(arrays)]
        return found


def _is_made_for(name: str, loop: ast.stmt, function: ast.AST) -> bool:
    """Whether a variable is bound to a new list in the block of the loop, and only appended to until the loop ends."""
    inside = walk(loop)
    if any(isinstance(node, _RAISING) for node in inside):
        return False
    if any(
        isinstance(node, _INNER) and node is not function and _mentions(node, name) for node in walk(function)
    ):
        return False
    block = next((block for block in _blocks(function) if any(one is loop for one in block)), [])
    place = next((i for i, one in enumerate(block) if one is loop), 0)
    made = next((i for i in range(place - 1, -1, -1) if _mentions(block[i], name)), -1)
    if made < 0 or not _binds_new_list(block[made], name):
        return False
    uses = sum(isinstance(node, ast.Name) and node.id == name for node in inside)
    return uses == sum(_appends(node, name) for node in inside)


def _appends_new_arrays(name: str, loop: ast.stmt) -> bool:
    """Whether what is appended has no other name, as in ``path.append(2 * x)`` and ``path.append(x.copy())``."""
    for node in walk(loop):
        match node:
            case ast.Expr(
                ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr=method), args=[one])
            ) if found == name:
                is_copy = (
                    isinstance(one, ast.Call)
                    and isinstance(one.func, ast.Attribute)
                    and one.func.attr == "copy"
                )
                if method != "append" or not (isinstance(one, ast.BinOp) or is_copy):
                    return False
            case _:
                pass
    return True


def _blocks(function: ast.AST) -> "list[list[ast.stmt]]":
    parts = (
        getattr(node, field, None) for node in walk(function) for field in ("body", "orelse", "finalbody")
    )
    return [part for part in parts if isinstance(part, list)]


def _mentions(node: ast.AST, name: str) -> bool:
    return any(
        (isinstance(one, ast.Name) and one.id == name)
        or (isinstance(one, ast.Global | ast.Nonlocal) and name in one.names)
        for one in walk(node)
    )


def _binds_new_list(node: ast.stmt, name: str) -> bool:
    """Whether it is ``name = [...]``, perhaps beside other variables: ``a, b = [], []``."""
    match node:
        case ast.Assign(targets=[ast.Name(id=found)], value=ast.List() as value):
            return found == name and not _mentions(value, name)
        case ast.AnnAssign(target=ast.Name(id=found), value=ast.List() as value):
            return found == name and not _mentions(value, name)
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            pairs = list(zip(targets, values, strict=False))
            own = [value for target, value in pairs if isinstance(target, ast.Name) and target.id == name]
            return len(targets) == len(values) and len(own) == 1 and isinstance(own[0], ast.List)
        case _:
            return False


def _appends(node: ast.AST, name: str) -> bool:
    """Whether it is the statement ``name.append(x)``."""
    match node:
        case ast.Expr(ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr=method))):
            return found == name and method in _APPENDING
        case _:
            return False

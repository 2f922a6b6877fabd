"""`GrowingLists`: lists that each iteration of a loop appends to. Afterwards, their new entries are rows of arrays."""

import ast
from collections.abc import Sequence
from typing import Any, Final

from ....compiler.frontend.syntax import walk
from ....compiler.tracing.rows import rows_of
from ....compiler.tracing.sharing import TELLS_APART, share
from ....compiler.tracing.traced_memory import is_traced
from ...branching.references import memory_of
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
        self.may_be_seen = False
        """Whether variables of the loop may be arrays that are in a list."""
        named, seen = list[Any](), list[Any]()
        for slot, items in loop.appended.items():
            names = [name for name, x in loop.names.items() if x is slot.holder]
            if len(names) != 1 or not _is_made_for(names[0], loop.site.node, loop.site.blocks[0].scope.node):
                raise RunsInPythonError("it may read a list that it appends to")
            arrays = list(filter(has_memory, items.arrays))
            is_new = not arrays or _appends_new_arrays(names[0], loop.site.node)
            others = (*loop.entering, *loop.leaving) if is_new else ()
            if reason := why_not_stacked(items, loop.trace, (*others, *loop.rows, *seen)):
                raise RunsInPythonError(f"the items that it appends to a list {reason}")
            if not is_new and not _appends_one_by_one(names[0], loop.site.node):
                raise RunsInPythonError("it appends arrays to a list that other variables may see")
            named += [] if is_new else arrays
            seen += arrays
        if named:
            self._check_variables(named)

    def _check_variables(self, appended: Sequence[Any]) -> None:
        """Refuse to append arrays of variables, as in ``path.append(state)``, unless nothing writes to them before the
        loop ends, and each iteration appends arrays that no other has appended."""
        loop = self.loop
        if TELLS_APART.get():
            raise RunsInPythonError("it appends arrays to a list that other variables may see")
        leaves = zip(loop.carry.leaves, loop.entering, loop.leaving, strict=True)
        variables = [(before, *others) for before, *others in leaves if has_memory(before)]
        if not all(is_traced(before) and is_traced(leaving) for before, _, leaving in variables):
            raise RunsInPythonError("it appends arrays of NumPy's own to a list")
        if any(entering._storage.version for _, entering, _ in variables):
            raise RunsInPythonError("it writes to arrays that may be in a list")
        begin = {id(entering._storage) for _, entering, _ in variables}
        end = {id(storage) for _, _, leaving in variables for storage in memory_of(leaving)}
        own = {id(x._storage) for x in appended}
        if own & begin and own & end:  # what one iteration appends, the next one may have and append, too
            raise RunsInPythonError("it may append the same array several times")
        self.may_be_seen = True

    def after(
        self, last: Sequence[Any], stacks: Sequence[Any], step: NestedFunction
    ) -> dict[Slot, list[Any]]:
        """What the loop appends to each list. The first results of a step are carried; in the end, they are `last`."""
        for i, x in enumerate(self.loop.carry.leaves if self.may_be_seen else ()):
            for array in (x, last[i]) if has_memory(x) else ():
                for stack in stacks:
                    share(
                        stack._storage, array._storage, f"the {self.loop.where}, which appends it to a list,"
                    )
        found: dict[Slot, list[Any]] = {}
        count = len(last)
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
    return _appends_one_by_one(name, loop) and all(map(_makes_an_array, _appended(name, loop)))


def _makes_an_array(node: ast.expr) -> bool:
    match node:
        case ast.BinOp() | ast.Call(func=ast.Attribute(attr="copy")):
            return True
        case _:
            return False


def _appends_one_by_one(name: str, loop: ast.stmt) -> bool:
    """Whether arrays are only appended, without ``path.extend``."""
    return len(_appended(name, loop)) == sum(_appends(node, name) for node in walk(loop))


def _appended(name: str, loop: ast.stmt) -> list[ast.expr]:
    """The arguments of all ``name.append(x)``."""
    found: list[ast.expr] = []
    for node in walk(loop):
        match node:
            case ast.Expr(
                ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr="append"), args=[one])
            ) if own == name:
                found.append(one)
            case _:
                pass
    return found


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

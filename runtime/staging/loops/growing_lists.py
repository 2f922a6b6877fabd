"""`GrowingLists`: lists that each iteration of a loop appends to. Afterwards, their new entries are rows of arrays."""

import ast
from collections.abc import Sequence
from typing import Any, Final

from ....compiler.frontend.syntax import walk
from ....compiler.tracing.rows import rows_of
from ....compiler.tracing.sharing import share
from ....compiler.tracing.traced_array import is_traced
from ...branching.slots import Slot
from ...branching.variables import has_memory, is_computed
from ...eager.nested_function import NestedFunction
from .staged_loop import StagedLoop
from .unrolling import RunsInPythonError

_APPENDING: Final = frozenset({"append", "extend"})


class GrowingLists:
    """The lists that the last traced iteration of a loop appended to.

    Raises:
        RunsInPythonError: the loop may read such a list, or append arrays that other variables can see.
    """

    def __init__(self, loop: StagedLoop) -> None:
        self.loop = loop
        for slot, items in loop.appended.items():
            if not self._is_only_appended_to(slot.holder):
                raise RunsInPythonError(f"it may read {slot.holder!r:.40}, a list that it appends to")
            known = [x for x in items.leaves if not is_computed(x)]
            if not items.arrays or not all(x is None or isinstance(x, str | bytes) for x in known):
                raise RunsInPythonError("it appends other objects than arrays and numbers to a list")
            self._require_own_memory([x for x in items.arrays if has_memory(x)])

    def _is_only_appended_to(self, holder: list[Any]) -> bool:
        """Whether the loop can reach a list by one variable only, and does nothing else than append to it."""
        loop = self.loop
        names = [name for name, x in loop.names.items() if x is holder]
        if len(names) != 1 or any(_holds(x, state, holder) for _, x, state in loop.watch.before):
            return False
        nodes = walk(loop.site.node)
        uses = sum(isinstance(node, ast.Name) and node.id == names[0] for node in nodes)
        return uses == sum(_appends(node, names[0]) for node in nodes)

    def _require_own_memory(self, arrays: Sequence[Any]) -> None:
        loop = self.loop
        made = {id(x._storage) for x in arrays if is_traced(x)}
        rows = {id(x._storage) for x in loop.rows if is_traced(x)}
        if len(made) < len(arrays) or made & rows:
            raise RunsInPythonError("it appends arrays that share memory to a list")
        for x in arrays:
            storage = x._storage
            if (
                storage.trace is not loop.trace
                or storage.shared_with
                or x._views
                or not x.layout.is_row_major
            ):
                raise RunsInPythonError("it appends arrays to a list that are not new")
            for one in loop.entering:
                if is_traced(one) and one._storage is storage and (storage.version or storage.unreadable):
                    raise RunsInPythonError("it appends an array to a list that it writes to")

    def after(self, last: list[Any], stacks: Sequence[Any], step: NestedFunction) -> dict[Slot, list[Any]]:
        """What the loop appends to each list. `last` holds the carried arrays after it; one that is also the last new
        entry of a list becomes that entry."""
        loop, found = self.loop, dict[Slot, list[Any]]()
        results = iter(zip(stacks, step.results[len(last) :], strict=True))
        for slot, items in loop.appended.items():
            columns: list[list[Any]] = []
            for x in items.arrays:
                stack, result = next(results)
                columns.append(rows_of(stack, is_scalar=result.is_scalar, weak=result.weak))
                if has_memory(x):
                    self._join(x, columns[-1], last)
            found[slot] = [item for arrays in zip(*columns, strict=True) for item in items.filled(arrays)]
        return found

    def _join(self, x: Any, rows: list[Any], last: list[Any]) -> None:
        """Let the entries of a list share memory with the carried arrays that they are."""
        loop = self.loop
        for place, (entering, leaving) in enumerate(zip(loop.entering, loop.leaving, strict=True)):
            if is_traced(leaving) and leaving._storage is x._storage and not leaving._views:
                last[place] = rows[-1]
            before = loop.carry.leaves[place]
            if is_traced(entering) and entering._storage is x._storage and is_traced(before):
                share(
                    before._storage,
                    rows[0]._storage,
                    f"the {loop.where}, which appends `{loop.carry.paths[place]}`,",
                )


def _holds(x: Any, state: Any, holder: list[Any]) -> bool:
    """Whether an object holds the list, according to a copy of its contents."""
    if x is holder or not isinstance(state, list | dict):
        return False
    return any(one is holder for one in (state.values() if isinstance(state, dict) else state))


def _appends(node: ast.AST, name: str) -> bool:
    """Whether it is the statement ``name.append(x)``."""
    match node:
        case ast.Expr(ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr=method))):
            return found == name and method in _APPENDING
        case _:
            return False

"""`PythonLoop`: a loop of `scan`, `fori_loop` or `while_loop` that runs as a loop of Python, without a graph.

Outside of any trace this is many times as fast as the interpreter of graphs. It also does what Python does: each turn
runs the body, which prints, appends and sees numbers. Inside of uncompiled transforms, a loop keeps more for the
derivative than its graph would, so only bodies that may change objects run there.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import optree

from ...compiler.arguments.leaves import is_array_like, leaf_type, path_names, weak_type
from ...compiler.errors import CarryMismatchError, TransformTypeError
from ...compiler.frontend.conversion import converted
from ...compiler.interpreter import are_calls_observed
from ...compiler.tracing.trace import Trace, current_trace
from ...compiler.tracing.traced_memory import is_numpy_array, is_traced
from ..eager.nested_function import Result, name_with_line
from ..eager.transform_log import is_seen
from ..trees import flatten, show
from .carry import Carry, converted_leaf
from .changing_code import may_change_objects

_PLAIN = frozenset({np.ndarray, bool, int, float, complex})


def runs_in_python(leaves: Sequence[Any], *functions: Callable[..., Any], keeps_all: bool) -> bool:
    """Whether a loop of these functions over these leaves runs as a loop of Python.

    Where derivatives go back through it, it can if they may keep all turns (`keeps_all`).
    """
    if are_calls_observed() or is_seen():
        return False
    trace = current_trace()
    if trace is None:
        return all(type(leaf) in _PLAIN or isinstance(leaf, np.generic) for leaf in leaves)
    return keeps_all and runs_once(trace) and may_change_objects(*functions)


def runs_once(trace: Trace) -> bool:
    """Whether what is traced runs in this call only, so that what functions change is changed now."""
    return not trace.outermost().is_kept


def known_number(x: Any) -> Any:
    """A number as it is now; None if it is known only later, or differs between the examples of a batch."""
    if not is_traced(x):
        return x
    return (current_trace() or x._trace).shared_by_examples(x.value)


class PythonLoop:
    """The turns of a loop. `carry` says what each must return."""

    def __init__(self, where: str, function: Callable[..., Any], carry: Carry) -> None:
        """Messages name `function`."""
        self.where, self.carry = where, carry
        self.name = name_with_line(function)
        self.leaves = list(map(separate, carry.leaves))
        """The current carry."""
        self.has_promoted = False
        """Whether a Python number in the carry has taken another type since the first step."""

    def __str__(self) -> str:
        return self.name

    def pair(self, result: Any) -> Any:
        """A carry and what is stacked."""
        if type(result) is not tuple or len(result) != 2:
            raise CarryMismatchError(
                f"{self.where}: {self} must return a pair (carry, y), not {show(flatten(result)[1])}: y may be None"
            )
        return result

    def follow(self, returned: Any) -> None:
        """Go on with the carry that a turn has returned."""
        leaves, tree = flatten(returned)
        self.carry.check_structure(self, tree)
        if not all(map(_is_same, leaves, self.leaves)):
            if self.carry.promoted(self, self.results(leaves, tree, "result")):
                self.has_promoted = True
            leaves = [self._as_carried(leaf, place) for place, leaf in enumerate(leaves)]
        self.leaves = list(map(separate, leaves))

    def _as_carried(self, leaf: Any, place: int) -> Any:
        """The leaf; in the type of the carry, if it is a number that takes it."""
        weak, found = self.carry.weak[place], weak_type(leaf)
        if found is None or found is weak:
            return leaf
        if weak is not None and not is_traced(leaf):
            return weak(leaf)
        return converted_leaf(leaf, self.carry.types[place])

    def results(self, leaves: Sequence[Any], tree: Any, name: str) -> list[Result]:
        """What is known of the leaves of a result, which messages call by name."""
        paths = path_names(tree, name)
        for leaf, path in zip(leaves, paths, strict=True):
            if not is_array_like(leaf):
                raise TransformTypeError(
                    f"{self.where}: {self} returns {type(leaf).__name__} as {path}, which is not an array or a number"
                )
        return [
            Result(leaf_type(leaf, path), weak_type(leaf), not is_numpy_array(leaf), -1, leaf)
            for leaf, path in zip(leaves, paths, strict=True)
        ]


def holds(where: str, condition: Callable[..., Any], result: Any) -> bool | None:
    """Whether a loop goes on, given the result of its condition; None if that is not known."""
    if not is_array_like(result) or np.shape(result):
        found = leaf_type(result, "result") if is_array_like(result) else show(flatten(result)[1])
        raise TransformTypeError(
            f"{where}: {name_with_line(condition)} must return one bool or number, not {found}: use .any() or .all()"
        )
    known = known_number(result)
    return None if known is None else bool(known)


class Stacks:
    """What the turns of a `scan` stack."""

    def __init__(self, loop: PythonLoop) -> None:
        self.loop = loop
        self.tree: Any = None
        self.columns: list[list[Any]] = []
        """For each leaf, those of all turns."""

    def add(self, y: Any) -> None:
        leaves, tree = flatten(y)
        results = self.loop.results(leaves, tree, "result[1]")
        if self.tree is None:
            self.tree, self.columns = tree, [[] for _ in leaves]
        elif tree != self.tree:
            raise TransformTypeError(
                f"{self.loop.where}: {self.loop} returns {show(self.tree)} as y in one step, and {show(tree)} in "
                "another"
            )
        for column, leaf, result in zip(self.columns, leaves, results, strict=True):
            if column and np.shape(column[0]) != result.type.shape:
                raise TransformTypeError(
                    f"{self.loop.where}: {self.loop} returns a y of shape {np.shape(column[0])} in one step, and of "
                    f"shape {result.type.shape} in another"
                )
            column.append(separate(leaf))

    def stacked(self, *, reverse: bool) -> Any:
        columns = map(self._in_one_type, self.columns)
        arrays = [np.stack(column[::-1] if reverse else column) for column in columns]
        return optree.tree_unflatten(self.tree, arrays)

    def _in_one_type(self, column: list[Any]) -> list[Any]:
        """The column in the type that it has in a graph, where all steps get the final types of the carry."""
        last = column[-1]
        if not self.loop.has_promoted or weak_type(last) is not None:
            return column
        type_ = leaf_type(last, "result[1]")
        return [leaf if leaf_type(leaf, "y") == type_ else converted_leaf(leaf, type_) for leaf in column]


@contextmanager
def running_bodies() -> Generator[Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """Within the block, the user's functions run. It gives what makes a function ready for the current trace."""
    trace = current_trace()
    if trace is None:
        yield lambda function: function
        return
    before, trace.location = trace.location, None
    try:
        yield converted
    finally:
        trace.location = before


def _is_same(new: Any, old: Any) -> bool:
    """Whether two leaves certainly have one type."""
    if type(new) is not type(old):
        return False
    return isinstance(new, (float, np.generic)) or (
        type(new) is np.ndarray and new.dtype == old.dtype and new.shape == old.shape
    )


def separate(leaf: Any) -> Any:
    """The leaf in memory of its own, as a turn may write to it."""
    return leaf.copy() if type(leaf) is np.ndarray or (is_traced(leaf) and leaf.ndim) else leaf

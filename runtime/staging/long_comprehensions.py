"""``[f(x) for x in xs]`` with many items: the entry is traced once, as the step of a loop that stacks the entries."""

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import lru_cache, partial
from types import CodeType
from typing import Any, Final, Protocol

from ...compiler.callers.user_code import user_location
from ...compiler.dtypes import INT64
from ...compiler.frontend.program import Argument
from ...compiler.ir import ArrayType
from ...compiler.numpy_surface.arrays.flat import FlatIterator
from ...compiler.tracing.rows import rows_of, stack_of
from ...compiler.tracing.trace import current_trace, require_trace
from ...compiler.tracing.traced_array import array_on
from ...compiler.tracing.traced_memory import is_traced
from ..branching.effects_of_code import has_no_effects
from ..branching.variables import Held, held
from ..branching.watching import watch_called, watching
from ..control_flow.carry import Carry
from ..control_flow.scan import run_loop, slices_of
from ..eager.nested_function import NestedFunction
from ..trees import structure
from .loops.growing_numbers import may_outgrow
from .loops.iterations import Iterations, StagedRange, iterations_of
from .loops.open_generators import OpenPairs
from .loops.stacking import why_not_stacked
from .loops.unrolling import RunsInPythonError, is_very_long, raise_own_fault
from .tables import note_range, range_of_known

_WHERE: Final = "a comprehension"
_EXHAUSTING: Final = (sum, min, max, list, tuple, sorted)


class Make(Protocol):
    """A function from items to the list of their entries."""

    __code__: CodeType

    def __call__(self, items: Iterable[Any], /) -> list[Any]: ...


def stacked_list(make: Make, items: Any, function: Any = list) -> Iterable[Any]:
    """``[entry for target in items]``, where ``make(items)`` is that comprehension for any items.

    With many items, also together with those of comprehensions around this one, the entries are rows of an array that
    the program computes in a loop. If the comprehension is the argument of a `function` that is not Python's own, it
    remains a generator.
    """
    if not any(function is one for one in _EXHAUSTING):
        return (entry for item in items for entry in make((item,)))
    trace = current_trace()
    if trace is None:
        return make(items)
    if function is sum and type(items) is StagedRange and not trace.is_evaluating:
        return OpenPairs(partial(_pairs_of, make), items)
    over = items.copy() if isinstance(items, FlatIterator) else items
    iterations = iterations_of(over)
    if iterations is None or type(iterations.length) is not int:
        return make(items)
    around = _NEST.get()
    nest = _Nest(iterations.length * (1 if around is None else around.entries))
    if not (is_very_long(nest.entries) or _holds_comprehension(make.__code__)):
        return make(items)
    token = _NEST.set(nest)
    try:
        return _staged(make, iterations, nest, may_write=over is items)
    except Exception as error:  # entry by entry, it may work, or fail at the right place
        raise_own_fault(error)
    finally:
        _NEST.reset(token)
        if around is not None:
            around.most = max(around.most, nest.most)
    return make(items)


def _pairs_of(make: Make, items: Iterable[Any]) -> Iterator[tuple[bool, Callable[[], Any]]]:
    """The entries as those of a comprehension whose test always holds."""
    return ((True, lambda item=item: make((item,))[0]) for item in items)  # type: ignore[misc]


class _Nest:
    """The comprehensions whose entries are being traced, and those in their entries."""

    def __init__(self, entries: int) -> None:
        self.entries = self.most = entries
        """How many entries an innermost one makes in all, and the most that any of them makes."""


_NEST: ContextVar[_Nest | None] = ContextVar("nest", default=None)


@lru_cache(4096)
def _holds_comprehension(code: CodeType) -> bool:
    """Whether entries may be made of entries of other comprehensions."""
    return "stacked_list" in code.co_names or any(
        _holds_comprehension(one) for one in code.co_consts if isinstance(one, CodeType)
    )


class _Entry:
    """One entry of a comprehension, traced for any of its items."""

    def __init__(self, make: Make, iterations: Iterations) -> None:
        self.make, self.iterations = make, iterations
        self.ranges = [range_of_known(array) for array in iterations.rows]
        self.form: Held
        self.row: Any = None
        """If the entry is a list of the rows of an array, one of them, and then the array stands for the list."""
        self.depth = 0
        """How many lists are around such a row: 2 in a list of lists."""

    def arrays(self, leaves: list[Any]) -> list[Any]:
        """The arrays and numbers of the entry, from the number of the item and its rows."""
        number, *rows = leaves
        note_range(number, (0, self.iterations.length - 1))
        for row, ends in zip(rows, self.ranges, strict=True):
            note_range(row, ends)
        item = self.iterations.item(number, rows)
        note_range(item, self.iterations.ends)
        (found,) = self.make((item,))
        if type(found) is list and (whole := _array_of(found)) is not None:
            self.row, self.depth = found, 0
            while type(self.row) is list:
                self.row, self.depth = self.row[0], self.depth + 1
            found = whole
        self.form = held(found)
        if reason := why_not_stacked(self.form, require_trace(), leaves):
            raise RunsInPythonError(f"its entries {reason}")
        return self.form.arrays


def _staged(make: Make, iterations: Iterations, nest: _Nest, *, may_write: bool) -> list[Any]:
    """The entries as rows of arrays.

    Raises:
        RunsInPythonError: the entries are not new numbers and arrays of the same types that only the program knows.
    """
    slices = slices_of(_WHERE, iterations.rows, iterations.length)
    counter = Argument(ArrayType(INT64, ()), "i", int, is_scalar=True)
    given, entry = [counter, *slices.arguments], _Entry(make, iterations)
    with watching(_WHERE, {}, user_location()) as watch:
        watch.before_calls = _refuse_effects
        watch_called(make)
        tree = structure((([0] * len(given),), {}))
        step = NestedFunction(_WHERE, entry.arrays, tree, given, repeats=True, is_block=True)
    if not is_very_long(nest.most):
        raise RunsInPythonError("it is short")
    if any(not may_write or (isinstance(place, int) and place < len(given)) for place in step.written):
        raise RunsInPythonError("it writes to its items")
    used: list[Any] = [*step.captured.values(), *iterations.rows]
    if not any(is_traced(x) and not x._trace.can_be_known(x.value) for x in used):
        raise RunsInPythonError("it computes numbers that Python knows")
    if may_outgrow(step.program.graph, [], iterations.length):
        raise RunsInPythonError("it computes Python ints that may exceed 64 bits")
    _, stacks = run_loop(step, Carry(_WHERE, "carried", []), slices, {}, None, first=0)
    columns = [
        rows_of(stack, is_scalar=result.is_scalar, weak=result.weak)
        for stack, result in zip(stacks, step.results, strict=True)
    ]
    if entry.row is not None:
        return [_lists_of(rows, entry.row, entry.depth) for rows in columns[0]]
    if entry.form.tree == held(0).tree:
        return columns[0]
    return [entry.form.filled(arrays) for arrays in zip(*columns, strict=True)]


def _array_of(entries: list[Any]) -> Any:
    """The array whose rows are the entries of a list, or of the lists in it; None if there is none."""
    rows = [_array_of(one) if type(one) is list else one for one in entries]
    found = None if any(one is None for one in rows) else stack_of(rows)
    return None if found is None else array_on(*found)


def _lists_of(array: Any, row: Any, depth: int) -> list[Any]:
    """The rows of an array as lists nested to this depth, each in the form of `row`."""
    if depth == 1:
        return rows_of(array, is_scalar=row.is_scalar, weak=row.weak)
    return [_lists_of(part, row, depth - 1) for part in rows_of(array)]


def _refuse_effects(function: Any) -> None:
    if not has_no_effects(function):
        raise RunsInPythonError("it calls functions that may do more than to return a value")

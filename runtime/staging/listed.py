"""``[f(x) for x in xs]`` with many items: the entry is traced once, as the step of a loop that stacks the entries."""

from collections.abc import Callable, Iterable
from typing import Any, Final

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
from .loops.iterations import Iterations, iterations_of
from .loops.stacking import why_not_stacked
from .loops.unrolling import RunsInPythonError, is_very_long, raise_own_fault
from .tables import note_range, range_of_known

Make = Callable[[Iterable[Any]], list[Any]]
_WHERE: Final = "a comprehension"
_EXHAUSTING: Final = (sum, min, max, list, tuple, sorted)


def listed(make: Make, items: Any, function: Any = list) -> Iterable[Any]:
    """``[entry for target in items]``, where ``make(items)`` is that comprehension for any items.

    With many items, the entries are rows of an array that the program computes in a loop. If the comprehension is the
    argument of a `function` that is not Python's own, it remains a generator.
    """
    if not any(function is one for one in _EXHAUSTING):
        return (entry for item in items for entry in make((item,)))
    if current_trace() is None:
        return make(items)
    over = items.copy() if isinstance(items, FlatIterator) else items
    iterations = iterations_of(over)
    if iterations is None or type(iterations.length) is not int or not is_very_long(iterations.length):
        return make(items)
    try:
        return _staged(make, iterations, may_write=over is items)
    except Exception as error:  # entry by entry, it may work, or fail at the right place
        raise_own_fault(error)
        return make(items)


class _Entry:
    """One entry of a comprehension, traced for any of its items."""

    def __init__(self, make: Make, iterations: Iterations) -> None:
        self.make, self.iterations = make, iterations
        self.ranges = [range_of_known(array) for array in iterations.rows]
        self.form: Held
        self.row: Any = None
        """If the entry is a list of the rows of an array, one of them, and then the array stands for the list."""

    def arrays(self, leaves: list[Any]) -> list[Any]:
        """The arrays and numbers of the entry, from the number of the item and its rows."""
        number, *rows = leaves
        note_range(number, (0, self.iterations.length - 1))
        for row, ends in zip(rows, self.ranges, strict=True):
            note_range(row, ends)
        item = self.iterations.item(number, rows)
        note_range(item, self.iterations.ends)
        (found,) = self.make((item,))
        if type(found) is list and (stack := stack_of(found)) is not None:
            self.row, found = found[0], array_on(*stack)
        self.form = held(found)
        if reason := why_not_stacked(self.form, require_trace(), leaves):
            raise RunsInPythonError(f"its entries {reason}")
        return self.form.arrays


def _staged(make: Make, iterations: Iterations, *, may_write: bool) -> list[Any]:
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
        is_scalar, weak = entry.row.is_scalar, entry.row.weak
        return [rows_of(rows, is_scalar=is_scalar, weak=weak) for rows in columns[0]]
    if entry.form.tree == held(0).tree:
        return columns[0]
    return [entry.form.filled(arrays) for arrays in zip(*columns, strict=True)]


def _refuse_effects(function: Any) -> None:
    if not has_no_effects(function):
        raise RunsInPythonError("it calls functions that may do more than to return a value")

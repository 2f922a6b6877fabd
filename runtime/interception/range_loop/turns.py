"""`LoopTracer`: a loop over a range, whose body is read, as one `fori_loop`; or an error, before it has an effect."""

import ast
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from ....compiler.callers.live_names import assigned, live_around
from ....compiler.callers.loop_source import LoopSource
from ....compiler.ir import Constant, Value
from ....compiler.symbolic_size import is_known, max_expr, same_shape
from ....compiler.tracing.trace import Storage, Trace, next_number, require_trace
from ...control_flow.fori_loop import fori_loop
from .counted import BoundedInt
from .indexing import read_item
from .reader import Host, Reader, Variables
from .values import NotInLanguageError, is_array, is_same, is_traced_exactly

_UNBOUND: Final = object()


class _CarriedError(Exception):
    """The loop rebinds more variables than it was thought to."""

    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self.names = names


class _FirstTurnError(Exception):
    """A variable becomes an array in the first turn, which must be taken by itself."""


class LoopTracer:
    """Runs a loop of a function, and those inside of it, and can undo what they wrote to arrays."""

    def __init__(self, source: LoopSource, module: Mapping[str, Any], python: Mapping[str, Any]) -> None:
        self.function = source.function
        self.reader = Reader(source.code, module, python, Host(self.run, self._writing, self._is_data))
        self._trace = require_trace()
        self._written: list[Storage] = []
        self._numbers: dict[Trace, set[Value]] = {}
        self._before: dict[int, tuple[Storage, Any]] = {}

    def run(self, loop: ast.For, bounds: tuple[Any, ...], names: Variables, rows: Any = None) -> None:
        """Run a loop over ``range(*bounds)``, or over the rows of an array that have these numbers.

        It binds what the loop does for those who read it behind it.
        """
        start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        if not isinstance(loop.target, ast.Name):
            raise NotInLanguageError("its counter is no variable")
        if type(step) is not int or step == 0:
            raise NotInLanguageError("the step of its range depends on a size")
        after, kept = live_around(self.function, loop)
        target = loop.target.id
        bound = set[str]().union(*map(assigned, loop.body))
        if target in bound and target in after:
            raise NotInLanguageError(f"it binds `{target}`, which is read behind it")
        self.reader.check_own(target)
        one = _OneLoop(self, loop, names, tuple(sorted(bound & kept)), (start, stop, step), rows)
        if target in after and not one.has_turns():
            return
        names.update(one.run())
        if target in after:
            names[target] = one.item(start + (one.count - 1) * step)

    def undo(self) -> None:
        """Let all arrays be what they were before the first loop."""
        for storage, value in self._before.values():
            storage.write(value)

    def _writing(self, array: Any) -> None:
        storage = array._storage
        if storage.trace.is_captured(storage):
            raise NotInLanguageError("it writes to an array from outside of the function")
        self._written.append(storage)
        if self._trace.is_within(storage.trace):
            mine = self._trace.shadow(storage)
            self._before.setdefault(id(mine), (mine, mine.value))

    def note_numbers(self, *numbers: Any) -> None:
        """Let arguments of the function that is being traced be numbers that Python would know, turn by turn."""
        self._numbers[require_trace()] = {one.value for one in numbers}

    def is_of_arrays(self, trace: Trace, value: Value) -> bool:
        """Whether a value of a turn is computed from an array of the program, so that Python never knows it."""
        return trace not in self._numbers or self._reaches(trace, value, self.is_of_arrays)

    def _is_data(self, array: Any) -> bool:
        trace = require_trace()
        return trace.concrete(array.value) is not None or self._is_of_data(trace, array.value)

    def _is_of_data(self, trace: Trace, value: Value) -> bool:
        return self._reaches(trace, value, self._is_of_data)

    def _reaches(self, trace: Trace, value: Value, outside: Callable[[Trace, Value], bool]) -> bool:
        """Whether a value is computed from an argument that is no number of the turn, or from what is one `outside`."""
        stack, seen = [value], set(self._numbers.get(trace, ()))
        while stack:
            top = stack.pop()
            if top in seen or isinstance(top, Constant):
                continue
            seen.add(top)
            call = trace.producer(top)
            if call is not None:
                stack += call.inputs
                continue
            captured = trace.captured_behind(top)
            if isinstance(captured, Storage):
                if outside(captured.trace, captured.value):
                    return True
            elif not isinstance(captured, np.ndarray):
                return True
        return False

    def written_since(self, mark: int) -> list[Storage]:
        """The memory that was written to; `mark` is how often something was before."""
        return self._written[mark:]

    @property
    def mark(self) -> int:
        """How often something was written."""
        return len(self._written)


class _OneLoop:
    """One loop over a range, and what of the names that it finds it may rebind for others."""

    def __init__(
        self,
        turns: LoopTracer,
        loop: ast.For,
        names: Variables,
        kept: tuple[str, ...],
        span: tuple[Any, Any, int],
        rows: Any,
    ) -> None:
        self.rows = rows
        self.turns, self.loop, self.names, self.kept = turns, loop, names, kept
        self.start, self.stop, self.step = span
        distance = self.stop - self.start if self.step > 0 else self.start - self.stop
        self.count = (distance + abs(self.step) - 1) // abs(self.step)
        """How many turns there are, where it is not negative."""

    def run(self) -> Variables:
        """The variables that it rebinds."""
        try:
            return self._looped(self.names)
        except _FirstTurnError:
            pass
        if not self.has_turns():
            return {}
        began, names = next_number(), self.names | {self.target: self.item(self.start)}
        self.turns.reader.run(self.loop.body, names)
        kept = {name: names[name] for name in self.kept if name in names}
        return kept | self._looped(names, began)

    def item(self, number: Any) -> Any:
        """What the loop binds in the turn of this number."""
        return number if self.rows is None else read_item(self.rows, number)

    @property
    def target(self) -> str:
        """The name of the counter."""
        assert isinstance(self.loop.target, ast.Name)
        return self.loop.target.id

    def has_turns(self, count: int = 1) -> bool:
        """Whether there are so many turns. The program is for the answer, if it depends on sizes."""
        return bool(self.count >= count)

    def _looped(self, names: Variables, began: int | None = None) -> Variables:
        """All turns, or all but the first where that is taken already and began so, as one loop of the program."""
        taken = 0 if began is None else 1
        count = self.count - taken
        if not is_known(count >= 0):
            count = max_expr(0, count)
        first = self.start + taken * self.step
        lo = first if self.step == 1 else 0
        carried: tuple[str, ...] = ()
        while True:
            arrays = [name for name in carried if not _is_scalar(names[name])]
            if began is not None:
                others = [names[name] for name in self.kept if name in names and name not in arrays]
                _require_fresh({name: names[name] for name in arrays}, began, _storages(tuple(others)))
            is_number = any(not is_traced_exactly(names[name]) for name in carried)
            if (is_number or (arrays and not taken)) and not self.has_turns(1 + taken):
                return {}
            turn = _Turn(self, names, carried, first, is_second=bool(taken))
            try:
                last = fori_loop(lo, lo + count, turn.turn, tuple(names[name] for name in carried))
            except _CarriedError as more:
                carried = tuple(sorted({*carried, *more.names}))
            else:
                return dict(zip(carried, last, strict=True))


class _Turn:
    """A turn for all values of the counter."""

    def __init__(
        self, one: _OneLoop, names: Variables, carried: tuple[str, ...], first: Any, *, is_second: bool
    ) -> None:
        self.one, self.names, self.carried, self.first = one, names, carried, first
        self.is_second = is_second

    def turn(self, i: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """From the carried variables before it to those behind it."""
        turns, given = self.one.turns, dict(zip(self.carried, state, strict=True))
        before, began = self.names | given, next_number()
        names = before | {self.one.target: self.one.item(self._counter(i))}
        mark = turns.mark
        known = [given[name] for name in self.carried if not is_traced_exactly(self.names[name])]
        turns.note_numbers(i, *known)
        turns.reader.run(self.one.loop.body, names)
        self._check_written(turns.written_since(mark), given)
        rebound = self._rebound(before, names)
        _require_fresh(rebound, began)
        for name, array in rebound.items():
            if not turns.is_of_arrays(require_trace(), array.value):
                raise NotInLanguageError(f"`{name}` is a number that Python knows in each turn")
        if more := rebound.keys() - given.keys():
            raise _CarriedError(set(more))
        return tuple(names[name] for name in self.carried)

    def _counter(self, i: Any) -> BoundedInt:
        step, first, stop = self.one.step, self.first, self.one.stop
        number = i if step == 1 else i * step + first
        return BoundedInt(number, first, stop - 1) if step > 0 else BoundedInt(number, stop + 1, first)

    def _check_written(self, written: list[Storage], given: Variables) -> None:
        """A variable that is rebound is a new array in each turn, which nobody else has."""
        for name in self.carried:
            for array in (given[name], self.names[name]):
                if is_traced_exactly(array) and any(array._storage is storage for storage in written):
                    raise NotInLanguageError(f"it writes to `{name}`, and rebinds it")

    def _rebound(self, before: Variables, names: Variables) -> Variables:
        """The variables that are other arrays behind the turn than before it, of the same types."""
        found: Variables = {}
        for name in self.one.kept:
            value, old = names.get(name, _UNBOUND), before.get(name, _UNBOUND)
            if is_same(value, old):
                continue
            if not _has_type_of(value, old):
                if self.is_second:
                    raise NotInLanguageError(
                        f"`{name}` is not of one type and shape, or a number of Python's"
                    )
                raise _FirstTurnError
            found[name] = value
        return found


def _has_type_of(value: Any, old: Any) -> bool:
    """Whether an array has the dtype and shape of another, or of a scalar."""
    if not (is_traced_exactly(value) and is_array(value) and is_array(old)):
        return False
    is_one = is_traced_exactly(old) or value.is_scalar
    return bool(
        is_one
        and value.dtype == old.dtype
        and same_shape(value.shape, old.shape)
        and value.is_scalar == _is_scalar(old)
    )


def _is_scalar(x: Any) -> bool:
    return bool(x.is_scalar) if is_traced_exactly(x) else isinstance(x, np.generic)


def _storages(values: Any) -> dict[int, Storage]:
    """The memory of the arrays among values, by id."""
    if type(values) is not tuple:
        return {id(values._storage): values._storage} if is_traced_exactly(values) else {}
    return {place: storage for value in values for place, storage in _storages(value).items()}


def _require_fresh(arrays: Variables, began: int, others: Mapping[int, Storage] | None = None) -> None:
    """Refuse variables whose arrays were there when a turn began, or that others have: behind the loop all are new."""
    trace, seen = require_trace(), dict(others or {})
    for name, array in arrays.items():
        if _is_scalar(array):
            continue
        storage = array._storage
        if storage.number < began or trace.is_captured(storage) or id(storage) in seen:
            raise NotInLanguageError(f"`{name}` becomes an array that is there already, or part of one")
        seen[id(storage)] = storage

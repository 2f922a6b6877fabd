"""Tracing a user's function: from a Python call to a `Program`."""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..arguments.leaves import flattened
from ..callers.function_names import describe, function_name
from ..callers.user_code import CONVERTS
from ..dtypes import Array
from ..errors import (
    ArgumentTypeError,
    ConcretizationError,
    DataDependentShapeError,
    ErrorStateError,
    OutOfBoundsError,
    ShapeError,
    SharedMemoryError,
    SideEffectError,
    TracemillError,
)
from ..free_sizes import names_bound_in, sizes_in_param
from ..shapes.scope import SizesFixedError
from ..tracing.exceptions.recursion import recursion_error, recursive_code
from ..tracing.outside.adoption import begins_trace
from ..tracing.outside.object_walk import ObjectWalk
from ..tracing.trace import RAISES_ON_VALUES, Trace
from ..tracing.traced_memory import is_traced
from ..tracing.tracing_again import mode_for
from ..tracing.value_lengths import names_length
from ..tracing.values_in_call import FOLLOWS, UNDONE
from .conversion import MET, Conversion, OperatorsNeededError
from .objects.argument_objects import ArgumentObjects
from .objects.sole_holders import are_alive
from .outside.outside_changes import OutsideChanges, changed_in_step, changed_outside
from .outside.read_entries import ReadArray, arrays_read, asks_identity, entries_read
from .outside.read_names import REACHED, ReadName, ReadNames, changed_by_itself, unchanged
from .program import Argument, Program, Static
from .recorded_run import Changes, TracedCall, recorded


@begins_trace
def trace(
    function: Callable[..., Any],
    tree: Any,
    leaves: Sequence[Argument | Static],
    *,
    convert: "bool | tuple[str, ...] | None" = None,
    checks: bool = True,
    replaced: tuple[Array, ...] = (),
    is_kept: bool = False,
    **options: Any,
) -> Program:
    """Record a function as `_traced` does. If it turns out to need hooks for operators, or arrays that share memory
    depending on values to be told apart, trace it again with these. If no program can hold it, make one that follows
    the current call.

    With `convert`, the function and the user's functions that it calls are converted first. The default is the setting
    of the enclosing trace.
    """
    chosen = CONVERTS.get() if convert is None else convert
    is_nested = REACHED.get() is not None
    converting, checking = CONVERTS.set(chosen), RAISES_ON_VALUES.set(checks and RAISES_ON_VALUES.get())
    writes = OutsideChanges(replaced)
    try:
        return _traced(function, tree, leaves, writes=writes, is_kept=is_kept, **options)
    except RecursionError as error:
        if is_nested or (found := _endless_recursion(error, writes)) is None:
            raise
        raise found from None
    except SizesFixedError:
        if writes.can_be_undone:
            writes.undo()
        raise
    except (ConcretizationError, OperatorsNeededError, SharedMemoryError, UnboundLocalError) as error:
        mode = (
            None
            if is_nested or not (chosen and is_kept)
            else mode_for(error, can_follow=writes.can_be_undone)
        )
        if mode is None:
            if (
                isinstance(error, ConcretizationError)
                and error.is_of_text
                and UNDONE.get() is not None
                and not is_nested
            ):
                error = _text_of_number(function, error)
            if isinstance(error, SideEffectError) and error.runs_uncompiled and not is_nested:
                error.runs_uncompiled = _is_undone(writes, error)
            raise error
        failure = error
        writes.undo()
    finally:
        CONVERTS.reset(converting)
        RAISES_ON_VALUES.reset(checking)
    before = mode.set(True)
    try:
        return trace(
            function,
            tree,
            leaves,
            convert=convert,
            checks=checks,
            replaced=replaced,
            is_kept=is_kept,
            **options,
        )
    except TracemillError as second:
        runs_uncompiled = isinstance(second, SideEffectError) and second.runs_uncompiled
        if mode is FOLLOWS and not (runs_uncompiled or isinstance(second, SizesFixedError)):
            raise failure from None
        raise
    finally:
        mode.reset(before)


def _text_of_number(function: Callable[..., Any], refused: ConcretizationError) -> SideEffectError:
    """The error for a function that makes a text of a number or the like: in a compiled call, it runs itself."""
    line = "" if refused.location is None else f" at {refused.location}".partition("  ")[0]
    error = SideEffectError(
        f"{describe(function)} {refused.act}{line}, which is known only when the program runs: return it, and do this "
        "with the result"
    )
    error.runs_uncompiled = error.is_of_text = True
    return error


def _endless_recursion(error: RecursionError, writes: OutsideChanges) -> TracemillError | None:
    """The error for a function that calls itself without end; None if Python may have enough frames to run it."""
    if (code := recursive_code(error)) is not None:
        return recursion_error(code)
    if (undone := UNDONE.get()) is not None and writes.can_be_undone:
        writes.undo()
        undone.append(error)  # Python needs fewer frames, so that the function itself may end
    return None


def _traced(  # noqa: PLR0915 (what surrounds one run of the function)
    function: Callable[..., Any],
    tree: Any,
    leaves: Sequence[Argument | Static],
    *,
    is_kept: bool = False,
    check_bounds: bool | None = None,
    may_not_run: bool = False,
    repeats: bool = False,
    is_block: bool = False,
    varying: frozenset[int] = frozenset(),
    writes: OutsideChanges,
    is_ahead: bool = False,
    made: Callable[..., Trace] = Trace,
    changes: Changes = "refused",
) -> Program:
    """Record ``function(*args, **kwargs)``, where ``(args, kwargs)`` is `tree` filled with `leaves`.

    A program that is kept for later calls does not rely on the state of random generators. With `check_bounds`, it
    checks the user's indices when it runs. The default is the setting of the enclosing trace; without a trace, programs
    that are not kept check. A branch or the body of a loop `may_not_run`. A body `repeats`: an array from outside that
    it writes to has other values in later iterations. It `is_block` if it is statements of a function. `varying` are
    the ids of memory that is known to change so. The function sees traced arrays instead of the NumPy arrays that
    `writes` replaces.
    `changes` of lists and dicts among the arguments may be returned, as `WithChanges`.
    The trace is `made` by a class of traces. A program that is made ahead of its calls, `is_ahead`, finds out the
    lengths that Python numbers among the arguments give.
    """
    conversions = dict[Conversion, None]()
    meeting = MET.set(conversions) if MET.get() is None else None
    reached = ReadNames()
    reaching = REACHED.set(reached) if REACHED.get() is None else None
    call = TracedCall(function, tree, leaves, writes, changes)
    is_step = repeats and not is_block
    is_again = False
    error: BaseException | None
    objects = ArgumentObjects(call.roots[1:] if is_kept and REACHED.get() is reached else ())
    try:
        while True:
            record = made(
                function_name(function),
                is_kept=is_kept,
                check_bounds=check_bounds,
                may_not_run=may_not_run,
                varying=varying,
                is_ahead=is_ahead,
                repeats=repeats and is_block,
            )
            outermost = record.outermost()
            before, replacements = frozenset(outermost.adopted), len(outermost.replacements)
            if is_step or (is_kept and record is outermost) or (may_not_run and not outermost.is_kept):
                writes.watch(call.roots)
            seen_before, outermost.written_by_numpy = outermost.written_by_numpy, set()
            try:
                program, error = recorded(record, call), None
            except (Exception, SystemExit) as failure:  # it may be caused by values that were taken as known
                program, error = None, failure
            finally:
                misjudged = record.misjudged() - varying if repeats else frozenset()
                by_numpy = outermost.read_by_numpy
                adopted, seen = outermost.adopted_since(before), outermost.written_by_numpy
                outermost.written_by_numpy = seen | seen_before
                record.close()
            # Before the body wrote to those arrays, it read them without the trace.
            is_late = repeats and record is not outermost and len(outermost.replacements) > replacements
            if not (writes.found(adopted, seen, function) or misjudged or (is_late and not is_again)):
                break
            varying |= misjudged
            is_again = is_late or is_again
        error = objects.error_after(
            function,
            error,
            is_held=program is not None and not FOLLOWS.get(),
            is_refused=isinstance(error, TracemillError | OperatorsNeededError),
        )
        error = error or (changed_in_step(writes, function) if is_step else None)
        outside = _Outside(unchanged(reached.names.values()), reached, None)
        if program is not None and error is None and is_kept:
            outside = _changed_outside(call, program, reached, record)
            if record is outermost:
                error = objects.error_after(function, None, is_held=outside.changes_itself, is_refused=False)
    finally:
        if meeting is not None:
            MET.reset(meeting)
        if reaching is not None:
            REACHED.reset(reaching)
    if program is not None and error is None:
        if may_not_run:
            _refuse_own_lengths(program, function)
        return replace(
            program,
            replaced=writes.replaced,
            conversions=tuple(conversions),
            reached=outside.names,
            changes_itself=outside.changes_itself,
            unrepeated_changes=outside.unrepeated,
            outside=writes if outside.changes_itself or outside.unrepeated else None,
            misses_changes=outside.objects is not None and not outside.objects.is_complete,
            follows=FOLLOWS.get(),
            falls_back=record.falls_back,
            unhandled_errors=tuple(record.unhandled_errors),
            new_shapes=frozenset(record.new_shapes),
            asks_identity=is_kept
            and (record.writes_to_copies or asks_identity(outside.objects, outside.found)),
            read=outside.arrays(call, program, by_numpy) if is_kept else (),
        )
    assert error is not None
    raise _for_caller(record, writes, error)


def _for_caller(record: Trace, writes: OutsideChanges, error: BaseException) -> BaseException:
    """The error of a trace as the caller of the function gets it."""
    if record.is_kept and record.parent is None:
        _undo_for_python(record, writes, error)
        if isinstance(error, ErrorStateError) and UNDONE.get() is not None:
            found = SideEffectError(error.message, error.location)
            found.runs_uncompiled = True
            return found
    if not (isinstance(error, ValueError) and isinstance(error.__cause__, ConcretizationError)):
        return error
    error.__cause__.__suppress_context__ = True
    return error.__cause__  # ``w[0] = x``: NumPy wraps our error in its own


def _undo_for_python(record: Trace, writes: OutsideChanges, error: BaseException) -> None:
    """If Python does something before an error of the function, or if that holds traced values, as a tuple in an
    exception may, undo what the trace did, so that the function can run. NumPy's error then has the numbers for lengths
    that depend on values.

    What it took from an iterator or a random generator cannot be undone: it would do so again.
    """
    undone, is_ours = UNDONE.get(), isinstance(error, TracemillError | OperatorsNeededError)
    if undone is None or isinstance(error.__cause__, ConcretizationError):
        return
    if is_ours:
        is_pythons = _is_of_lengths(error)
    else:
        is_pythons = (
            record.acts_before_error
            or bool(record.handled_later)  # the function may go another way
            or _holds_traced(error)
            or bool(writes.changed())
        )
    if writes.can_be_undone and is_pythons:
        writes.undo()
        undone.append(error)


def _is_of_lengths(error: BaseException) -> bool:
    """Whether shapes do not fit that have lengths which depend on values."""
    if not isinstance(error, ShapeError | OutOfBoundsError | ArgumentTypeError):
        return False
    return names_length(error.message)


def _holds_traced(error: BaseException) -> bool:
    """Whether an exception has traced values in a container among its arguments or attributes."""
    return any(map(is_traced, flattened([error.args, vars(error)])[0]))


def _is_undone(writes: OutsideChanges, error: SideEffectError) -> bool:
    """Undo what a function has done that is to run uncompiled, so that it does it once; False if that is impossible."""
    if not writes.can_be_undone:
        return False
    writes.undo()
    return not are_alive(error.made)


@dataclass(frozen=True, slots=True)
class _Outside:
    """What a function has read outside, and what it has changed there."""

    names: tuple[ReadName, ...]
    """The names with their values, on which the program relies."""
    found: ReadNames
    objects: ObjectWalk | None
    """The objects that it could reach."""
    changes_itself: bool = False
    """Whether a change makes a difference when the function is traced again."""
    unrepeated: str = ""
    """What it changes whenever it is traced, if that makes no difference."""

    def arrays(
        self, call: TracedCall, program: Program, by_numpy: Mapping[tuple[int, int], bool]
    ) -> tuple[ReadArray, ...]:
        """The arrays that NumPy may have read without the trace."""
        return arrays_read(
            call.function,
            self.found,
            self.objects,
            program.captured,
            call.writes.replaced,
            by_numpy,
            call.writes.holds,
        )


def _changed_outside(call: TracedCall, program: Program, found: ReadNames, record: Trace) -> _Outside:
    """What a function has read and changed outside.

    If it has changed something, it is traced again with the changes in place, and then relies on what it reads there.

    Raises:
        SideEffectError: it keeps a traced array, or changes something when it follows the current call.
    """
    writes = call.writes
    before = _Outside(unchanged(writes.names_read(found)), found, writes.outside_objects)
    changed = (writes.changed() or found.changed) if record.parent is None else ""
    if not changed:
        return before
    if FOLLOWS.get() or (writes.can_be_undone and writes.keeps_traced):
        raise changed_outside(changed, call.function)
    by_itself = replace(before, names=(*before.names, changed_by_itself(changed)), changes_itself=True)
    if not writes.can_be_undone:
        return by_itself
    again = Trace(function_name(call.function), is_kept=True, check_bounds=record.checks_bounds)
    found = ReadNames()
    reading = REACHED.set(found)
    try:
        with writes.undone() as outside:
            if not _is_alike(program, again, call):
                return by_itself
            names = unchanged((*found.names.values(), *entries_read(outside.objects, found)))
            return _Outside(names, found, outside.objects, unrepeated=outside.changed)
    finally:
        REACHED.reset(reading)


def _is_alike(program: Program, record: Trace, call: TracedCall) -> bool:
    """Whether a function, traced once more, gives the same program."""
    try:
        again = recorded(record, call)
    except Exception:  # it depends on what it changed
        return False
    finally:
        record.close()
    return (
        str(again.graph) == str(program.graph)
        and repr(again.out_leaves) == repr(program.out_leaves)
        and all(map(operator.is_, again.captured, program.captured))
    )


def _refuse_own_lengths(program: Program, function: Callable[..., Any]) -> None:
    """`DataDependentShapeError` if a branch or an iteration returns an array whose length it computes."""
    own = names_bound_in(program.graph)
    for value in program.graph.outputs if own else ():
        if own & {str(one) for size in sizes_in_param(value.shape) for one in size.sizes}:
            location = next(call.location for call in program.graph.calls if call.op == "length")
            raise DataDependentShapeError(
                f"{describe(function)} gives an array {value.type}, whose length each run of it decides, so that "
                "branches or iterations would give arrays of different lengths. Reduce the array there, as in "
                "x[mask].sum(), or keep its shape, as in np.where(mask, x, 0)",
                location,
            )

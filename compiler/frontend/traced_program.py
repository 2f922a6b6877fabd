"""Tracing a user's function: from a Python call to a `Program`."""

import gc
import operator
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import optree

from ..arguments.leaves import (
    plain_key,
    users_name,
)
from ..builder import bind_all, recording
from ..callers.function_names import describe, function_name
from ..callers.signal_handlers import in_signal_handler
from ..callers.user_code import CONVERTS, line_of_raise
from ..dtypes import BOOL, Array
from ..errors import (
    ArgumentValueError,
    ConcretizationError,
    DataDependentShapeError,
    EscapedTracerError,
    SharedMemoryError,
    SideEffectError,
    TracemillError,
)
from ..free_sizes import names_bound_in, sizes_in_param
from ..ir import Graph, Value
from ..op import PRINTS, RAISES, has_effect
from ..symbolic_size import same_shape
from ..tracing.array_values import as_value
from ..tracing.exceptions.recursion import recursion_error, recursive_code
from ..tracing.outside.adoption import begins_trace, replace_outside
from ..tracing.trace import CHECKS_BOUNDS, RAISES_ON_VALUES, Storage, Trace, array_type
from ..tracing.traced_array import TracedArray, array_on
from ..tracing.traced_memory import is_numpy_array, is_traced
from ..tracing.tracing_again import mode_for, needs_value, wants_pythons_number
from ..tracing.values_in_call import ARGUMENTS, FOLLOWS, UNDONE
from ..users_errors import noted, values_in_exception
from ..value_ops import constant
from .conversion import MET, Conversion, OperatorsNeededError, call_converted
from .objects.argument_objects import ArgumentObjects
from .objects.made_objects import with_made_objects
from .objects.sole_holders import are_alive, objects_made
from .outside_changes import ArgumentContainers, OutsideChanges, changed_outside
from .program import (
    Argument,
    ArrayOutput,
    Program,
    Static,
    layout_dependent_arguments,
    orders_of,
    outputs_of,
)
from .read_names import (
    REACHED,
    ReadNames,
    arrays_read,
    asks_identity,
    changed_by_itself,
    is_made,
    unchanged,
)

Changes: TypeAlias = Literal["returned", "refused", "unwatched"]
"""What becomes of changes of lists and dicts among the arguments."""


@begins_trace
def trace(
    function: Callable[..., Any],
    tree: Any,
    leaves: Sequence["Argument | Static"],
    *,
    convert: "bool | tuple[str, ...] | None" = None,
    checks: bool = True,
    replaced: tuple[Array, ...] = (),
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
        return _traced(function, tree, leaves, writes=writes, **options)
    except RecursionError as error:
        if is_nested or (code := recursive_code(error)) is None:
            raise
        raise recursion_error(code) from None
    except (ConcretizationError, OperatorsNeededError, SharedMemoryError, UnboundLocalError) as error:
        mode = None if is_nested or not chosen else mode_for(error, can_follow=writes.can_be_undone)
        if mode is None:
            if isinstance(error, SideEffectError) and error.runs_uncompiled and not is_nested:
                error.runs_uncompiled = _is_undone(writes, error)
            raise
        failure = error
        writes.undo()
    finally:
        CONVERTS.reset(converting)
        RAISES_ON_VALUES.reset(checking)
    before = mode.set(True)
    try:
        return trace(function, tree, leaves, convert=convert, checks=checks, replaced=replaced, **options)
    except TracemillError as second:
        runs_uncompiled = isinstance(second, SideEffectError) and second.runs_uncompiled
        if mode is FOLLOWS and not runs_uncompiled:
            raise failure from None
        raise
    finally:
        mode.reset(before)


def _traced(
    function: Callable[..., Any],
    tree: Any,
    leaves: Sequence["Argument | Static"],
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
    roots = (function, *(leaf.value for leaf in leaves if isinstance(leaf, Static)))
    is_again = False
    objects = ArgumentObjects(roots[1:] if is_kept and REACHED.get() is reached else ())
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
            if (is_kept and record is outermost) or (may_not_run and not outermost.is_kept):
                writes.watch(roots)
            seen_before, outermost.written_by_numpy = outermost.written_by_numpy, set()
            try:
                program, error = (
                    _recorded(record, function, tree, leaves, roots, writes, changes),
                    None,
                )
            except Exception as failure:  # it may be caused by values that were taken as known
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
        own = ""
        error = objects.error_after(
            function,
            error,
            is_held=program is not None and not FOLLOWS.get(),
            is_refused=isinstance(error, TracemillError | OperatorsNeededError),
        )
        if program is not None and error is None and is_kept and record is outermost:
            own = _changes_outside(writes, program, check_bounds, function, tree, leaves, roots, changes)
            error = objects.error_after(
                function, None, is_held=bool(own) and not objects.hold_traced, is_refused=False
            )
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
            reached=(
                *unchanged(writes.names_read(reached) if is_kept else reached.names.values()),
                *([changed_by_itself(own)] if own else []),
            ),
            changes_itself=bool(own),
            follows=FOLLOWS.get(),
            falls_back=record.falls_back,
            unseen=tuple(record.unseen),
            asks_identity=is_kept
            and (record.writes_to_copies or asks_identity(writes.outside_objects, reached)),
            read=(
                arrays_read(
                    function,
                    reached,
                    writes.outside_objects,
                    program.captured,
                    writes.replaced,
                    by_numpy,
                    writes.holds,
                )
                if is_kept
                else ()
            ),
        )
    assert error is not None
    raise _for_caller(record, writes, error)


def _for_caller(record: Trace, writes: OutsideChanges, error: Exception) -> Exception:
    """The error of a trace as the caller of the function gets it."""
    if record.is_kept and record.parent is None:
        _undo_for_python(record, writes, error)
    if not (isinstance(error, ValueError) and isinstance(error.__cause__, ConcretizationError)):
        return error
    error.__cause__.__suppress_context__ = True
    return error.__cause__  # ``w[0] = x``: NumPy wraps our error in its own


def _undo_for_python(record: Trace, writes: OutsideChanges, error: Exception) -> None:
    """If Python does something before an error of the function, undo what the trace did, so that the function can run.

    What it took from an iterator or a random generator cannot be undone: it would do so again.
    """
    undone, is_ours = UNDONE.get(), isinstance(error, TracemillError | OperatorsNeededError)
    if undone is None or is_ours or isinstance(error.__cause__, ConcretizationError):
        return
    if writes.can_be_undone and (record.acts_before_error or writes.changed()):
        writes.undo()
        undone.append(error)


def _acts(record: Trace, filled: Sequence[Any], containers: ArgumentContainers) -> bool:
    """Whether what has been recorded shows outside: a write, a print, or a change of a list or a dict of the caller."""
    storages = [x._storage for x in filled if is_traced(x)]
    storages += [record.captured_storage(i) for i in range(len(record.captured))]
    return (
        any(storage.version for storage in storages)
        or any(has_effect(call, PRINTS) for call in record.calls)
        or bool(containers.changed)
    )


def _is_undone(writes: OutsideChanges, error: SideEffectError) -> bool:
    """Undo what a function has done that is to run uncompiled, so that it does it once; False if that is impossible."""
    if not writes.can_be_undone:
        return False
    writes.undo()
    return not are_alive(error.made)


def _changes_outside(
    writes: OutsideChanges,
    program: Program,
    check_bounds: bool | None,
    function: Callable[..., Any],
    tree: Any,
    leaves: Sequence["Argument | Static"],
    roots: Sequence[Any],
    changes: "Changes",
) -> str:
    """What a function has changed outside that makes a difference when it is traced again; empty if nothing does.

    Raises:
        SideEffectError: it changes something, while it follows the current call.
    """
    own = writes.changed()
    if own and FOLLOWS.get():
        writes.undo()
        raise changed_outside(own, function)
    if not (own and writes.can_be_undone):
        return own
    record = Trace(function_name(function), is_kept=True, check_bounds=check_bounds)
    with writes.undone():
        is_alike = _is_alike(program, record, function, tree, leaves, roots, writes, changes)
    return "" if is_alike else own


def _is_alike(
    program: Program,
    record: Trace,
    function: Callable[..., Any],
    tree: Any,
    leaves: Sequence["Argument | Static"],
    roots: Sequence[Any],
    writes: OutsideChanges,
    changes: "Changes",
) -> bool:
    """Whether a function, traced once more, gives the same program."""
    try:
        again = _recorded(record, function, tree, leaves, roots, writes, changes)
    except EscapedTracerError:  # it has kept traced arrays outside, and no other trace can read these
        return True
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


def _recorded(
    record: Trace,
    function: Callable[..., Any],
    tree: Any,
    leaves: Sequence["Argument | Static"],
    roots: Sequence[Any],
    writes: OutsideChanges,
    changes: "Changes",
) -> Program:
    """Run a function once, with traced arrays instead of those that `writes` replaces, and return its program."""
    arguments = tuple(leaf for leaf in leaves if isinstance(leaf, Argument))
    # Before anything is recorded, so that what a signal handler computes does not become an input before the arguments.
    filled = _fill(record, leaves, partial(users_name, function))
    checking = CHECKS_BOUNDS.set(record.checks_bounds)
    try:
        with recording(record):
            args, kwargs = optree.tree_unflatten(tree, filled)
            replace_outside(writes.replaced, *roots)
            containers = ArgumentContainers(args, kwargs)
            if changes == "returned":
                containers.note_in(record)
            held: list[Any] = [None]  # so that nothing else refers to the result
            try:
                held[0] = call_converted(function, *args, **kwargs)
            except Exception as error:
                if wants_pythons_number(record, error):
                    raise needs_value(record, error) from None
                if isinstance(error, KeyError) and line_of_raise(error) is None:
                    error.args = tuple(map(plain_key, error.args))  # the program is for this key
                if not raises_later(record, error):
                    record.outermost().acts_before_error |= _acts(record, filled, containers)
                    raise
            made: Collection[int] = ()
            if record.is_kept and record.parent is None:
                holders = [held, *containers.changed]
                made = objects_made(function, holders, containers.is_callers, is_made, writes.outside_objects)
            result = held.pop()
            if changes == "returned":
                result = containers.with_changes(function, result)
            elif changes == "refused":
                containers.refuse_changes(function)
            result = with_made_objects(result, made)
            record.location = (
                record.calls[-1].location if record.calls else None
            )  # reading results has no line
            outputs = outputs_of(result)
            orders = orders_of(result) if record.is_kept else ()
            record.give_back()
            del result  # it refers to arrays, and `_finish` checks who else does
            for check in record.at_return.values():
                check()
            record.at_return.clear()  # references of the checks are not references of the function
            program = _finish(record, arguments, filled, *outputs)
            return replace(program, orders=orders, in_c_order=layout_dependent_arguments(program))
    finally:
        CHECKS_BOUNDS.reset(checking)


def is_interrupted() -> bool:
    """Whether a signal handler is the caller. It is not part of the function that is being recorded."""
    return in_signal_handler(_recorded.__code__)


def raises_later(record: Trace, error: Exception) -> bool:
    """Whether a `raise` of the user comes after others that depend on values. The program then finds the first one."""
    line = line_of_raise(error)
    if line is None or not (
        values_in_exception(error) or any(has_effect(call, RAISES) for call in record.calls)
    ):
        return False
    if record.parent is not None and not RAISES_ON_VALUES.get():
        return True
    (text, message_values), record.location = noted(error, line), line
    bind_all("raise_if", constant(True, BOOL), *map(as_value, message_values), error=text)
    return True


def _fill(record: Trace, leaves: Sequence["Argument | Static"], name: Callable[[str], str]) -> list[Any]:
    """Traced arrays for the arguments. Arguments that are the same array share memory."""
    shared: dict[Hashable, TracedArray] = {}
    filled: list[Any] = []
    hand = ARGUMENTS.get() if record.is_kept and record.parent is None else None
    for number, leaf in enumerate(leaves):
        if isinstance(leaf, Static):
            filled.append(leaf.value)
            continue
        array = None if leaf.identity is None else shared.get(leaf.identity)
        if array is None:
            storage = record.add_input(Value(leaf.type), name(leaf.name), leaf.known, leaf.layout)
            storage.argument = leaf.flags
            if hand is not None:
                record.argument_values[storage.value] = hand[number]
            if leaf.weak is not None and not record.is_ahead:
                record.numbers[storage.value] = number
            array = array_on(storage, leaf.type, is_scalar=leaf.is_scalar, weak=leaf.weak)
            if leaf.identity is not None:
                shared[leaf.identity] = array
        else:
            record.add_input(Value(leaf.type), name(leaf.name), leaf.known)
        filled.append(array)
    return filled


def _made_inside(record: Trace) -> list[int]:
    """The numbers of the captured arrays that the function wrote to and that it made itself."""
    written = [i for i in range(len(record.captured)) if record.captured_storage(i).version]
    found = list(filter(record.is_made_inside, written))
    if len(found) < len(written) and record.parent is None:
        gc.collect()  # what traced a loop holds the variables of the function in a cycle
        found = list(filter(record.is_made_inside, written))
    return found


def _finish(
    record: Trace,
    arguments: tuple[Argument, ...],
    filled: Sequence[Any],
    outputs: list[Value],
    leaves: "list[ArrayOutput | Static]",
    out_tree: Any,
) -> Program:
    """Add the memory to the outputs that the function wrote to and that exists after the call."""
    _refuse_overlapping_writes(record)
    record.keep_what_was_captured()
    storages = [x._storage for x in filled if is_traced(x)]
    passing = {len(storages) + i for i in _made_inside(record)}
    storages += [record.captured_storage(i) for i in range(len(record.captured))]
    mutated: list[tuple[int, int]] = []
    written: set[int] = set()
    for index, storage in enumerate(storages):
        if storage.version and index not in passing and id(storage) not in written:
            written.add(id(storage))
            mutated.append((index, len(outputs)))
            outputs.append(storage.value)
    graph = Graph(
        record.name, tuple(record.inputs), tuple(record.calls), tuple(outputs), tuple(record.input_names)
    )
    captured = tuple(array_on(c, c.value.type) if isinstance(c, Storage) else c for c in record.captured)
    in_step = frozenset(index for index, _ in mutated if storages[index].in_step)
    frozen = tuple((array, array.copy()) for array in record.frozen)
    arrays = enumerate(x for x in filled if is_traced(x))
    reshaped = tuple((i, x.shape) for i, x in arrays if not same_shape(x.shape, arguments[i].type.shape))
    return Program(
        graph,
        arguments,
        captured,
        out_tree,
        tuple(leaves),
        tuple(mutated),
        in_step,
        frozen,
        reshaped=reshaped,
    )


def _refuse_overlapping_writes(record: Trace) -> None:
    """Refuse writes to arrays from outside that share memory: separate inputs do not see writes to each other."""
    arrays = [(i, array) for i, array in enumerate(record.captured) if is_numpy_array(array)]
    for index, array in arrays:
        is_written = record.captured_storage(index).version > 0
        if is_written and any(
            other is not array
            and other.base is not array  # it was read before, and is a view of this one since then
            and np.may_share_memory(array, other)
            for _, other in arrays
        ):
            raise ArgumentValueError(
                f"the function writes to {array_type(array)}, an array from outside that shares memory with another "
                "one that it uses: use one of them, and index it inside the function (np.asarray(w)[1:] = …)"
            )

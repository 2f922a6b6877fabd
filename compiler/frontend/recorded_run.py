"""`recorded`: one run of a user's function on traced arrays, and the `Program` that it gives."""

import gc
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np
import optree

from ..arguments.leaves import plain_key, users_name
from ..builder import bind_all, recording
from ..callers.signal_handlers import in_signal_handler
from ..callers.user_code import CONVERTS, OPERATORS, line_of_raise
from ..callers.users_operators import defines_operators
from ..dtypes import BOOL
from ..errors import ArgumentValueError, SideEffectError
from ..ir import Graph, Location, Value
from ..op import PRINTS, RAISES, has_effect
from ..symbolic_size import same_shape
from ..tracing.array_values import as_value
from ..tracing.exceptions.handlers import fall_back
from ..tracing.outside.adoption import replace_outside
from ..tracing.outside.system_calls import refuse_system_calls
from ..tracing.sharing import TELLS_APART
from ..tracing.trace import CHECKS_BOUNDS, RAISES_ON_VALUES, Storage, Trace, array_type
from ..tracing.traced_array import TracedArray, array_on
from ..tracing.traced_memory import is_numpy_array, is_traced
from ..tracing.tracing_again import needs_value, wants_pythons_number
from ..tracing.values_in_call import ARGUMENTS
from ..users_errors import named, values_in_exception
from ..value_ops import constant
from .conversion import OperatorsNeededError, call_converted
from .objects.made_objects import with_made_objects
from .objects.sole_holders import objects_made
from .outside.outside_changes import ArgumentContainers, OutsideChanges
from .outside.read_names import is_made
from .program import (
    Argument,
    ArrayOutput,
    Program,
    Static,
    layout_dependent_arguments,
    marked_as_made,
    orders_of,
    outputs_of,
)
from .unused_failures import with_unused_failures

Changes: TypeAlias = Literal["returned", "refused", "unwatched"]
"""What becomes of changes of lists and dicts among the arguments."""


@dataclass(frozen=True, slots=True)
class TracedCall:
    """``function(*args, **kwargs)``, where ``(args, kwargs)`` is `tree` filled with `leaves`."""

    function: Callable[..., Any]
    tree: Any
    leaves: Sequence[Argument | Static]
    writes: OutsideChanges
    """What the function has changed outside. It sees traced arrays instead of the NumPy arrays that this replaces."""
    changes: Changes

    @property
    def roots(self) -> tuple[Any, ...]:
        """What the function begins with: itself, and its settings."""
        return (self.function, *(leaf.value for leaf in self.leaves if isinstance(leaf, Static)))


def recorded(record: Trace, call: TracedCall) -> Program:
    """Run a function once, and return its program."""
    function, leaves, writes, changes = call.function, call.leaves, call.writes, call.changes
    arguments = tuple(leaf for leaf in leaves if isinstance(leaf, Argument))
    # Before anything is recorded, so that what a signal handler computes does not become an input before the arguments.
    filled = _fill(record, leaves, partial(users_name, function))
    refuse_system_calls()
    checking = CHECKS_BOUNDS.set(record.checks_bounds)
    runs_once = not record.outermost().is_kept  # what it prints and changes stays
    operators = OPERATORS.set(OPERATORS.get() or runs_once)
    telling = TELLS_APART.set(TELLS_APART.get() or runs_once)
    try:
        with recording(record):
            args, kwargs = optree.tree_unflatten(call.tree, filled)
            replace_outside(writes.replaced, *call.roots)
            containers = ArgumentContainers(args, kwargs)
            _ask_for_operators(call, containers, (*args, *kwargs.values()))
            if changes == "returned":
                containers.note_in(record)
            held: list[Any] = [None]  # so that nothing else refers to the result
            try:
                held[0] = call_converted(function, *args, **kwargs)
            except (Exception, SystemExit) as error:
                _raise_unless_later(record, error, partial(_acts, record, filled, containers))
            except BaseException as error:
                _raise_end_of_all(record, error)
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
            outputs, out_leaves, out_tree = outputs_of(result)
            out_leaves = marked_as_made(out_leaves, writes.outside_objects)
            orders = orders_of(result) if record.is_kept else ()
            record.give_back()
            del result  # it refers to arrays, and `_finish` checks who else does
            for check in record.at_return.values():
                check()
            record.at_return.clear()  # references of the checks are not references of the function
            program = _finish(record, arguments, filled, outputs, out_leaves, out_tree)
            return replace(program, orders=orders, in_c_order=layout_dependent_arguments(program))
    finally:
        TELLS_APART.reset(telling)
        OPERATORS.reset(operators)
        CHECKS_BOUNDS.reset(checking)


def _ask_for_operators(call: TracedCall, containers: ArgumentContainers, given: Iterable[Any]) -> None:
    """`OperatorsNeededError` if objects have operators that ask for types of traced numbers, perhaps, without hooks."""
    have_hooks = OPERATORS.get() or not CONVERTS.get()
    kinds = containers.kinds | {type(x) for x in given}
    if not have_hooks and (call.writes.have_operators or any(map(defines_operators, kinds))):
        raise OperatorsNeededError


def _acts(record: Trace, filled: Sequence[Any], containers: ArgumentContainers) -> bool:
    """Whether what has been recorded shows outside: a write, a print, or a change of a list or a dict of the caller."""
    storages = [x._storage for x in filled if is_traced(x)]
    storages += [record.captured_storage(i) for i in range(len(record.captured))]
    return (
        any(storage.version for storage in storages)
        or any(has_effect(call, PRINTS) for call in record.calls)
        or bool(containers.changed)
    )


def is_interrupted() -> bool:
    """Whether a signal handler is the caller. It is not part of the function that is being recorded."""
    return in_signal_handler(recorded.__code__)


def raises_later(record: Trace, error: BaseException) -> bool:
    """Whether a `raise` of the user comes after others that depend on values. The program then finds the first one."""
    line = line_of_raise(error)
    if line is None or not (
        values_in_exception(error) or any(has_effect(call, RAISES) for call in record.calls)
    ):
        return False
    if record.parent is not None and not RAISES_ON_VALUES.get():
        return True
    found, record.location = named(error), line
    if not found.is_whole:
        fall_back()
    bind_all("raise_if", constant(True, BOOL), *map(as_value, found.values), error=found.text)
    return True


def _raise_unless_later(record: Trace, error: BaseException, acts: Callable[[], bool]) -> None:
    """Raise what has ended the function, unless the program raises it. It may come of a refused act."""
    if "act" in record.at_return:
        record.at_return["act"]()
    if wants_pythons_number(record, error):
        raise needs_value(record, error) from None
    if isinstance(error, KeyError) and line_of_raise(error) is None:
        error.args = tuple(map(plain_key, error.args))  # the program is for this key
    if not raises_later(record, error):
        record.outermost().acts_before_error |= acts()
        raise error


def _raise_end_of_all(record: Trace, error: BaseException) -> NoReturn:
    """Raise a `KeyboardInterrupt`, or the error for one that the user's own `raise` has made."""
    line = line_of_raise(error)
    if line is None or record.parent is not None or not record.is_kept:
        raise error
    raise ends_all(error, line) from None


def ends_all(error: BaseException, line: Location) -> SideEffectError:
    """The error for a ``raise KeyboardInterrupt`` where values decide. A program must not be taken for an interrupt."""
    found = SideEffectError(
        f"{type(error).__name__} is raised where values decide, and it is no Exception: raise a subclass of Exception",
        line,
    )
    found.runs_uncompiled = True
    return found


def _fill(record: Trace, leaves: Sequence[Argument | Static], name: Callable[[str], str]) -> list[Any]:
    """Traced arrays for the arguments. Arguments that are the same array share memory."""
    shared: dict[Hashable, TracedArray] = {}
    filled: list[Any] = []
    given = ARGUMENTS.get() if record.is_kept and record.parent is None else None
    for number, leaf in enumerate(leaves):
        if isinstance(leaf, Static):
            filled.append(leaf.value)
            continue
        array = None if leaf.identity is None else shared.get(leaf.identity)
        if array is None:
            storage = record.add_input(Value(leaf.type), name(leaf.name), leaf.known, leaf.layout)
            storage.argument = leaf.flags
            if given is not None:
                record.argument_values[storage.value] = given[number]
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
    leaves: list[ArrayOutput | Static],
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
    if RAISES_ON_VALUES.get():
        graph = with_unused_failures(graph)
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

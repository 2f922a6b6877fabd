"""Tracing a user's function: from a Python call to a `Program`."""

import inspect
import operator
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass, replace
from functools import partial
from types import CodeType, ModuleType
from typing import Any, Final, TypeAlias

import numpy as np
import optree

from ..builder import Builder, bind_all, inline, recording
from ..callers.signal_handlers import in_signal_handler
from ..callers.user_code import CONVERTS, is_users, line_of_raise, location_at
from ..dtypes import BOOL, Array, is_supported
from ..errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ConcretizationError,
    DataDependentShapeError,
    DTypeError,
    EscapedTracerError,
    SideEffectError,
)
from ..free_sizes import names_bound_in, sizes_in_param
from ..interpreter import is_idle
from ..ir import ArrayType, Graph, Shape, Value
from ..nesting import named, refuse_deep, shown
from ..op import RAISES, has_effect
from ..symbolic_size import SymbolicFact, SymbolicSize, same_shape
from ..tracing.adoption import lend
from ..tracing.at_hand import ARGUMENTS
from ..tracing.foreign_array import COMPILE_OR_COPY, ForeignArray, as_seen_inside
from ..tracing.foreign_memory import ForeignMemory
from ..tracing.memory_layout import Layout, LayoutQuestion, Order, copied_order, order_of
from ..tracing.outside import Outside, Written
from ..tracing.reach import Reach
from ..tracing.trace import CHECKS_BOUNDS, RAISES_ON_VALUES, ExampleIndex, Known, Storage, Trace, array_type
from ..tracing.traced_array import PYTHON_NUMBERS, TracedArray, array_on, as_value, is_numpy_array, is_traced
from ..users_errors import noted, told_by
from ..value_ops import constant, inverse_permutation, transpose
from .conversion import MET, OPERATORS, Conversion, OperatorsNeededError, call_converted
from .reached import (
    REACHED,
    Reached,
    ReachedNames,
    ReadArray,
    arrays_read,
    asks_identity,
    changed_by_itself,
    entries_read,
    unchanged,
)

PythonType: TypeAlias = type[Any]
_MANY_CALLS: Final = 10
"""A function that occurs this often in a traceback calls itself."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A leaf of the arguments that becomes an input of the graph."""

    type: ArrayType
    name: str
    weak: PythonType | None = None
    """The Python type of a number."""
    is_scalar: bool = False
    known: Known | None = None
    """Gets the concrete value, if tracing may look at it."""
    identity: Hashable | None = None
    """Arguments with the same identity share memory."""
    layout: Layout | None = None
    """The memory layout of the NumPy array; None for C order."""
    flags: LayoutQuestion | None = None
    """The flags of the array that the function sees; None for those of a new array."""


@dataclass(frozen=True, slots=True)
class Static:
    """A leaf of the arguments that the function gets unchanged."""

    value: Any


@dataclass(frozen=True, slots=True)
class ArrayOutput:
    """A leaf of the result that is output `index` of the graph."""

    index: int
    is_scalar: bool
    """Whether NumPy would return a scalar rather than an array."""
    weak: "type[Any] | None" = None
    """The Python type of a number that was computed only from Python numbers."""
    axes: tuple[int, ...] | None = None
    """The place of each axis of the result in the output, if the output has another memory order."""


@dataclass(frozen=True)
class Program:
    """A traced function.

    The inputs of `graph` are the traced arguments, then what the function captured. Its outputs are
    the arrays of the result, then the new values of the inputs that the function wrote to.
    """

    graph: Graph
    arguments: tuple[Argument, ...]
    captured: tuple["Array | ForeignMemory | TracedArray | ExampleIndex", ...]
    out_tree: Any
    out_leaves: tuple["ArrayOutput | Static", ...]
    mutated: tuple[tuple[int, int], ...]
    """Pairs of (input, output): the input's memory must hold the output afterwards."""
    in_step: frozenset[int]
    """The mutated inputs that all examples of a batch update together."""
    frozen: tuple[tuple[Array, Array], ...]
    """Captured arrays whose values the trace relied on, with copies."""
    orders: tuple[Order, ...] = ()
    """For each array of the result, the order of its axes in memory, as in NumPy; empty if that does not matter."""
    in_c_order: frozenset[int] = frozenset()
    """Arguments of a function with writes for which C order decided whether something is a view or a copy."""
    lent: tuple[Array, ...] = ()
    """The arrays from outside that the function writes to, if it had to be traced again for them."""
    reached: tuple[Reached, ...] = ()
    """The names outside the function that it, or a function that it calls, reads."""
    read: tuple[ReadArray, ...] = ()
    """Arrays from outside that NumPy may have read without the trace. The program is valid while they are unchanged."""
    reshaped: tuple[tuple[int, Shape], ...] = ()
    """The arguments that have another shape afterwards, by number, because the function has assigned to ``x.shape``."""
    changes_itself: bool = False
    """Whether the function, when it is traced, changes what it computes with the next time, as a counter."""
    asks_identity: bool = False
    """Whether the function asks if two objects are the same. In a trace, two arguments never are."""
    conversions: tuple[Conversion, ...] = ()
    """The user's functions that were converted while it was traced."""

    @property
    def array_outputs(self) -> tuple[ArrayOutput, ...]:
        return tuple(leaf for leaf in self.out_leaves if isinstance(leaf, ArrayOutput))

    def result(self, arrays: Sequence[Any]) -> Any:
        """The Python result with these arrays as its array leaves."""
        leaves = [
            _as_returned(arrays[leaf.index], leaf) if isinstance(leaf, ArrayOutput) else leaf.value
            for leaf in self.out_leaves
        ]
        return optree.tree_unflatten(self.out_tree, leaves)


def order_of_keys(tree: Any) -> list[int]:
    """For each item of a dict, the number of its child in the structure, where children are sorted by key."""
    return list(tree.one_level().unflatten(range(tree.num_children)).values())


def _as_returned(x: Any, leaf: ArrayOutput) -> Any:
    """`x`, as an array of no axes if the function returned that rather than a scalar."""
    if leaf.axes is not None:
        return x.transpose(leaf.axes)
    if leaf.is_scalar or x.ndim:
        return x
    return x.reshape(()) if is_traced(x) else np.asarray(x)


def trace(
    function: Callable[..., Any],
    tree: Any,
    leaves: Sequence["Argument | Static"],
    *,
    convert: "bool | tuple[str, ...] | None" = None,
    checks: bool = True,
    **options: Any,
) -> Program:
    """Record a function as `_traced` does. If it turns out to need hooks for operators, trace it again with them.

    With `convert`, the function and the user's functions that it calls are converted first. The default is the setting
    of the enclosing trace.
    """
    chosen = CONVERTS.get() if convert is None else convert
    is_nested = REACHED.get() is not None
    converting, checking = CONVERTS.set(chosen), RAISES_ON_VALUES.set(checks and RAISES_ON_VALUES.get())
    try:
        return _traced(function, tree, leaves, **options)
    except RecursionError as error:
        if is_nested or (code := _recursive_code(error)) is None:
            raise
        raise ConcretizationError(
            f"`{code.co_name}` calls itself while it is traced, and no number that tracing knows ends that. Write a "
            "loop, `while`, with an array as its stack, or let an int argument decide how deep it goes",
            location_at(code.co_filename, code.co_firstlineno),
        ) from None
    except (ConcretizationError, OperatorsNeededError) as error:
        if is_nested or not chosen or OPERATORS.get() or not _may_need_operators(error):
            raise
        operators = OPERATORS.set(True)
        try:
            return _traced(function, tree, leaves, **options)
        finally:
            OPERATORS.reset(operators)
    finally:
        CONVERTS.reset(converting)
        RAISES_ON_VALUES.reset(checking)


def _recursive_code(error: RecursionError) -> CodeType | None:
    """The user's function that an endless recursion calls most often."""
    codes: Counter[CodeType] = Counter()
    frame = error.__traceback__
    while frame is not None:
        codes[frame.tb_frame.f_code] += is_users(frame.tb_frame.f_code.co_filename)
        frame = frame.tb_next
    code, calls = codes.most_common(1)[0] if codes else (None, 0)
    return code if calls > _MANY_CALLS else None


def _may_need_operators(error: Exception) -> bool:
    """Whether hooks for operators may help. They do not if the program needs the size of an argument."""
    if isinstance(error, ConcretizationError):
        return type(error) is ConcretizationError and (
            not error.numbers or (error.message.startswith("bool(x)") and not error.wants_values)
        )
    return True


def _traced(
    function: Callable[..., Any],
    tree: Any,
    leaves: Sequence["Argument | Static"],
    *,
    is_kept: bool = False,
    check_bounds: bool | None = None,
    may_not_run: bool = False,
    repeats: bool = False,
    varying: frozenset[int] = frozenset(),
    lent: tuple[Array, ...] = (),
) -> Program:
    """Record ``function(*args, **kwargs)``, where ``(args, kwargs)`` is `tree` filled with `leaves`.

    A program that is kept for later calls does not rely on the state of random generators. With `check_bounds`, it
    checks the user's indices when it runs. The default is the setting of the enclosing trace; without a trace, programs
    that are not kept check. A branch or the body of a loop `may_not_run`. A body `repeats`: an array from outside that
    it writes to has other values in later iterations. `varying` are the ids of memory that is known to change so. The
    function sees traced arrays instead of the NumPy arrays that are `lent`.
    """
    conversions = dict[Conversion, None]()
    meeting = MET.set(conversions) if MET.get() is None else None
    reached = ReachedNames()
    reaching = REACHED.set(reached) if REACHED.get() is None else None
    roots = (function, *(leaf.value for leaf in leaves if isinstance(leaf, Static)))
    writes = _Writes(lent)
    is_again = False
    try:
        while True:
            record = Trace(
                function_name(function),
                is_kept=is_kept,
                check_bounds=check_bounds,
                may_not_run=may_not_run,
                varying=varying,
            )
            outermost = record.outermost()
            before, borrowed = frozenset(outermost.adopted), len(outermost.borrowed)
            if (is_kept and record is outermost) or (may_not_run and not outermost.is_kept):
                writes.watch(roots)
            seen_before, outermost.written_by_numpy = outermost.written_by_numpy, set()
            try:
                program, error = _recorded(record, function, tree, leaves, roots, writes.lent), None
            except Exception as failure:  # it may be caused by values that were taken as known
                program, error = None, failure
            finally:
                misjudged = record.misjudged() - varying if repeats else frozenset()
                by_numpy = outermost.read_by_numpy
                adopted, seen = outermost.adopted_since(before), outermost.written_by_numpy
                outermost.written_by_numpy = seen | seen_before
                record.close()
            # Before the body wrote to those arrays, it read them without the trace.
            is_late = repeats and record is not outermost and len(outermost.borrowed) > borrowed
            if not (writes.found(adopted, seen, function) or misjudged or (is_late and not is_again)):
                break
            varying |= misjudged
            is_again = is_late or is_again
        own = writes.changed() if program is not None and is_kept and record is outermost else ""
        if own and writes.can_be_undone:
            record = Trace(function_name(function), is_kept=is_kept, check_bounds=check_bounds)
            with writes.undone():
                own = "" if _is_alike(program, record, function, tree, leaves, roots, writes.lent) else own
    finally:
        if meeting is not None:
            MET.reset(meeting)
        if reaching is not None:
            REACHED.reset(reaching)
    if program is not None:
        if may_not_run:
            _refuse_own_lengths(program, function)
        return replace(
            program,
            lent=writes.lent,
            conversions=tuple(conversions),
            reached=(
                *unchanged(writes.names_read(reached) if is_kept else reached.names.values()),
                *([changed_by_itself(own)] if own else []),
            ),
            changes_itself=bool(own),
            asks_identity=is_kept and asks_identity(writes.reach, reached),
            read=(
                arrays_read(
                    function, reached, writes.reach, program.captured, writes.lent, by_numpy, writes.holds
                )
                if is_kept
                else ()
            ),
        )
    assert error is not None
    if isinstance(error, ValueError) and isinstance(error.__cause__, ConcretizationError):
        raise error.__cause__ from None  # ``w[0] = x``: NumPy wraps our error in its own
    raise error


def _is_alike(
    program: Program | None,
    record: Trace,
    function: Callable[..., Any],
    tree: Any,
    leaves: Sequence["Argument | Static"],
    roots: Sequence[Any],
    lent: Sequence[Array],
) -> bool:
    """Whether a function, traced once more, gives the same program."""
    try:
        again = _recorded(record, function, tree, leaves, roots, lent)
    except EscapedTracerError:  # it has kept traced arrays outside, and no other trace can read these
        return True
    except Exception:  # it depends on what it changed
        return False
    finally:
        record.close()
    return (
        program is not None
        and str(again.graph) == str(program.graph)
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


class _Writes:
    """Arrays from outside that a function writes to while it is traced. The program must write to them in each call."""

    def __init__(self, lent: tuple[Array, ...]) -> None:
        self.lent = lent
        """The arrays that the function sees as traced arrays from the beginning."""
        self._outside: Outside | None = None
        self._roots: tuple[Any, ...] = ()

    def watch(self, roots: Iterable[Any]) -> None:
        """Note the arrays that the function can reach before it runs."""
        self._roots = tuple(roots)
        self._outside = Outside(self._roots)

    @property
    def reach(self) -> Reach | None:
        """What the function could reach before it ran."""
        return None if self._outside is None else self._outside.reach

    def names_read(self, found: ReachedNames) -> Iterator[Reached]:
        """The names, entries and attributes that the function has read."""
        yield from found.names.values()
        if self.reach is not None:
            yield from entries_read(self.reach, found)

    def changed(self) -> str:
        """What the function has changed outside, other than arrays; empty if nothing."""
        return "" if self._outside is None else self._outside.used_up or self._outside.changed

    @property
    def can_be_undone(self) -> bool:
        """Whether what the function changes outside can be restored: not what it took from an iterator."""
        return self._outside is not None and not self._outside.used_up

    @contextmanager
    def undone(self) -> Generator[None]:
        """Undo what the block changes outside."""
        before = Outside(self._roots)
        try:
            yield
        finally:
            for one in before.written():
                if one.can_be_restored:
                    one.restore()
            before.restore()

    def holds(self, first: int, last: int) -> bool:
        """Whether the function can reach the memory between two addresses without having made it."""
        return self._outside is None or self._outside.holds_memory(first, last)

    def found(
        self, adopted: Iterable[Array], seen: set[tuple[int, int]], function: Callable[..., Any]
    ) -> bool:
        """Whether to trace the function again, with traced arrays from the beginning. Its writes are then undone."""
        outside = self._outside
        if outside is None:
            return False
        by_numpy = outside.written(seen)
        new = [x for x in adopted if outside.holds(x)] + [one.array for one in by_numpy]
        new = [x for x in new if not any(np.may_share_memory(x, known) for known in self.lent)]
        for one in by_numpy:
            if not (one.can_be_restored and any(x is one.array for x in new)):
                raise _written_by_numpy(one, function)
            if changed := outside.changed:
                raise _depends_on_python(one, changed, function)
            one.restore()
        if new:
            outside.restore()
            self.lent = (*self.lent, *new)
        return bool(new)


def _written_by_numpy(one: Written, function: Callable[..., Any]) -> SideEffectError:
    name = one.path or "w"
    return SideEffectError(
        f"{describe(function)} writes to `{name}`, an array from outside of {array_type(one.array)}, while it is "
        f"traced, which would not happen whenever it runs: write to w = np.asarray({name}), as in w[...] = w + 1, or "
        "pass the array as an argument"
    )


def _depends_on_python(one: Written, changed: str, function: Callable[..., Any]) -> SideEffectError:
    name = one.path or "w"
    return SideEffectError(
        f"{describe(function)} writes to `{name}`, an array from outside of {array_type(one.array)}, and changes "
        f"{changed}, too, which is looked at once, when the function is traced: what it writes may then be another "
        f"in each call. Keep {changed} in an array, or change it outside of the function"
    )


def _recorded(
    record: Trace,
    function: Callable[..., Any],
    tree: Any,
    leaves: Sequence["Argument | Static"],
    roots: Sequence[Any],
    lent: Sequence[Array],
) -> Program:
    """Run a function once, with traced arrays lent to it from the beginning, and return its program."""
    arguments = tuple(leaf for leaf in leaves if isinstance(leaf, Argument))
    # Before anything is recorded, so that what a signal handler computes does not become an input before the arguments.
    filled = _fill(record, leaves, partial(users_name, function))
    checking = CHECKS_BOUNDS.set(record.checks_bounds)
    try:
        with recording(record):
            args, kwargs = optree.tree_unflatten(tree, filled)
            lend(lent, *roots)
            try:
                result = call_converted(function, *args, **kwargs)
            except Exception as error:
                if not raises_later(record, error):
                    raise
                result = None
            record.location = (
                record.calls[-1].location if record.calls else None
            )  # reading results has no line
            outputs = _outputs_of(result)
            orders = _orders_of(result) if record.is_kept else ()
            record.give_back()
            del result  # it refers to arrays, and `_finish` checks who else does
            for check in record.at_return.values():
                check()
            record.at_return.clear()  # references of the checks are not references of the function
            program = _finish(record, arguments, filled, *outputs)
            return replace(program, orders=orders, in_c_order=_relied_on(program))
    finally:
        CHECKS_BOUNDS.reset(checking)


def is_interrupted() -> bool:
    """Whether a signal handler is the caller. It is not part of the function that is being recorded."""
    return in_signal_handler(_recorded.__code__)


def raises_later(record: Trace, error: Exception) -> bool:
    """Whether a `raise` of the user comes after others that depend on values. The program then finds the first one."""
    line = line_of_raise(error)
    if line is None or not (told_by(error) or any(has_effect(call, RAISES) for call in record.calls)):
        return False
    if record.parent is not None and not RAISES_ON_VALUES.get():
        return True
    (text, told), record.location = noted(error, line), line
    bind_all("raise_if", constant(True, BOOL), *map(as_value, told), error=text)
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
                record.arguments_at_hand[storage.value] = hand[number]
            if leaf.weak is not None:
                record.numbers[storage.value] = number
            array = TracedArray(storage, leaf.type, is_scalar=leaf.is_scalar, weak=leaf.weak)
            if leaf.identity is not None:
                shared[leaf.identity] = array
        else:
            record.add_input(Value(leaf.type), name(leaf.name), leaf.known)
        filled.append(array)
    return filled


def _outputs_of(result: Any) -> "tuple[list[Value], list[ArrayOutput | Static], Any]":
    """The arrays of the result, its leaves and its tree."""
    try:
        found, out_tree = optree.tree_flatten(with_plain_keys(result), namespace=NAMESPACE)
    except RecursionError:
        refuse_deep({"the result": result})
        raise
    outputs: list[Value] = []
    leaves: list[ArrayOutput | Static] = []
    for leaf in found:
        if isinstance(leaf, SymbolicSize):
            leaf = leaf.as_number()
        elif isinstance(leaf, SymbolicFact):
            leaf = bool(leaf)
        if isinstance(leaf, (TracedArray, np.ndarray, np.generic, ForeignMemory)):
            scalar = leaf.is_scalar if isinstance(leaf, TracedArray) else isinstance(leaf, np.generic)
            leaves.append(ArrayOutput(len(outputs), scalar, weak_type(leaf)))
            outputs.append(as_value(leaf))
        else:
            _refuse_hidden_arrays(leaf)
            leaves.append(Static(leaf))
    return outputs, leaves, out_tree


def _orders_of(result: Any) -> tuple[Order, ...]:
    """The memory orders of the arrays in the result."""
    leaves = optree.tree_leaves(with_plain_keys(result), namespace=NAMESPACE)
    arrays = [x for x in leaves if isinstance(x, (TracedArray, np.ndarray, np.generic, ForeignMemory))]
    return tuple(
        copied_order(x.layout, "K")
        if isinstance(x, TracedArray)
        else order_of(x)
        if is_numpy_array(x)
        else ()
        for x in arrays
    )


def _relied_on(program: Program) -> frozenset[int]:
    """The arguments whose layouts decide which memory is written to."""
    layouts = [argument.layout for argument in program.arguments] if program.mutated else []
    return frozenset(
        number
        for number, layout in enumerate(layouts)
        if layout is not None and any(question.asked_strides for question in layout.questions)
    )


def in_memory_order(program: Program, arguments: Mapping[int, Order]) -> Program:
    """Adapt a program to the memory orders of its arrays, so that none is copied to C order.

    An argument with an order enters the graph transposed, so that it is in C order there. A result that NumPy has in
    another order leaves the graph in C order and is transposed afterwards.
    """
    arrays = [(place, leaf) for place, leaf in enumerate(program.out_leaves) if isinstance(leaf, ArrayOutput)]
    moved = [
        (place, leaf, order)
        for (place, leaf), order in zip(arrays, program.orders, strict=False)
        if order != tuple(range(len(order)))
    ]
    if not (moved or arguments):
        return program
    graph = program.graph
    inputs = list(graph.inputs)
    leaves = list(program.out_leaves)
    calls = Builder()
    with recording(calls):
        entering: list[Value] = list(inputs)
        for number, order in arguments.items():
            shape = tuple(inputs[number].shape[axis] for axis in order)
            inputs[number] = Value(ArrayType(inputs[number].dtype, shape))
            entering[number] = transpose(inputs[number], inverse_permutation(order))
        outputs = list(inline(graph, entering))
        for place, leaf, order in moved:
            outputs[leaf.index] = transpose(outputs[leaf.index], order)
            leaves[place] = replace(leaf, axes=inverse_permutation(order))
        for number, output in program.mutated:
            if number in arguments:
                outputs[output] = transpose(outputs[output], arguments[number])
    graph = replace(graph, inputs=tuple(inputs), calls=tuple(calls.calls), outputs=tuple(outputs))
    return replace(program, graph=graph, out_leaves=tuple(leaves))


def _refuse_hidden_arrays(leaf: Any) -> None:
    """Refuse results that are returned unchanged but hold traced arrays, which are useless after the trace."""
    attributes = vars(leaf) if hasattr(leaf, "__dict__") and not isinstance(leaf, (type, ModuleType)) else {}
    for name, value in attributes.items():
        if any(map(is_traced, optree.tree_leaves(value, namespace=NAMESPACE))):
            raise ArgumentTypeError(
                f"the function returns {type(leaf).__name__}, whose .{name} holds a traced array, which is of no use "
                f"after the call{remedy_for(leaf)}"
            )


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
    passing = {
        len(storages) + i
        for i in range(len(record.captured))
        if record.storage_behind(i).version and record.is_made_inside(i)
    }
    storages += [record.storage_behind(i) for i in range(len(record.captured))]
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
        is_written = record.storage_behind(index).version > 0
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


def with_plain_keys(tree: Any) -> Any:
    """Containers in which symbolic sizes that are keys of dicts are replaced by the numbers that the user put there."""
    if type(tree) in (dict, OrderedDict):
        return type(tree)((_plain(key), with_plain_keys(item)) for key, item in tree.items())
    if type(tree) in (tuple, list):
        return type(tree)(map(with_plain_keys, tree))
    return tree


def _plain(key: Any) -> Any:
    return operator.index(key) if isinstance(key, SymbolicSize) else key


# ---- leaves and paths --------------------------------------------------------------------------------

NAMESPACE = "tracemill"


def flatten_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[Any], Any]:
    """The leaves and the tree of a call's arguments. `is_leaf` says what is not flattened."""
    try:
        call: Any = (args, kwargs) if is_idle() else with_plain_keys((args, kwargs))
        leaves, tree = optree.tree_flatten(call, is_leaf=is_leaf, namespace=NAMESPACE)
    except RecursionError:
        refuse_deep(named(args, kwargs))
        raise
    return list(map(as_seen_inside, leaves)), tree


def argument_names(tree: Any) -> list[str]:
    """The paths of the leaves of a call's arguments: ``args[0]['w']``, ``kwargs['scale']``."""
    return [name.replace("[0]", "args", 1) if name.startswith("[0]") else name.replace("[1]", "kwargs", 1)
            for name in path_names(tree, "")]  # fmt: skip


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def users_name(function: Callable[..., Any], name: str) -> str:
    """The path of an argument with the function's own parameter: ``weights['w']`` for ``args[0]['w']``.

    >>> users_name(lambda weights, x: x, "args[0]['w']"), users_name(np.sin, "kwargs['where']")
    ("weights['w']", 'where')
    """
    if keyword := re.match(r"kwargs\['(\w+)'\]", name):
        return keyword[1] + name[keyword.end() :]
    if position := re.match(r"args\[(\d+)\]", name):
        try:
            parameters = list(inspect.signature(function).parameters.values())[: int(position[1]) + 1]
        except (TypeError, ValueError):  # written in C, without a signature
            return name
        if len(parameters) > int(position[1]) and all(p.kind in _POSITIONAL for p in parameters):
            return parameters[-1].name + name[position.end() :]
    return name


def path_names(tree: Any, root: str) -> list[str]:
    """The path of each leaf of a tree from `root`, as a Python expression."""
    return [accessor.codify(root) for accessor in optree.treespec_accessors(tree)]


def leaf_type(leaf: Any, path: str) -> ArrayType:
    """The type of an array or a number. For anything else, an `ArgumentTypeError` names the path."""
    if isinstance(leaf, TracedArray):
        return leaf.type
    if isinstance(leaf, np.ndarray):
        if type(leaf) not in (np.ndarray, np.memmap):
            raise ArgumentTypeError(
                f"{path} is a {type(leaf).__name__}, whose rules differ from a plain array's: pass np.asarray of it"
            )
        try:
            return array_type(leaf)
        except DTypeError as error:
            raise DTypeError(f"{path}: {error.message}") from None
    if isinstance(leaf, (np.generic, *PYTHON_NUMBERS)):
        number = np.asarray(leaf)
        if not is_supported(number.dtype):
            raise DTypeError(
                f"{path}: the {type(leaf).__name__} {shown(leaf)} fits no dtype that can be traced: pass a float"
            )
        return ArrayType(number.dtype, ())
    raise ArgumentTypeError(f"{path} is {type(leaf).__name__}, not an array or a number{remedy_for(leaf)}")


def remedy_for(leaf: Any) -> str:
    """The end of a message that refuses a leaf: what to do for arrays from outside and for the user's classes."""
    if isinstance(leaf, ForeignArray):
        return f": {COMPILE_OR_COPY}"
    name = type(leaf).__name__
    if is_dataclass(leaf):
        return f". Register the class once, tm.register_dataclass({name}), or use a dict"
    if hasattr(leaf, "__dict__") and not callable(leaf):
        return (
            f". Say once which arrays it holds, tm.register_pytree({name}, flatten, unflatten), or use a dict"
        )
    return ""


def is_array_like(leaf: Any) -> bool:
    """Whether a leaf is an array or a number, which can be traced."""
    return isinstance(leaf, (TracedArray, np.ndarray, np.generic, *PYTHON_NUMBERS))


def weak_type(leaf: Any) -> "type[Any] | None":
    """The Python type of a weak number, which takes the dtype of the array that it meets; None for others."""
    if is_traced(leaf):
        weak: type[Any] | None = leaf.weak
        return weak
    is_number = isinstance(leaf, PYTHON_NUMBERS) and not isinstance(leaf, (bool, np.generic))
    return next(t for t in (int, float, complex) if isinstance(leaf, t)) if is_number else None


def strongest_type(kinds: "Iterable[type[Any] | None]") -> "type[Any]":
    """The Python type of a number that is computed from numbers of these types.

    >>> strongest_type([int, float])
    <class 'float'>
    """
    known = set(kinds)
    return next(kind for kind in (complex, float, int) if kind in known)


def function_name(function: Any) -> str:
    """The name of a function for graphs. A `functools.partial` has the name of the function that it wraps."""
    name = _plain_name(function)
    return name if name.isidentifier() else "function"


def describe(function: Any) -> str:
    """A function's name in messages; a `functools.partial` is shown as such."""
    name = _plain_name(function)
    return f"partial({name})" if isinstance(function, partial) else name


def _plain_name(function: Any) -> str:
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))

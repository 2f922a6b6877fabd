"""`EvaluatedCall`: one call of a function that is differentiated, run operation by operation."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from traceback import clear_frames
from typing import Any, Final, cast

import numpy as np
import optree

from ...compiler.arguments.leaves import NAMESPACE, flattened, tree_of_arrays, weak_type, with_plain_keys
from ...compiler.builder import recording
from ...compiler.callers.function_names import function_name
from ...compiler.callers.user_code import OPERATORS, user_location
from ...compiler.dtypes import Array
from ...compiler.error_state import begin_quiet, end_quiet
from ...compiler.errors import ConcretizationError, DerivativeMemoryError, TracemillError
from ...compiler.errors.tracemill_error import text_of
from ...compiler.frontend.conversion import call_converted
from ...compiler.frontend.outside.outside_changes import ArgumentContainers
from ...compiler.frontend.program import Static, refuse_hidden_arrays
from ...compiler.memory_layout.layout import LayoutQuestion, layout_of
from ...compiler.nesting import refuse_deep_nesting
from ...compiler.tracing.exceptions.own_errors import is_refusal
from ...compiler.tracing.outside.adoption import begins_trace
from ...compiler.tracing.trace import array_type, next_number
from ...compiler.tracing.traced_memory import is_numpy_array, is_traced
from ..eager.grad_mode import is_grad_enabled
from ..memory_reserve import reporting_lack_of_memory
from . import functions, indexing, ufuncs
from .evaluated_array import EvaluatedArray, new_number, new_result
from .evaluated_memory import Evaluated, EvaluatedMemory, RunAgainError, copied, elements
from .evaluating import Evaluating
from .nodes import Node
from .operand_types import operand_type
from .recorded_sweep import Copied
from .shared_arguments import SharedArguments

__all__ = [
    "EvaluatedCall",
    "Result",
    "functions",
    "indexing",
    "ufuncs",
]  # importing these installs the methods


@dataclass(frozen=True, slots=True)
class Result:
    """A leaf of the result that is an array."""

    array: Array
    node: Any
    """Where its derivative comes from; None if it does not depend on differentiated arguments."""
    is_scalar: bool
    weak: Any
    is_read_only: bool = False


_MANY_CALLS: Final = 100
"""A derivative of fewer calls is not what takes the memory."""
_LEAF: Final[Any] = optree.tree_structure(cast(Any, 0), namespace=NAMESPACE)


class EvaluatedCall:
    """Runs a function once. Its arguments are separate memory, and what it writes to arrays from outside stays."""

    meets_variables: bool = False
    """Whether variables of `tracemill.autograd` are among the arguments, or the function has used them."""

    kept_calls: int = 0
    """About how many calls the derivative keeps; 0 if that is not known."""

    @begins_trace
    def __init__(
        self,
        function: Callable[..., Any],
        tree: Any,
        leaves: Sequence[Any],
        chosen: Sequence[bool],
        *,
        keeps: bool,
    ) -> None:
        """`chosen` marks the leaves that are differentiated. It `keeps` copies of all arrays from outside if the
        derivative is computed later.
        """
        self._keeps = keeps
        self.leaves: list[Node] = []
        """The nodes of the differentiated leaves."""
        self.trace = trace = self._new_trace(function_name(function))
        quiet, operators = begin_quiet(), OPERATORS.set(True)  # what it prints and changes cannot be undone
        try:
            with recording(trace):
                filled = [
                    self._entering(leaf, is_chosen) for leaf, is_chosen in zip(leaves, chosen, strict=True)
                ]
                shared = SharedArguments(function, tree, leaves, filled, trace)
                result = self._called(function, tree, filled)
                shared.refuse_writes(self._captured() if trace.captured or trace.outside else ())
                del shared, filled
                self._read(result)
                trace.give_back()
                del result
                if trace.captured:
                    self._write_back()
            if trace.outside:
                trace.check_captured()
            self.outside = trace.outside_arrays()
            self.kept_calls = self._kept_calls() if trace.keeps_calls else 0
            self.meets_variables = bool(trace.variables) or any(map(is_traced, leaves))
        except MemoryError as error:
            if trace.keeps_calls:
                refuse_calls_since(error, trace.name, trace, trace.first_number)
            raise
        except ValueError as error:
            if isinstance(error.__cause__, ConcretizationError):  # ``w[0] = x``: NumPy wraps ours in its own
                raise error.__cause__ from None
            raise
        finally:
            OPERATORS.reset(operators)
            end_quiet(quiet)
            trace.close()
            trace.has_ended, trace.ended_at = not isinstance(sys.exception(), RunAgainError), next_number()
            if trace.drawn is not None and is_refusal(sys.exception()):
                trace.drawn.restore()

    def _kept_calls(self) -> int:
        return self.trace.next_number() - self.trace.first_number

    def _new_trace(self, name: str) -> Evaluating:
        return Evaluating(name, keeps=self._keeps)

    def _called(self, function: Callable[..., Any], tree: Any, filled: Sequence[Any]) -> Any:
        """The result of a function, which must not change lists and dicts among its arguments."""
        if tree is tree_of_arrays(len(filled)):  # there are no containers
            return call_converted(function, *filled)
        call: Any = optree.tree_unflatten(tree, filled)
        args, kwargs = call
        containers = ArgumentContainers(args, kwargs)
        result = call_converted(function, *args, **kwargs)
        containers.refuse_changes(function)
        return result

    def _captured(self) -> list[tuple[Array, bool]]:
        """The arrays from outside that the function has used, and whether it has written to them."""
        written = [
            array
            for number, array in enumerate(self.trace.captured)
            if is_numpy_array(array) and self.trace.captured_storage(number).version
        ]
        return [*((array, True) for array in written), *((x, False) for x in self.trace.outside_arrays())]

    def _read(self, result: Any) -> None:
        """Note the leaves of the result, whose arrays cannot be read later."""
        if type(result) is EvaluatedArray:
            self.out_tree, self.out_leaves = _LEAF, [self._leaf(result)]
            return
        try:
            found, self.out_tree = flattened(with_plain_keys(result))
        except RecursionError:
            refuse_deep_nesting({"the result": result})
            raise
        self.out_leaves = list(map(self._leaf, found))

    def _leaf(self, leaf: Any) -> "Result | Static":
        if is_traced(leaf):
            if not isinstance(leaf, EvaluatedArray) or not leaf.is_of(self.trace):
                leaf.value  # noqa: B018  (refuses an array of another trace)
            array, node = leaf.evaluated()
            return Result(array, node, leaf.is_scalar, leaf.weak, leaf.returns_read_only)
        if isinstance(leaf, (np.ndarray, np.generic)):
            array_type(np.asarray(leaf))
            return Result(np.array(leaf), None, isinstance(leaf, np.generic), None)
        refuse_hidden_arrays(leaf)
        return Static(leaf)

    def _write_back(self) -> None:
        """Write to arrays from outside what the function has written to them."""
        for number, array in enumerate(self.trace.captured):
            storage = self.trace.captured_storage(number)
            if storage.version and is_numpy_array(array):
                array[...] = elements(storage.value)

    def _entering(self, leaf: Any, is_chosen: bool) -> Any:
        if is_traced(leaf):
            return self._entering_variable(leaf) if is_chosen else leaf
        if not (is_chosen or is_numpy_array(leaf)):
            return leaf
        node = self._node_of_leaf() if is_chosen else None
        if (
            type(leaf) is np.ndarray
            and leaf.flags.c_contiguous
            and leaf.flags.owndata
            and leaf.flags.writeable
        ):
            return new_result(self.trace, leaf.copy(), operand_type(leaf), node)
        if type(leaf) is float:
            return new_number(self.trace, leaf, node)
        return self._entering_with_layout(leaf, node)

    def _entering_variable(self, variable: Any) -> EvaluatedArray:
        """A copy of a variable, from whose node its own one comes."""
        self.trace.keep_arrays()
        array, outer = variable.evaluated()
        outer = outer if is_grad_enabled() else None
        node = Node(self.trace.next_number(), Copied if outer else None, (outer,) if outer else ())
        self.leaves.append(node)
        new = new_result(self.trace, array, operand_type(array), node)
        new.is_scalar = variable.is_scalar
        return new

    def _node_of_leaf(self) -> Node:
        node = Node(self.trace.next_number(), None)
        self.leaves.append(node)
        return node

    def _entering_with_layout(self, leaf: Any, node: Any) -> Any:
        """A number, or an array with flags or strides that NumPy's functions may ask for."""
        is_array = is_numpy_array(leaf)
        array = copied(np.asarray(leaf))
        layout = layout_of(array)
        storage = EvaluatedMemory(self.trace, Evaluated(array, node), None if layout.is_row_major else layout)
        if is_array:
            storage.argument = LayoutQuestion(
                "the argument", owndata=leaf.flags.owndata, writeable=leaf.flags.writeable
            )
        return EvaluatedArray(storage, storage.value.type, is_scalar=not is_array, weak=weak_type(leaf))


def refuse_many_calls(error: MemoryError, name: str, kept: int) -> None:
    """Raise an error that advises `checkpoint`, if what a derivative keeps of this many calls takes the memory."""
    if kept < _MANY_CALLS or isinstance(error, TracemillError):
        return
    clear_frames(
        error.__traceback__
    )  # what the function's variables hold, as there is none left for a message
    raise DerivativeMemoryError(
        f"there is no memory left{_request(error)}: the derivative of {name} keeps what it needs of {kept:,} "
        "calls. Wrap parts of the function in tm.checkpoint, which computes them again instead, or compile the "
        "derivative",
        user_location(),
    ) from error


def refuse_calls_since(error: MemoryError, name: str, trace: Evaluating, number: int) -> None:
    """The same for the calls that a trace has recorded since a number of `next_number`."""
    with reporting_lack_of_memory():
        refuse_many_calls(error, name, trace.next_number() - number)


def _request(error: MemoryError) -> str:
    """What there was no memory for, if NumPy has said so; Python does not."""
    return f" for {text_of(error)}" if error.args else ""

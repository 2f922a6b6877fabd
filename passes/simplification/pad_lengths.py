"""Pad arrays whose lengths a program computes to the greatest lengths that they can have."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from ...compiler.builder import Builder, as_tuple, recording
from ...compiler.dtypes import INT64
from ...compiler.errors import ShapeError, UndecidedDimError
from ...compiler.free_sizes import bound_size, bound_sizes, size_names
from ...compiler.ir import ArrayType, Call, Graph, Value
from ...compiler.symbolic_size import SymbolicSize, is_known, same_shape
from ...compiler.tracing.value_ranges import ValueRanges
from ..lowering.decompose import decompose_composites
from ..padding.nested import NESTED_RULES, Nested
from ..padding.padded_lengths import CannotPadError, PaddedLengths, names_in
from ..padding.rules import rule_of
from .remove_dead_code import remove_dead_code


def pad_lengths(graph: Graph, *, names: Set[str] | None = None, is_differentiated: bool = False) -> Graph:
    """Replace arrays whose lengths the program finds out by arrays of the greatest length that is possible.

    Their first entries count, as many as the program finds out. What is computed of the others does not matter.

    Before, for ``np.sum(x[:k] ** 2)``::

        length_1: bool[n_1] = length(count, dim=n_1)
        iota_1: i64[n_1] = iota(length=n_1)
        gather_1: f64[n_1] = gather(x, iota_1, axes=(0,))
        square_1: f64[n_1] = square(gather_1)
        sum_1: f64[] = sum(square_1, axes=(0,))

    after::

        iota_1: i64[7] = iota(length=7)
        gather_1: f64[7] = gather(x, iota_1, axes=(0,))
        square_1: f64[7] = square(gather_1)
        less_1: bool[7] = less(iota_1, count)
        where_1: f64[7] = where(less_1, square_1, f64(0.0))
        sum_1: f64[] = sum(where_1, axes=(0,))

    So all examples of a batch, and all iterations of a loop, have arrays of one length. A length stays as it is if
    nothing bounds it, if an array of that length is a result, or if a call has no rule for such arrays.

    Args:
        names: those of the lengths to replace. By default, all are replaced.
        is_differentiated: whether derivatives may be asked for later. Then no infinite value or derivative at the
            entries that do not count reaches the others.
    """
    bound = {str(size) for size in bound_sizes(graph)}
    names = (bound if names is None else bound & names).difference(
        *(names_in(v.shape) for v in graph.outputs)
    )
    while names:
        try:
            return remove_dead_code(
                _Padder(_decomposed(graph, names), PaddedLengths(names, is_differentiated)).run()
            )
        except CannotPadError as error:
            names = names - error.names
    return graph


def differing_lengths(graph: Graph, mapped: Sequence[bool]) -> set[str]:
    """The names of the lengths that differ between examples, if the inputs do that are `mapped`."""
    names: set[str] = set()
    differing = {value for value, differs in zip(graph.inputs, mapped, strict=True) if differs}
    for call in graph.calls:
        if differing.isdisjoint(call.inputs) and names.isdisjoint(size_names(call)):
            continue
        differing.update(call.outputs)
        if (size := bound_size(call)) is not None:
            names.add(str(size))
    return names


def _decomposed(graph: Graph, names: Set[str]) -> Graph:
    """The graph without composite calls on such arrays."""

    def has_none(op: str, inputs: Sequence[Value], params: Mapping[str, Any]) -> bool:
        return names.isdisjoint(names_in((*(value.shape for value in inputs), *params.values())))

    return decompose_composites(graph, keep=has_none)


class _Padder(Builder):
    """Records the calls of a graph, on padded arrays where the graph has some of these lengths."""

    def __init__(self, graph: Graph, lengths: PaddedLengths) -> None:
        super().__init__()
        self.graph = graph
        self.lengths = lengths
        self.producer: dict[Value, Call] = {}
        """The call of the graph that computes a value of it."""
        self.now: dict[Value, Value] = {}
        """What stands for a value of the graph, if that is another."""

    def run(self) -> Graph:
        with recording(self):
            for call in self.graph.calls:
                self.location = call.location
                self.producer.update(dict.fromkeys(call.outputs, call))
                inputs = tuple(self.now.get(value, value) for value in call.inputs)
                used = size_names(call).union(*(names_in(value.shape) for value in call.inputs))
                if not used & self.lengths.names:
                    is_same = all(a is b for a, b in zip(inputs, call.inputs, strict=True))
                    self.calls.append(call if is_same else replace(call, inputs=inputs))
                    continue
                if (size := bound_size(call)) is not None:
                    self._bind(size, call.inputs[0])
                outputs = self._padded(call, inputs, used & self.lengths.names)
                self.now.update(zip(call.outputs, outputs, strict=True))
        outputs = tuple(self.now.get(value, value) for value in self.graph.outputs)
        return Graph(self.graph.name, self.graph.inputs, tuple(self.calls), outputs, self.graph.input_names)

    def bound_counts(self) -> None:
        """Say of the numbers of entries that count, which are inputs, what they are at most."""
        with recording(self):
            self.lengths.bound_counts()
            self.producer.update((value, call) for call in self.calls for value in call.outputs)

    def _bind(self, size: SymbolicSize, count: Value) -> None:
        ranges = ValueRanges(self.producer.get)
        most = ranges.at_most(count)
        if most is None or not all(map(is_known, ranges.facts)):
            raise CannotPadError({str(size)})
        self.lengths.bind(size, self.now.get(count, count), most)

    def _padded(self, call: Call, inputs: tuple[Value, ...], names: set[str]) -> tuple[Value, ...]:
        """What stands for the outputs of a call on arrays of these lengths."""
        rule, nested_rule = rule_of(call), NESTED_RULES.get(call.op)
        try:
            if rule is not None:
                outputs = as_tuple(rule(self.lengths, call, inputs))
            elif nested_rule is not None:
                outputs = nested_rule(self.lengths, call, inputs, self._nested(sorted(names)))
            else:
                raise CannotPadError(names)
        except CannotPadError as error:
            raise CannotPadError(error.names or names) from None
        except (ShapeError, UndecidedDimError):
            raise CannotPadError(
                names
            ) from None  # lengths that turn out to be equal may have different bounds
        for old, new in zip(call.outputs, outputs, strict=True):
            if not same_shape(new.shape, self.lengths.padded(old.shape)):
                raise CannotPadError(names)
        return outputs

    def _nested(self, names: Sequence[str]) -> Nested:
        """How the graphs of a call become graphs on arrays of these lengths."""

        def padded(graph: Graph, place: int) -> Graph:
            counts = tuple(Value(ArrayType(INT64, ())) for _ in names)
            padder = _Padder(graph, self.lengths.inside(dict(zip(names, counts, strict=True))))
            padder.bound_counts()
            for value in graph.inputs:
                shape = padder.lengths.padded(value.shape)
                if not same_shape(shape, value.shape):
                    padder.now[value] = Value(ArrayType(value.dtype, shape))
            made = padder.run()
            inputs = tuple(padder.now.get(value, value) for value in graph.inputs)
            labels = (
                *graph.input_names[:place],
                *(f"count_of_{name}" for name in names),
                *graph.input_names[place:],
            )
            return Graph(
                made.name, (*inputs[:place], *counts, *inputs[place:]), made.calls, made.outputs, labels
            )

        return Nested([self.lengths.found(name) for name in names], padded)

"""A kernel under construction: its calls, their loops, and whether one more call fits.

The loops of a kernel form a tree of nests. The root is the loop over the result for which the group was started. A
reduction is a nest inside the nest that uses its result, and shares the loops that index this result: the maximum of
a row is in the loop over rows, before the loop over the row that subtracts it. Elementwise calls and moves have no
loops of their own: they are computed where they are used.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Final, NamedTuple

from ...compiler.analysis.fusible_ops import is_elementwise
from ...compiler.ir import Call, Value
from ...compiler.op import is_view, moved_inputs
from .cost import LARGEST, MOST_PARTS, SHARED_STAGES, STAGES, Costs, is_number, operations
from .reasons import Reason, Refusal
from .shared_axes import aligned_axes, common_prefix, in_order, is_reduction, long_axes, outer_axes, rank

WORD: Final = 4
"""Bytes of a register."""

MOST_WORDS: Final = 4
"""Values of an element take at most this many."""

WRITTEN_OUT = 4
"""Last axes and sums of at most this many elements have no loop: values that all of these need are computed once."""


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """Nested loops. The outer ones are shared with the parent nest."""

    parent: "Nest | None"
    shared: int
    """How many of the parent's outermost loops enclose this nest."""
    size: int
    """How often the innermost statement runs."""
    stage: int = 0
    """How many nests run after it, each with the result of the one before."""

    @property
    def start(self) -> int:
        """The stage of its outermost loops: nests of the same stage may share loops."""
        nest = self
        while nest.parent is not None and nest.shared:
            nest = nest.parent
        return nest.stage


class Place(NamedTuple):
    """The place in a nest where a value is computed."""

    aligned: int
    """How many leading axes of the value the outermost loops index, in order."""
    ways: Mapping[int, int]
    """How many elements each distinct index reads: ``x[1:] - x[:-1]`` reads elements of x with two."""

    @property
    def times(self) -> int:
        """How many elements are computed if nothing is computed before its innermost loop."""
        return sum(self.ways.values())


Places = dict[Nest, Place]

LOOPS: Final = 0
"""The index that the loops of a nest define."""


class Use(NamedTuple):
    """A value as an operand of a call of the group."""

    call: Call
    place: int


@dataclass(frozen=True, slots=True)
class Fit:
    """How one more call would become part of a group."""

    places: Places
    nest: Nest | None
    """Its own loops, if it is a reduction."""
    extra: float
    """Nanoseconds for values that are computed more than once."""


@dataclass(slots=True, eq=False)
class Group:
    """Calls that run as one kernel, at the time of the call for which it was started."""

    time: float
    costs: Costs
    largest: Call
    """The nest with its own loops, the root or a reduction, that has most iterations."""
    calls: dict[Call, None] = field(default_factory=dict[Call, None])
    """In reverse order."""
    stored: list[Value] = field(default_factory=list[Value])
    """The results of the kernel."""
    reads: dict[Value, list[Use]] = field(default_factory=dict["Value", "list[Use]"])
    """The operands that no call of the group computes, with their users."""
    operands: dict[Call, Places] = field(default_factory=dict["Call", "Places"])
    """Where the operands of each call are needed, given by its result or its own loops."""
    indices: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """Numbers of distinct indices, by the operand's index from which they are made, and how."""
    written_out: set[Call] = field(default_factory=set[Call])
    """Reductions of few elements that have no loop."""
    work: int = 0
    """How many times the innermost statements of all nests run."""
    statements: int = 0
    """How many statements compute an element, in all loops."""
    repeated: float = 0.0
    """Nanoseconds spent on computing values more than once."""
    is_view: bool = True
    """Whether all calls are views, which need no kernel if their arrays are in memory."""

    @staticmethod
    def begun(time: float, call: Call, costs: Costs) -> "Group":
        """A group with `call` as its root; its result is stored."""
        (output,) = call.outputs
        nest = Nest(None, 0, size_of(call))
        group = Group(time, costs, call, stored=[output], work=nest.size, statements=1)
        group._enter(call, {nest: Place(rank(output), {LOOPS: nest.size})})
        return group

    def fit(self, call: Call, *, store: bool, once: bool = False) -> Fit | Refusal:
        """How `call`, which other calls of the group use, can join it. If it is to be stored, it becomes a further
        result. With `once`, no element of its result is computed twice."""
        if _joins(call) and sum(map(_joins, self.calls)) >= MOST_PARTS:
            return Refusal(Reason.TOO_LARGE, len(self.calls) + 1)
        (output,) = call.outputs
        costs = self.costs
        if (registers := self._registers_with(call)) > costs.registers:
            return Refusal(Reason.REGISTERS, registers)
        places = self._places(output)
        if (statements := self.statements + _statements(places)) > LARGEST:
            return Refusal(Reason.TOO_LARGE, statements)
        misplaced = [place for place in places.values() if place.aligned < rank(output)]
        if once and rank(output) and (misplaced or not self._is_read_once(output)):
            return Refusal(Reason.CHOSEN, output.type.size)
        if store and (refusal := self._refuse_storing(call, misplaced)):
            return refusal
        if is_reduction(call) and not (misplaced and _is_written_out(call)):
            return self._fit_reduction(call, places, misplaced)
        times = max((place.times for place in misplaced), default=output.type.size)
        starts = {nest.start for nest in places} if rank(output) else set[int]()
        times += max(len(starts) - 1, 0) * output.type.size
        extra = max(times - output.type.size, 0) * operations(call) * costs.operation
        if (
            extra
            and self.repeated + extra > costs.launch + 2 * output.type.nbytes / costs.bytes_per_nanosecond
        ):
            return Refusal(Reason.RECOMPUTED, times / max(output.type.size, 1))
        return Fit(places, None, extra)

    def add(self, call: Call, fit: Fit, *, store: bool) -> None:
        """Add `call` to the group, as `fit` says."""
        (output,) = call.outputs
        self.reads.pop(output, None)
        self.statements += _statements(fit.places)
        if store:
            self.stored.append(output)
        self.repeated += fit.extra
        nest = fit.nest
        if nest is None and is_reduction(call):
            self.written_out.add(call)
        self._enter(call, fit.places if nest is None else {nest: Place(rank(output), {LOOPS: nest.size})})
        if nest is not None:
            self.work += nest.size
            self.largest = max(self.largest, call, key=size_of)

    def _registers_with(self, call: Call) -> int:
        """How many registers are occupied when `call` runs: its operands, and those of other calls of the group."""
        if MOST_WORDS * (len(self.reads) + len(call.inputs)) <= self.costs.registers:
            return 0
        return registers_of({**self.reads, **dict.fromkeys(call.inputs)}) - registers_of(call.outputs)

    def _refuse_storing(self, call: Call, misplaced: Sequence[Place]) -> Refusal | None:
        (output,) = call.outputs
        if misplaced:
            return Refusal(Reason.NOT_ALIGNED, output.type.size)
        outer = common_prefix([long_axes(value.shape) for value in (output, *self.stored)])
        iterations = prod(outer)
        if self._is_serial(iterations, size_of(call)):
            return Refusal(Reason.SERIAL, iterations)
        return None

    def _is_serial(self, iterations: int, size: int) -> bool:
        """Whether too few outer iterations remain for a call with so many elements."""
        if iterations >= self.costs.parallel or self.work + size <= self.costs.small:
            return False
        return size > iterations * self.costs.resident

    def _fit_reduction(self, call: Call, places: Places, misplaced: Sequence[Place]) -> Fit | Refusal:
        (output,) = call.outputs
        size, costs = size_of(call), self.costs
        if misplaced:
            times = max(place.times for place in misplaced) / max(output.type.size, 1)
            return Refusal(Reason.RECOMPUTED, times)
        parent, loops = _meeting(list(places))
        if loops < rank(output):
            return Refusal(Reason.RECOMPUTED, len(places))
        around = max(nest.size for nest in places)
        if not in_order(call) and around > output.type.size and self.work + size > costs.small:
            return Refusal(Reason.STRIDED, size)
        if around > costs.brief and self._is_serial(output.type.size, size):
            return Refusal(Reason.SERIAL, output.type.size)
        shared = outer_axes(call)
        stage = 1 + max(nest.stage for nest in places)
        if stage > (SHARED_STAGES if shared else STAGES):
            return Refusal(Reason.STAGES, stage)
        return Fit(places, Nest(parent, shared, size, stage), 0.0)

    def _places(self, value: Value) -> Places:
        """Where the calls of the group need a value."""
        places: Places = {}
        for call, place in self.reads[value]:
            aligned = aligned_axes(call, place)
            reduces = is_reduction(call) and call not in self.written_out
            if reduces and in_order(call):
                aligned = rank(value)
            for nest, at in self.operands[call].items():
                before = places.get(nest, Place(rank(value), {}))
                ways = dict(before.ways)
                for index, times in at.ways.items():
                    index = self._index(call, place, index)
                    ways[index] = max(ways.get(index, 0), _times(call, value, times))
                places[nest] = Place(
                    min(aligned if reduces else min(aligned, at.aligned), before.aligned), ways
                )
        # A value that depends only on outer loops is computed there, once for each of its elements.
        axes, once = rank(value), {LOOPS: value.type.size}
        return {nest: at if at.aligned < axes else Place(axes, once) for nest, at in places.items()}

    def _is_read_once(self, value: Value) -> bool:
        """Whether the calls of the group need each element of a value in one loop and by one index."""
        found = {
            (nest, self._index(call, place, index))
            for call, place in self.reads[value]
            for nest, at in self.operands[call].items()
            for index in at.ways
        }
        return len(found) <= 1

    def _index(self, call: Call, place: int, index: int) -> int:
        """The index with which a call reads its operand if `index` reads its result."""
        operand, (output,) = call.inputs[place], call.outputs
        if is_reduction(call):
            return index
        if is_view(call) and len(call.inputs) == 1:
            return self._numbered((call.op, tuple(call.params.items()), operand.shape, index))
        if not is_elementwise(call):
            return self._numbered((call, place, index))
        if operand.shape == output.shape:
            return index
        return self._numbered((output.shape, operand.shape, index))

    def _numbered(self, index: Hashable) -> int:
        return self.indices.setdefault(index, len(self.indices) + LOOPS + 1)

    def _enter(self, call: Call, operands: Places) -> None:
        self.calls[call] = None
        self.is_view &= is_view(call)
        self.operands[call] = operands
        for place, value in enumerate(call.inputs):
            if not is_number(value):
                self.reads.setdefault(value, []).append(Use(call, place))


def registers_of(values: Iterable[Value]) -> int:
    """How many registers hold an element of each."""
    return sum(max(WORD, value.dtype.itemsize) // WORD for value in values if not is_number(value))


def size_of(call: Call) -> int:
    """The number of elements that a call computes."""
    return max(call.outputs[0].type.size, call.inputs[0].type.size if is_reduction(call) else 0)


def _statements(places: Places) -> int:
    """How many statements compute a value: one for each index with which an element is read."""
    return sum(len(place.ways) for place in places.values())


def _times(call: Call, operand: Value, times: int) -> int:
    """How many elements of an operand `times` elements of the result, or of a reduction's loops, need."""
    size, shape = call.outputs[0].type.size, call.outputs[0].shape
    if not is_reduction(call) and shape and 1 < shape[-1] <= WRITTEN_OUT and operand.shape[-1:] != shape[-1:]:
        return -(-times // shape[-1])
    if _is_written_out(call):
        return max(times, -(-times * operand.type.size // size))
    if is_reduction(call) or not 0 < operand.type.size < size or not _joins(call):
        return times
    return -(-times * operand.type.size // size)


def _joins(call: Call) -> bool:
    """Whether it puts operands together: it reads each of their elements once, although the result has more."""
    return len(moved_inputs(call)) > 1


def _is_written_out(call: Call) -> bool:
    """Whether a reduction has so few elements that it needs no loop."""
    size = call.outputs[0].type.size
    return is_reduction(call) and size > 0 and call.inputs[0].type.size <= WRITTEN_OUT * size


def _meeting(nests: Sequence[Nest]) -> tuple[Nest, int]:
    """The innermost nest that contains all of these, and how many of its loops enclose them all."""
    around = _around(nests[0])
    for nest in nests[1:]:
        also = _around(nest)
        around = {n: min(loops, also[n]) for n, loops in around.items() if n in also}
    return next(iter(around.items()))


_ALL_LOOPS = 1 << 30


def _around(nest: Nest) -> dict[Nest, int]:
    """The nest and its parents, from the inside out, with how many of their loops enclose it."""
    loops = _ALL_LOOPS
    found = {nest: loops}
    while nest.parent is not None:
        loops = min(loops, nest.shared)
        nest = nest.parent
        found[nest] = loops
    return found

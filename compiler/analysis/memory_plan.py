"""Where the arrays of a graph are: which are views, which replace another, which share an arena."""

from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import cast

from ..free_sizes import names_bound_in, sizes_in_param
from ..ir import Call, Extent, Graph, Value, last_reads, same_type
from ..op import Aliasing, has_effect, lookup
from ..symbolic_size import SymbolicSize, max_expr, typical

ALIGNMENT = 64
"""Offsets in the arena are multiples of a cache line."""


@dataclass(slots=True, eq=False)
class Block:
    """Memory that holds one value after another, from the first call that writes it to the last that reads it."""

    nbytes: Extent
    first: int
    last: int
    in_arena: bool
    offset: Extent = 0


@dataclass(slots=True)
class MemoryPlan:
    """The memory of every value that a call computes."""

    root: dict[Value, Value] = field(default_factory=dict[Value, Value])
    """The value whose memory a view, or an in-place result, uses; all other values map to themselves."""
    block: dict[Value, Block] = field(default_factory=dict[Value, Block])
    """The memory of each root that a call computes."""
    whole: set[Value] = field(default_factory=set[Value])
    """Values that contain every element of their memory exactly once."""
    overwritten: dict[Value, Value] = field(default_factory=dict[Value, Value])
    """For an in-place result: the operand that it replaces."""
    work: dict[int, Block] = field(default_factory=dict[int, Block])
    """The workspace of each call that needs one."""
    arena_bytes: Extent = 0
    dying: dict[int, list[Value]] = field(default_factory=dict[int, "list[Value]"])
    """Per call: the values outside the arena whose memory is not needed after it."""

    def block_of(self, value: Value) -> Block | None:
        """The memory of a value; None for inputs, constants, numbers and views of those."""
        return self.block.get(self.root.get(value, value))


class Numbers(Enum):
    """How a backend stores results without axes."""

    NOWHERE = auto()
    """They are Python numbers."""
    READ_AT_ONCE = auto()
    """They are written to memory, and become Python numbers as soon as the call is done."""
    IN_MEMORY = auto()
    """They are in memory like arrays. Each has an address, and so does an array without elements."""


@dataclass(frozen=True, slots=True)
class CallMemory:
    """What a backend can do with the memory of a call."""

    into: bool
    """It can write each of its results to a given place."""
    overwrites: Mapping[int, Sequence[int]]
    """For results by number: inputs that each may overwrite, if they have the same type and are not used later."""
    is_view: bool = False
    """The result is another view of the first input, and costs nothing."""
    smallest: int = 0
    """Results of fewer bytes are better allocated than written to memory that is kept."""
    numbers: Numbers = Numbers.NOWHERE
    work: Extent | None = None
    """The bytes of its workspace in addition to its results, if it needs one."""


def plan_memory(
    graph: Graph,
    memory_of: Callable[[Call], CallMemory],
    *,
    smallest: int = 0,
    known: Set[Value] = frozenset(),
    owned: Set[Value] = frozenset(),
    replacing: Mapping[Value, Value] | None = None,
    largest: Callable[[Extent], Extent] | None = None,
) -> MemoryPlan:
    """Decide where every result is stored, except the `known` ones, which are owned elsewhere.

    Nothing else needs the memory of the `owned` inputs: it may be overwritten and freed. Results that are
    `replacing` an operand take its place in any case.

    A result takes the place of an operand that is not used later, if possible. Otherwise it goes into the arena, if
    the call can write to a given place, the result has at least `smallest` bytes, and it is not visible outside. A
    value that is returned or passed to a call with an effect gets new memory. Each result of a call has its own
    memory.
    """
    planner = _Planner(graph, owned, replacing or {}, largest)
    for index, call in enumerate(graph.calls):
        if not any(output in known for output in call.outputs):
            planner.place(index, call, memory_of(call), smallest)
    return planner.placed()


class _Planner:
    """Decides call by call whose memory the results use."""

    def __init__(
        self,
        graph: Graph,
        owned: Set[Value],
        replacing: Mapping[Value, Value],
        largest: Callable[[Extent], Extent] | None,
    ) -> None:
        self.end = len(graph.calls)
        self.plan = MemoryPlan()
        self.replacing = replacing
        self.largest = largest or (lambda nbytes: nbytes)
        self.found = set[str]() if largest else names_bound_in(graph)
        """The sizes that are not known before the program runs: the arena has no room for arrays of these."""
        self.last = last_reads(call.inputs for call in graph.calls)
        """The last use of each value."""
        self.held = set(graph.outputs)
        """Values whose memory is owned outside."""
        for call in graph.calls:
            if has_effect(call):
                self.held.update(call.inputs)
        self.alive_until: dict[Value, int] = {}
        """Per root: the last use so far of all values in its memory."""
        self.read: set[Value] = set()
        """Numbers that are not read from memory later."""
        for value in owned:
            self.plan.root[value] = value
            self.plan.block[value] = Block(value.type.nbytes, -1, -1, in_arena=False)
            self.plan.whole.add(value)
            self.alive_until[value] = self.end if value in self.held else self.last.get(value, -1)

    def _new_block(self, output: Value, index: int, memory: CallMemory, smallest: int) -> Block:
        nbytes = self.largest(output.type.nbytes)
        if memory.numbers is Numbers.IN_MEMORY:
            nbytes = max_expr(nbytes, 1)
        is_large = typical(nbytes) >= max(smallest, memory.smallest)
        names = {str(one) for size in sizes_in_param(output.shape) for one in size.sizes}
        return Block(nbytes, index, index, memory.into and is_large and not names & self.found)

    def place(self, index: int, call: Call, memory: CallMemory, smallest: int) -> None:
        """Decide for the results of a call."""
        plan, taken = self.plan, set[Value]()
        is_written = not has_effect(call)
        for number, output in enumerate(call.outputs):
            operand = self.replacing.get(output)
            if operand is None:
                operand = self._overwritten(call, output, memory.overwrites.get(number, ()), index, taken)
            stays = output.ndim > 0 or memory.numbers is Numbers.IN_MEMORY
            source = call.inputs[0] if operand is None and memory.is_view and stays else operand
            root = plan.root[output] = output if source is None else plan.root.get(source, source)
            if root is output and is_written and (stays or memory.numbers is Numbers.READ_AT_ONCE):
                plan.block[root] = self._new_block(output, index, memory, smallest)
            if not stays:
                self.read.add(output)
            elif source is None or operand is not None or _is_whole_view(call, plan):
                plan.whole.add(output)
            if operand is not None:
                taken.add(root)
                plan.overwritten[output] = operand
            until = self.end if output in self.held else self.last.get(output, index)
            self.alive_until[root] = max(self.alive_until.get(root, index), until)
        if memory.work is not None:
            plan.work[index] = Block(self.largest(memory.work), index, index, in_arena=True)

    def _overwritten(
        self, call: Call, output: Value, places: Sequence[int], index: int, taken: Set[Value]
    ) -> Value | None:
        """The operand whose memory a result can use: a whole block that is not used later and that no other operand
        or result uses.

        The memory of the graph's inputs comes first: values in it are not new memory.
        """
        plan = self.plan
        found: Value | None = None
        for place in places:
            operand = call.inputs[place]
            root = plan.root.get(operand, operand)
            block = plan.block.get(root)
            if block is None or root in taken or operand not in plan.whole:
                continue
            if not same_type(operand.type, output.type):
                continue
            readers = sum(plan.root.get(other, other) is root for other in call.inputs)
            if self.alive_until[root] > index or readers > 1:
                continue
            if block.first < 0:
                return operand
            found = operand if found is None else found
        return found

    def placed(self) -> MemoryPlan:
        """The plan, after every call has been seen. Values that are used at the end are not in the arena."""
        plan = self.plan
        for root, block in plan.block.items():
            if root in self.read:
                continue
            block.last = self.alive_until[root]
            if block.last == self.end:
                block.in_arena = False
        made = [*plan.block.values(), *plan.work.values()]
        plan.arena_bytes = place_blocks(sorted(made, key=lambda block: block.first))
        for value, root in plan.root.items():
            held = plan.block.get(root)
            if held is not None and not held.in_arena and held.last < self.end:
                plan.dying.setdefault(held.last, []).append(value)
        return plan


def _is_whole_view(call: Call, plan: MemoryPlan) -> bool:
    return lookup(call.op).aliasing >= Aliasing.WHOLE and call.inputs[0] in plan.whole


def place_blocks(blocks: Iterable[Block]) -> Extent:
    """Assign offsets to the blocks of the arena, in the order in which they are allocated; returns the size of the
    arena.

    A block takes the smallest gap that fits. Adjacent gaps are merged. For symbolic sizes, both are expressions.
    """
    blocks = [block for block in blocks if block.in_arena]
    if any(isinstance(block.nbytes, SymbolicSize) for block in blocks):
        return _place_symbolic(blocks)
    gaps = _Gaps()
    ending: list[tuple[int, int, Block]] = []
    for number, block in enumerate(blocks):
        while ending and ending[0][0] < block.first:
            done = ending.pop(0)[2]
            gaps.give_back(done.offset, aligned(done.nbytes))
        block.offset = gaps.take(aligned(block.nbytes))
        insort(ending, (block.last, number, block))
    return gaps.end


def _place_symbolic(blocks: Sequence[Block]) -> Extent:
    """By their positions for typical sizes."""
    from ..shapes.arena import Piece, offsets_of

    usual = [replace(block, nbytes=typical(block.nbytes)) for block in blocks]
    place_blocks(usual)
    offsets, end = offsets_of(
        [
            Piece(block.nbytes, block.first, block.last, like.offset)
            for block, like in zip(blocks, usual, strict=True)
        ]
    )
    for block, offset in zip(blocks, offsets, strict=True):
        block.offset = offset
    return cast("Extent", end)


def aligned(nbytes: Extent) -> Extent:
    """The bytes of a block, up to where the next one may begin."""
    return (nbytes + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT


class _Gaps:
    """The unused parts of an arena that grows as needed."""

    def __init__(self) -> None:
        self.end = 0
        self.gaps: list[tuple[int, int]] = []
        """(offset, size), by ascending offset, not adjacent."""

    def take(self, size: int) -> int:
        fitting = [(length, offset) for offset, length in self.gaps if length >= size]
        if fitting:
            length, offset = min(fitting)
            self.gaps.remove((offset, length))
            if length > size:
                insort(self.gaps, (offset + size, length - size))
            return offset
        if self.gaps and sum(self.gaps[-1]) == self.end:  # extend the last gap beyond the end
            offset, _ = self.gaps.pop()
        else:
            offset = self.end
        self.end = offset + size
        return offset

    def give_back(self, offset: int, size: int) -> None:
        if not size:  # an array without elements has no memory
            return
        before = [gap for gap in self.gaps if sum(gap) == offset]
        after = [gap for gap in self.gaps if gap[0] == offset + size]
        for gap in (*before, *after):
            self.gaps.remove(gap)
            offset, size = min(offset, gap[0]), size + gap[1]
        insort(self.gaps, (offset, size))

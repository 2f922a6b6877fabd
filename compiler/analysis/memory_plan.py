"""Where the arrays of a graph live: which are views, which replace another, which share an arena."""

from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import cast

from ..ir import Call, Dim, Graph, Value, same_type
from ..op import Aliasing, has_effect, is_view, lookup
from ..symbolic_size import SymbolicSize, typical

ALIGNMENT = 64
"""Offsets in the arena are multiples of a cache line."""


@dataclass(slots=True, eq=False)
class Block:
    """Memory that holds one value after another, from the first call that writes it to the last."""

    nbytes: Dim
    first: int
    last: int
    in_arena: bool
    offset: Dim = 0


@dataclass(slots=True)
class MemoryPlan:
    """For every value that a call makes, its memory."""

    root: dict[Value, Value] = field(default_factory=dict[Value, Value])
    """The value whose memory a view, or a result that is written in place, lies in; itself for all others."""
    block: dict[Value, Block] = field(default_factory=dict[Value, Block])
    """The memory of each root that a call makes."""
    whole: set[Value] = field(default_factory=set[Value])
    """Values that show every element of their memory once."""
    overwritten: dict[Value, Value] = field(default_factory=dict[Value, Value])
    """For a result that is written in place: the operand that it replaces."""
    arena_bytes: Dim = 0
    dying: dict[int, list[Value]] = field(default_factory=dict[int, "list[Value]"])
    """Per call: the values outside the arena that nothing needs after it."""

    def block_of(self, value: Value) -> Block | None:
        """The memory that a value lies in; None for inputs, constants, numbers and views of those."""
        return self.block.get(self.root.get(value, value))


@dataclass(frozen=True, slots=True)
class OutputAliasing:
    """What a backend can do with the memory of a call's results."""

    into: bool
    """It can be told where to write each of them."""
    overwrites: Mapping[int, Sequence[int]]
    """For results by number: inputs that each may overwrite, if they have its type and die here."""
    smallest: int = 0
    """Results of fewer bytes are better made anew than written into memory that is kept."""
    numbers: bool = False
    """Results without axes are written to memory, too, and read from it at once."""


def plan_memory(
    graph: Graph,
    writing: Callable[[Call], OutputAliasing],
    *,
    smallest: int = 0,
    known: Set[Value] = frozenset(),
    owned: Set[Value] = frozenset(),
) -> MemoryPlan:
    """Decide where every result lives, but for the `known` ones, which belong to somebody else.

    The inputs that are `owned` are memory that nobody else needs: it may be written to, and given back.

    A result takes the place of an operand that dies with the call, if it can; else it goes into
    the arena, if the call can be told where to write, the result has at least `smallest` bytes, and nobody
    outside sees it. What is returned or handed to a call with an effect is new memory of its own. Each result of a
    call has memory of its own.
    """
    plan = MemoryPlan()
    last = _last_uses(graph)
    held = set(graph.outputs)
    for call in graph.calls:
        if has_effect(call):
            held.update(call.inputs)
    alive_until: dict[Value, int] = {}  # per root: the last use of all that lies in it so far
    for value in owned:
        plan.root[value] = value
        plan.block[value] = Block(value.type.nbytes, -1, -1, in_arena=False)
        plan.whole.add(value)
        alive_until[value] = len(graph.calls) if value in held else last.get(value, -1)
    for index, call in enumerate(graph.calls):
        if any(output in known for output in call.outputs):
            continue
        can = writing(call)
        least = max(smallest, can.smallest)
        effect = has_effect(call)
        taken: set[Value] = set()
        for number, output in enumerate(call.outputs):
            places = can.overwrites.get(number, ())
            operand = _overwritten(call, output, places, index, plan, alive_until, taken)
            root = plan.root[output] = _root(call, output, operand, plan)
            if root is output and (output.ndim or can.numbers) and not effect:
                nbytes = output.type.nbytes
                into = can.into and typical(nbytes) >= least
                plan.block[root] = Block(nbytes, index, index, into)
            if output.ndim and (root is output or operand is not None or _is_whole_view(call, plan)):
                plan.whole.add(output)
            if operand is not None:
                taken.add(root)
                plan.overwritten[output] = operand
            until = len(graph.calls) if output in held else last.get(output, index)
            alive_until[root] = max(alive_until.get(root, index), until)
    _end(plan, alive_until, len(graph.calls))
    plan.arena_bytes = place_blocks(plan.block.values())
    plan.dying = _dying(graph, plan)
    return plan


def _root(call: Call, output: Value, operand: Value | None, plan: MemoryPlan) -> Value:
    """The value in whose memory `output` lies. Numbers lie nowhere: reading one from an array copies it."""
    if operand is None and (not is_view(call) or output.ndim == 0):
        return output
    source = call.inputs[0] if operand is None else operand
    return plan.root.get(source, source)


def _end(plan: MemoryPlan, alive_until: Mapping[Value, int], end: int) -> None:
    """Note when the memory of each root is used for the last time; what is used at the end is not in the arena."""
    for root, block in plan.block.items():
        if root.ndim == 0 and block.first >= 0:
            continue  # a number is read at once
        block.last = alive_until[root]
        if block.last == end:
            block.in_arena = False


def _is_whole_view(call: Call, plan: MemoryPlan) -> bool:
    return lookup(call.op).aliasing >= Aliasing.WHOLE and call.inputs[0] in plan.whole


def _last_uses(graph: Graph) -> dict[Value, int]:
    return {value: index for index, call in enumerate(graph.calls) for value in call.inputs}


def _overwritten(
    call: Call,
    output: Value,
    places: Sequence[int],
    index: int,
    plan: MemoryPlan,
    alive_until: Mapping[Value, int],
    taken: Set[Value],
) -> Value | None:
    """The operand whose memory a result can take: a whole block that dies here, and no other operand's or result's.

    The memory of the graph's inputs comes first: what lies in it is not new memory, whatever becomes of it.
    """
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
        if alive_until[root] > index or readers > 1:
            continue
        if block.first < 0:
            return operand
        found = operand if found is None else found
    return found


def place_blocks(blocks: Iterable[Block]) -> Dim:
    """Give the blocks of the arena their offsets, in the order in which they are made; the size of the arena.

    A block takes the smallest gap that holds it. Gaps that touch become one. Of symbolic sizes, both are expressions.
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


def _place_symbolic(blocks: Sequence[Block]) -> Dim:
    """By where they would lie for typical sizes."""
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
    return cast("Dim", end)


def aligned(nbytes: Dim) -> Dim:
    """The bytes of a block, up to where the next one may begin."""
    return (nbytes + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT


class _Gaps:
    """The unused parts of an arena that grows as needed."""

    def __init__(self) -> None:
        self.end = 0
        self.gaps: list[tuple[int, int]] = []
        """(offset, size), by rising offset, not touching each other."""

    def take(self, size: int) -> int:
        fitting = [(length, offset) for offset, length in self.gaps if length >= size]
        if fitting:
            length, offset = min(fitting)
            self.gaps.remove((offset, length))
            if length > size:
                insort(self.gaps, (offset + size, length - size))
            return offset
        if self.gaps and sum(self.gaps[-1]) == self.end:  # stretch the last gap over the end
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


def _dying(graph: Graph, plan: MemoryPlan) -> dict[int, list[Value]]:
    """Every value that lies in memory of its own is listed at the last call that reads that memory."""
    dying: dict[int, list[Value]] = {}
    for value, root in plan.root.items():
        block = plan.block.get(root)
        if block is not None and not block.in_arena and block.last < len(graph.calls):
            dying.setdefault(block.last, []).append(value)
    return dying

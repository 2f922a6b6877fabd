"""How much memory a program needs: its arguments, its results, and what it works in."""

from dataclasses import dataclass

from .ir import Graph, called
from .memory_plan import Block, MemoryPlan
from .peak_memory import peak_memory


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes of arrays while a program runs. Numbers, and what Python needs for its objects, are not counted."""

    arguments: int
    """What the program is given, arrays that it closes over included."""
    outputs: int
    """What it returns, but for what lies in the memory of arguments that are donated."""
    temporaries: int
    """What it needs besides, at the time at which it needs most: kept from call to call as far as it can be. Where
    threads share tiles, what one of them needs."""

    @property
    def peak(self) -> int:
        """All of that together."""
        return self.arguments + self.outputs + self.temporaries

    def __str__(self) -> str:
        parts = f"arguments {self.arguments:_}, outputs {self.outputs:_}, temporaries {self.temporaries:_}"
        return f"{self.peak:_} bytes: {parts}"


def memory_use(graph: Graph, plan: MemoryPlan) -> MemoryUse:
    """What a graph needs whose results lie where a plan says."""
    returned: set[Block] = set()
    outputs = 0
    for value in graph.outputs:
        block = plan.block_of(value)
        if block is not None and block.first < 0 and block not in returned:
            returned.add(block)  # in the memory of a donated argument
        elif value.ndim:
            outputs += value.type.nbytes
            if block is not None:
                returned.add(block)
    made = [0] * (len(graph.calls) + 1)  # by call: what is new and not in the arena, without results
    for block in plan.block.values():
        if not block.in_arena and block.first >= 0 and block not in returned:
            made[block.first] += block.nbytes
            made[min(block.last, len(graph.calls) - 1) + 1] -= block.nbytes
    now = most = 0
    for call, change in zip(graph.calls, made, strict=False):
        now += change
        inside = max((_working_memory(nested) for nested in called((call,))), default=0)
        most = max(most, now + (inside if call.op != "kernel" else 0))
    return MemoryUse(sum(value.type.nbytes for value in graph.inputs), outputs, plan.arena_bytes + most)


def _working_memory(graph: Graph) -> int:
    return max(0, peak_memory(graph) - sum(value.type.nbytes for value in {*graph.outputs}))

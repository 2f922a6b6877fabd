"""A graph as a plan: what computes each of its calls, and where each value is."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from ....analysis.memory_plan import Block, place_blocks
from ....ir import ArrayType, Call, Constant, Graph, Value, last_reads
from ....op import is_renamed
from ....shapes.scope import making_kernel
from ....symbolic_size import SymbolicSize
from ....text.naming import Naming, constant_key
from ..kernels.kernel import TritonKernel
from ..plan import CopyStep, HostStep, LaunchStep, Plan, Region, Slot, Step
from ..task import Task
from .control import control_task
from .module import Module, operands


def plan_graph(graph: Graph, module: Module) -> Plan:
    """The plan of a graph, whose functions are added to a module."""
    return _Planner(graph, module).plan()


def graph_of(calls: Sequence[Call], outputs: Sequence[Value], name: str) -> Graph:
    """A graph of some calls of another, whose inputs are the values that they need."""
    made = {value for call in calls for value in call.outputs}
    needed = dict.fromkeys(
        value
        for call in calls
        for value in call.inputs
        if value not in made and not isinstance(value, Constant)
    )
    return Graph(name, tuple(needed), tuple(calls), tuple(outputs))


@dataclass(slots=True)
class _Planner:
    graph: Graph
    module: Module
    tasks: list[Task] = field(default_factory=list[Task])
    roots: dict[Value, Value] = field(default_factory=dict[Value, Value])
    """For values that use another's memory: whose."""
    slots: dict[Value, Slot] = field(default_factory=dict[Value, Slot])
    """The place of each root."""
    names: dict[Value, str] = field(default_factory=dict[Value, str])
    scratch: dict[tuple[int, int], Slot] = field(default_factory=dict[tuple[int, int], Slot])
    """The workspace of a task: by its number, and the number of the memory."""
    constants: dict[Hashable, Slot] = field(default_factory=dict[Hashable, Slot])
    arrays: list[Constant] = field(default_factory=list[Constant])

    def plan(self) -> Plan:
        self._name_values()
        self._make_tasks()
        inputs = tuple(self._place(value, Region.INPUT, i) for i, value in enumerate(self.graph.inputs))
        outputs, copied = self._place_outputs()
        arena_bytes = self._place_others()
        steps = [step for number, task in enumerate(self.tasks) for step in self._steps(number, task)]
        steps += [CopyStep(self._slot(value), slot) for value, slot in copied]
        return Plan(self.graph.name, inputs, outputs, tuple(self.arrays), arena_bytes, tuple(steps))

    def _name_values(self) -> None:
        """As in the graph's text."""
        scope = Naming(self.graph)
        for call in self.graph.calls:
            list(scope.introduce(call.inputs))
            scope.make(call)
            self.names |= {value: scope.use(value) for value in (*call.inputs, *call.outputs)}
        self.names |= {value: scope.use(value) for value in (*self.graph.inputs, *self.graph.outputs)}

    # ---- what computes each call

    def _make_tasks(self) -> None:
        host: list[Call] = []
        for place, call in enumerate(self.graph.calls):
            if is_renamed(call):
                if any(call.inputs[0] in other.outputs for other in host):
                    host.append(call)
                else:
                    self.roots[call.outputs[0]] = self._root(call.inputs[0])
                continue
            task = self._task(call)
            if task is None:
                host.append(call)
                continue
            self._close(host, place)
            self.tasks.append(task)
        self._close(host, len(self.graph.calls))

    def _task(self, call: Call) -> Task | None:
        """What computes a call on the GPU; None if NumPy has to."""
        with making_kernel(call.location):
            kernel = self.module.kernel(call)
        if kernel is not None:
            return _launches(call, kernel)
        return control_task(call, lambda graph: plan_graph(graph, self.module))

    def _close(self, host: list[Call], end: int) -> None:
        """Merge calls that NumPy computes one after another into one task."""
        if not host:
            return
        used = {value for call in self.graph.calls[end:] for value in call.inputs} | set(self.graph.outputs)
        outputs = [value for call in host for value in call.outputs if value in used]
        self.tasks.append(_on_host(graph_of(host, outputs, host[0].op)))
        host.clear()

    # ---- where each value lies

    def _root(self, value: Value) -> Value:
        return self.roots.get(value, value)

    def _slot(self, value: Value) -> Slot:
        """The place of a value, as an array of its own shape."""
        root = self._root(value)
        slot = self._constant(root) if isinstance(root, Constant) else self.slots[root]
        return replace(slot, type=value.type)

    def _constant(self, value: Constant) -> Slot:
        key = constant_key(value)
        if key not in self.constants:
            name = f"constant_{len(self.arrays) + 1}"
            self.constants[key] = Slot(name, value.type, Region.CONSTANT, len(self.arrays))
            self.arrays.append(value)
        return self.constants[key]

    def _place(self, value: Value, region: Region, at: int) -> Slot:
        slot = self.slots[value] = Slot(self.names[value], value.type, region, at)
        return slot

    def _place_outputs(self) -> tuple[tuple[Slot, ...], list[tuple[Value, Slot]]]:
        """The outputs, and those that must be copied there from where they are computed."""
        made = {value for task in self.tasks for value in task.outputs}
        outputs: list[Slot] = []
        copied: list[tuple[Value, Slot]] = []
        for place, value in enumerate(self.graph.outputs):
            root = self._root(value)
            if root in made and root not in self.slots:
                self._place(root, Region.OUTPUT, place)
                outputs.append(self._slot(value))
            else:
                outputs.append(Slot(f"out{place}", value.type, Region.OUTPUT, place))
                copied.append((value, outputs[-1]))
        return tuple(outputs), copied

    def _place_others(self) -> int:
        """Assign places to intermediate values; returns the bytes for all of them."""
        last = last_reads(map(self._root, task.inputs) for task in self.tasks)
        blocks: list[tuple[Block, Value | tuple[int, int], Slot]] = []
        for number, task in enumerate(self.tasks):
            for value in task.outputs:
                if value not in self.slots:
                    end = max(number, last.get(value, number))
                    slot = Slot(self.names[value], value.type, Region.ARENA, 0)
                    blocks.append((_block(value.type, number, end), value, slot))
            for place, type in enumerate(task.scratch):
                slot = Slot(f"scratch_{number + 1}_{place + 1}", type, Region.ARENA, 0)
                blocks.append((_block(type, number, number), (number, place), slot))
        arena_bytes = place_blocks(block for block, _, _ in blocks)
        for block, key, slot in blocks:
            placed = replace(slot, at=block.offset)
            if isinstance(key, Value):
                self.slots[key] = placed
            else:
                self.scratch[key] = placed
        return arena_bytes

    def _steps(self, number: int, task: Task) -> Sequence[Step]:
        inputs, outputs = ([self._slot(v) for v in values] for values in (task.inputs, task.outputs))
        scratch = [self.scratch[number, place] for place in range(len(task.scratch))]
        return task.steps_at(inputs, outputs, scratch)


def _launches(call: Call, kernel: TritonKernel) -> Task:
    """The launches of a kernel's functions."""

    def steps_at(inputs: Sequence[Slot], outputs: Sequence[Slot], scratch: Sequence[Slot]) -> list[Step]:
        known = [*inputs, *outputs, *scratch]
        return [
            LaunchStep(
                launch.function,
                launch.programs,
                launch.warps,
                launch.stages,
                tuple(known[i] for i in launch.buffers),
                launch.numbers,
            )
            for launch in kernel.launches
        ]

    inputs = (*operands(call), *kernel.constants)
    return Task(inputs, call.outputs, kernel.buffers[len(inputs) + len(call.outputs) :], steps_at)


def _on_host(graph: Graph) -> Task:
    def steps_at(inputs: Sequence[Slot], outputs: Sequence[Slot], scratch: Sequence[Slot]) -> list[Step]:
        return [HostStep(graph, tuple(inputs), tuple(outputs))]

    return Task(graph.inputs, graph.outputs, (), steps_at)


def _block(type: ArrayType, first: int, last: int) -> Block:
    nbytes = type.nbytes
    least = nbytes if isinstance(nbytes, SymbolicSize) else max(nbytes, 1)
    return Block(least, first, last, in_arena=True)

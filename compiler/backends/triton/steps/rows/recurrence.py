"""A scan whose elements are independent: each program carries its own through all iterations, in registers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from .....affine import same
from .....analysis.fusible_ops import is_elementwise
from .....ir import ArrayType, Call, Constant, Graph, Location, Value, called
from .....op import is_renamed, lookup
from .....ops.control.loop_params import scan_params
from .....symbolic_size import is_known, is_one
from .....text.printer import location_text
from ....python.text import Names
from ...kernels.assumed import pieces
from ...kernels.expression import expression
from ...kernels.kernel import TritonKernel, can_compute
from ...literals import triton_literal
from ..step_sizes import StepSizes
from ..step_writer import StepWriter

BLOCK: Final = 128
"""Elements of a program, one for each of its threads: iterations are sequential, so many programs help most."""

LONGEST: Final = 256
"""More calls than this in an iteration do not fit into registers."""


def recurrence(call: Call, name: str) -> TritonKernel | None:
    """The function of a scan; None if an element of an iteration needs others than its own of the iteration before."""
    body = scan_params(call).graph
    values = _values(body)
    size = next((value.type.size for value in values if not is_one(value.type.size)), 1)
    if not is_known(size > 0) or not all(_is_of_size(value, size) for value in values):
        return None
    if not _is_elementwise(body) or len(values) > LONGEST:
        return None
    writer = StepWriter(call)
    writer.function(_Text(call, name, size, writer.pointers, sizes := _sizes(writer)).text())
    warps = 1 if is_one(size) else BLOCK // 32
    writer.launch(name, pieces(size, BLOCK), warps, writer.buffers, numbers=sizes.given)
    return writer.kernel()


def _sizes(writer: StepWriter) -> StepSizes:
    """The spelling of sizes in the function, which counts through the arrays that have a row for each iteration."""
    _, _, consts, carried, *_ = scan_params(writer.call)
    whole = (*writer.call.inputs[consts + carried :], *writer.call.outputs[carried:])
    return writer.sizes(*(value.type.size for value in whole))


def _is_of_size(value: Value, size: int) -> bool:
    """Whether it has this many elements, or one."""
    return is_one(value.type.size) or same(value.type.size, size)


def _values(graph: Graph) -> Sequence[Value]:
    """All calls of a graph and of its kernels."""
    values = [
        *graph.inputs,
        *graph.outputs,
        *(v for call in graph.calls for v in (*call.inputs, *call.outputs)),
    ]
    return [*values, *(v for inner in called(graph.calls) for v in _values(inner))]


def _is_elementwise(graph: Graph) -> bool:
    return all(v.type.size == 1 for v in _values(graph) if isinstance(v, Constant)) and all(
        _is_elementwise(next(iter(called((call,)))))
        if call.op == "kernel"
        else can_compute(call) and (is_elementwise(call) or is_renamed(call) or _spreads_a_number(call))
        for call in graph.calls
    )


def _spreads_a_number(call: Call) -> bool:
    return lookup(call.op).index_map is not None and is_one(call.inputs[0].type.size)


@dataclass(slots=True)
class _Text:
    """Writes the function: load the carry, run the iterations, store it."""

    call: Call
    name: str
    size: int
    pointers: str
    sizes: StepSizes
    lines: list[str] = field(default_factory=list[str])
    shown: Location | None = None
    names: Names = field(
        default_factory=lambda: Names(["tl", "triton", "libdevice", "i", "i_in", "row", "iteration"])
    )

    def text(self) -> str:
        body, length, consts, carried, reverse, _ = scan_params(self.call)
        count, last = self.sizes.text(length), self.sizes.text(length - 1)
        if not is_one(self.size):
            self.lines.append(f"    i = tl.program_id(0) * {BLOCK} + tl.arange(0, {BLOCK})")
            self.lines.append(f"    i_in = i < {self.sizes.text(self.size)}")
        for name in self.sizes.names:
            self.names.claim(name)
        inputs = [self.names.claim(name) for name in body.input_names]
        for number in range(consts + carried):
            self.load("    ", inputs[number], f"x{number}_ptr", body.inputs[number].type)
        self.lines.append(f"    for iteration in range({count}):")
        iteration = f"({last} - iteration)" if reverse else "iteration"
        self.lines.append(f"        row = {iteration}{self.sizes.wide}")
        for number in range(consts + carried, len(inputs)):
            self.load("        ", inputs[number], f"x{number}_ptr", body.inputs[number].type, "row")
        results = self.graph(body, inputs)
        for number in range(carried, len(results)):
            type = body.outputs[number].type
            self.store("        ", f"out{number}_ptr", results[number], type, "row")
        if carried:
            carries = inputs[consts : consts + carried]
            self.lines.append(f"        {', '.join(carries)} = {', '.join(results[:carried])}")
            for number, carry in enumerate(carries):
                self.store("    ", f"out{number}_ptr", carry, body.outputs[number].type)
        head = f"def {self.name}({self.sizes.parameters(self.pointers)}):"
        return "\n".join(["@triton.jit", head, *self.lines, ""])

    def graph(self, graph: Graph, inputs: Sequence[str]) -> list[str]:
        """The lines that compute a graph; the names of its outputs."""
        known: dict[Value, str] = dict(zip(graph.inputs, inputs, strict=True))
        for call in graph.calls:
            operands = [self.operand(value, known) for value in call.inputs]
            if call.op == "kernel":
                inner = next(iter(called((call,))))
                known.update(zip(call.outputs, self.graph(inner, operands), strict=True))
                continue
            known[call.outputs[0]] = self.element(call, operands)
        return [self.operand(value, known) for value in graph.outputs]

    def operand(self, value: Value, known: Mapping[Value, str]) -> str:
        return triton_literal(value.array.reshape(())) if isinstance(value, Constant) else known[value]

    def element(self, call: Call, operands: Sequence[str]) -> str:
        given, made = call.inputs[0].type.size, call.outputs[0].type.size
        if not is_elementwise(call):
            if same(given, made):
                return operands[0]
            text = f"tl.broadcast_to({operands[0]}, ({BLOCK},))"
        else:
            text = expression(call, operands).text
        if call.location is not None and call.location != self.shown:
            self.shown = call.location
            self.lines.append(f"        # {location_text(call.location)}")
        name = self.names.claim(call.op)
        self.lines.append(f"        {name} = {text}")
        return name

    def load(self, indent: str, name: str, pointer: str, type: ArrayType, row: str = "") -> None:
        place, mask = self.place(type, row)
        other = ", other=0" if mask else ""
        self.lines.append(f"{indent}{name} = tl.load({pointer}{place}{mask}{other})")

    def store(self, indent: str, pointer: str, name: str, type: ArrayType, row: str = "") -> None:
        place, mask = self.place(type, row)
        self.lines.append(f"{indent}tl.store({pointer}{place}, {name}{mask})")

    def place(self, type: ArrayType, row: str) -> tuple[str, str]:
        """Added to a pointer, the offset of the element; and the mask of the block."""
        if is_one(type.size):
            return (f" + {row}" if row else ""), ""
        rows = f" + {self.sizes.factor(self.size)} * {row}" if row else ""
        return f"{rows} + i", ", mask=i_in"

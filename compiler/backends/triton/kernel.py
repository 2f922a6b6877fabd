"""The Triton functions of a kernel: which loops become programs of a grid, and which become blocks."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ...affine import Variable
from ...ir import ArrayType, Call, Constant, Graph
from ...kernel import MOVES, REDUCTIONS, is_elementwise, is_natural_power
from ...loops.lower import lower
from ...loops.nest import (
    Begin,
    Block,
    Buffer,
    Choose,
    Let,
    Local,
    Loop,
    Result,
    Statement,
)
from ...loops.walk import accumulated, expressions, places, statements
from ..python_text import wrapped
from .blocks import TILE, rows_of, tiled
from .definitions import definitions
from .expression import is_spelled
from .splitting import parallel, split
from .types import has_type
from .writer import Writer


@dataclass(frozen=True, slots=True)
class Launch:
    """One function on a grid."""

    function: str
    programs: int
    warps: int
    buffers: tuple[int, ...]
    """Which of the kernel's buffers are its arguments."""


@dataclass(frozen=True, slots=True)
class TritonKernel:
    """A kernel as Triton functions that run one after another."""

    functions: tuple[str, ...]
    """The text of each."""
    needs: frozenset[str]
    """Functions of ours that they call, see `definitions`."""
    launches: tuple[Launch, ...]
    buffers: tuple[ArrayType, ...]
    """Inputs, outputs, and what functions leave for later ones."""
    outputs: int
    """How many of them are outputs."""

    @property
    def text(self) -> str:
        """The functions, behind the definitions of what they call."""
        return "\n\n".join([*definitions(self.needs), *self.functions])


def can_compute(call: Call) -> bool:
    """Whether a kernel can hold a call: a loop nest of Triton computes it."""
    if not all(has_type(value.dtype) for value in (*call.inputs, *call.outputs)):
        return False
    if is_elementwise(call):
        return is_spelled(call) and is_natural_power(call)
    return call.op in MOVES or call.op in REDUCTIONS or call.op == "iota"


def is_in_triton(graph: Graph) -> bool:
    """Whether Triton can compute all that the graph of a kernel holds."""
    values = (*graph.inputs, *graph.outputs, *(v for call in graph.calls for v in call.inputs))
    return (
        all(map(can_compute, graph.calls))
        and all(has_type(value.dtype) for value in values)
        and not any(isinstance(v, Constant) and v.type.size > 1 for v in values)
    )


def triton_kernel(graph: Graph, name: str) -> TritonKernel:
    """The Triton functions, called after `name`, that compute the outputs of a kernel's graph."""
    nest = lower(graph, ("tl", "triton", "libdevice", name), plain=True)
    body, parts = split(nest.body)
    stages = list(_stages(body))
    kept = {local for stage in stages for local in stage.given}
    scratch = {
        local: Buffer(f"{local.name}_kept", local.dtype, 1) for local in sorted(kept, key=lambda x: x.name)
    }
    between = [*parts, *scratch.values()]
    buffers = [*nest.inputs, *nest.outputs, *between]
    functions: list[str] = []
    launches: list[Launch] = []
    needs: set[str] = set()
    for number, stage in enumerate(stages, start=1):
        title = name if len(stages) == 1 else f"{name}_{number}"
        function = _function(title, stage, buffers, scratch)
        functions.append(function.text)
        needs |= function.needs
        launches.append(Launch(title, function.programs, function.warps, function.buffers))
    types = [
        *(value.type for value in (*graph.inputs, *graph.outputs)),
        *(ArrayType(buffer.dtype, (buffer.size,)) for buffer in between),
    ]
    return TritonKernel(tuple(functions), frozenset(needs), tuple(launches), tuple(types), len(graph.outputs))


# ---- stages --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Stage:
    """What one function computes: one loop over programs, or what a single program does."""

    body: Block
    is_parallel: bool
    given: tuple[Local, ...] = ()
    """What it needs of the stages before."""
    kept: list[Local] = field(default_factory=list[Local])
    """What later stages need of it."""


def _stages(body: Block) -> Iterator[_Stage]:
    """The outermost statements, cut where one needs what all programs before have gathered together."""
    free: dict[Local, Statement] = {}
    gathered: set[Local] = set()
    stages: list[_Stage] = []
    alone: list[Statement] = []

    def close() -> None:
        if alone:
            stages.append(_Stage(tuple(alone), is_parallel=False))
            alone.clear()

    for statement in body:
        if isinstance(statement, Loop) and set(accumulated((statement,))) <= _begun((statement,)):
            if _needed((statement,)) & gathered:
                close()
            stages.append(_Stage((statement,), is_parallel=True))
        elif isinstance(statement, (Let, Choose)) and not _gathers(statement, gathered):
            free[statement.local] = statement
        else:
            if isinstance(statement, (Let, Choose)):
                gathered.add(statement.local)
            alone.append(statement)
    close()
    for stage in stages:
        own = _defined(stage.body)
        stage.given = tuple(sorted((_with_free(stage.body, free) & gathered) - own, key=lambda x: x.name))
        stage.body = (*_ahead(stage.body, free), *stage.body)
    for stage in stages:
        stage.kept = [x for x in _defined(stage.body) if any(x in other.given for other in stages)]
        stage.kept.sort(key=lambda x: x.name)
        yield stage


def _begun(body: Block) -> set[object]:
    return {a for s in statements(body) if isinstance(s, Begin) for a in s.accumulators}


def _needed(body: Block) -> set[Local]:
    """The locals that statements use, and those that their places are made of."""
    found: set[Local] = set()
    for statement in statements(body):
        found.update(e for e in expressions(statement) if isinstance(e, Local))
    return found


def _defined(body: Block) -> set[Local]:
    return {s.local for s in statements(body) if isinstance(s, (Let, Choose))}


def _gathers(statement: Let | Choose, gathered: set[Local]) -> bool:
    """Whether a statement needs what all turns of a loop before it have gathered."""
    inner = list(statements((statement,)))
    has_result = any(isinstance(e, Result) for s in inner for e in expressions(s))
    return has_result or bool(_needed((statement,)) & gathered)


def _ahead(body: Block, free: dict[Local, Statement]) -> list[Statement]:
    """The statements that compute what a body needs and every program computes by itself, in order."""
    wanted = _with_free(body, free)
    return [statement for local, statement in free.items() if local in wanted]


def _with_free(body: Block, free: dict[Local, Statement]) -> set[Local]:
    wanted = _needed(body)
    by_name = {local.name: local for local in free}
    while True:
        ahead = [free[local] for local in wanted if local in free]
        more = wanted | _needed(tuple(ahead))
        for statement in statements((*body, *ahead)):
            for place in places(statement):
                more |= {by_name[v.name] for v in place.variables if v.name in by_name}
        if more == wanted:
            return wanted
        wanted = more


# ---- functions -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Function:
    text: str
    programs: int
    warps: int
    buffers: tuple[int, ...]
    needs: frozenset[str]


def _function(name: str, stage: _Stage, buffers: Sequence[Buffer], scratch: dict[Local, Buffer]) -> _Function:
    ahead: Block = ()
    variables: tuple[Variable, ...] = ()
    inner = stage.body
    if stage.is_parallel:
        *before, loop = stage.body
        assert isinstance(loop, Loop)
        ahead, (variables, inner) = tuple(before), parallel(loop)
    rows, column = rows_of(variables, inner), None
    if (tile := tiled(variables, inner)) is not None:
        rows = replace(rows, count=TILE, block=TILE)
        variables, column = tile
    writer = Writer(rows)
    for local in stage.given:
        writer.restore(local, scratch[local])
    tiles = writer.programs(variables, column)
    writer.statements(ahead)
    writer.statements(inner)
    for local in stage.kept:
        writer.keep(local, scratch[local])
    used = tuple(i for i, buffer in enumerate(buffers) if buffer in writer.buffers)
    head = wrapped(f"def {name}(", [f"{buffers[i].name}_ptr" for i in used], "):", indent=0)
    text = "\n".join(["@triton.jit", *head, *writer.lines, ""])
    count = math.prod(variable.extent for variable in variables)
    return _Function(text, -(-count // rows.count) * tiles, rows.warps, used, frozenset(writer.needs))

"""One function of a generated module: a statement per call, its outputs, its memory."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..ir import ArrayType, Call, Constant, Graph, Value
from ..memory_plan import VIEWS, MemoryPlan
from ..op import has_effect
from .numpy_form import AS_MEANING, OPAQUE, RESERVED, Module, Scope, form_of
from .python_text import Names, bare_tuple, wrapped

LARGE = 1 << 14
"""Results of at least this many bytes stay from call to call, because fresh memory costs page faults."""

KNOWN = VIEWS | {"iota"}
"""Ops that are run once, when the module is loaded, where they depend on constants alone."""


def has_effects(graph: Graph) -> bool:
    """Whether a call of the graph runs Python of the user's."""
    return any(has_effect(call) for call in graph.calls)


class _KnownNames(Names):
    """Names for variables of the module."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        self.module = module

    def numbered(self, stem: str) -> str:
        return self.module.names.numbered(f"known_{stem}")


@dataclass(slots=True)
class Function:
    """The text of one function that runs a graph."""

    graph: Graph
    module: Module
    parameters: Sequence[str]
    plan: MemoryPlan | None
    """Where results live; None to write every call as its op's meaning, with new memory for each."""
    buffers: dict[tuple[int, str], str] = field(default_factory=dict[tuple[int, str], str])
    """The names of the views of the arena, by offset and type."""
    buffer_types: list[tuple[int, ArrayType]] = field(default_factory=list["tuple[int, ArrayType]"])
    """Their offsets and types, in the same order."""
    lines: list[str] = field(default_factory=list[str])
    returned: list[str] = field(default_factory=list[str])

    def write(self) -> None:
        """Fill in the text."""
        names = Names([*RESERVED, *self.parameters, *self.module.fixed_names])
        scope = Scope(self.module, names, dict(zip(self.graph.inputs, self.parameters, strict=True)))
        for value, name in zip(self.graph.inputs, self.parameters, strict=True):
            if value.ndim == 0:
                self.lines.append(f"    {name} = {name}[()]")
        known: set[Value] = set()
        location = None
        for index, call in enumerate(self.graph.calls):
            if self._is_known(call, known):
                known.update(call.outputs)
                lines = form_of(call).write(
                    call, Scope(self.module, _KnownNames(self.module), scope.of), None
                )
                self.module.known += [line[4:] for line in lines]
                continue
            if call.location is not None and call.location != location:
                location = call.location
                self.lines.append(f"    # {' '.join(str(location).split(chr(10)))}")
            self.lines += self._statement(call, scope)
            self._delete(index, scope)
        self._return(scope, known)

    def _is_known(self, call: Call, known: set[Value]) -> bool:
        return (
            self.plan is not None
            and call.op in KNOWN
            and all(isinstance(value, Constant) or value in known for value in call.inputs)
        )

    def _statement(self, call: Call, scope: Scope) -> list[str]:
        if self.plan is None and call.op not in OPAQUE:
            return AS_MEANING.write(call, scope, None)
        return form_of(call).write(call, scope, self._target(call, scope))

    def _target(self, call: Call, scope: Scope) -> str | None:
        """Where the plan wants the result of a call."""
        if self.plan is None:
            return None
        (output, *_) = call.outputs
        operand = self.plan.overwritten.get(output)
        if operand is not None:
            return scope.of[operand]
        block = self.plan.block.get(output)
        if block is None or not block.in_arena:
            return None
        key = (block.offset, str(output.type))
        if key not in self.buffers:
            self.buffers[key] = scope.names.claim(f"t{len(self.buffers)}")
            self.buffer_types.append((block.offset, output.type))
        return self.buffers[key]

    def _delete(self, index: int, scope: Scope) -> None:
        """Let go of large results outside the arena after their last use."""
        if self.plan is None:
            return
        dying = [value for value in self.plan.dying.get(index, ()) if value in scope.of]
        large = [scope.of[value] for value in dying if value.type.nbytes >= LARGE]
        if large:
            self.lines.append(f"    del {', '.join(large)}")

    def _return(self, scope: Scope, known: set[Value]) -> None:
        taken: set[object] = set(self.graph.inputs) | known
        for value in self.graph.outputs:
            self.returned.append(self._returned(value, scope, taken))

    def _returned(self, value: Value, scope: Scope, taken: set[object]) -> str:
        """An output as memory of its own; `taken` are the blocks that were returned before."""
        if value.ndim == 0:
            return scope.scalar(value)
        if self.plan is None:
            return scope.array(value)
        block = self.plan.block_of(value)
        own = block is not None and block not in taken and value in self.plan.whole and value not in taken
        if not own:
            return f"{scope.array(value)}.copy()"
        taken.add(block)
        return scope.array(value)

    def text(self, name: str, first: Sequence[str], doc: str = "") -> list[str]:
        """The function, with parameters before those of the graph."""
        parameters = [*first, *self.parameters]
        lines = [f'    """{doc}"""'] if doc else []
        if self.buffers:
            lines += bare_tuple("", ["_", *self.buffers.values()], " = mine")
        result = bare_tuple("return ", self.returned) if self.returned else ["    return ()"]
        return [*definition(name, parameters), *lines, *self.lines, *result]


def definition(name: str, parameters: Sequence[str]) -> list[str]:
    """``def name(parameters):``."""
    return wrapped(f"def {name}(", parameters, "):", indent=0)

"""One function of a generated module: a statement per call, its outputs, its memory."""

import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial

from ...analysis.memory_plan import Block, MemoryPlan, plan_memory
from ...analysis.source_axes import is_reversed
from ...free_sizes import is_symbolic, names_bound_in
from ...ir import ArrayType, Call, Constant, Extent, Graph, Location, Value
from ...op import EXPECTS, has_effect, is_renamed, is_view, lookup
from ...symbolic_size import SymbolicSize, is_one, same_shape, typical
from ...text.printer import location_text
from .form import FORMS, LARGE, form_of, memory_in, memory_of
from .module import RESERVED, Module, Nested, Scope
from .named_sizes import size_statements, sizes_used
from .native_library import NativeFunction
from .parts_in_place import Part, parts_in_place
from .planes import has_short_rows, wants_planes
from .text import Names, bare_tuple, wrapped

QUIET = (
    "quiet = contextvars.copy_context()",
    'quiet.run(np.seterr, all="ignore")',
    "quiet.run(np.setbufsize, 512)  # longer rows are combined with others in place",
)
"""Creates a context that ignores floating-point errors. If operands are broadcast, NumPy copies rows into a buffer
until it is full, which only pays off for short rows: with the usual 8192 elements, the statement takes twice as
long."""

LONG = 100_000
"""A native function with at least this many nanoseconds of work is worth an aligned workspace."""


def known_values(graph: Graph) -> set[Value]:
    """What the module can compute when it is loaded."""
    known: set[Value] = set()
    for call in graph.calls:
        is_known = (is_view(call) or call.op == "iota") and all(
            isinstance(v, Constant) or v in known for v in call.inputs
        )
        if is_known and not is_symbolic(call):
            known.update(call.outputs)
    return known


def planned(
    graph: Graph, module: Module, parameters: Sequence[str], donated: Sequence[int] = ()
) -> "Function":
    """The outermost function, which writes its results where a memory plan says, large ones into an arena.

    The memory of the `donated` inputs belongs to it.
    """
    known = known_values(graph)
    owned = {graph.inputs[place] for place in donated if graph.inputs[place].ndim}
    plan = plan_memory(graph, partial(memory_in, module), known=known, owned=owned)
    return Function(graph, module, parameters, plan, known, outermost=True)


def unplanned(graph: Graph, module: Module, parameters: Sequence[str]) -> "Function":
    """The outermost function without memory of its own: its results may share memory."""
    known = known_values(graph)
    plan = plan_memory(graph, partial(memory_in, module), smallest=sys.maxsize, known=known)
    return Function(graph, module, parameters, plan, known, outermost=False, own_results=0)


def planned_nested(nested: Nested, module: Module, parameters: Sequence[str]) -> "Function":
    """The function of a nested graph: its results are new memory if they cannot replace an operand.

    Other large arrays of known sizes are in memory that is kept from call to call.
    """
    graph = nested.graph
    if nested.is_plain:
        return Function(graph, module, parameters, None, frozenset(), outermost=False)
    known = known_values(graph)
    owned = {graph.inputs[place] for place in nested.owned}
    smallest = sys.maxsize if module.library or is_symbolic(graph) else 0
    plan = plan_memory(graph, partial(memory_in, module), smallest=smallest, known=known, owned=owned)
    own_results = len(graph.outputs) if nested.own_results is None else nested.own_results
    return Function(graph, module, parameters, plan, known, outermost=False, own_results=own_results)


def planned_tile(
    graph: Graph, module: Module, parameters: Sequence[str], results: Sequence[str]
) -> "Function":
    """The function of one tile, which writes its outputs to given memory, and everything else into an arena.

    Tiles are for parallel NumPy statements: they call no native functions.
    """
    known = known_values(graph)
    plan = plan_memory(graph, lambda call: replace(memory_of(module.writer, call), smallest=0), known=known)
    planes = wants_planes(graph)
    return Function(graph, module, parameters, plan, known, outermost=False, results=results, planes=planes)


def plain_tile(graph: Graph, module: Module, parameters: Sequence[str], results: Sequence[str]) -> "Function":
    """The same with every call as its op's definition."""
    return Function(graph, module, parameters, None, frozenset(), outermost=False, results=results)


def plain(graph: Graph, module: Module, parameters: Sequence[str]) -> "Function":
    """A function that writes every call as its op's definition, with new memory for each."""
    return Function(graph, module, parameters, None, frozenset(), outermost=True)


def has_effects(graph: Graph) -> bool:
    """Whether a call of the graph runs the user's Python."""
    return any(has_effect(call) and not has_effect(call, EXPECTS) for call in graph.calls)


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
    """The places of results; None to write every call as its op's definition, with new memory for each."""
    known: Set[Value]
    """Values that the module has computed on loading."""
    outermost: bool
    """Called from outside, where inputs without axes may be arrays; a nested graph gets numbers."""
    own_results: int = sys.maxsize
    """How many outputs must have their own memory; the caller copies the rest at once."""
    results: Sequence[str] = ()
    """Variables of the memory for the outputs, if they are not returned."""
    planes: bool = False
    """Arrays of short rows lie in planes."""
    results_of: dict[Value, str] = field(default_factory=dict[Value, str])
    """Values that are computed in that memory directly."""
    rows_of: dict[Value, str] = field(default_factory=dict[Value, str])
    """Outputs of one row, which is computed in that memory directly."""
    parts: Mapping[Value, Part] = field(default_factory=dict[Value, Part])
    """Values that are computed in a part of an array directly."""
    buffers: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """The names of the views of the arena, by offset and type."""
    buffer_types: list[tuple[Extent, ArrayType]] = field(default_factory=list["tuple[Extent, ArrayType]"])
    """Their offsets and types, in the same order."""
    lines: list[str] = field(default_factory=list[str])
    returned: list[str] = field(default_factory=list[str])
    in_order: set[str] = field(default_factory=set[str])
    """The names of arrays known to be row-major."""
    fillings: dict[Value, Constant] = field(default_factory=dict[Value, Constant])
    """The numbers of arrays that hold the same number everywhere."""
    may_warn: bool = False
    """Whether a statement computes with NumPy, which may warn of floating-point errors."""

    def write(self) -> None:
        """Write the text."""
        names = Names([*RESERVED, *self.parameters, *self.results, *self.module.fixed_names])
        of = dict(zip(self.graph.inputs, self.parameters, strict=True))
        scope = Scope(self.module, names, of, is_plain=self.plan is None)
        if self.outermost:
            self._read_numbers()
        self._give_results()
        self._give_parts()
        in_place = {part.update.outputs[0]: part.update.inputs[0] for part in self.parts.values()}
        location: Location | None = None
        for index, call in enumerate(self.graph.calls):
            if any(output in self.known for output in call.outputs):
                self._at_load(call, scope)
                if (
                    lookup(call.op).index_map is not None
                    and isinstance(call.inputs[0], Constant)
                    and is_one(call.inputs[0].type.size)
                ):
                    self.fillings[call.outputs[0]] = Constant(call.inputs[0].array.reshape(()))
                continue
            if call.outputs and call.outputs[0] in self.rows_of:
                scope.of[call.outputs[0]] = self.rows_of[call.outputs[0]]
                continue
            if call.outputs and call.outputs[0] in in_place:
                scope.of[call.outputs[0]] = scope.of[in_place[call.outputs[0]]]
                self._delete(index, scope)
                continue
            if call.location is not None and call.location != location and self.plan is not None:
                location = call.location
                self.lines.append(f"    # {location_text(location)}")
            self.lines += self._statement(call, scope)
            self._delete(index, scope)
        if self.results:
            self._write_results(scope)
            return
        taken: set[Block] = set()
        self.returned = [
            self._returned(value, scope, taken, own=place < self.own_results)
            for place, value in enumerate(self.graph.outputs)
        ]

    def _read_numbers(self) -> None:
        """As NumPy scalars, inputs without axes are much faster."""
        used = {value for call in self.graph.calls for value in call.inputs}.union(self.graph.outputs)
        for value, name in zip(self.graph.inputs, self.parameters, strict=True):
            if value.ndim == 0 and value in used:
                self.lines.append(f"    {name} = {name}[()]")

    def _give_results(self) -> None:
        """Let an output be computed directly in its memory."""
        if self.plan is None or not self.results:
            return
        makers = {output: call for call in self.graph.calls for output in call.outputs}
        for value, name in zip(self.graph.outputs, self.results, strict=True):
            while value in self.plan.overwritten:  # a view in between may have the elements in another order
                value = self.plan.overwritten[value]
            if value in self.plan.block and self._can_fill(value, makers):
                self.results_of.setdefault(value, name)
            elif value not in self.rows_of and (only := self._only_row(value, makers)) is not None:
                self.results_of[only] = f"{name}[0, ...]"
                self.rows_of[value] = name

    def _give_parts(self) -> None:
        """Let parts of arrays be computed directly in these."""
        if self.plan is not None and self.module.library is None and not self.planes:
            form = partial(form_of, self.module.writer)
            self.parts = parts_in_place(self.graph, self.plan, form)

    def _can_fill(self, value: Value, makers: Mapping[Value, Call]) -> bool:
        """Whether the statement that computes a value can write it to given memory."""
        return value in makers and memory_of(self.module.writer, makers[value]).into

    def _only_row(self, value: Value, makers: Mapping[Value, Call]) -> Value | None:
        """The row that an output of one row consists of, if it is needed for nothing else and can be computed there."""
        if value not in makers or makers[value].op != "reshape" or value.shape[:1] != (1,):
            return None
        (row,) = makers[value].inputs
        uses = sum(x is row for call in self.graph.calls for x in call.inputs) + (row in self.graph.outputs)
        is_whole = same_shape(value.shape[1:], row.shape) and uses == 1
        overwrites = self.plan is not None and row in self.plan.overwritten
        return row if is_whole and not overwrites and self._can_fill(row, makers) else None

    def _write_results(self, scope: Scope) -> None:
        """Copy the outputs that were made elsewhere."""
        for value, name in zip(self.graph.outputs, self.results, strict=True):
            if self.rows_of.get(value) == name:
                continue
            root = self.plan.root.get(value) if self.plan else None
            if root is None or self.results_of.get(root) != name:
                self.lines.append(f"    {name}[...] = {scope.array(value)}")

    def _at_load(self, call: Call, scope: Scope) -> None:
        """Write a call as a statement of the module."""
        at_load = Scope(self.module, _KnownNames(self.module), scope.of)
        self.module.known += [
            line[4:] for line in form_of(self.module.writer, call).write(call, at_load, None)
        ]

    def _statement(self, call: Call, scope: Scope) -> list[str]:
        writer = self.module.writer
        if self.plan is None and call.op not in FORMS:
            return writer.definition.write(call, scope, None)
        function = self.module.native_function(call) if self.plan is not None and not self.results else None
        if function is not None:
            return self._native_statement(function, call, scope)
        self.may_warn |= not is_view(call)
        targets = self._targets(call, scope)
        form = form_of(writer, call)
        lines = form.write(call, scope, targets[0] if len(targets) == 1 else None)
        if writer.returns_rows(call) or (form.into and targets[0] in self.in_order):
            self.in_order.update(scope.of[output] for output in call.outputs)
        return lines

    def _native_statement(self, function: NativeFunction, call: Call, scope: Scope) -> list[str]:
        """``name = np.empty(…)`` for each result that a native function writes, and its call.

        Its workspace has no name, so it is freed as soon as the function returns.
        """
        arguments = [scope.array(value) for value in call.inputs]
        for type in function.inputs:
            self.module.note_dtype(type.dtype)
        targets = self._targets(call, scope)
        takes_long = typical(function.work) >= LONG
        memory = [
            self.module.new_memory(type.nbytes) if takes_long else f"np.empty({scope.type(type)})"
            for type in function.outputs[len(call.outputs) :]
        ]
        lines: list[str] = []
        filled: set[int] = set()
        for number, (output, type, target) in enumerate(
            zip(call.outputs, function.outputs, targets, strict=False)
        ):
            name = scope.names.numbered(call.op)
            place = next(
                (i for i in function.overwriting.get(number, ()) if self._is_free(call, i, filled)), None
            )
            if target in arguments[: len(call.inputs)]:  # it is overwritten, if it is in order
                arguments[arguments.index(target)] = name
                if target not in self.in_order:
                    target = f"np.ascontiguousarray({target})"
            elif place is not None:  # else the function would copy them from other memory
                filled.add(place)
                arguments[place] = name
                lines += self._filled(name, self.fillings[call.inputs[place]], type, target, scope)
                target = name
            if target != name:
                new = target or self.module.new_result(type, scope.type(type))
                lines.append(f"    {name} = {new}")
            arguments.append(name)
            self.in_order.add(name)
            scope.of[output] = name
        sizes = [self.module.sizes[name] for name in function.sizes]
        lines += wrapped(f"{function.name}(", [*sizes, *arguments, *memory], ")")
        numbers = [scope.of[value] for value in call.outputs if value.ndim == 0]
        return [*lines, *(f"    {name} = {name}[()]" for name in numbers)]

    def _is_free(self, call: Call, place: int, filled: Set[int]) -> bool:
        """Whether an input holds the same number everywhere, which can be written where the result will be."""
        return place not in filled and call.inputs[place] in self.fillings

    @staticmethod
    def _filled(name: str, number: Constant, type: ArrayType, target: str | None, scope: Scope) -> list[str]:
        """An array of one number. The operating system has memory of zeros."""
        if target is not None:
            return [f"    {name} = {target}", f"    {name}.fill({scope.array(number)})"]
        if not any(number.array.tobytes()):
            return [f"    {name} = np.zeros({scope.type(type)})"]
        return [f"    {name} = np.full({scope.shape(type.shape)}, {scope.array(number)})"]

    def _targets(self, call: Call, scope: Scope) -> list[str | None]:
        """Where the plan puts the results of a call; None for new memory."""
        return [self._target(output, scope) for output in call.outputs]

    def _target(self, output: Value, scope: Scope) -> str | None:
        if self.plan is None:
            return None
        if (part := self.parts.get(output)) is not None:
            return scope.of[part.view] if part.view else self.module.writer.updated_place(part.update, scope)
        operand = self.plan.overwritten.get(output)
        if operand is not None:
            if operand in scope.in_planes:
                scope.in_planes.add(output)
            return scope.of[operand]
        if output in self.results_of:
            return self.results_of[output]
        block = self.plan.block.get(output)
        if block is None or not block.in_arena:
            return None
        if self.planes and has_short_rows(output.type):
            scope.in_planes.add(output)
        key = (str(block.offset), str(output.type))
        if key not in self.buffers:
            self.buffers[key] = scope.names.claim(f"t{len(self.buffers)}")
            self.buffer_types.append((block.offset, output.type))
        return self.buffers[key]

    def _delete(self, index: int, scope: Scope) -> None:
        """Release large results outside the arena after their last use."""
        if self.plan is None:
            return
        dying = [value for value in self.plan.dying.get(index, ()) if value in scope.of]
        large = [*dict.fromkeys(scope.of[value] for value in dying if typical(value.type.nbytes) >= LARGE)]
        if large:
            self.lines += bare_tuple("del ", large) if len(large) > 1 else [f"    del {large[0]}"]

    def _returned(self, value: Value, scope: Scope, taken: set[Block], *, own: bool) -> str:
        """An output, in its own memory if required; `taken` are the blocks that were returned before."""
        if value.ndim == 0:
            return scope.scalar(value)
        text = scope.array(value)
        if self.plan is None or not own:
            return text
        block = self.plan.block_of(value)
        if block is None or block in taken or value not in self.plan.whole:
            return f"{text}.copy()"
        taken.add(block)
        return text if self._is_row_major(value, scope) else f"np.ascontiguousarray({text})"

    def _is_row_major(self, value: Value, scope: Scope) -> bool:
        """Whether the elements of an output, which fill their memory, are known to be in C order."""
        if not self.outermost:
            return True
        makers = {output: call for call in self.graph.calls for output in call.outputs}
        if value.ndim < 2:
            return not _is_reversed(value, makers)
        while value in makers and is_renamed(makers[value]):
            value = makers[value].inputs[0]
        is_tiled = value in makers and makers[value].op == "tiled"
        return is_tiled or scope.of.get(value) in self.in_order

    @property
    def used_sizes(self) -> list[str]:
        """The variables of named sizes in its statements, except those that it computes itself."""
        found = names_bound_in(self.graph)
        sizes = {name: variable for name, variable in self.module.sizes.items() if name not in found}
        return sizes_used(sizes, (*self.lines, *self.returned))

    def reading(self, used: Sequence[str]) -> list[str]:
        """Statements that read the variables of named sizes from the inputs, as far as they are `used`."""
        return size_statements(self.graph, self.parameters, self.module.sizes, used)

    @property
    def arena_bytes(self) -> Extent:
        """The total size of its buffers."""
        return self.plan.arena_bytes if self.plan else 0

    @property
    def is_sized(self) -> bool:
        """Whether that, or its views of it, depend on named sizes."""
        sizes = (size for offset, type in self.buffer_types for size in (offset, *type.shape))
        return any(isinstance(size, SymbolicSize) for size in (self.arena_bytes, *sizes))

    def text(
        self, name: str, first: Sequence[str], doc: str = "", statements: Sequence[str] = ()
    ) -> list[str]:
        """The function, with parameters before those of the graph, and statements before its own."""
        parameters = [*first, *self.parameters, *self.results]
        lines = [*([f'    """{doc}"""'] if doc else []), *statements]
        if self.buffers:
            others = ["_"] * (self.may_warn + 2 * (self.outermost and self.is_sized))
            lines += bare_tuple("", [*others, *self.buffers.values()], " = mine")
        result = bare_tuple("return ", self.returned) if self.returned else ["    return ()"]
        return [*definition(name, parameters), *lines, *self.lines, *([] if self.results else result)]


def _is_reversed(value: Value, makers: Mapping[Value, Call]) -> bool:
    """Whether a vector is a view of memory in reverse order."""
    while value in makers and is_view(makers[value]):
        if is_reversed(makers[value]):
            return True
        value = makers[value].inputs[0]
    return False


def definition(name: str, parameters: Sequence[str]) -> list[str]:
    """``def name(parameters):``."""
    return wrapped(f"def {name}(", parameters, "):", indent=0)

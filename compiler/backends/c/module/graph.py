"""A graph as one C function: each call becomes a call of a C function, on memory that is planned here."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

from ....affine import same
from ....analysis.in_place_updates import links_back
from ....analysis.memory_plan import CallMemory, MemoryPlan, Numbers, plan_memory
from ....free_sizes import bound_size, bound_sizes, given_maximum
from ....ir import Call, Constant, Graph, Location, Value, last_reads, same_type
from ....loops.code_key import function_key
from ....loops.loop_costs import SHARED
from ....op import is_renamed
from ....symbolic_size import is_none, lower_bound, upper_bound
from ....text.naming import Naming, constant_key
from ....text.printer import call_text, location_text
from ...python.text import Names
from ..function import CFunction, copying
from ..layout import comment_line, comment_lines
from ..literals import MOST_CONSTANTS, c_array
from ..names import variable_name
from ..parameters import WorkingMemory, parameters
from ..sizes import largest_size, names_in_graph, size_text, size_variable
from ..types import element_type

FunctionOf: TypeAlias = Callable[[Call, str], CFunction | None]
"""``function_of(call, name)``: the C function of a call in a loop; None if there is none."""

APART = """\
// Functions that are called with the same memory, sometimes to read it and sometimes to write it. clang would assume
// that an array without aliases in one iteration has none in any iteration.
#ifdef __clang__
#define TM_APART __attribute__((noinline))
#else
#define TM_APART
#endif
"""
"""Comes before functions that are called in this way, in the text of a program."""

TOO_LONG = "tm_is_too_long"
"""Whether an array would have been longer than the caller allows."""

LENGTHS = f"""\
// Lengths of arrays that values decide, which are at most what the caller gives.
static _Thread_local bool {TOO_LONG};

static inline long tm_length(int64_t count, long most)
{{
    if (count > most)
        {TOO_LONG} = true;
    return count < 0 ? 0 : count > most ? most : (long)count;
}}
"""
"""Comes before functions that are given maxima, in the text of a program."""

RESERVED = ("memcpy", "threads", "work")
"""Names that the functions of graphs use."""


@dataclass(frozen=True, slots=True)
class GraphFunction:
    """The C function of a graph."""

    function: CFunction
    in_place: Mapping[int, int]
    """The outputs that use the memory of an input that they may overwrite: which uses which."""


def graph_function(
    graph: Graph,
    name: str,
    function_of: FunctionOf,
    may_overwrite: Mapping[int, int] | None = None,
    *,
    alternates: bool = False,
    any_constants: bool = False,
) -> GraphFunction | None:
    """The C function called `name` that computes the outputs of a graph; None if a call has none.

    `may_overwrite` gives the input whose memory an output may use, if possible; `alternates` means that one call
    reads what another one writes; `any_constants` means that the text may contain large ones.
    """
    functions: dict[Call, CFunction] = {}
    printed: dict[Hashable, CFunction] = {}
    for number, call in enumerate(graph.calls):
        if is_renamed(call) or (is_bounded_length(call) and call.outputs[0] not in graph.outputs):
            continue
        key = function_key(call)
        function = printed.get(key) or function_of(call, f"{name}_{call.op}_{number + 1}")
        if function is None:
            return None
        printed[key] = function
        functions[call] = function
    constants = {v for call in graph.calls for v in call.inputs if isinstance(v, Constant)}
    constants.update(v for v in graph.outputs if isinstance(v, Constant))
    if not any_constants and any(value.type.size > MOST_CONSTANTS for value in constants):
        return None
    return _Writer(graph, name, functions, dict(may_overwrite or {}), alternates).written()


def is_bounded_length(call: Call) -> bool:
    """Whether a call finds out a length with a known maximum, so that its memory can be reserved before."""
    return bound_size(call) is not None and "most" in call.params


def threads_for(function: CFunction) -> str:
    """How many threads a call of a function gets, out of ``threads``."""
    if upper_bound(function.work) < SHARED:
        return "1"
    is_long = lower_bound(function.work) >= SHARED
    return "threads" if is_long else f"{size_text(function.work)} >= {SHARED} ? threads : 1"


def scratch_bytes(function: CFunction, outputs: int) -> int:
    """The workspace of a function, passed after its `outputs`."""
    return sum(type.nbytes for type in function.outputs[outputs:])


@dataclass(slots=True)
class _Writer:
    """Writes the function of a graph whose values are where a memory plan says."""

    graph: Graph
    name: str
    function_of: Mapping[Call, CFunction]
    """None for calls that only give memory another name."""
    may_overwrite: dict[int, int]
    alternates: bool
    plan: MemoryPlan = field(default_factory=MemoryPlan)
    pointer: dict[Value, str] = field(default_factory=dict[Value, str])
    """The C expression for the memory of each root."""
    constants: dict[object, str] = field(default_factory=dict[object, str])
    """The names of constants."""
    arrays: list[str] = field(default_factory=list[str])
    """Their definitions."""
    inputs: list[str] = field(default_factory=list[str])
    """The names of the inputs."""
    names: dict[Value, str] = field(default_factory=dict[Value, str])
    """Those of the results."""
    most: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The maxima of the sizes that the graph finds out."""
    comments: list[list[str]] = field(default_factory=list[list[str]])
    """The comment on each call."""

    def written(self) -> GraphFunction:
        self._name_values()
        self.most = {
            str(bound_size(call)): call.params["most"] for call in self.graph.calls if is_bounded_length(call)
        }
        chains = self._overwriting_chains()
        replacing = {value: operand for chain in chains.values() for value, operand in pairwise(chain)}
        self.plan = plan_memory(
            self.graph,
            self._memory_of,
            known={call.outputs[0] for call in self.graph.calls if is_bounded_length(call)},
            replacing=replacing,
            largest=self._largest if self.most else None,
        )
        self._find_pointers(chains)
        in_place = {output: self.may_overwrite[output] for output in sorted(chains)}
        return GraphFunction(self._function(in_place), in_place)

    def _name_values(self) -> None:
        """As in the graph's text."""
        scope, taken = Naming(self.graph), Names([*RESERVED, self.name])
        for place in range(len(self.graph.outputs)):
            taken.claim(f"out{place}")
        for size in (*names_in_graph(self.graph), *map(str, bound_sizes(self.graph))):
            taken.claim(size_variable(size))
        self.inputs = [taken.claim(variable_name(name)) for name in self.graph.input_names]
        shown: Location | None = None
        for call in self.graph.calls:
            list(scope.introduce(call.inputs))
            said = comment_lines(call_text(call, scope, {}, {})).split("\n")
            if call.location is not None and call.location != shown:
                shown = call.location
                said.insert(0, comment_line(location_text(shown)))
            self.comments.append(said)
            self.names |= {value: taken.claim(variable_name(scope.use(value))) for value in call.outputs}

    # ---- what lies in whose memory

    def _memory_of(self, call: Call) -> CallMemory:
        """What the function of a call can do with memory; other calls only rename memory."""
        function = self.function_of.get(call)
        if function is None:
            return CallMemory(False, {}, is_view=True, numbers=Numbers.IN_MEMORY)
        nbytes = scratch_bytes(function, len(call.outputs))
        work = None if same(nbytes, 0) else nbytes
        return CallMemory(True, function.overwriting, numbers=Numbers.IN_MEMORY, work=work)

    def _overwriting_chains(self) -> dict[int, list[Value]]:
        """For outputs in the memory of an input: the values that use it, from the output back to the input.

        An output may use the memory of an input if it is that input, or computed from it by calls that each overwrite
        their operand, which is not needed later.
        """
        position = {call: number for number, call in enumerate(self.graph.calls)}
        last = last_reads(call.inputs for call in self.graph.calls)
        renamed = [call.inputs[0] for call in self.graph.calls if is_renamed(call)]
        held = list(self.graph.outputs)
        chains: dict[int, list[Value]] = {}
        for output, given in self.may_overwrite.items():
            wanted = self.graph.inputs[given]

            def operand_of(call: Call, value: Value, wanted: Value = wanted) -> Value | None:
                operand = self._overwritten(call, value, wanted)
                if operand is None or last[operand] > position[call] or operand in held:
                    return None
                if renamed.count(operand) > is_renamed(call):
                    return None  # it has another name, by which it may be read later
                return operand

            result = self.graph.outputs[output]
            chain = [result, *links_back(self.graph, result, operand_of)]
            reached = chain[-1] is wanted
            others = {value for other in chains.values() for value in other}
            if reached and held.count(chain[0]) == 1 and others.isdisjoint(chain):
                chains[output] = chain
        return chains

    def _overwritten(self, call: Call, output: Value, wanted: Value) -> Value | None:
        """The operand in whose memory the function of a call can write an output: the `wanted` one if possible."""
        if is_renamed(call):
            return call.inputs[0]
        places = self.function_of[call].overwriting.get(call.outputs.index(output), ())
        operands = [call.inputs[place] for place in places]
        found = [v for v in operands if same_type(v.type, output.type) and call.inputs.count(v) == 1]
        return wanted if wanted in found else next(iter(found), None)

    def _largest(self, size: Any) -> Any:
        """A size without those that the graph finds out."""
        return largest_size(size, self.most)

    def _root(self, value: Value) -> Value:
        """The value whose memory a value uses; itself for most."""
        return self.plan.root.get(value, value)

    # ---- where it is

    def _find_pointers(self, chains: Mapping[int, Sequence[Value]]) -> None:
        for name, value in zip(self.inputs, self.graph.inputs, strict=True):
            self.pointer[value] = name
        for output, chain in chains.items():
            self.pointer[chain[-1]] = f"out{output}"
        read = [value for call in self.graph.calls for value in call.inputs]
        for value in (*read, *self.graph.outputs):
            if isinstance(value, Constant):
                self.pointer[value] = self._constant(value)
        for place, value in enumerate(self.graph.outputs):
            self.pointer.setdefault(self._root(value), f"out{place}")
        for call in self.graph.calls:
            if is_bounded_length(call):  # it is never read
                self.pointer[call.outputs[0]] = "(uint8_t *)0"
        for value in self.plan.block:
            self.pointer.setdefault(value, self.names[value])

    def _constant(self, value: Constant) -> str:
        """The name of a constant, written into the text."""
        if not value.array.size:
            return f"({element_type(value.dtype)} *)0"
        known = self.constants.get(constant_key(value))
        if known is not None:
            return known
        name = f"{self.name}_constant_{len(self.constants) + 1}"
        self.constants[constant_key(value)] = name
        self.arrays.append(f"{c_array(name, value.array)}  // {value.type}\n")
        return name

    # ---- the text

    def _function(self, in_place: Mapping[int, int]) -> CFunction:
        inputs = tuple(value.type for value in self.graph.inputs)
        outputs = tuple(value.type for value in self.graph.outputs)
        memory = WorkingMemory(self.plan.arena_bytes)
        sizes = names_in_graph(self.graph)
        # Its kernels say what has no aliases. Said twice, GCC no longer takes steps together (unroll and jam).
        declared = [
            *parameters(
                inputs,
                outputs,
                sizes=sizes,
                aliased_inputs=range(len(inputs)) if self.alternates else tuple(in_place.values()),
                aliased_outputs=range(len(outputs)) if self.alternates else tuple(in_place),
                names=self.inputs,
            ),
            *memory.parameters,
            "long threads",
        ]
        lines = memory.declarations
        for root, block in self.plan.block.items():
            if not block.in_arena:
                continue
            type = element_type(root.dtype)
            lines.append(f"    {type} *const {self.pointer[root]} = {memory.at(block.offset, type)};")
        for index, call in enumerate(self.graph.calls):
            lines += self._statement(index, call)
        lines += [line for place in range(len(outputs)) for line in self._copied(place)]
        text = "".join(
            [
                *dict.fromkeys(function.text + "\n" for function in self.function_of.values()),
                *self.arrays,
                f"{'TM_APART ' if self.alternates else ''}static void {self.name}({', '.join(declared)})\n{{\n",
                *(line + "\n" for line in lines),
                "}\n",
            ]
        )
        needs = frozenset[str]().union(*(f.needs for f in self.function_of.values()))
        work = sum(self._largest(self._work(call, function)) for call, function in self.function_of.items())
        return CFunction(self.name, text, inputs, (*outputs, *memory.types), needs, work, sizes=sizes)

    def _work(self, call: Call, function: CFunction) -> int:
        """The nanoseconds of a call, without copies of what it overwrites."""
        written = [
            (call.outputs[output], call.inputs[given]) for output, given in function.overwrites.items()
        ]
        spared = [output.type for output, operand in written if self._root(output) is self._root(operand)]
        return function.work - sum(map(copying, spared))

    def _statement(self, index: int, call: Call) -> list[str]:
        if is_bounded_length(call):
            return [*(f"    {line}" for line in self.comments[index]), self._length(call)]
        function = self.function_of.get(call)
        if function is None:
            return []
        arguments = list(map(size_variable, function.sizes))
        arguments += [self.pointer[self._root(value)] for value in (*call.inputs, *call.outputs)]
        if index in self.plan.work:
            arguments.append(WorkingMemory.at(self.plan.work[index].offset))
        threads = threads_for(function)
        comments = [f"    {line}" for line in self.comments[index]]
        return [*comments, f"    {function.name}({', '.join([*arguments, threads])});"]

    def _length(self, call: Call) -> str:
        """The definition of a size that the graph finds out."""
        count = f"*{self.pointer[self._root(call.inputs[0])]}"
        most = size_text(call.params["most"])
        is_given = given_maximum(call) is not None
        value = f"tm_length({count}, {most})" if is_given else f"{count} < 0 ? 0 : (long){count}"
        return f"    const long {size_variable(str(bound_size(call)))} = {value};"

    def _copied(self, place: int) -> list[str]:
        """Copy an output to its place, if it has not been written there."""
        value = self.graph.outputs[place]
        source = self.pointer[self._root(value)]
        if source == f"out{place}" or is_none(value.type.nbytes):
            return []
        return [f"    memcpy(out{place}, {source}, {size_text(value.type.nbytes)});"]

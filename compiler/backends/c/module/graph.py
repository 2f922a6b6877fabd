"""A graph as one C function: each call is a call of a C function, on memory that is planned here."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ....affine import is_none, same
from ....analysis.memory_plan import Block, place_blocks
from ....ir import Call, Constant, Graph, Location, Value
from ....loops.code_key import function_key
from ....loops.loop_costs import SHARED
from ....op import is_renamed
from ....symbolic_size import lower_bound, max_expr, upper_bound
from ....text.naming import Naming, constant_key
from ....text.printer import call_text, location_text
from ...python_text import Names
from ..function import CFunction, copying
from ..layout import comment_line, comment_lines
from ..literals import MOST_CONSTANTS, c_array
from ..names import variable_name
from ..parameters import WorkingMemory, is_same_type, parameters
from ..sizes import names_in_graph, size_text, size_variable
from ..types import element_type

FunctionOf: TypeAlias = Callable[[Call, str], CFunction | None]
"""``function_of(call, name)``: the C function of a call in a loop; None if there is none."""

APART = """\
// What is called with the same memory in turn for reading and for writing: clang would take an array that one turn
// promises to be alone for one that is alone in all turns.
#ifdef __clang__
#define TM_APART __attribute__((noinline))
#else
#define TM_APART
#endif
"""
"""What the text of a program holds before functions that are called so."""

RESERVED = ("memcpy", "threads", "work")
"""What the functions of graphs call their own."""


@dataclass(frozen=True, slots=True)
class GraphFunction:
    """The C function of a graph."""

    function: CFunction
    in_place: Mapping[int, int]
    """The outputs that are given the memory of the input that they may overwrite: which of which."""


def graph_function(
    graph: Graph,
    name: str,
    function_of: FunctionOf,
    may_overwrite: Mapping[int, int] | None = None,
    *,
    in_turns: bool = False,
    any_constants: bool = False,
) -> GraphFunction | None:
    """The C function called `name` that computes the outputs of a graph; None if a call has none.

    `may_overwrite` says which output may lie in the memory of which input, if that works out; `in_turns`, that what
    one call writes another one reads; `any_constants`, that the text may hold large ones.
    """
    functions: list[CFunction | None] = []
    printed: dict[Hashable, CFunction] = {}
    for number, call in enumerate(graph.calls):
        if is_renamed(call):
            functions.append(None)
            continue
        key = function_key(call)
        function = printed.get(key) or function_of(call, f"{name}_{call.op}_{number + 1}")
        if function is None:
            return None
        printed[key] = function
        functions.append(function)
    constants = {v for call in graph.calls for v in call.inputs if isinstance(v, Constant)}
    constants.update(v for v in graph.outputs if isinstance(v, Constant))
    if not any_constants and any(value.type.size > MOST_CONSTANTS for value in constants):
        return None
    return _Writer(graph, name, functions, dict(may_overwrite or {}), in_turns).written()


def threads_for(function: CFunction) -> str:
    """How many threads a call of a function gets, of the ``threads`` that there are."""
    if upper_bound(function.work) < SHARED:
        return "1"
    is_long = lower_bound(function.work) >= SHARED
    return "threads" if is_long else f"{size_text(function.work)} >= {SHARED} ? threads : 1"


def scratch_bytes(function: CFunction, outputs: int) -> int:
    """The memory that a function works in, given to it behind its `outputs`."""
    return sum(type.nbytes for type in function.outputs[outputs:])


@dataclass(slots=True)
class _Writer:
    """Decides where each value of a graph lies, and writes the function."""

    graph: Graph
    name: str
    functions: Sequence[CFunction | None]
    may_overwrite: dict[int, int]
    in_turns: bool
    root: dict[Value, Value] = field(default_factory=dict[Value, Value])
    """The value in whose memory a value lies; itself for most."""
    pointer: dict[Value, str] = field(default_factory=dict[Value, str])
    """The C expression for the memory of each root."""
    blocks: dict[Value, Block] = field(default_factory=dict[Value, Block])
    """Where results in between lie."""
    scratch: dict[int, Block] = field(default_factory=dict[int, Block])
    """Where the function of a call works, by the number of the call."""
    constants: dict[object, str] = field(default_factory=dict[object, str])
    """The names of constants."""
    arrays: list[str] = field(default_factory=list[str])
    """Their definitions."""
    inputs: list[str] = field(default_factory=list[str])
    """The names of the inputs."""
    names: dict[Value, str] = field(default_factory=dict[Value, str])
    """Those of the results."""
    comments: list[list[str]] = field(default_factory=list[list[str]])
    """What is said of each call."""

    def written(self) -> GraphFunction:
        self._name_values()
        overwriting = self._overwriting_chains()
        self._find_roots(overwriting)
        in_place = self._find_pointers(overwriting)
        arena = self._plan_blocks()
        return GraphFunction(self._function(arena, in_place), in_place)

    def _name_values(self) -> None:
        """As the graph's text does."""
        scope, taken = Naming(self.graph), Names([*RESERVED, self.name])
        for place in range(len(self.graph.outputs)):
            taken.claim(f"out{place}")
        for size in names_in_graph(self.graph):
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

    def _overwriting_chains(self) -> dict[Value, tuple[int, int]]:
        """The values that lie in the memory of an input, up to an output: the numbers of that output and input.

        An output may take the memory of an input if it is that input, or made of it by calls that each overwrite
        their operand, which nothing needs any more.
        """
        maker = {v: (i, call) for i, call in enumerate(self.graph.calls) for v in call.outputs}
        last = {v: i for i, call in enumerate(self.graph.calls) for v in call.inputs}
        renamed = [call.inputs[0] for call in self.graph.calls if is_renamed(call)]
        held = list(self.graph.outputs)
        chains: dict[Value, tuple[int, int]] = {}
        for output, given in self.may_overwrite.items():
            chain = [self.graph.outputs[output]]
            while chain[-1] is not self.graph.inputs[given] and chain[-1] in maker:
                index, call = maker[chain[-1]]
                operand = self._overwritten(index, call, chain[-1], self.graph.inputs[given])
                if operand is None or last[operand] > index or operand in held:
                    break
                if renamed.count(operand) > (is_renamed(call)):
                    break  # it has another name, by which it may be read later
                chain.append(operand)
            reached = chain[-1] is self.graph.inputs[given]
            if reached and held.count(chain[0]) == 1 and not any(v in chains for v in chain):
                chains.update((value, (output, given)) for value in chain)
        return chains

    def _overwritten(
        self, index: int, call: Call, output: Value, wanted: Value | None = None
    ) -> Value | None:
        """The operand in whose memory the function of a call can write an output: the `wanted` one if it is such."""
        if is_renamed(call):
            return call.inputs[0]
        function = self.functions[index]
        if function is None:
            return None
        number = call.outputs.index(output)
        place = function.overwrites.get(number)
        places = function.in_place.get(number, ()) if place is None else (place,)
        operands = [call.inputs[place] for place in places]
        found = [v for v in operands if is_same_type(v.type, output.type) and call.inputs.count(v) == 1]
        return wanted if wanted in found else next(iter(found), None)

    def _find_roots(self, overwriting: Mapping[Value, tuple[int, int]]) -> None:
        last = {v: i for i, call in enumerate(self.graph.calls) for v in call.inputs}
        last.update(dict.fromkeys(self.graph.outputs, len(self.graph.calls)))
        until: dict[Value, int] = {v: last.get(v, -1) for v in self.graph.inputs}  # by root
        self.root = {v: v for v in self.graph.inputs}
        for index, call in enumerate(self.graph.calls):
            for value in call.inputs:
                if isinstance(value, Constant):
                    self.root[value] = value
            taken: set[Value] = set()
            for output in call.outputs:
                self.root[output] = output
                wanted = self.graph.inputs[overwriting[output][1]] if output in overwriting else None
                operand = self._overwritten(index, call, output, wanted)
                if operand is not None and (
                    is_renamed(call)
                    or (output in overwriting and operand in overwriting)
                    or (self.root[operand] not in taken and self._is_free(operand, index, call, until))
                ):
                    self.root[output] = self.root[operand]
                    taken.add(self.root[operand])
                root = self.root[output]
                until[root] = max(until.get(root, index), last.get(output, index))
        for value in self.graph.outputs:
            self.root.setdefault(value, value)  # constants

    def _is_free(self, operand: Value, index: int, call: Call, until: Mapping[Value, int]) -> bool:
        """Whether a call may overwrite the memory of an operand: it is the function's own, dies, and is read once."""
        root = self.root[operand]
        if root in self.graph.inputs or isinstance(root, Constant) or until.get(root, 0) > index:
            return False
        return [self.root[value] for value in call.inputs].count(root) == 1

    # ---- where it is

    def _find_pointers(self, overwriting: Mapping[Value, tuple[int, int]]) -> dict[int, int]:
        """Give inputs, outputs and constants their pointers; which outputs lie in the memory of an input."""
        for place, value in enumerate(self.graph.inputs):
            self.pointer[value] = self.inputs[place]
        in_place = dict(sorted(set(overwriting.values())))
        for output, given in in_place.items():
            self.pointer[self.graph.inputs[given]] = f"out{output}"
        for value in dict.fromkeys(self.root.values()):
            if isinstance(value, Constant):
                self.pointer[value] = self._constant(value)
        for place, value in enumerate(self.graph.outputs):
            self.pointer.setdefault(self.root[value], f"out{place}")
        return in_place

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

    def _plan_blocks(self) -> int:
        """Place results in between, and what functions work in; the bytes for all of that."""
        last = {self.root[v]: i for i, call in enumerate(self.graph.calls) for v in call.inputs}
        order: list[Block] = []
        for index, call in enumerate(self.graph.calls):
            for output in call.outputs:
                root = self.root[output]
                if root not in self.pointer:
                    block = Block(
                        max_expr(root.type.nbytes, 1), index, max(index, last.get(root, index)), in_arena=True
                    )
                    self.blocks[root] = block
                    self.pointer[root] = self.names[root]
                    order.append(block)
            function = self.functions[index]
            nbytes = scratch_bytes(function, len(call.outputs)) if function else 0
            if not same(nbytes, 0):
                self.scratch[index] = Block(nbytes, index, index, in_arena=True)
                order.append(self.scratch[index])
        return place_blocks(order)

    # ---- the text

    def _function(self, arena: int, in_place: Mapping[int, int]) -> CFunction:
        inputs = tuple(value.type for value in self.graph.inputs)
        outputs = tuple(value.type for value in self.graph.outputs)
        memory = WorkingMemory(arena)
        sizes = names_in_graph(self.graph)
        declared = [
            *parameters(
                inputs,
                outputs,
                sizes=sizes,
                aliased_inputs=tuple(in_place.values()),
                aliased_outputs=tuple(in_place),
                names=self.inputs,
            ),
            *memory.parameters,
            "long threads",
        ]
        lines = memory.declarations
        for root, block in self.blocks.items():
            type = element_type(root.dtype)
            lines.append(f"    {type} *const {self.pointer[root]} = {memory.at(block.offset, type)};")
        for index, call in enumerate(self.graph.calls):
            lines += self._statement(index, call)
        lines += [line for place in range(len(outputs)) for line in self._copied(place)]
        text = "".join(
            [
                *dict.fromkeys(function.text + "\n" for function in self.functions if function),
                *self.arrays,
                f"{'TM_APART ' if self.in_turns else ''}static void {self.name}({', '.join(declared)})\n{{\n",
                *(line + "\n" for line in lines),
                "}\n",
            ]
        )
        needs = frozenset[str]().union(*(f.needs for f in self.functions if f))
        work = sum(self._work(*item) for item in enumerate(self.graph.calls))
        return CFunction(self.name, text, inputs, (*outputs, *memory.types), needs, work, sizes=sizes)

    def _work(self, index: int, call: Call) -> int:
        """The nanoseconds of a call, without those for copying what it overwrites."""
        function = self.functions[index]
        if function is None:
            return 0
        written = [
            (call.outputs[output], call.inputs[given]) for output, given in function.overwrites.items()
        ]
        spared = [output.type for output, operand in written if self.root[output] is self.root[operand]]
        return function.work - sum(map(copying, spared))

    def _statement(self, index: int, call: Call) -> list[str]:
        function = self.functions[index]
        if function is None:
            return []
        arguments = list(map(size_variable, function.sizes))
        arguments += [self.pointer[self.root[value]] for value in (*call.inputs, *call.outputs)]
        if index in self.scratch:
            arguments.append(WorkingMemory.at(self.scratch[index].offset))
        threads = threads_for(function)
        comments = [f"    {line}" for line in self.comments[index]]
        return [*comments, f"    {function.name}({', '.join([*arguments, threads])});"]

    def _copied(self, place: int) -> list[str]:
        """Copy an output to where it belongs, if it has not been written there."""
        value = self.graph.outputs[place]
        source = self.pointer[self.root[value]]
        if source == f"out{place}" or is_none(value.type.nbytes):
            return []
        return [f"    memcpy(out{place}, {source}, {size_text(value.type.nbytes)});"]

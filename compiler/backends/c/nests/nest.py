"""A loop or a branch over numbers and single elements as one C function, including all inner loops and branches.

Numbers are C variables, and arrays are written in place. An index is clipped to its axis only if its bounds do not
prove that it is in range. Calls on whole arrays are refused: `module.control` writes those.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

from ....analysis.in_place_updates import kept_places
from ....ir import Call, Graph, Value
from ....op import has_effect
from ....ops.control.loop_params import scan_params, while_params
from ....params import graph_param, graphs_param
from ....symbolic_size import SymbolicSize, is_none, is_one, max_expr, min_expr
from ...python.text import Names
from ..function import CFunction, copying
from ..parameters import parameters
from ..sizes import factor_text, names_in_call, size_text, size_variable
from ..types import c_type, element_type
from .bounds import Known, LinearForm, Variable, upper_bound
from .carried import Carried, as_counter, carry_of, carry_on, declare, linear
from .checks import Checks, Step, Work, typical_work
from .choices import join, write_choice
from .flat import flattened
from .numbers import Item, Memory, NotOfNumbersError, Numbers, array_item, is_number
from .progress import (
    bound_by_comparison,
    bound_by_test,
    carried_variables,
    counting_test,
    tests_in,
    value_after,
)
from .statements import Line, Statements

UNKNOWN_STEPS: Final = 100
"""The expected number of steps of a `while_loop`."""
RELEASING: Final = 20_000
"""The work of a loop that may take long, so that other threads run meanwhile."""
FOR_EVER: Final = 1 << 62
"""The longest work of a loop without a limit."""

DECLARATIONS: Final = """\
// GCC 12 moves the work of both sides of a choice back into branches, which processors cannot predict. It also computes
// the products of a sum in vectors, and adds their elements in order: with eight of them, that is slower than without.
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#define TM_NEST __attribute__((optimize("no-tree-sink", "no-split-paths"), target("prefer-vector-width=256")))
#elif defined(__GNUC__) && !defined(__clang__)
#define TM_NEST __attribute__((optimize("no-tree-sink", "no-split-paths")))
#else
#define TM_NEST
#endif
"""
"""Comes before nests, in the text of a program."""


def nest_function(call: Call, name: str, *, alone: bool) -> CFunction | None:
    """The C function called `name` of a loop or branch; None if it does more than compute numbers and single
    elements.

    With `alone`, loops never check whether to stop, and constants may have any size.
    """
    if call.op not in ("scan", "switch", "while_loop"):
        return None
    try:
        return _Nest(call, name, alone).function()
    except NotOfNumbersError:
        return None


class _Nest:
    """Writes the function."""

    def __init__(self, call: Call, name: str, alone: bool) -> None:
        self.call, self.name = call, name
        self.sizes = names_in_call(call)
        taken = [name, "threads", *map(size_variable, self.sizes)]
        taken += [f"x{i}" for i in range(len(call.inputs))] + [f"out{k}" for k in range(len(call.outputs))]
        self.lines = Statements()
        self.numbers = Numbers(Names(taken), self.lines, name, alone)
        self.checks = Checks(self.numbers.names, self.lines, not alone, self.numbers.claim("spent"))
        self.longest: Work = 0
        """The work of the loop of unknown length that may take longest."""
        self.stacks: dict[Value, str] = {}
        """The outputs of the outermost loop that stack a number per step."""

    # ---- the function --------------------------------------------------------------------------------

    def function(self) -> CFunction:
        call = self.call
        overwrites = self._overwrites()
        copies: list[str] = []
        memories: dict[int, Memory] = {}
        for k, i in overwrites.items():
            type = call.outputs[k].type
            if not is_none(type.nbytes):
                copies.append(
                    f"    if (out{k} != x{i})\n        memcpy(out{k}, x{i}, {size_text(type.nbytes)});"
                )
            name = self.numbers.claim(f"array{k}")
            copies.append(f"    {element_type(type.dtype)} *restrict const {name} = out{k};")
            memories[i] = Memory(name, is_writable=True)
        for i, value in enumerate(call.inputs):
            if is_number(value):
                name = self.numbers.claim(f"given{i}")
                self.lines.define(c_type(value.dtype), name, f"*x{i}")
                self.numbers.items[value] = Item(name, LinearForm(0, {Variable(): 1}))
            elif value not in self.numbers.items:
                self.numbers.items[value] = array_item(Memory(f"x{i}"))
        given = [
            array_item(memories[i]) if i in memories else self.numbers.item(value)
            for i, value in enumerate(call.inputs)
        ]
        self.lines.accumulator("long", self.checks.spent)
        work = max_expr(self._controlled(call, given), self.longest)
        for k, value in enumerate(call.outputs):
            if k not in overwrites and value not in self.stacks:
                self.lines.line(f"*out{k} = {self.numbers.item(value).text};")
        inputs, outputs = (tuple(value.type for value in values) for values in (call.inputs, call.outputs))
        declared = parameters(
            inputs,
            outputs,
            aliased_inputs=tuple(overwrites.values()),
            aliased_outputs=tuple(overwrites),
            sizes=self.sizes,
        )
        head = f"TM_NEST static void {self.name}({', '.join([*declared, 'long threads'])})"
        text = "\n".join([*self.numbers.arrays, head, "{", *copies, *self.lines.texts(), "}", ""])
        work += sum(copying(outputs[k]) for k in overwrites)
        needs = frozenset(self.numbers.needs)
        return CFunction(self.name, text, inputs, outputs, needs, work, overwrites, sizes=self.sizes)

    def _overwrites(self) -> dict[int, int]:
        """For each output that is an array: the input whose memory it uses."""
        call = self.call
        found: dict[int, int] = {}
        (places,) = kept_places(call).values()
        first = 1 if call.op == "switch" else 0
        for k, value in enumerate(call.outputs):
            if is_number(value):
                continue
            if k in places:
                found[k] = places[k] + first
            elif call.op == "scan" and is_one(graph_param(call).outputs[k].type.size):
                self.stacks[value] = f"out{k}"
            else:
                raise NotOfNumbersError("an array is made")
        return found

    # ---- calls ---------------------------------------------------------------------------------------

    def _graph(self, flat: Graph, given: Sequence[Item]) -> tuple[list[Item], Work]:
        """Write the statements of a flat graph; returns its outputs and its nanoseconds."""
        self.numbers.items.update(zip(flat.inputs, given, strict=True))
        work: Work = 0
        for call in flat.calls:
            if has_effect(call):
                raise NotOfNumbersError(call.op)
            if call.op in ("scan", "switch", "while_loop"):
                work += self._controlled(call, [self.numbers.item(value) for value in call.inputs])
            elif call.op in ("call", "checkpoint", "custom_rule", "linear_call"):
                graph = graph_param(call)
                found, more = self._graph(flattened(graph), [self.numbers.item(v) for v in call.inputs])
                self.numbers.items.update(zip(call.outputs, found, strict=True))
                work += more
            else:
                work += self.numbers.write(call)
        return [self.numbers.item(value) for value in flat.outputs], work

    def _controlled(self, call: Call, given: Sequence[Item]) -> Work:
        """A loop or a branch; its outputs become items."""
        self.lines.comment(call)
        form = {"scan": self._scan, "switch": self._switch, "while_loop": self._while}[call.op]
        return form(call, given)

    # ---- choices -------------------------------------------------------------------------------------

    def _switch(self, call: Call, given: Sequence[Item]) -> Work:
        branches = graphs_param(call)
        index, *rest = given
        memories = {item.memory: item.memory.version for item in rest if item.memory}
        outer, self.numbers.written = self.numbers.written, set()
        results: list[list[Item]] = []
        bodies: list[list[Line]] = []
        works: list[Work] = []
        written: set[Memory] = set()
        for graph in branches:
            for memory, version in memories.items():
                memory.version = version
            self.numbers.written = set()
            with self.lines.captured() as body:
                found, work = self._graph(flattened(graph), rest)
            if not self.numbers.written <= {item.memory for item in found}:
                raise NotOfNumbersError("a branch writes to what it does not give out")
            written |= self.numbers.written
            results.append(found)
            bodies.append(body)
            works.append(work)
        for memory, version in memories.items():
            memory.version = object() if memory in written else version
        self.numbers.written = outer | written
        join(self.numbers, call, results, bodies)
        write_choice(self.lines, call.inputs[0], index, bodies)
        return math.ceil(max(map(typical_work, works))) + 1

    # ---- loops ---------------------------------------------------------------------------------------

    def _body(
        self,
        flat: Graph,
        given: Sequence[Item],
        carried: Sequence[Carried],
        consts: int,
        rows: Sequence[str],
    ) -> Work:
        """Write a step, with the statements that update its carried numbers."""
        outer, self.numbers.written = self.numbers.written, set()
        found, work = self._graph(flat, given)
        memories = {one.item.memory for one in carried}
        if not self.numbers.written <= memories or not all(item.is_current for item in given[:consts]):
            raise NotOfNumbersError("a step writes to what it does not carry")
        for one, after in zip(carried, found, strict=False):
            if one.item.memory is not after.memory:
                raise NotOfNumbersError("a step carries an array on in other memory")
        self.numbers.written |= outer
        for row, item in zip(rows, found[len(carried) :], strict=True):
            self.lines.line(f"{row} = {item.text};")
        carry_on(
            self.numbers, [(one, item) for one, item in zip(carried, found, strict=False) if one.variable]
        )
        return work

    def _scan(self, call: Call, given: Sequence[Item]) -> Work:
        graph, length, consts, count, reverse, unroll = scan_params(call)
        flat = flattened(graph)
        steps: int | None = None if isinstance(length, SymbolicSize) else length
        carried, _ = carry_of(self.numbers, call, flat, given[: consts + count], consts, steps)
        number = Variable()
        number.add_low(LinearForm(0))
        if steps is not None:
            number.add_high(LinearForm(steps - 1))
        counter = self.numbers.claim("t")
        carried = [as_counter(one, counter, LinearForm(0, {number: 1})) for one in carried]
        declare(self.numbers, carried)
        end = size_text(length)
        row = f"({factor_text(length - 1)} - {counter})" if reverse else counter
        with self.lines.captured() as body, self.checks.step() as step:
            for one in carried:
                if one.variable is None and one.item.memory is None and one.item.text != counter:
                    self.lines.define("int64_t", one.item.text, linear(one.start.text, one.step, counter))
            rows = [
                self._row(item, value, row)
                for item, value in zip(given[consts + count :], flat.inputs[consts + count :], strict=True)
            ]
            stacks = [f"{self._stack(value)}[{row}]" for value in call.outputs[count:]]
            items = [*given[:consts], *(one.item for one in carried), *rows]
            step.work = math.ceil(typical_work(self._body(flat, items, carried, consts, stacks))) + 1
        whole = length * step.work
        hint = [f"#pragma GCC unroll {min(unroll, 64)}"] if unroll > 1 else []
        self.checks.counted_loop(
            counter, "0", end, step, body, longest=whole, expected=whole, is_known=True, hint=hint
        )
        for one in carried:
            known = None if steps is None else value_after(one.start.known, one.step, steps)
            if one.item.memory is not None:
                self.numbers.items[one.value] = array_item(one.item.memory)
            elif one.variable is not None:
                self.numbers.items[one.value] = Item(one.variable, known)
            else:
                name = self.numbers.names.numbered("after")
                self.lines.define("int64_t", name, linear(one.start.text, one.step, factor_text(length)))
                self.numbers.items[one.value] = Item(name, known)
        return whole

    def _row(self, item: Item, value: Value, row: str) -> Item:
        """The step's element of a stack."""
        type = element_type(value.dtype)
        if item.memory is None:
            return item  # a stack of one number
        if is_number(value):
            name = self.numbers.names.numbered("entry")
            self.lines.define(c_type(value.dtype), name, f"{item.text}[{row}]")
            return Item(name)
        name = self.numbers.names.numbered("row")
        self.lines.define(f"{type} *const", name, f"{item.text} + {row} * {factor_text(value.type.size)}")
        return array_item(Memory(name))

    def _stack(self, value: Value) -> str:
        if value not in self.stacks:
            raise NotOfNumbersError("a loop in a loop stacks results")
        return self.stacks[value]

    def _while(self, call: Call, given: Sequence[Item]) -> Work:
        cond, graph, consts, most = while_params(call)
        flat, test = flattened(graph), flattened(cond)
        limit = most if isinstance(most, int) else None
        carried, integers = carry_of(self.numbers, call, flat, given, consts, limit)
        for low, high in tests_in(test, given[:consts], integers):
            bound_by_comparison(low, high, carried_variables(integers))
        for one in carried:
            bound_by_test(one.item.known, one.start.known, one.step)
        if (found := self._counted_while(call, given, carried, flat, test)) is not None:
            return found
        declare(self.numbers, carried)
        items = [*given[:consts], *(one.item for one in carried)]
        with self.lines.captured() as body, self.checks.step() as step:
            written = set(self.numbers.written)
            asked = [one.item if one.variable is None else Item(one.item.text) for one in carried]
            # The test's facts about integers hold in the step, but not yet in the test.
            (goes_on,), test_work = self._graph(test, [*given[:consts], *asked])
            if self.numbers.written != written:
                raise NotOfNumbersError("a test writes")
            self.lines.line(f"if (!{goes_on.text})")
            self.lines.line("    break;")
            work = self._body(flat, items, carried, consts, []) + test_work
            step.work = math.ceil(typical_work(work)) + 1
        head = "for (;;)"
        if most is not None:
            steps = self.numbers.claim("steps")
            head = f"for (long {steps} = 0; {steps} < {size_text(most)}; {steps}++)"
        longest, expected = self._works(most, step)
        self.checks.endless_loop(head, step, body, longest=longest, expected=expected)
        for one in carried:
            item = array_item(one.item.memory) if one.item.memory else None
            known = None if limit is None else value_after(one.start.known, one.step, limit)
            self.numbers.items[one.value] = item or Item(one.item.text, known)
        return expected

    def _works(self, most: Any, step: Step) -> tuple[Work, Work]:
        """The longest and the expected work of a loop with at most this many steps."""
        if most is None:
            self.longest = max_expr(self.longest, RELEASING)
            return FOR_EVER, UNKNOWN_STEPS * step.work
        longest = most * step.work
        self.longest = max_expr(self.longest, min_expr(longest, RELEASING))
        return longest, min_expr(most, UNKNOWN_STEPS) * step.work

    def _counted_while(
        self, call: Call, given: Sequence[Item], carried: Sequence[Carried], flat: Graph, test: Graph
    ) -> Work | None:
        """A loop whose test compares a counter with a constant: a counted loop."""
        _, _, consts, most = while_params(call)
        compared = counting_test(test)
        if compared is None:
            return None
        place = test.inputs.index(compared[0]) - consts
        if place < 0 or carried[place].step != LinearForm(1):
            return None
        mine, bound = carried[place], compared[1]
        if bound in test.inputs and test.inputs.index(bound) >= consts:
            return None
        end = given[test.inputs.index(bound)] if bound in test.inputs else self.numbers.item(bound)
        if most is not None and not self._ends_within(mine.start.known, end.known, most):
            return None
        kept = [
            one if one is not mine else Carried(one.value, one.start, one.item, one.step) for one in carried
        ]
        declare(self.numbers, kept)
        counter = mine.item.text
        items = [*given[:consts], *(one.item for one in kept)]
        with self.lines.captured() as body, self.checks.step() as step:
            step.work = math.ceil(typical_work(self._body(flat, items, kept, consts, []))) + 1
        longest, expected = self._works(most, step)
        self.checks.counted_loop(
            counter,
            mine.start.text,
            end.text,
            step,
            body,
            longest=longest,
            expected=expected,
            is_known=False,
        )
        for one in kept:
            if one.item.memory is not None:
                self.numbers.items[one.value] = array_item(one.item.memory)
            elif one is not kept[place]:
                self.numbers.items[one.value] = Item(one.item.text)
            else:
                name = self.numbers.names.numbered("after")
                start = one.start.text
                self.lines.define("int64_t", name, f"{start} < {end.text} ? {end.text} : {start}")
                self.numbers.items[one.value] = Item(name)
        return expected

    @staticmethod
    def _ends_within(start: Known, end: Known, most: Any) -> bool:
        """Whether a limit of steps is never reached."""
        iterations = None if start is None or end is None else upper_bound(end - start)
        return isinstance(most, int) and iterations is not None and iterations <= most

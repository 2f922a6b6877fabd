"""Loops and branches as C: no Python runs between their steps."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from ....affine import same
from ....analysis.in_place_updates import kept_places
from ....analysis.memory_plan import aligned
from ....ir import ArrayType, Call, Constant, Value
from ....op import has_effect
from ....ops.control.loop_params import scan_params, while_params
from ....params import graph_param, graphs_param
from ....symbolic_size import is_known, is_none, is_one, max_expr, min_expr, upper_bound
from ..function import CFunction, copying
from ..interruption import ASKING, steps_between, stop_condition
from ..literals import c_literal
from ..nests.progress import counting_test
from ..parameters import WorkingMemory, parameters
from ..sizes import factor_text, names_in_call, size_text, size_variable
from ..types import element_type
from .graph import FunctionOf, GraphFunction, graph_function, scratch_bytes
from .interface import RELEASING
from .tiles import tiled

UNKNOWN_STEPS = 100
"""The expected number of steps of a `while_loop`. Without a limit there may be very many: other threads run
meanwhile."""


def control_function(
    call: Call, name: str, function_of: FunctionOf, *, alone: bool = False
) -> CFunction | None:
    """The C function of a call that holds graphs; None for other calls, or if a call in them has no C function."""
    if call.op not in _FORMS or has_effect(call):
        return None
    return _FORMS[call.op](call, name, function_of, alone)


class _Frame:
    """The text of a function under construction: its parameters, and its workspace."""

    def __init__(self, call: Call, name: str) -> None:
        self.name = name
        self.inputs = tuple(value.type for value in call.inputs)
        self.outputs = tuple(value.type for value in call.outputs)
        self.sizes = names_in_call(call)
        self.used = 0
        self.lines: list[str] = []
        self.overwrites: dict[int, int] = {}
        self.parts: list[CFunction] = []

    def memory(self, nbytes: int, type: str | None = None) -> str:
        """A part of the workspace, as an expression; for numbers of a C type if that is named."""
        offset = self.used
        self.used += aligned(max_expr(nbytes, 1))
        return WorkingMemory.at(offset, type)

    def part(self, function: CFunction, outputs: int) -> list[str]:
        """Use a function: the arguments that it takes after its `outputs`."""
        self.parts.append(function)
        nbytes = scratch_bytes(function, outputs)
        return [*([] if same(nbytes, 0) else [self.memory(nbytes)]), "threads"]

    def function(self, work: int) -> CFunction:
        memory = WorkingMemory(self.used)
        arrays = parameters(
            self.inputs,
            self.outputs,
            aliased_inputs=tuple(self.overwrites.values()),
            aliased_outputs=tuple(self.overwrites),
            sizes=self.sizes,
        )
        declared = [*arrays, *memory.parameters, "long threads"]
        text = "\n".join(
            [
                *(part.text for part in self.parts),
                f"static void {self.name}({', '.join(declared)})",
                "{",
                *memory.declarations,
                *self.lines,
                "}",
                "",
            ]
        )
        needs = frozenset[str]().union(*(part.needs for part in self.parts))
        outputs = (*self.outputs, *memory.types)
        work += sum(copying(self.outputs[output]) for output in self.overwrites)
        return CFunction(
            self.name, text, self.inputs, outputs, needs, work, self.overwrites, sizes=self.sizes
        )


# ---- loops -----------------------------------------------------------------------------------------


def _scan(call: Call, name: str, function_of: FunctionOf, alone: bool) -> CFunction | None:
    """The carry alternates between two places, so that the last step writes to the output."""
    graph, length, consts, carried, reverse, unroll = scan_params(call)
    step = graph_function(
        graph, f"{name}_step", function_of, kept_places(call)["graph"], alternates=True, any_constants=alone
    )
    if step is None:
        return None
    frame = _Frame(call, name)
    scratch = frame.part(step.function, len(graph.outputs))
    last = factor_text(length - 1)
    parity = "0" if is_none(length) else f"({last} - t) & 1"
    before, after = _carries(frame, call.inputs[consts : consts + carried], consts, step, parity)
    now, next_ = _now_and_next(frame, range(carried), parity)
    row = f"({last} - t)" if reverse else "t"
    xs = [_row(f"x{i}", graph.inputs[i].type, row) for i in range(consts + carried, len(call.inputs))]
    ys = [_row(f"out{i}", graph.outputs[i].type, row) for i in range(carried, len(call.outputs))]
    sizes = map(size_variable, step.function.sizes)
    arguments = [*sizes, *(f"x{i}" for i in range(consts)), *now, *xs, *next_, *ys, *scratch]
    steps = [f"    {step.function.name}({', '.join(arguments)});", *after]
    work = step.function.work + 5
    frame.lines += [*before, *_counted(length, work, steps, min(unroll, 64), asks=not alone)]
    if not is_known(length >= 1):
        copies = _copies(call.outputs[:carried], [f"x{consts + k}" for k in range(carried)], step)
        if copies and not is_none(length):
            copies = [f"    if ({size_text(length)} == 0) {{", *(f"    {line}" for line in copies), "    }"]
        frame.lines += copies
    return frame.function(length * work)


def _counted(length: int, work: int, step: Sequence[str], unroll: int, *, asks: bool) -> list[str]:
    """A loop over the numbers ``t`` of steps of `work` nanoseconds each. A long one checks between runs of steps."""
    hint = [f"#pragma GCC unroll {unroll}"] if unroll > 1 else []
    inner = [*(f"    {line}" for line in step), "    }"]
    end = size_text(length)
    if not asks or upper_bound(length * work) < ASKING:
        return [*hint, f"    for (long t = 0; t < {end}; t++) {{", *inner]
    every = steps_between(work)
    return [
        f"    for (long first = 0; first < {end}; first += {every}) {{",
        f"        const long last = first + {every} < {end} ? first + {every} : {end};",
        *hint,
        "        for (long t = first; t < last; t++) {",
        *(f"    {line}" for line in inner),
        f"        if ({stop_condition(every * work)})",
        "            break;",
        "    }",
    ]


def _while(call: Call, name: str, function_of: FunctionOf, alone: bool) -> CFunction | None:
    """The carry alternates between two places, and is copied at the end if it is not in the output."""
    if (place := _counter(call)) is not None:
        return _counted_while(call, place, name, function_of, alone)
    cond, body, consts, most = while_params(call)
    carried = call.inputs[consts:]
    step = graph_function(
        body,
        f"{name}_step",
        function_of,
        kept_places(call)["body"],
        alternates=True,
        any_constants=alone,
    )
    goes_on = graph_function(cond, f"{name}_goes_on", function_of, any_constants=alone)
    if step is None or goes_on is None:
        return None
    frame = _Frame(call, name)
    cond_scratch = frame.part(goes_on.function, 1)
    step_scratch = frame.part(step.function, len(carried))
    before, after = _carries(frame, carried, consts, step, "steps & 1")
    work = step.function.work + goes_on.function.work + 5
    every = steps_between(work)
    given = [f"x{i}" for i in range(consts)]
    cond_sizes, step_sizes = (list(map(size_variable, f.function.sizes)) for f in (goes_on, step))
    now, next_ = _now_and_next(frame, range(len(carried)), "steps & 1")
    frame.lines += [
        *before,
        f"    for (long steps = 0;{'' if most is None else f' steps < {size_text(most)}'}; steps++) {{",
        "        uint8_t goes_on;",
        f"        {goes_on.function.name}({', '.join([*cond_sizes, *given, *now, '&goes_on', *cond_scratch])});",
        "        if (!goes_on)",
        "            break;",
        f"        {step.function.name}({', '.join([*step_sizes, *given, *now, *next_, *step_scratch])});",
        *(f"    {line}" for line in after),
        *(
            [
                f"        if ((steps + 1) % {every} == 0 && {stop_condition(every * work)})",
                "            break;",
            ]
            if not alone
            else []
        ),
        "    }",
        *_delivered(frame, range(len(carried))),
    ]
    if most is None:
        return frame.function(max_expr(UNKNOWN_STEPS * work, RELEASING))
    expected = min_expr(most, UNKNOWN_STEPS) * work
    return frame.function(max_expr(expected, min_expr(most * work, RELEASING)))


def _counter(call: Call) -> int | None:
    """The place in the carry of an integer that only counts up to a number known before the loop."""
    cond, body, consts, most = while_params(call)
    compared = counting_test(cond)
    if most is not None or compared is None or compared[0] not in cond.inputs[consts:]:
        return None
    place = cond.inputs.index(compared[0]) - consts
    counter = body.inputs[consts + place]
    end_is_fixed = isinstance(compared[1], Constant) or compared[1] in cond.inputs[:consts]
    readers = [one for one in body.calls if counter in one.inputs]
    if not end_is_fixed or len(readers) != 1 or len(readers[0].outputs) != 1 or counter in body.outputs:
        return None
    (made,) = readers[0].outputs
    is_next = readers[0].op == "add" and any(
        isinstance(x, Constant) and (x.array == 1).all() for x in readers[0].inputs
    )
    is_read = any(made in one.inputs for one in body.calls) or body.outputs.count(made) != 1
    return place if is_next and not is_read and made is body.outputs[place] else None


def _counted_while(
    call: Call, place: int, name: str, function_of: FunctionOf, alone: bool
) -> CFunction | None:
    """The loop without its counter: a `for` loop, several of whose steps the C compiler can take at once."""
    cond, body, consts, _ = while_params(call)
    others = [k for k in range(len(call.outputs)) if k != place]
    counter = body.inputs[consts + place]
    inputs = [i for i in range(len(body.inputs)) if i != consts + place]
    step = graph_function(
        replace(
            body,
            inputs=tuple(body.inputs[i] for i in inputs),
            input_names=tuple(body.input_names[i] for i in inputs),
            calls=tuple(one for one in body.calls if counter not in one.inputs),
            outputs=tuple(body.outputs[k] for k in others),
        ),
        f"{name}_step",
        function_of,
        {number: consts + number for number in range(len(others))},
        alternates=True,
        any_constants=alone,
    )
    if step is None:
        return None
    frame = _Frame(call, name)
    scratch = frame.part(step.function, len(others))
    before, after = _carries(frame, [call.inputs[consts + k] for k in others], consts, step, "t & 1", others)
    now, next_ = _now_and_next(frame, others, "t & 1")
    given = [*map(size_variable, step.function.sizes), *(f"x{i}" for i in range(consts))]
    end = counting_test(cond)
    assert end is not None
    limit = c_literal(end[1].array) if isinstance(end[1], Constant) else f"x{cond.inputs.index(end[1])}[0]"
    work = step.function.work + 5
    every = 8 * steps_between(work)  # so that taking steps together is worthwhile
    steps = [
        f"    {step.function.name}({', '.join([*given, *now, *next_, *scratch])});",
        *after,
    ]
    frame.lines += [
        *before,
        f"    const int64_t start = x{consts + place}[0], end = {limit};",
        "    const uint64_t count = start < end ? (uint64_t)end - (uint64_t)start : 0;",
        *(
            ["    for (uint64_t t = 0; t < count; t++) {", *(f"    {line}" for line in steps), "    }"]
            if alone
            else [
                f"    for (uint64_t first = 0; first < count; first += {every}) {{",
                f"        const uint64_t last = count - first > {every} ? first + {every} : count;",
                "        for (uint64_t t = first; t < last; t++) {",
                *(f"        {line}" for line in steps),
                "        }",
                f"        if ({stop_condition(every * work)})",
                "            break;",
                "    }",
            ]
        ),
        f"    out{place}[0] = start < end ? end : start;",
        *_delivered(frame, others),
    ]
    return frame.function(max_expr(UNKNOWN_STEPS * work, RELEASING))


def _carries(
    frame: _Frame,
    carried: Sequence[Value],
    first: int,
    step: GraphFunction,
    parity: str,
    numbers: Sequence[int] | None = None,
) -> tuple[list[str], list[str]]:
    """Statements before the loop, and after each step, for the carry: inputs from `first` on.

    `numbers` are the places of these values in the loop's carry, if it has others.
    """
    numbers = range(len(carried)) if numbers is None else numbers
    frame.overwrites = {numbers[k]: first + numbers[k] for k in step.in_place}
    before = _copied_inputs(frame)
    after: list[str] = []
    for k, value in zip(numbers, carried, strict=True):
        if k not in frame.overwrites:
            type = element_type(value.dtype)
            spare = frame.memory(value.type.nbytes, type)
            before += [
                f"    const {type} *now{k} = x{first + k};",
                f"    {type} *const buffers{k}[2] = {{out{k}, {spare}}};",
            ]
            after.append(f"    now{k} = buffers{k}[{parity}];")
    return before, after


def _now_and_next(frame: _Frame, numbers: Sequence[int], parity: str) -> tuple[list[str], list[str]]:
    """Where a step reads the values with these places in the carry, and where it writes them."""
    now = [f"out{k}" if k in frame.overwrites else f"now{k}" for k in numbers]
    next_ = [f"out{k}" if k in frame.overwrites else f"buffers{k}[{parity}]" for k in numbers]
    return now, next_


def _delivered(frame: _Frame, numbers: Sequence[int]) -> list[str]:
    """Statements after a loop of unknown length that copy to the outputs what is not there."""
    return [
        f"    if (now{k} != out{k})\n        memcpy(out{k}, now{k}, {size_text(frame.outputs[k].nbytes)});"
        for k in numbers
        if k not in frame.overwrites and not is_none(frame.outputs[k].nbytes)
    ]


def _copies(outputs: Sequence[Value], sources: Sequence[str], step: GraphFunction) -> list[str]:
    return [
        f"    memcpy(out{k}, {source}, {size_text(value.type.nbytes)});"
        for k, (value, source) in enumerate(zip(outputs, sources, strict=True))
        if k not in step.in_place and not is_none(value.type.nbytes)
    ]


def _row(array: str, type: ArrayType, number: str) -> str:
    """The row with this number of an array whose rows have this type."""
    return f"{array} + {number}{'' if is_one(type.size) else f' * {factor_text(type.size)}'}"


# ---- choices and calls -----------------------------------------------------------------------------


def _switch(call: Call, name: str, function_of: FunctionOf, alone: bool) -> CFunction | None:
    branches = _branches(call, name, function_of, kept_places(call)["branches"], alone)
    if branches is None:
        return None
    frame = _Frame(call, name)
    index = call.inputs[0]
    last = len(branches) - 1
    frame.overwrites = {k: 1 + i for k, i in branches[0].in_place.items()}
    frame.lines += _copied_inputs(frame)
    if index.dtype.kind == "b":
        frame.lines.append(f"    switch (*x0 ? {min(1, last)} : 0) {{")
    else:
        frame.lines.append(f"    switch (*x0 <= 0 ? 0 : *x0 >= {last} ? {last} : (int)*x0) {{")
    memory = {given: f"out{k}" for k, given in frame.overwrites.items()}
    arguments = [
        *(memory.get(i, f"x{i}") for i in range(1, len(call.inputs))),
        *(f"out{i}" for i in range(len(call.outputs))),
    ]
    for place, branch in enumerate(branches):
        scratch = frame.part(branch.function, len(call.outputs))
        sizes = map(size_variable, branch.function.sizes)
        frame.lines += [
            f"    {f'case {place}' if place < last else 'default'}:",
            f"        {branch.function.name}({', '.join([*sizes, *arguments, *scratch])});",
            "        break;",
        ]
    frame.lines.append("    }")
    return frame.function(reduce(max_expr, (branch.function.work for branch in branches)))


def _branches(
    call: Call, name: str, function_of: FunctionOf, places: Mapping[int, int], alone: bool
) -> list[GraphFunction] | None:
    """The functions of all branches, which overwrite the same inputs; None if one has none."""
    graphs = graphs_param(call)
    found: list[GraphFunction] = []
    for number, graph in enumerate(graphs):
        branch = graph_function(graph, f"{name}_branch_{number}", function_of, places, any_constants=alone)
        if branch is None:
            return None
        found.append(branch)
    common = {k: i for k, i in places.items() if all(k in branch.in_place for branch in found)}
    return found if len(common) == len(places) else _branches(call, name, function_of, common, alone)


def _copied_inputs(frame: _Frame) -> list[str]:
    """Statements that copy inputs to where they are overwritten, unless they are there."""
    return [
        f"    if (out{k} != x{i})\n        memcpy(out{k}, x{i}, {size_text(frame.outputs[k].nbytes)});"
        for k, i in sorted(frame.overwrites.items())
        if not is_none(frame.outputs[k].nbytes)
    ]


def _call(call: Call, name: str, function_of: FunctionOf, alone: bool) -> CFunction | None:
    graph = graph_param(call)
    found = graph_function(graph, name, function_of, any_constants=alone)
    return None if found is None else found.function


_FORMS = {
    "call": _call,
    "checkpoint": _call,
    "custom_rule": _call,
    "linear_call": _call,
    "scan": _scan,
    "switch": _switch,
    "tiled": tiled,
    "while_loop": _while,
}

"""`report_html`: everything about a lowered function, as one HTML file."""

import inspect
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...compiler.ir import Graph, Location, called
from ...compiler.text.units import show_bytes
from ..lowering.cost import Cost, cost_of
from .cost_table import cost_section
from .durations import show_seconds
from .escaped import escaped
from .facts import facts
from .generated import generated
from .kernels import kernels_section
from .marks import Marks
from .memory import memory_section
from .page import Section, page
from .source_pane import source_pane
from .stages import Stages, stage_rules, stages_of, stages_section
from .steady_names import SteadyNames, values_by_name

if TYPE_CHECKING:
    from ..lowering.lowered_program import LoweredProgram

_BACKENDS = {"c": "C and NumPy", "numpy": "NumPy", "triton": "Triton"}


def report_html(
    lowered: "LoweredProgram", recompiles: str = "", *, machine_code: bool = True, is_timed: bool = True
) -> str:
    """The page of `Lowered.html`. The same program gives the same bytes, on the same machine if it `is_timed`."""
    cost = lowered.cost if is_timed else cost_of(lowered.sized, None)
    names = SteadyNames()
    stages = stages_of(lowered.graph, lowered.stages, names)
    marks = Marks(_locations(lowered, stages))
    counts = Counter(
        marks.number(row.statement.call.location)
        for row in stages.rows_of(0)
        if row.statement.call is not None
    )
    counted = {number: count for number, count in counts.items() if number is not None}
    return page(
        lowered.graph.name,
        _header(lowered, stages, cost),
        source_pane(marks, counted),
        list(_sections(lowered, stages, marks, names, cost, recompiles, machine_code)),
        stage_rules(stages),
    )


def _sections(
    lowered: "LoweredProgram",
    stages: Stages,
    marks: Marks,
    names: SteadyNames,
    cost: Cost,
    recompiles: str,
    machine_code: bool,
) -> Iterator[Section]:
    yield Section("stages", "Stages", stages_section(stages, marks))
    makers = {value: call for row in stages.rows if (call := row.statement.call) for value in call.outputs}
    values = values_by_name(lowered.optimised)
    yield Section("cost", "Cost", cost_section(cost, lowered.kernels, values, makers, marks, names))
    yield Section("kernels", "Kernels", kernels_section(lowered, cost, marks, names, makers, machine_code))
    memory = memory_section(lowered.optimised, lowered.memory.at(lowered.sizes), values, makers, marks, names)
    yield Section("memory", "Memory", memory)
    if recompiles:
        yield Section("recompiles", "Compilations", f"<pre>{escaped(recompiles)}</pre>")
    if lowered.plan is not None:
        yield Section(
            "plan", "Launches", _folded("What is launched", generated(str(lowered.plan), marks, "#"))
        )
    yield Section("source", "Generated source", _generated(lowered, marks))


def _generated(lowered: "LoweredProgram", marks: Marks) -> str:
    source = lowered.unchecked
    title = "Triton module" if lowered.backend == "triton" else "NumPy module"
    parts = [_folded(title, generated(source.python, marks, "#"))]
    if source.c is not None:
        parts.append(_folded("C file, whole", generated(source.c, marks, "//")))
    return "".join(parts)


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>{body}</details>"


def _header(lowered: "LoweredProgram", stages: Stages, cost: Cost) -> str:
    before, after = len(lowered.graph.calls), len(lowered.optimised.calls)
    shown = [
        ("compiled to", _BACKENDS[lowered.backend]),
        ("calls", f"{before} → {after}" if stages.last else f"{before}"),
        ("kernels", f"{len(lowered.kernels)}"),
        ("moves", show_bytes(cost.bytes_moved)),
        ("computes", f"{'≥ ' if cost.is_lower_bound else ''}{_flops(cost.flops)}"),
    ]
    if cost.least_time is not None:
        shown.append(("takes at least", show_seconds(cost.least_time)))
    shown.append(("peak memory", show_bytes(lowered.memory.at(lowered.sizes).peak)))
    if lowered.sizes:
        shown.append(("counted for", ", ".join(f"{name} = {size:_}" for name, size in lowered.sizes.items())))
    doc = (inspect.getdoc(lowered.function) or "").partition("\n\n")[0]
    about = f'<p class="doc">{escaped(doc)}</p>' if doc else ""
    signature = ", ".join(
        f"{name}: {value.type}"
        for name, value in zip(lowered.graph.input_names, lowered.graph.inputs, strict=True)
    )
    returned = ", ".join(str(value.type) for value in lowered.graph.outputs)
    return (
        f"<header><h1>{escaped(lowered.graph.name)}</h1>{about}"
        f'<p class="signature"><code>({escaped(signature)}) → {escaped(returned)}</code></p>'
        f"{facts(shown)}</header>"
    )


def _flops(count: int) -> str:
    for unit, name in ((10**9, "Gflop"), (10**6, "Mflop"), (10**3, "kflop")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count} flop"


def _locations(lowered: "LoweredProgram", stages: Stages) -> Iterator[Location]:
    """Of all calls: those of the stages, and those inside kernels, which are in the last."""
    for row in stages.rows:
        if row.statement.call is not None and row.statement.call.location is not None:
            yield row.statement.call.location
    yield from _inside(lowered.optimised)


def _inside(graph: Graph) -> Iterator[Location]:
    for nested in called(graph.calls):
        yield from (call.location for call in nested.calls if call.location is not None)
        yield from _inside(nested)

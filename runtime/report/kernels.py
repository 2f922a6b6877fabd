"""The kernels: their bytes and time, their statements, and why their neighbours are not fused."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ...compiler.errors import BackendError, KernelError, MissingPackageError
from ...compiler.ir import Call, Value
from ...compiler.text.units import show_bytes
from ...passes.fusion.reasons import NotFused, Refusal
from ...passes.fusion.report import FusedKernel, Report
from ..lowering.cost import CallCost, Cost, cost_of
from ..lowering.lowered_kernel import Kernel, alone_graph
from .cost_table import kernel_lines
from .durations import show_seconds
from .escaped import escaped
from .facts import facts
from .generated import generated
from .marks import Marks, marked
from .steady_names import SteadyNames

if TYPE_CHECKING:
    from ..lowering.lowered_program import LoweredProgram

MOST_PAIRS = 12
"""The maximum number of reasons listed for one kernel."""
MOST_LINES = 6_000
"""Of the text of all kernels together."""


def kernels_section(
    lowered: "LoweredProgram",
    cost: Cost,
    marks: Marks,
    names: SteadyNames,
    makers: Mapping[Value, Call],
    machine_code: bool,
) -> str:
    """A card for each generated function; `makers` are the calls that compute the values of any stage."""
    kernels = lowered.kernels
    if not kernels:
        return f'<p class="empty">{_NONE[lowered.backend]}</p>'
    left = MOST_LINES
    cards: list[str] = []
    neighbours = _pairs(kernels, lowered.fusion, marks, names, makers)
    for number, (kernel, pairs) in enumerate(zip(kernels, neighbours, strict=True)):
        left -= kernel.source.count("\n")
        text = _text(kernel, lowered.backend, marks, is_open=len(kernels) < 9) if left >= 0 else ""
        alone = alone_graph(kernel.sized, kernel.name)
        (taken,) = cost_of(alone, lowered.machine if cost.bandwidth else None).calls or (None,)
        cards.append(
            f'<article class="kernel" id="k{number}">{_head(kernel, taken, marks, names, machine_code)}'
        )
        cards.append(f"{_neighbours(pairs)}{text}</article>")
    if left < 0:
        cards.append(f'<p class="empty">The text of kernels beyond {MOST_LINES:,} lines is left out.</p>')
    return "\n".join(cards)


_NONE = {
    "numpy": "No kernels: functions of NumPy do it all, in tiles where that keeps rows in the cache.",
    "c": "No kernels: nothing here is worth a loop of its own.",
    "triton": "No kernels: nothing here is worth a launch of its own.",
}


_LANGUAGES = {"numpy": ("NumPy module", "#"), "c": ("C function", "//"), "triton": ("Triton functions", "#")}


def _head(kernel: Kernel, cost: CallCost | None, marks: Marks, names: SteadyNames, machine_code: bool) -> str:
    """The result of a kernel, and its cost."""
    call = kernel.call
    makes = ", ".join(f"{names.of(value)}: {value.type}" for value in call.outputs)
    known = [("moves", show_bytes(kernel.bytes_moved))]
    if cost is not None:
        known.append(("computes", f"{cost.flops:_} flops"))
        known += [("and", f"{cost.transcendentals:_} transcendentals")] * (cost.transcendentals > 0)
    if cost is not None and cost.least_time is not None:
        known.append(("takes at least", f"{show_seconds(cost.least_time)} <small>by {cost.bound}</small>"))
    if machine_code and kernel.target.backend == "triton":
        known += _machine_code(kernel)
    what = escaped(f"{kernel.graph.name} → {makes}")
    lines = marked(*kernel_lines(kernel, marks))
    return f'<h3{lines} tabindex="0">{escaped(kernel.name)} <small>{what}</small></h3>{facts(known)}'


def _machine_code(kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Registers and spills of a kernel for a GPU that Triton can compile here."""
    try:
        built = [function for function in kernel._built if function.facts is not None]
    except (BackendError, KernelError, MissingPackageError):  # no Triton, or one that only interprets
        return
    for function in built:
        found = function.facts
        assert found is not None
        spilled = f"{function.spilled_bytes} B spilled" if function.spilled_bytes else "nothing spilled"
        shared = f", {show_bytes(function.shared_bytes)} shared" if function.shared_bytes else ""
        yield escaped(function.name), f"{found.registers} registers <small>{spilled}{shared}</small>"


def _neighbours(pairs: Sequence[str]) -> str:
    if not pairs:
        return ""
    shown = "".join(pairs[:MOST_PAIRS])
    if len(pairs) > MOST_PAIRS:
        shown += f'<li class="gap">{len(pairs) - MOST_PAIRS:,} more are left out</li>'
    count = f"{len(pairs)} neighbour{'s are' if len(pairs) > 1 else ' is'} not in it"
    return f'<details><summary>Why {count}</summary><ul class="pairs">{shown}</ul></details>'


def _text(kernel: Kernel, backend: str, marks: Marks, *, is_open: bool) -> str:
    title, comment = _LANGUAGES[backend]
    lines = kernel.source.strip().count("\n") + 1
    opened = " open" if is_open else ""
    return (
        f"<details{opened}><summary>{title}, {lines} lines</summary>"
        f"{generated(kernel.source, marks, comment)}</details>"
    )


def _pairs(
    kernels: Sequence[Kernel],
    fusion: Report,
    marks: Marks,
    names: SteadyNames,
    makers: Mapping[Value, Call],
) -> Iterator[list[str]]:
    """For each kernel, the pairs of calls with one inside it."""
    planned = list(fusion.kernels)
    home = {name: kernel for kernel in planned for name in kernel.calls}
    for kernel in kernels:
        found = next((one for one in planned if one.name == kernel.graph.name), None)
        if found is None:
            yield []
            continue
        planned.remove(found)
        yield [
            _pair(pair, found, home, marks, names, makers)
            for pair in fusion.not_fused
            if (pair.producer in found.calls) != (pair.consumer in found.calls)
        ]


def _pair(
    pair: NotFused,
    kernel: FusedKernel,
    home: Mapping[str, FusedKernel],
    marks: Marks,
    names: SteadyNames,
    makers: Mapping[Value, Call],
) -> str:
    is_consumer = pair.consumer in kernel.calls
    other = home.get(pair.producer if is_consumer else pair.consumer)
    where = f" <small>in {escaped(other.name)}</small>" if other else ""
    first = escaped(names.names.get(pair.value, pair.producer))
    made = pair.user.outputs
    second = escaped(names.names.get(made[0], pair.consumer) if made else pair.consumer)
    if is_consumer:
        first += where
    else:
        second += where
    maker = makers.get(pair.value)
    places = [pair.user.location, maker.location if maker else None]
    lines = marked(*sorted({number for place in places if (number := marks.number(place))}))
    reason = escaped(str(Refusal(pair.reason, pair.number)))
    return f"<li{lines}><code>{first} → {second}</code><p>{reason}</p></li>"

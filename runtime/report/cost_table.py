"""The most expensive calls of a program, as a table."""

from collections.abc import Mapping, Sequence

from ...compiler.ir import Call, Value
from ...compiler.text.units import show_bytes
from ..lowering.cost import CallCost, Cost
from ..lowering.lowered_kernel import Kernel
from .durations import show_seconds
from .escaped import escaped
from .marks import Marks, marked
from .steady_names import SteadyNames

MOST_ROWS = 40
_FUSED = ("kernel", "tiled")


def cost_section(
    cost: Cost,
    kernels: Sequence[Kernel],
    values: Mapping[str, Value],
    makers: Mapping[Value, Call],
    marks: Marks,
    names: SteadyNames,
) -> str:
    """Kernels and other calls in the order in which they run, each with its share of the time or of the bytes."""
    if not cost.calls:
        return '<p class="empty">Nothing is computed or moved.</p>'
    weights = [_weight(call) for call in cost.calls]
    whole = sum(weights) or 1.0
    largest = set(sorted(range(len(weights)), key=lambda number: -weights[number])[:MOST_ROWS])
    fused = iter([(number, kernel) for number, kernel in enumerate(kernels) if kernel.call.op in _FUSED])
    rows: list[str] = []
    for number, (call, weight) in enumerate(zip(cost.calls, weights, strict=True)):
        if call.op in _FUSED:
            place, kernel = next(fused)
            title = f"<a href=#k{place}>{escaped(kernel.name)}</a> <small>{escaped(call.name)}</small>"
            lines = marked(*kernel_lines(kernel, marks))
        else:
            value = values.get(call.name)
            maker = makers.get(value) if value else None
            title = escaped(call.name if value is None else names.of(value, call.name))
            lines = marked(marks.number(maker.location)) if maker else ""
        if number in largest:
            rows.append(f"<tr{lines}><th scope=row>{title}</th>{_cells(call, weight / whole)}</tr>")
    left_out = len(weights) - len(largest)
    more = f'<p class="empty">{left_out:,} calls that cost less are left out.</p>' if left_out else ""
    table = f"<table>{_head(cost)}<tbody>{''.join(rows)}</tbody></table>"
    label = 'tabindex="0" role="group" aria-label="Cost by call"'
    return f'<div class="scroll" {label}>{table}</div>{more}{_speeds(cost)}'


def kernel_lines(kernel: Kernel, marks: Marks) -> list[int]:
    """The numbers of the lines from which a kernel comes."""
    places = [call.location for call in (*kernel.graph.calls, kernel.call)]
    return sorted({number for place in places if (number := marks.number(place))})


def _weight(call: CallCost) -> float:
    """Seconds, or bytes if no speed is known."""
    return call.bytes_moved if call.least_time is None else call.least_time


def _head(cost: Cost) -> str:
    titles: Sequence[str] = ("moves", "flops", "transcendentals")
    if cost.bandwidth is not None:
        titles = (*titles, "takes at least", "bound by")
    cells = "".join(f"<th scope=col>{title}</th>" for title in (*titles, "share"))
    return f"<thead><tr><th scope=col>call</th>{cells}</tr></thead>"


def _cells(call: CallCost, share: float) -> str:
    least = "≥ " if call.is_lower_bound else ""
    shown = [show_bytes(call.bytes_moved), f"{least}{call.flops:_}", f"{call.transcendentals:_}"]
    if call.least_time is not None:
        shown += [show_seconds(call.least_time), call.bound or ""]
    shown.append(f'{_percent(share)}<div class="share"><div style="width:{share:.1%}"></div></div>')
    return "".join(f"<td>{cell}</td>" for cell in shown)


def _percent(share: float) -> str:
    return "< 1%" if 0 < share < 0.01 else f"{share:.0%}"


def _speeds(cost: Cost) -> str:
    if cost.bandwidth is None:
        return ""
    speeds = "".join(f", {speed / 1e9:.3g} Gflop/s {dtype}" for dtype, speed in cost.speeds.items())
    return (
        f'<p class="empty">Times are the least by the roofline, each array read and written once: '
        f"{show_bytes(round(cost.bandwidth))}/s{speeds}, as measured on this machine.</p>"
    )

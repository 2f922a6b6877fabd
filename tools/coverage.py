"""The coverage matrix: which rule each op has, per transform and per backend."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..compiler import ops
from ..compiler.op import Op, all_ops, by_decomposition, never_batched, not_linear, zero_derivative
from ..compiler.ops.composite import COMPOSITES

COLUMNS = ("type", "numpy", "jvp", "transpose", "vmap", "C", "Triton")
FAMILIES: tuple[str, ...] = tuple(ops.__all__)

YES, LINEAR, ZERO, DECOMPOSED, HEADER, BY_KERNEL = "yes", "linear", "zero", "decomposed", "header", "—"


@dataclass(frozen=True, slots=True)
class Row:
    """One op: per column "yes", "linear", "zero", "decomposed", "header", "—" or "none: the reason"."""

    op: str
    family: str
    rules: Mapping[str, str]


def coverage() -> list[Row]:
    """A row per op, by family and name.

    jvp: "zero" for a piecewise constant op. transpose: "linear" for an op that is linear in an input. C and
    Triton: "yes" for one expression, "header" for one that calls a function of our header, "—" for an op that
    is not elementwise and is written by its kernel. "decomposed" is what a composite op has by its decomposition.
    """
    ordered = sorted(all_ops().values(), key=lambda op: (op.family, op.name))
    return [Row(op.name, op.family, _rules(op)) for op in ordered]


def _rules(op: Op) -> dict[str, str]:
    return {
        "type": YES,
        "numpy": DECOMPOSED if op.name in COMPOSITES else YES,
        "jvp": _jvp(op),
        "transpose": _transpose(op),
        "vmap": _vmap(op),
        "C": _spelled(op, "c"),
        "Triton": _spelled(op, "triton"),
    }


def _jvp(op: Op) -> str:
    if op.jvp is by_decomposition:
        return DECOMPOSED
    return ZERO if op.jvp is zero_derivative else YES


def _transpose(op: Op) -> str:
    if op.transpose is by_decomposition:
        return DECOMPOSED
    return "none: not linear in any input" if op.transpose is not_linear else LINEAR


def _vmap(op: Op) -> str:
    if op.batch is by_decomposition:
        return DECOMPOSED
    return "none: it has no inputs" if op.batch is never_batched else YES


def _spelled(op: Op, backend: str) -> str:
    if op.name in COMPOSITES:
        return DECOMPOSED
    if op.spelling is None:
        return BY_KERNEL
    return HEADER if "tm_" in op.spelling[backend] else YES


def totals(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Per column how often each entry occurs; all reasons count as "none"."""
    counts: dict[str, dict[str, int]] = {column: {} for column in COLUMNS}
    for row in rows:
        for column in COLUMNS:
            entry = row.rules[column].partition(":")[0]
            counts[column][entry] = counts[column].get(entry, 0) + 1
    return counts


def render(rows: Sequence[Row]) -> str:
    """The matrix as text: a line per op, the totals, then the reasons."""
    width = max(len(row.op) for row in rows)
    lines = [f"{'op':{width}}  " + "  ".join(f"{column:10}" for column in COLUMNS)]
    family = ""
    for row in rows:
        if row.family != family:
            family = row.family
            lines.append(f"-- {family}")
        entries = (row.rules[column].partition(":")[0] for column in COLUMNS)
        lines.append(f"{row.op:{width}}  " + "  ".join(f"{entry:10}" for entry in entries))
    lines.append(f"-- {len(rows)} ops in {len({row.family for row in rows})} families")
    for column, counts in totals(rows).items():
        lines.append(f"{column:{width}}  " + ", ".join(f"{count} {entry}" for entry, count in counts.items()))
    reasons = {
        f"{row.op}: no {column}: {entry.partition(': ')[2]}"
        for row in rows
        for column, entry in row.rules.items()
        if entry.startswith("none: ") and column != "transpose"
    }
    return "\n".join([*(line.rstrip() for line in lines), *sorted(reasons)]) + "\n"

"""The coverage matrix: which rule each op has, per transform and per backend."""

import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..compiler.op import REFUSALS, Op, all_ops, by_decomposition, never_batched, not_linear, zero_derivative
from ..compiler.ops.composite import COMPOSITES

COLUMNS = ("type", "numpy", "jvp", "transpose", "vmap", "C", "Triton", "symbolic")

YES, LINEAR, ZERO, NESTED, DECOMPOSED, HEADER, BY_KERNEL, FIXES = (
    "yes", "linear", "zero", "nested", "decomposed", "header", "—", "specialises",
)  # fmt: skip

SPECIALISES = {
    "cumprod": "its derivative takes log₂ n doubling steps, and works for lengths with the same number of steps",
    "cumlogsumexp": "its derivative takes log₂ n doubling steps, and works for lengths with the same number of steps",
    "det": "its derivative is written out up to three rows",
    "scatter": "the derivative of mode multiply takes log₂ n doubling steps, and works for the same number of steps",
    "tiled": "its transforms take one tile after the other",
}
"""The ops that do not work for all sizes at once, or whose transforms do not, and why."""

NOT_LINEAR = "not linear in any input"

LEGEND = """\
yes         has its own rule; for C and Triton, one expression
linear      the transpose rule of an op that is linear in an input
zero        the derivative of a piecewise constant op
nested      applies to the nested graphs, or to the user's rules, of the op
decomposed  follows from the ops of which a composite op consists
header      an expression that calls a function of Tracemill's header
specialises not for all sizes at once, for the reason below; yes means that one call serves all
—           not elementwise, so its kernel writes it
none        has no rule: not linear in any input, or for the reason below"""

NOT_SPELLED = "it lacks complex numbers, and some special functions"


@dataclass(frozen=True, slots=True)
class Row:
    """One op: an entry of `LEGEND` per column; "none" has its reason after a colon."""

    op: str
    family: str
    rules: Mapping[str, str]


def coverage() -> list[Row]:
    """A row per op, by family and name."""
    ordered = sorted(all_ops().values(), key=lambda op: (op.family, op.name))
    return [Row(op.name, op.family, _rules(op)) for op in ordered]


def _rules(op: Op) -> dict[str, str]:
    own = DECOMPOSED if op.name in COMPOSITES else YES
    return {
        "type": own,
        "numpy": own,
        "jvp": _rule(op.jvp, YES),
        "transpose": _rule(op.transpose, LINEAR),
        "vmap": _rule(op.batch, YES),
        "C": _spelled(op, "c"),
        "Triton": _spelled(op, "triton"),
        "symbolic": f"{FIXES}: {SPECIALISES[op.name]}" if op.name in SPECIALISES else YES,
    }


def _rule(rule: Callable[..., Any], own: str) -> str:
    """The entry of a transform; `own` for an explicit rule."""
    if rule in REFUSALS:
        return f"none: {REFUSALS[rule]}"
    if rule is not_linear:
        return f"none: {NOT_LINEAR}"
    if rule is never_batched:
        return "none: it has no inputs"
    if rule is zero_derivative:
        return ZERO
    if rule is by_decomposition:
        return DECOMPOSED
    return NESTED if "recurse" in inspect.signature(rule).parameters else own


def _spelled(op: Op, backend: str) -> str:
    if op.name in COMPOSITES:
        return DECOMPOSED
    if op.spelling is None:
        return BY_KERNEL
    if backend not in op.spelling:
        return f"none: {NOT_SPELLED}"
    return HEADER if "tm_" in op.spelling[backend] else YES


def totals(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Per column how often each entry occurs, the most frequent first; all reasons count as "none"."""
    return {
        column: dict(Counter(_shown(row.rules[column]) for row in rows).most_common()) for column in COLUMNS
    }


def _shown(entry: str) -> str:
    return entry.partition(":")[0]


def render(rows: Sequence[Row]) -> str:
    """The matrix as text: a line per op, the totals, the legend, then the reasons."""
    width = max(len(row.op) for row in rows)
    lines = [f"{'op':{width}}  " + "  ".join(f"{column:10}" for column in COLUMNS)]
    family = ""
    for row in rows:
        if row.family != family:
            family = row.family
            lines.append(f"-- {family}")
        lines.append(
            f"{row.op:{width}}  " + "  ".join(f"{_shown(row.rules[column]):10}" for column in COLUMNS)
        )
    lines.append(f"-- {len(rows)} ops in {len({row.family for row in rows})} families")
    for column, counts in totals(rows).items():
        lines.append(f"{column:{width}}  " + ", ".join(f"{count} {entry}" for entry, count in counts.items()))
    reasons = {
        f"{row.op}: {'specialises' if entry.startswith(FIXES) else f'no {column}'}: {entry.partition(': ')[2]}"
        for row in rows
        for column, entry in row.rules.items()
        if entry.startswith(("none: ", FIXES)) and not entry.endswith(NOT_LINEAR)
    }
    legend = ["-- entries", *LEGEND.splitlines()]
    return "\n".join([*(line.rstrip() for line in lines), *legend, "-- reasons", *sorted(reasons)]) + "\n"

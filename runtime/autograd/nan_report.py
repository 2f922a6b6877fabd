"""`nan_report`: where NaN and infinity come from, line by line."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.arguments.leaves import argument_names, flatten_arguments, is_array_like
from ...compiler.callers.user_code import user_location
from ...compiler.errors import TransformTypeError
from ...compiler.frontend.program import Static
from ...compiler.frontend.traced_program import trace
from ...compiler.interpreter import evaluate, observing_calls
from ...compiler.ir import Call, Location
from ...compiler.tracing.traced_memory import is_traced
from ..eager.anomaly import Finding, finding
from ..eager.current_tape import on_tape
from ..eager.run import as_argument, as_arrays, inputs_of, require_function
from .variable import detach

if TYPE_CHECKING:
    from rich.table import Table

_COLUMNS = ("line", "what", "op", "becomes", "elements", "first at", "examples")


@dataclass(frozen=True, slots=True)
class NanReport:
    """The first operation of each line that turns finite numbers into NaN or infinity, in the order of computation.

    Prints as plain text, and as a rich table.
    """

    function: str
    findings: tuple[Finding, ...]

    def rows(self) -> list[tuple[str, ...]]:
        """A row of text per finding."""
        return [
            (
                str(found.location or "unknown"),
                found.what,
                f"{found.op}({found.inputs})",
                found.kind,
                f"{found.count} of {found.size}",
                str(found.index) if found.index else "",
                ", ".join(str(e[0] if len(e) == 1 else e) for e in found.examples),
            )
            for found in self.findings
        ]

    def __str__(self) -> str:
        if not self.findings:
            return f"{self.function}: neither NaN nor inf"
        lines = [_COLUMNS, *self.rows()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(_COLUMNS))]
        text = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
        ]
        return "\n".join([f"{self.function}:", *(line.rstrip() for line in text)])

    def __rich__(self) -> "Table | str":
        if not self.findings:
            return str(self)
        from rich.table import Table

        table = Table(*_COLUMNS, title=self.function)
        for row in self.rows():
            table.add_row(*row)
        return table


def nan_report(func: Callable[..., Any], *args: Any, **kwargs: Any) -> NanReport:
    """Run ``func(*args, **kwargs)`` and report which lines turn finite numbers into NaN or infinity.

    Args:
        func: a function of arrays; transformed and compiled ones show their derivatives, too. What it writes to
            `args` is not kept.

    Returns:
        A report that prints: per line the first operation, what it was given, how many elements, and for which
        examples of the batch.

    Raises:
        TransformTypeError: (a TypeError) inside of a traced function.

    >>> import numpy as np, tracemill as tm
    >>> def f(x):
    ...     return np.sqrt(x) * 0.0
    >>> print(nan_report(tm.grad(f), 0.0))
    f:
    line  what        op                  becomes  elements  first at  examples
    ...   derivative  divide(0.5, 0.0)    inf      1 of 1
    ...   derivative  multiply(0.0, inf)  NaN      1 of 1
    """
    require_function("nan_report", func)
    if not on_tape():
        raise TransformTypeError(
            "nan_report: a traced function has no numbers to look at. Call it on arrays, outside of "
            "compile, vmap and other transforms",
            user_location(),
        )
    leaves, tree = flatten_arguments(args, kwargs)
    leaves = [detach(leaf) if is_traced(leaf) else leaf for leaf in leaves]
    entering = [
        as_argument(leaf, name, known=True, shared=False) if is_array_like(leaf) else Static(leaf)
        for leaf, name in zip(leaves, argument_names(tree), strict=True)
    ]
    program = trace(func, tree, entering)
    found: dict[tuple[Location | None, bool, str], Finding] = {}

    def note(call: Call, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        for kind in ("NaN", "inf"):
            new = finding(kind, call, inputs, outputs)
            if new is not None:
                found.setdefault((new.location, new.is_derivative, kind), new)

    arrays = as_arrays(inputs_of(program, [leaf for leaf in leaves if is_array_like(leaf)]))
    with observing_calls(note), np.errstate(all="ignore"):  # errors that would be raised are in the report
        evaluate(program.graph, *arrays)
    return NanReport(program.graph.name, tuple(found.values()))

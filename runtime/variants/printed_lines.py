"""A program that may raise an error prints at its end, so that it prints nothing that Python would not."""

from collections.abc import Callable
from typing import Any

from ...compiler.interpreter import OtherValues
from ...compiler.ir import Graph
from ...compiler.op import PRINTS, RAISES, has_effect
from ...compiler.ops.control.printing import keeping_lines
from .handled_errors import may_be_handled


def printing_at_end(program: Callable[..., Any], *, runs_function: bool) -> Callable[..., Any]:
    """The program, printing at its end. It prints nothing if another program, or the function itself, runs instead."""

    def keeping(*given: Any) -> Any:
        with keeping_lines() as lines:
            try:
                return program(*given)
            except (Exception, SystemExit) as error:
                if isinstance(error, OtherValues) or (runs_function and may_be_handled(error)):
                    lines.clear()
                raise

    return keeping


def prints_after_checks(graph: Graph) -> bool:
    """Whether a program may print after a check has failed: it raises the error of the check at its end."""
    may_have_failed = False
    for call in graph.calls:
        raises, prints = has_effect(call, RAISES), has_effect(call, PRINTS)
        if prints and (raises or may_have_failed):
            return True
        may_have_failed = may_have_failed or raises
    return False

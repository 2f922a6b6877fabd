"""Calls of functions with custom rules, without these rules: they are Python, which a file cannot hold."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ...compiler.builder import bind_all
from ...compiler.errors import NotDifferentiableError
from ...compiler.ir import Graph, Param, Value
from ...passes.rewrite import rewrite
from ..eager.run import transformed

_DERIVATIVES: Final = ("jvp", "vjp", "transpose")


def lost_rule() -> Any:
    """Stands in for a rule: using it raises an error."""
    raise NotDifferentiableError(
        "a function with a derivative of its own (custom_rule) was exported, and the rule is Python code, which an"
        " artifact does not hold: export the derivative itself, as in tm.export(tm.grad(f), …)"
    )


LOST: Final[Mapping[str, Callable[..., Any]]] = {f"{lost_rule.__module__}:lost_rule": lost_rule}
"""The names that the text of an artifact's graph may contain."""


def without_rules(graph: Graph) -> Graph:
    """Replace rules by one that says that they are lost; batch rules are derived from the function."""
    return transformed(_without_rules, graph)


def _without_rules(graph: Graph) -> Graph:
    return rewrite(graph, _replacement)


def _replacement(op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> tuple[Value, ...] | None:
    rules = {name for name, param in params.items() if callable(param) and param is not lost_rule}
    if op != "custom_rule" or not rules:
        return None
    kept = {name: param for name, param in params.items() if name not in rules}
    lost: dict[str, Any] = {name: lost_rule for name in _DERIVATIVES if name in rules}
    return bind_all(op, *inputs, **kept, **lost)

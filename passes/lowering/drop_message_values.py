"""Remove the values from the texts of exceptions: for targets that cannot format them."""

from collections.abc import Mapping
from typing import Any

from ...compiler.builder import bind_all
from ...compiler.ir import Graph, Value
from ..rewrite import rewrite


def drop_message_values(graph: Graph) -> Graph:
    """The graph whose errors are raised under the same conditions, without values in their texts.

    Before ``raise_if(less_1, sum_1, error="ValueError('⟦0:.2f⟧')")``, after::

        raise_if(less_1, error="ValueError('⟦0:.2f⟧')")
    """
    return rewrite(graph, _replacement)


def _replacement(op: str, inputs: tuple[Value, ...], params: Mapping[str, Any]) -> tuple[Value, ...] | None:
    return bind_all(op, inputs[0], **params) if op == "raise_if" and len(inputs) > 1 else None

"""How a pass reaches nested graphs: it passes itself to the rules of the calls that hold them."""

from collections.abc import Callable, Mapping
from typing import Any

from ..compiler.ir import Call, called


def holds_graph(call: Call) -> bool:
    """Whether a graph is among the parameters of the call."""
    return any(True for _ in called((call,)))


def rule_params(call: Call, recurse: Callable[..., Any]) -> Mapping[str, Any]:
    """The keyword arguments of a rule: the parameters and, if one is a graph, the pass as ``recurse``."""
    return {**call.params, "recurse": recurse} if holds_graph(call) else call.params

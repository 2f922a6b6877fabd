"""`rule_of`: how to compute a call on arrays in which only the first entries are valid."""

from collections.abc import Mapping
from typing import Final

from ...compiler.analysis.fusible_ops import is_elementwise
from ...compiler.ir import Call
from ...compiler.op import is_move
from . import computing, indexing
from .moving import moved
from .padded_lengths import Rule

_RULES: Final[Mapping[str, Rule]] = {**computing.RULES, **indexing.RULES}


def rule_of(call: Call) -> Rule | None:
    """The rule for an op: its own, or that of all elementwise ops, or of all that move entries.

    A call without a rule keeps the lengths as they are.
    """
    if call.op in _RULES:
        return _RULES[call.op]
    if is_elementwise(call):
        return computing.elementwise
    return moved if is_move(call) else None

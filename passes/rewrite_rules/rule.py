"""The definition of a rule of `simplify`, and the table of all rules."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...compiler.ir import ArrayType, Call, Value
from ...compiler.op import lookup


@dataclass(frozen=True, slots=True)
class Site:
    """A call that a rule may replace, and the calls that compute its inputs."""

    op: str
    inputs: tuple[Value, ...]
    params: Mapping[str, Any]
    producer: Mapping[Value, Call]
    uses: Mapping[Value, int]

    @property
    def type(self) -> ArrayType:
        """The type of the (first) output."""
        types = lookup(self.op).type(*[value.type for value in self.inputs], **self.params)
        return types if isinstance(types, ArrayType) else types[0]

    def made_by(self, value: Value, *ops: str) -> Call | None:
        """The call that computes `value`, if it is a call of one of these ops."""
        call = self.producer.get(value)
        return call if call is not None and call.op in ops else None

    def used_once(self, value: Value) -> bool:
        return self.uses.get(value, 0) <= 1


Rule: TypeAlias = Callable[[Site], Value | None]

RULES: dict[str, list[tuple[str, Rule]]] = {}
"""Per op: the rules for its calls with their names, in the order in which they are tried."""


def rule(name: str, *ops: str) -> Callable[[Rule], Rule]:
    """Add a function to the table as the rule `name` for calls of `ops`."""

    def enter(function: Rule) -> Rule:
        for op in ops:
            RULES.setdefault(op, []).append((name, function))
        return function

    return enter

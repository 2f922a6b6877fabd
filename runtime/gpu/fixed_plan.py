"""Replaces the named sizes of a plan by their values: the steps of a call with arrays of these sizes."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ...compiler.backends.triton.plan import HostStep, Number, Plan, Slot, Step
from ...compiler.backends.triton.planning.plan_document import check_plan
from ...compiler.errors import ParseError
from ...compiler.ir import ArrayType
from ...compiler.symbolic_size import SymbolicSize
from ...compiler.verifier import shape_problem
from ...passes.lowering.fix_sizes import fix_sizes


def fixed_plan(plan: Plan, sizes: Mapping[str, int]) -> Plan:
    """The plan with ints in place of all expressions, checked, as planning gives it for arrays of these sizes.

    Raises:
        ParseError: it was not made for such sizes.
    """
    try:
        fixed = _Fixing(sizes).plan(plan)
    except KeyError as error:
        raise ParseError(f"no input of plan {plan.name} has an axis of the size {error}") from error
    check_plan(fixed)
    return fixed


@dataclass(frozen=True, slots=True)
class _Fixing:
    sizes: Mapping[str, int]

    def plan(self, plan: Plan) -> Plan:
        """A plan without its name and its constants."""
        return replace(
            plan,
            inputs=self.part(plan.inputs),
            outputs=self.part(plan.outputs),
            arena_bytes=self.part(plan.arena_bytes),
            steps=self.part(plan.steps),
        )

    def part(self, part: Any) -> Any:
        match part:
            case SymbolicSize():
                return self.size(part)
            case tuple():
                return tuple(map(self.part, part))
            case Slot():
                return replace(part, type=self.array_type(part.type), at=self.part(part.at))
            case Plan():
                return self.plan(part)
            case HostStep():
                graph = fix_sizes(part.graph, self.sizes)
                return HostStep(graph, self.part(part.inputs), self.part(part.outputs))
            case Number():
                value: Any = part.value
                return replace(part, value=value.at(self.sizes) if isinstance(value, SymbolicSize) else value)
            case _ if isinstance(part, Step):
                changed = {each.name: self.part(getattr(part, each.name)) for each in fields(part)}
                return replace(part, **changed)
            case _:
                return part

    def size(self, size: SymbolicSize) -> int:
        value = size.at(self.sizes)
        if value < 0:
            raise ParseError(f"{size} is {value}, and a size cannot be negative")
        return value

    def array_type(self, given: ArrayType) -> ArrayType:
        shape = self.part(given.shape)
        if problem := shape_problem(shape):
            raise ParseError(f"in a plan: {problem}")
        return ArrayType(given.dtype, shape)

"""Plans as documents of plain numbers and text, which can be stored as JSON and are checked when they are read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from ....arguments.option_checks import is_int
from ....dtypes import dtype_name, dtype_named
from ....errors import DimSpecError, ParseError, TracemillError
from ....errors.tracemill_error import text_of
from ....ir import ArrayType, Constant, Graph
from ....nesting import shown
from ....shapes.dim import Dim, Extent, of_terms
from ....shapes.reading import LONGEST_TEXT, Sizes, read_declarations, read_dim
from ....symbolic_size import SymbolicSize
from ....text.parser import parse
from ....text.printer import graph_constants
from ....verifier import shape_problem
from ..plan import (
    CopyStep,
    HostStep,
    LaunchStep,
    Number,
    Plan,
    Region,
    ScanStep,
    Slot,
    Step,
    SwitchStep,
    WhileStep,
    plans_of,
)

FORMAT: Final = 1
DEEPEST: Final = 32
"""The maximum nesting of plans, as for definitions in the text of a graph."""


def document(plan: Plan) -> dict[str, Any]:
    """A plan in a form that JSON can hold. Constants are named by their digests, see `arrays_of`.

    Expressions of named sizes are texts; known facts about each size are under ``sizes``.
    """
    limits = _limits(plan)
    sizes = {"sizes": [limit for name in sorted(limits) for limit in limits[name]]} if limits else {}
    return {
        "format": FORMAT,
        **sizes,
        "name": plan.name,
        "inputs": [_slot(slot) for slot in plan.inputs],
        "outputs": [_slot(slot) for slot in plan.outputs],
        "constants": [constant.digest for constant in plan.constants],
        "arena_bytes": _size(plan.arena_bytes),
        "steps": [_step(step) for step in plan.steps],
    }


def arrays_of(plan: Plan) -> dict[str, Any]:
    """The arrays that a document names, by digest."""
    found = {constant.digest: constant.array for constant in plan.constants}
    for step in plan.steps:
        if isinstance(step, HostStep):
            found |= graph_constants(step.graph)
        for inner in plans_of(step):
            found |= arrays_of(inner)
    return found


def plan_of(given: Any, arrays: Mapping[str, Any], depth: int = 0) -> Plan:
    """The plan in a document, at this nesting depth.

    Raises:
        ParseError: it describes none, or one whose steps reach beyond its memory.
    """
    constants = {digest: x if isinstance(x, Constant) else Constant(x) for digest, x in arrays.items()}
    reader = _Reader(constants)
    try:
        plan = reader.plan(given, depth)
        if unknown := sorted(reader.sizes.keys() - _limits(plan).keys()):
            raise ParseError(f"no input of a plan has an axis of the size {unknown[0]:.60}")
        if not reader.sizes:
            check_plan(plan)
    except DimSpecError as error:
        raise ParseError(f"in a plan: {error.message}") from error
    except TracemillError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ParseError(
            f"this is not the plan of a program: {type(error).__name__}: {text_of(error)}"
        ) from error
    return plan


def _limits(plan: Plan) -> dict[str, list[str]]:
    """The known facts about each named size, which occurs in the shape of an input."""
    dims = [dim for slot in plan.inputs for dim in slot.type.shape]
    limits: dict[str, list[str]] = {}
    for dim in dims:
        limits |= dim.limits if isinstance(dim, SymbolicSize) else {}
    return limits


# ---- writing -------------------------------------------------------------------------------------------


def _size(size: Extent) -> Any:
    """A number, the text of an expression, or the texts of its terms if it is long."""
    if not isinstance(size, Dim):
        return size
    text = str(size)
    return text if len(text) <= LONGEST_TEXT else [_size(of_terms((term,))) for term in size.terms]


def _slot(slot: Slot) -> dict[str, Any]:
    dtype, shape = dtype_name(slot.type.dtype), list(map(_size, slot.type.shape))
    at = _size(slot.at)
    return {"name": slot.name, "dtype": dtype, "shape": shape, "region": str(slot.region), "at": at}


def _slots(slots: Sequence[Slot]) -> list[dict[str, Any]]:
    return [_slot(slot) for slot in slots]


def _step(step: Step) -> dict[str, Any]:
    match step:
        case LaunchStep():
            sizes = {"programs": _size(step.programs), "warps": step.warps, "stages": step.stages}
            numbers = {"numbers": list(map(_number, step.numbers))} if step.numbers else {}
            slots = {"slots": _slots(step.slots), **numbers}
            return {"step": "launch", "function": step.function, **sizes, **slots}
        case CopyStep():
            return {"step": "copy", "source": _slot(step.source), "target": _slot(step.target)}
        case HostStep():
            inputs, outputs = _slots(step.inputs), _slots(step.outputs)
            return {"step": "host", "graph": str(step.graph), "inputs": inputs, "outputs": outputs}
        case ScanStep() | WhileStep() | SwitchStep():
            name = {ScanStep: "scan", WhileStep: "while", SwitchStep: "switch"}[type(step)]
            return {
                "step": name,
                **{field.name: _written(getattr(step, field.name)) for field in fields(step)},
            }


def _number(number: Number) -> dict[str, Any]:
    facts = {"is_wide": number.is_wide, "multiple_of": number.multiple_of}
    return {"value": _size(number.value), **facts}


def _written(part: Any) -> Any:
    match part:
        case Plan():
            return document(part)
        case Slot():
            return _slot(part)
        case tuple():
            return list(map(_written, part))
        case _:
            return _size(part)


# ---- reading -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    constants: Mapping[str, Constant]
    sizes: Sizes = field(default_factory=Sizes)
    """The named sizes, by name."""

    def plan(self, given: Any, depth: int) -> Plan:
        """A plan at this nesting depth."""
        if depth > DEEPEST:
            raise ParseError(f"plans are nested more than {DEEPEST} deep")
        if given["format"] != FORMAT:
            raise ParseError(f"a plan of format {given['format']!r} cannot be read, only {FORMAT}")
        declared, _ = read_declarations(map(_text, given.get("sizes", ())))
        self.sizes = declared | self.sizes
        return Plan(
            _text(given["name"]),
            self.slots(given["inputs"]),
            self.slots(given["outputs"]),
            tuple(self.constants[digest] for digest in given["constants"]),
            self.size(given["arena_bytes"]),
            tuple(self.step(step, depth) for step in given["steps"]),
        )

    def size(self, given: Any) -> Any:
        """A number, or an expression."""
        if isinstance(given, str):
            return read_dim(given, self.sizes)
        return sum(map(self.size, given)) if isinstance(given, list) else _count(given)

    def number(self, given: Any) -> Number:
        is_wide, multiple_of = given["is_wide"], _count(given["multiple_of"])
        if not isinstance(is_wide, bool) or not multiple_of:
            raise ParseError(f"a plan gives a function {shown(given, 80)} for a number")
        return Number(self.size(given["value"]), is_wide, multiple_of)

    def slot(self, given: Any) -> Slot:
        type = ArrayType(dtype_named(given["dtype"]), tuple(map(self.size, given["shape"])))
        if problem := shape_problem(type.shape):
            raise ParseError(f"in a plan: {problem}")
        return Slot(_text(given["name"]), type, Region(given["region"]), self.size(given["at"]))

    def slots(self, given: Any) -> tuple[Slot, ...]:
        return tuple(map(self.slot, given))

    def step(self, given: Any, depth: int) -> Step:
        match given["step"]:
            case "launch":
                sizes = self.size(given["programs"]), _count(given["warps"]), _count(given["stages"])
                numbers = tuple(map(self.number, given.get("numbers", ())))
                slots = self.slots(given["slots"])
                return LaunchStep(_text(given["function"]), *sizes, slots, numbers)
            case "copy":
                return CopyStep(self.slot(given["source"]), self.slot(given["target"]))
            case "host":
                graph: Graph = parse(_text(given["graph"]), self.constants)
                return HostStep(graph, self.slots(given["inputs"]), self.slots(given["outputs"]))
            case "scan":
                return ScanStep(
                    self.plan(given["body"], depth + 1),
                    self.size(given["length"]),
                    bool(given["reverse"]),
                    _count(given["consts"]),
                    _count(given["carried"]),
                    self.slots(given["inputs"]),
                    self.slots(given["outputs"]),
                    self.slot(given["work"]),
                    self.slots(given["spares"]),
                    self.slots(given["staged"]),
                )
            case "while":
                return WhileStep(
                    self.plan(given["condition"], depth + 1),
                    self.plan(given["body"], depth + 1),
                    None if given["most"] is None else self.size(given["most"]),
                    _count(given["consts"]),
                    self.slots(given["inputs"]),
                    self.slots(given["outputs"]),
                    self.slot(given["goes_on"]),
                    self.slot(given["condition_work"]),
                    self.slot(given["body_work"]),
                    self.slots(given["spares"]),
                )
            case "switch":
                return SwitchStep(
                    tuple(self.plan(branch, depth + 1) for branch in given["branches"]),
                    self.slot(given["index"]),
                    self.slots(given["inputs"]),
                    self.slots(given["outputs"]),
                    self.slot(given["work"]),
                )
            case other:
                raise ParseError(f"a plan has no step {other!r}")


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise ParseError(f"expected a text in a plan, found {shown(given)}")
    return given


def _count(given: Any) -> int:
    if not is_int(given, 0):
        raise ParseError(f"expected a whole number, not negative, in a plan, found {shown(given)}")
    return given


def check_plan(plan: Plan) -> None:
    """What a plan may access: its own inputs, outputs and constants, and its arena up to the end; with known sizes.

    Raises:
        ParseError: a step reaches beyond that, or a function's code is not for a number that it is given.
    """
    for step in plan.steps:
        if isinstance(step, LaunchStep):
            for number in step.numbers:
                _check_number(step, number)
        for slot in step.touched:
            _check_slot(plan, slot)
        if isinstance(step, CopyStep) and step.source.type.nbytes != step.target.type.nbytes:
            raise ParseError(f"a plan copies {step.source.type} to {step.target.type}")
        if isinstance(step, HostStep):
            _check_types(step.graph.inputs, step.inputs)
            _check_types(step.graph.outputs, step.outputs)
        for inner, given, made, work in _parts(step):
            check_plan(inner)
            _check_types(inner.inputs, given)
            _check_types(inner.outputs, made)
            if work.type.nbytes < inner.arena_bytes:
                raise ParseError(
                    f"plan {inner.name} has {work.type.nbytes} bytes to work in, fewer than it needs"
                )


def _parts(step: Step) -> Iterator[tuple[Plan, Sequence[Slot], Sequence[Slot], Slot]]:
    """The plans that a step runs, with their inputs in an iteration, their outputs, and their arenas."""
    match step:
        case ScanStep():
            carries = step.consts + step.carried
            given = [*step.inputs[:carries], *(_row(x, step.length) for x in step.inputs[carries:])]
            made = [
                *step.outputs[: step.carried],
                *(_row(x, step.length) for x in step.outputs[step.carried :]),
            ]
            _check_types(step.spares, step.outputs[: step.carried])
            _check_staged(step, [*given[carries:], *made[step.carried :]])
            yield step.body, given, made, step.work
        case WhileStep():
            _check_types(step.spares, step.outputs)
            yield step.condition, step.inputs, [step.goes_on], step.condition_work
            yield step.body, step.inputs, step.outputs, step.body_work
        case SwitchStep():
            for branch in step.branches:
                yield branch, step.inputs, step.outputs, step.work
        case _:
            return


def _row(slot: Slot, length: int) -> Slot:
    """One row of an array with this many."""
    if slot.type.shape[:1] != (length,):
        raise ParseError(f"a loop of {length} iterations goes through {slot.name}, which is {slot.type}")
    return replace(slot, type=ArrayType(slot.type.dtype, slot.type.shape[1:]))


def _check_staged(step: ScanStep, rows: Sequence[Slot]) -> None:
    """The memory to which rows are copied has room for one row, or there is none."""
    for row, staged in zip(rows, step.staged, strict=True):
        if staged.type.nbytes not in (0, row.type.nbytes):
            raise ParseError(f"a row of {row.name} is {row.type}, and is copied to {staged.type}")


def _check_number(step: LaunchStep, number: Number) -> None:
    bits = 63 if number.is_wide else 31
    if number.value % number.multiple_of or not -(1 << bits) <= number.value < 1 << bits:
        raise ParseError(f"{step.function} is not for the number {number.value}")


def _check_slot(plan: Plan, slot: Slot) -> None:
    if slot.region is Region.ARENA:
        fits = slot.at + slot.type.nbytes <= plan.arena_bytes
    else:
        owners: Mapping[Region, Sequence[Any]] = {
            Region.INPUT: plan.inputs,
            Region.OUTPUT: plan.outputs,
            Region.CONSTANT: plan.constants,
        }
        known = owners[slot.region]
        fits = slot.at < len(known) and slot.type.nbytes <= known[slot.at].type.nbytes
    if not fits:
        raise ParseError(f"a step of plan {plan.name} reaches beyond its memory: {slot.name}")


def _check_types(values: Sequence[Any], slots: Sequence[Slot]) -> None:
    if [value.type for value in values] != [slot.type for slot in slots]:
        raise ParseError("a host step of a plan has other types than its graph")

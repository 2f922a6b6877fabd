"""Plans as documents of plain numbers and text, which can be stored as JSON and checked when they are read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from ...check import shape_problem
from ...dtypes import dtype_name, dtype_named
from ...errors import ParseError, TracemillError
from ...ir import ArrayType, Constant, Graph
from ...parse import parse
from ...text import graph_constants
from .plan import (
    CopyStep,
    HostStep,
    LaunchStep,
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
"""Plans in plans, as definitions in the text of a graph."""


def document(plan: Plan) -> dict[str, Any]:
    """A plan as what JSON can hold. Arrays that are known are named by their digests, see `arrays_of`."""
    return {
        "format": FORMAT,
        "name": plan.name,
        "inputs": [_slot(slot) for slot in plan.inputs],
        "outputs": [_slot(slot) for slot in plan.outputs],
        "constants": [constant.digest for constant in plan.constants],
        "arena_bytes": plan.arena_bytes,
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
    """The plan that a document describes, which may stand in so many others.

    Raises:
        ParseError: it describes none, or one whose steps reach beyond its memory.
    """
    if depth > DEEPEST:
        raise ParseError(f"plans are nested more than {DEEPEST} deep")
    constants = {digest: x if isinstance(x, Constant) else Constant(x) for digest, x in arrays.items()}
    try:
        if given["format"] != FORMAT:
            raise ParseError(f"a plan of format {given['format']!r} cannot be read, only {FORMAT}")
        plan = Plan(
            _text(given["name"]),
            tuple(map(_read_slot, given["inputs"])),
            tuple(map(_read_slot, given["outputs"])),
            tuple(constants[digest] for digest in given["constants"]),
            _count(given["arena_bytes"]),
            tuple(_read_step(step, constants, depth) for step in given["steps"]),
        )
        _check(plan)
    except TracemillError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ParseError(f"this is no plan of a program: {type(error).__name__}: {error}") from error
    return plan


# ---- writing -------------------------------------------------------------------------------------------


def _slot(slot: Slot) -> dict[str, Any]:
    dtype, shape = dtype_name(slot.type.dtype), list(slot.type.shape)
    return {"name": slot.name, "dtype": dtype, "shape": shape, "region": str(slot.region), "at": slot.at}


def _slots(slots: Sequence[Slot]) -> list[dict[str, Any]]:
    return [_slot(slot) for slot in slots]


def _step(step: Step) -> dict[str, Any]:
    match step:
        case LaunchStep():
            sizes = {"programs": step.programs, "warps": step.warps, "stages": step.stages}
            return {"step": "launch", "function": step.function, **sizes, "slots": _slots(step.slots)}
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


def _written(part: Any) -> Any:
    match part:
        case Plan():
            return document(part)
        case Slot():
            return _slot(part)
        case tuple():
            return list(map(_written, part))
        case _:
            return part


# ---- reading -------------------------------------------------------------------------------------------


def _read_slot(given: Any) -> Slot:
    type = ArrayType(dtype_named(given["dtype"]), tuple(map(_count, given["shape"])))
    if problem := shape_problem(type.shape):
        raise ParseError(f"in a plan: {problem}")
    return Slot(_text(given["name"]), type, Region(given["region"]), _count(given["at"]))


def _read_slots(given: Any) -> tuple[Slot, ...]:
    return tuple(map(_read_slot, given))


def _read_step(given: Any, arrays: Mapping[str, Any], depth: int) -> Step:
    match given["step"]:
        case "launch":
            sizes = _count(given["programs"]), _count(given["warps"]), _count(given["stages"])
            return LaunchStep(_text(given["function"]), *sizes, _read_slots(given["slots"]))
        case "copy":
            return CopyStep(_read_slot(given["source"]), _read_slot(given["target"]))
        case "host":
            graph: Graph = parse(_text(given["graph"]), arrays)
            return HostStep(graph, _read_slots(given["inputs"]), _read_slots(given["outputs"]))
        case "scan":
            return ScanStep(
                plan_of(given["body"], arrays, depth + 1),
                _count(given["length"]),
                bool(given["reverse"]),
                _count(given["consts"]),
                _count(given["carried"]),
                _read_slots(given["inputs"]),
                _read_slots(given["outputs"]),
                _read_slot(given["work"]),
                _read_slots(given["spares"]),
                _read_slots(given["staged"]),
            )
        case "while":
            return WhileStep(
                plan_of(given["condition"], arrays, depth + 1),
                plan_of(given["body"], arrays, depth + 1),
                None if given["most"] is None else _count(given["most"]),
                _count(given["consts"]),
                _read_slots(given["inputs"]),
                _read_slots(given["outputs"]),
                _read_slot(given["goes_on"]),
                _read_slot(given["condition_work"]),
                _read_slot(given["body_work"]),
                _read_slots(given["spares"]),
            )
        case "switch":
            return SwitchStep(
                tuple(plan_of(branch, arrays, depth + 1) for branch in given["branches"]),
                _read_slot(given["index"]),
                _read_slots(given["inputs"]),
                _read_slots(given["outputs"]),
                _read_slot(given["work"]),
            )
        case other:
            raise ParseError(f"a plan has no step {other!r}")


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise ParseError(f"expected a text in a plan, found {given!r:.60}")
    return given


def _count(given: Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise ParseError(f"expected a whole number, not negative, in a plan, found {given!r:.60}")
    return given


def _check(plan: Plan) -> None:
    """What a plan may touch: its own inputs, outputs and constants, and its arena up to the end."""
    for step in plan.steps:
        for slot in step.touched:
            _check_slot(plan, slot)
        if isinstance(step, CopyStep) and step.source.type.nbytes != step.target.type.nbytes:
            raise ParseError(f"a plan copies {step.source.type} to {step.target.type}")
        if isinstance(step, HostStep):
            _check_types(step.graph.inputs, step.inputs)
            _check_types(step.graph.outputs, step.outputs)
        for inner, given, made, work in _parts(step):
            _check_types(inner.inputs, given)
            _check_types(inner.outputs, made)
            if work.type.nbytes < inner.arena_bytes:
                raise ParseError(
                    f"plan {inner.name} has {work.type.nbytes} bytes to work in, fewer than it needs"
                )


def _parts(step: Step) -> Iterator[tuple[Plan, Sequence[Slot], Sequence[Slot], Slot]]:
    """The plans that a step runs, with what they are given in a turn, what they make, and where they work."""
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
    """One row of an array of so many."""
    if slot.type.shape[:1] != (length,):
        raise ParseError(f"a loop of {length} turns goes through {slot.name}, which is {slot.type}")
    return replace(slot, type=ArrayType(slot.type.dtype, slot.type.shape[1:]))


def _check_staged(step: ScanStep, rows: Sequence[Slot]) -> None:
    """Where rows are copied to there is room for one, or there is no room at all."""
    for row, staged in zip(rows, step.staged, strict=True):
        if staged.type.nbytes not in (0, row.type.nbytes):
            raise ParseError(f"a row of {row.name} is {row.type}, and is copied to {staged.type}")


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

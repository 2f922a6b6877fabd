"""Plans as documents of plain numbers and text, which can be stored as JSON and checked when they are read."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...dtypes import dtype_name, dtype_named
from ...errors import ParseError, TracemillError
from ...ir import ArrayType, Constant, Graph
from ...parse import parse
from ...text import graph_constants
from .plan import CopyStep, HostStep, LaunchStep, Plan, Region, Slot, Step

FORMAT: Final = 1


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
    for step in plan.host_steps:
        found |= graph_constants(step.graph)
    return found


def plan_of(given: Any, arrays: Mapping[str, Any]) -> Plan:
    """The plan that a document describes.

    Raises:
        ParseError: it describes none, or one whose steps reach beyond its memory.
    """
    try:
        if given["format"] != FORMAT:
            raise ParseError(f"a plan of format {given['format']!r} cannot be read, only {FORMAT}")
        plan = Plan(
            _text(given["name"]),
            tuple(map(_read_slot, given["inputs"])),
            tuple(map(_read_slot, given["outputs"])),
            tuple(Constant(arrays[digest]) for digest in given["constants"]),
            _count(given["arena_bytes"]),
            tuple(_read_step(step, arrays) for step in given["steps"]),
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


# ---- reading -------------------------------------------------------------------------------------------


def _read_slot(given: Any) -> Slot:
    type = ArrayType(dtype_named(given["dtype"]), tuple(map(_count, given["shape"])))
    return Slot(_text(given["name"]), type, Region(given["region"]), _count(given["at"]))


def _read_slots(given: Any) -> tuple[Slot, ...]:
    return tuple(map(_read_slot, given))


def _read_step(given: Any, arrays: Mapping[str, Any]) -> Step:
    match given["step"]:
        case "launch":
            sizes = _count(given["programs"]), _count(given["warps"]), _count(given["stages"])
            return LaunchStep(_text(given["function"]), *sizes, _read_slots(given["slots"]))
        case "copy":
            return CopyStep(_read_slot(given["source"]), _read_slot(given["target"]))
        case "host":
            graph: Graph = parse(_text(given["graph"]), arrays)
            return HostStep(graph, _read_slots(given["inputs"]), _read_slots(given["outputs"]))
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

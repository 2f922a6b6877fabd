"""A plan as Python: a function that launches kernels on flat torch tensors, one for each plan."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ....dtypes import DType, dtype_name, real_dtype
from ....errors import ExportError, InternalError
from ....identifiers import identifier
from ....ir import Constant
from ...python.text import Names, wrapped
from ..plan import CopyStep, HostStep, LaunchStep, Plan, Region, ScanStep, Slot, Step, SwitchStep, WhileStep

_LONG: Final = {"i": "int", "u": "uint", "f": "float", "c": "complex"}


def torch_dtype(dtype: DType) -> str:
    """torch's name of a dtype, without the module: ``float32``."""
    name = dtype_name(dtype)
    return {"bool": "bool", "bf16": "bfloat16"}.get(name) or f"{_LONG[name[0]]}{name[1:]}"


def count_of(slot: Slot) -> int:
    """The number of elements; a complex one counts twice."""
    return slot.type.size * (2 if slot.type.dtype.kind == "c" else 1)


@dataclass(slots=True)
class PlanTexts:
    """The functions of plans, one after another; those that a step runs come first."""

    names: Names
    taken: Sequence[str]
    """Names that their parameters and variables must not have."""
    fast_math: bool = False
    """Whether kernels may fuse a multiplication and an addition."""
    functions: list[list[str]] = field(default_factory=list["list[str]"])
    known: dict[str, Constant] = field(default_factory=dict[str, Constant])
    """The constants of all, by digest."""
    used: set[str] = field(default_factory=set[str])
    """The functions of `LAUNCHER` that they call."""

    def add(self, plan: Plan, name: str) -> None:
        """Write ``def name(arena, inputs, outputs)``."""
        self.functions.append(_Writer(self, plan, name).text())

    def nested(self, plan: Plan) -> str:
        """The function of a plan that a step runs."""
        name = self.names.claim(f"{identifier(plan.name)}_steps")
        self.add(plan, name)
        return name


class _Writer:
    """Writes one function."""

    def __init__(self, texts: PlanTexts, plan: Plan, name: str) -> None:
        self.texts, self.plan, self.name = texts, plan, name
        self.names = Names(texts.taken)
        self.arena = self.names.claim("arena")
        self.of: dict[tuple[Region, int, str], str] = {}
        self.lines: list[str] = []

    def text(self) -> list[str]:
        parameters = [self.arena, *(self._bound(slot) for slot in (*self.plan.inputs, *self.plan.outputs))]
        for step in self.plan.steps:
            self._write(step)
        head = wrapped(f"def {self.name}(", parameters, "):", indent=0)
        return [*head, *(self.lines or ["    pass"])]

    def _bound(self, slot: Slot) -> str:
        """A parameter."""
        name = self.names.claim(identifier(slot.name))
        self.of[slot.region, slot.at, ""] = name
        return name

    def _slot(self, slot: Slot) -> str:
        """The variable of an array; one in the arena gets its name on first use."""
        if slot.region in (Region.INPUT, Region.OUTPUT):
            return self.of[slot.region, slot.at, ""]
        dtype = torch_dtype(real_dtype(slot.type.dtype))
        key = slot.region, slot.at, f"{slot.name} {dtype} {slot.type.nbytes}"
        if key not in self.of:
            self.of[key] = self.names.claim(identifier(slot.name))
            place = f"{self.arena}[{slot.at}:{slot.at + slot.type.nbytes}].view(torch.{dtype})"
            if slot.region is Region.CONSTANT:
                constant = self.plan.constants[slot.at]
                self.texts.known.setdefault(constant.digest, constant)
                number = list(self.texts.known).index(constant.digest)
                place = f"constants({self.arena}.device)[{number}]"
            self.lines.append(f"    {self.of[key]} = {place}  # {slot.type}")
        return self.of[key]

    def _slots(self, slots: Sequence[Slot]) -> list[str]:
        return [self._slot(slot) for slot in slots]

    def _write(self, step: Step) -> None:
        match step:
            case LaunchStep():
                sizes = [f"num_warps={step.warps}", f"num_stages={step.stages}"]
                sizes.append(f"enable_fp_fusion={self.texts.fast_math}")
                self._call(f"{step.function}[({step.programs},)](", [*self._slots(step.slots), *sizes])
            case CopyStep():
                target, source = self._slots((step.target, step.source))
                self.lines.append(f"    {target}.copy_({source})")
            case HostStep():
                call = step.graph.calls[0]
                raise ExportError(
                    f"Triton has no kernel for {', '.join(step.ops)}: export for the CPU, or as a bundle",
                    call.location,
                )
            case ScanStep():
                self._scan(step)
            case WhileStep():
                self._while(step)
            case SwitchStep():
                self._switch(step)

    def _call(self, head: str, arguments: Sequence[str]) -> None:
        self.lines += wrapped(head, arguments, ")")

    def _scan(self, step: ScanStep) -> None:
        self.texts.used.add("scan")
        body = self.texts.nested(step.body)
        carries = step.consts + step.carried
        staged = [self._slot(slot) if slot.type.nbytes else "None" for slot in step.staged]
        given = step.body.inputs[carries:]
        rows = [*given, *step.body.outputs[step.carried :]]
        if len(rows) != len(staged):
            raise InternalError("a loop has not as many rows as places for them")
        arrays = self._slots((*step.inputs[carries:], *step.outputs[step.carried :]))
        items = [
            f"({x}, {count_of(row)}, {place})" for x, row, place in zip(arrays, rows, staged, strict=True)
        ]
        arguments = [
            body,
            str(step.length),
            str(step.reverse),
            _listed(self._slots(step.inputs[: step.consts])),
            _listed(self._slots(step.inputs[step.consts : carries])),
            _listed(self._slots(step.outputs[: step.carried])),
            _listed(self._slots(step.spares)),
            _listed(items[: len(given)]),
            _listed(items[len(given) :]),
            self._slot(step.work),
        ]
        self._call("scan(", arguments)

    def _while(self, step: WhileStep) -> None:
        self.texts.used.add("repeat")
        condition, body = self.texts.nested(step.condition), self.texts.nested(step.body)
        arguments = [
            condition,
            body,
            str(step.most),
            _listed(self._slots(step.inputs[: step.consts])),
            _listed(self._slots(step.inputs[step.consts :])),
            _listed(self._slots(step.outputs)),
            _listed(self._slots(step.spares)),
            *self._slots((step.goes_on, step.condition_work, step.body_work)),
        ]
        self._call("repeat(", arguments)

    def _switch(self, step: SwitchStep) -> None:
        branches = [self.texts.nested(branch) for branch in step.branches]
        index, work = self._slots((step.index, step.work))
        chosen = f"min(max(int({index}.item()), 0), {len(branches) - 1})"
        arguments = [work, *self._slots((*step.inputs, *step.outputs))]
        self._call(f"{_listed(branches)}[{chosen}](", arguments)


def _listed(items: Sequence[str]) -> str:
    return f"[{', '.join(items)}]"

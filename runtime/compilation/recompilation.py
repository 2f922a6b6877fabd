"""Why a function is compiled again: which argument changed, which guard does not hold, and what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeGuard

import numpy as np

from ...compiler.arguments.leaves import remedy_for
from ...compiler.callers.user_code import is_defined_by_user
from ...compiler.errors import TracemillError
from ...compiler.interpreter import OtherValues
from ...compiler.ir import Constant
from ...compiler.params import int_param, text_param
from ...compiler.shapes.advice import instead_of, without_asking
from ...compiler.shapes.assumptions import Assumptions
from ...compiler.shapes.dim import of_size
from ...compiler.shapes.guards import OF_KERNEL, Guard
from ...compiler.shapes.terms import sizes_in
from ..variants.dynamic_shapes import SMALLEST
from ..variants.signature import ArraySpec, NumberSpec, Signature, Spec, StaticSpec, is_one_of
from ..variants.variant import Variant

_SERVED = "none needed: from the second size of an axis on, one program serves all"
_SMALL = "none needed: axes of size 0 and 1 get programs of their own"
_FIX_OF_LAYOUTS = "pass arrays in one memory order, such as np.ascontiguousarray(x)"
CONTAINERS = "the containers of the arguments changed"


@dataclass(frozen=True, slots=True)
class Recompilation:
    """Why a variant was compiled, or would be."""

    name: str
    """The name of the function."""
    reasons: tuple[str, ...] = ()
    """A line for each change; none for the first variant."""
    fix: str = ""
    notes: tuple[str, ...] = ()
    """The result."""
    is_fault: bool = False
    """Whether this is a Tracemill bug."""

    @property
    def line(self) -> str:
        """The reasons in one line."""
        return "; ".join(self.reasons)

    def text(self, what: str = "was compiled again") -> str:
        """Reasons and fixes, a line for each."""
        head = f"{what} because" if self.reasons else "is compiled only for these sizes because"
        lines = [f"{self.name} {head}", *(f"  {line}" for line in (*self.reasons, *self.notes))]
        return "\n".join([*lines, *([f"fix: {self.fix}"] if self.fix else [])])

    def noting(self, *notes: str) -> "Recompilation":
        """With the result."""
        return replace(self, notes=(*self.notes, *notes))

    def for_one_size(self, *notes: str, fix: str = "") -> "Recompilation":
        """With the reason why there is no program for many sizes, and the fix; the same without a note."""
        each = f"none needed: each size gets a program; for one that serves all, {instead_of(_line(notes))}"
        usual = each if notes and self.fix == _SERVED else self.fix
        return replace(self.noting(*notes), fix=fix or usual)


def _line(notes: Iterable[str]) -> str:
    """The user's line of the first guard in notes."""
    return next((line for note in notes for _, mark, line in [note.partition("  # ")] if mark), "")


def of_values(name: str, found: OtherValues) -> Recompilation:
    """Why none of the variants serves a call whose types, sizes and memory orders are those of others."""
    call = found.call
    line = f", needed at {call.location}" if call.location is not None else ""
    if call.op == "expect_size":
        wanted = f"{int_param(call, 'dim')!r} {text_param(call, 'relation')} 0"
        reason = f"the program is for {wanted}, and {found.found}{line}"
    else:
        expected = call.inputs[1]  # in a loop, another value for each iteration
        shown = "another value"
        if isinstance(expected, Constant):
            shown = expected.array.item() if expected.array.size == 1 else "other entries"
        what = text_param(call, "what") or "a value"
        reason = f"{what} was {shown} when this was compiled, and is {found.found} now{line}"
    return Recompilation(name, (reason,), _FIX_OF_VALUES)


_FIX_OF_VALUES = (
    "none needed for a few values; for many, compute with the array instead, or pass the value as an argument"
)


def recompilation(
    name: str, called: Signature, known: Iterable[Variant], *, names_sizes: bool
) -> Recompilation:
    """Why none of the variants serves a call; `names_sizes` says whether sizes may get names."""
    newest = list(known)[::-1]
    nearest = min(newest, key=lambda variant: _distance(called, variant.signature))
    changes = called.changes_from(nearest.signature)
    refused, guard = _refusal(called, nearest)
    if refused:
        return Recompilation(
            name, (*changes, refused), _fix_of_guard(guard) if guard else _fix_of_sizes(called)
        )
    if not changes and nearest.signature.family == called.family:
        return Recompilation(name, tuple(nearest.layout_changes(called)) or (CONTAINERS,), _FIX_OF_LAYOUTS)
    return Recompilation(
        name, tuple(changes or [CONTAINERS]), _fix(called, nearest.signature, names_sizes=names_sizes)
    )


def _distance(called: Signature, other: Signature) -> tuple[bool, int]:
    return called.tree != other.tree, len(called.changes_from(other))


def _refusal(called: Signature, variant: Variant) -> tuple[str, Guard | None]:
    """How a call differs from a variant for many sizes with these types: the failed guard; empty if something else
    differs."""
    wanted = variant.signature
    if not wanted.dims or wanted.family != called.family:
        return "", None
    shown = ", ".join(str(spec) for spec in wanted.specs if isinstance(spec, ArraySpec) and spec.is_symbolic)
    shapes = [
        spec.shape
        for spec, other in zip(called.specs, wanted.specs, strict=True)
        if isinstance(spec, ArraySpec) and isinstance(other, ArraySpec) and other.is_symbolic
    ]
    try:
        sizes = replace(wanted, guards=variant.symbolic.guards).sizes.read(shapes)
    except TracemillError as error:
        return f"the program for {shown} does not take it: {error.message}", None
    for guard in variant.guards.guards:
        if not guard.comparison.holds(sizes):
            names = {size.text for size in sizes_in(guard.comparison.terms)}
            given = ", ".join(f"{name} is {size}" for name, size in sizes.items() if name in names)
            asked = "the kernel of " if guard.because == OF_KERNEL else ""
            where = f", by {asked}{guard.location}" if guard.location is not None else ""
            return f"the program for {shown} is for {guard.comparison!r}, and {given}{where}", guard
    return "", None


def _fix_of_guard(guard: Guard) -> str:
    if guard.because == OF_KERNEL:
        return "none needed: kernels on GPUs are made for sizes of one alignment"
    line = "that line" if guard.location is not None else "the program"
    code = guard.location.code if guard.location is not None else ""
    if guard.because:
        return f"{guard.because}: {instead_of(code)}"
    if _leaves_one(guard):
        return f"{line} needs the size as a number: {instead_of(code)}"
    return f"{line} depends on a size, and each answer gets its own program: {without_asking(code)}"


def _leaves_one(guard: Guard) -> bool:
    """Whether a guard fixes a size to one value, rather than relating sizes or testing divisibility."""
    known = Assumptions((guard.comparison,))
    bounds = [known.bounds(of_size(size)) for size in sizes_in(guard.comparison.terms)]
    return any(low == high for low, high in bounds)


def _fix_of_sizes(called: Signature) -> str:
    if any(size < SMALLEST for shape in called.shapes for size in shape):
        return _SMALL
    return "none needed: sizes that were equal in all calls so far shared a name, and now have their own"


def _fix(called: Signature, other: Signature, *, names_sizes: bool) -> str:
    if called.tree != other.tree or called.orders != other.orders:
        return "pass the same containers, with the same keys in one order, and of the same lengths"
    for ours, theirs in zip(called.specs, other.specs, strict=True):
        if is_one_of(ours, theirs):
            continue
        if isinstance(ours, StaticSpec) or isinstance(theirs, StaticSpec):
            return _fix_of_setting(ours, theirs)
        if isinstance(ours, NumberSpec) or isinstance(theirs, NumberSpec):
            types = {spec.type for spec in (ours, theirs) if isinstance(spec, NumberSpec)}
            both_python = len(types) == 2 and np.generic not in types
            return (
                "pass numbers of one type: 1.0 instead of 1"
                if both_python
                else "pass an array or a number each time"
            )
        if ours.dtype != theirs.dtype:
            return "convert arguments to one dtype before the call, x.astype(...)"
        if len(ours.shape) != len(theirs.shape):
            return "give arrays the same number of axes"
        if ours.gpu != theirs.gpu:
            return "keep the arguments on one GPU: tm.device_put(x)"
    if names_sizes:
        sizes = zip(_sizes(called), _sizes(other), strict=True)
        changed = [size for size, known in sizes if isinstance(known, int) and size != known]
        return _SMALL if any(size < SMALLEST for size in changed) else _SERVED
    return "let one program serve many sizes with dynamic=None or dynamic=True, where the backend can; or pad arrays"


def differs_in_objects(called: Signature, other: Signature) -> bool:
    """Whether calls only differ in which objects of the user's classes they pass."""
    if called.tree != other.tree:
        return False
    changed = [pair for pair in zip(called.specs, other.specs, strict=True) if not is_one_of(*pair)]
    return bool(changed) and all(_is_other_object(*pair) for pair in changed)


def _is_other_object(ours: Spec, theirs: Spec) -> TypeGuard[StaticSpec]:
    if not (isinstance(ours, StaticSpec) and isinstance(theirs, StaticSpec)):
        return False
    kind = type(ours.value)
    return type(theirs.value) is kind and is_defined_by_user(kind) and not issubclass(kind, Enum)


def _fix_of_setting(ours: Spec, theirs: Spec) -> str:
    if not _is_other_object(ours, theirs):
        return "pass data as an array or a number, not as a static argument"
    remedy = remedy_for(ours.value) or ". Pass what it holds instead"
    return f"an object of your class is a setting, and each gets a program of its own{remedy}"


def _sizes(signature: Signature) -> list[Any]:
    """The sizes of all axes of all arrays."""
    return [size for shape in signature.shapes for size in shape]

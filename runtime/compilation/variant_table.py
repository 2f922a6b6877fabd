"""The variants of a compiled function: which of them serves a call, and what calls have shown."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from ...compiler.shapes.assumptions import Assumptions
from ...compiler.shapes.dim import Dim
from ...compiler.shapes.guards import Guards
from ..variants.dynamic_shapes import Observations, Place
from ..variants.signature import ArraySpec, Signature
from ..variants.variant import Variant

MOST_FIXED: Final = 4
"""After this many programs whose guards fixed an axis to one size, the axis is no longer named."""
REMEMBERED: Final = 64
"""Calls of a family, by which axes are distinguished."""


@dataclass(slots=True)
class Family:
    """Variants for calls that differ only in sizes."""

    symbolic: tuple[Variant, ...] = ()
    """Those that serve many sizes, the newest first."""
    calls: tuple[Signature, ...] = ()
    """The signatures of variants."""
    fixed: Counter[Place] = field(default_factory=Counter[Place])
    """How often guards fixed an axis to one size after all."""
    why_fixed: tuple[str, ...] = ()
    """The guards that fixed it the last time, a line each."""
    fix: str = ""
    """What to do about it, if that is known."""
    compiled: int = 0
    kept: int = 0

    @property
    def given_up(self) -> frozenset[Place]:
        """Axes that are no longer named."""
        return frozenset(place for place, count in self.fixed.items() if count >= MOST_FIXED)

    @property
    def why_given_up(self) -> tuple[str, ...]:
        """The reasons found the last time before they lost their names, a line each."""
        return self.why_fixed if self.given_up else ()

    def observations(self) -> Observations:
        """What calls have shown."""
        return Observations(self.calls, self.given_up)

    def is_named_further_by(self, symbolic: Signature) -> bool:
        """Whether it names sizes that had no names in the family, or gives different names to sizes that shared one."""
        known = {place for variant in self.symbolic for place, _ in _named(variant.symbolic)} | {*self.fixed}
        counts = [len(variant.symbolic.dims) for variant in self.symbolic]
        return any(place not in known for place, _ in _named(symbolic)) or (
            bool(counts) and len(symbolic.dims) > max(counts)
        )


class Variants:
    """All variants of a function. Calls may be looked up while another thread adds one."""

    def __init__(self) -> None:
        self._exact: dict[Signature, tuple[Variant, ...]] = {}
        """The variants for one set of sizes; several if they differ in the memory order of arguments."""
        self._families: dict[Signature, Family] = {}
        self._all: tuple[Variant, ...] = ()

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Variant]:
        """The oldest first."""
        return iter(self._all)

    def find(self, called: Signature, skipped: int = 0) -> Variant | None:
        """The variant that serves a call: the one for exactly these sizes, or the newest for many.

        Several may serve it, which expect different values of the arguments: the first ones are skipped.
        """
        return next(islice(self._serving(called), skipped, None), None)

    def _serving(self, called: Signature) -> Iterator[Variant]:
        for variant in self._exact.get(called, ()):
            if variant.takes_layouts_of(called):
                yield variant
        family = self._families.get(called.family)
        for variant in family.symbolic if family else ():
            if variant.sizes(called) is not None and variant.takes_layouts_of(called):
                yield variant

    def family(self, called: Signature) -> Family:
        """What is known about calls that differ from this one only in sizes."""
        return self._families.get(called.family) or Family()

    def add(self, variant: Variant) -> None:
        """Keep a new variant."""
        called = variant.called
        family = self._families.setdefault(called.family, Family())
        family.calls = (*(call for call in family.calls if call != called), called)[-REMEMBERED:]
        family.compiled += 1
        family.kept += 1
        if variant.signature is called:
            self._exact[called] = (variant, *self._exact.get(called, ()))
        else:
            family.symbolic = (variant, *family.symbolic)
        self._all = (*self._all, variant)

    def note_fixed(self, called: Signature, symbolic: Signature, guards: Guards) -> None:
        """The guards of a program fix some sizes of a call: naming these was not worth it."""
        family = self._families.setdefault(called.family, Family())
        family.why_fixed = tuple(guards.described())
        known = Assumptions(guard.comparison for guard in guards.guards)
        for place, size in _named(symbolic):
            low, high = known.bounds(size)
            if low == high:
                family.fixed[place] += 1

    def give_up(self, symbolic: Signature, why: str, fix: str) -> None:
        """There is no program for many sizes like these."""
        family = self._families.setdefault(symbolic.family, Family())
        family.why_fixed, family.fix = (why,), fix
        family.fixed.update({place: MOST_FIXED for place, _ in _named(symbolic)})

    def remove(self, variant: Variant) -> None:
        """Drop one."""
        self._all = tuple(other for other in self._all if other is not variant)
        exact = tuple(other for other in self._exact.pop(variant.called, ()) if other is not variant)
        if exact:
            self._exact[variant.called] = exact
        key = variant.called.family
        family = self._families[key]
        family.symbolic = tuple(other for other in family.symbolic if other is not variant)
        family.kept -= 1
        if not family.kept:
            self._families.pop(key)


def _named(symbolic: Signature) -> Iterator[tuple[Place, Dim]]:
    """The axes whose sizes have names."""
    for number, spec in enumerate(symbolic.specs):
        if isinstance(spec, ArraySpec):
            for axis, size in enumerate(spec.shape):
                if isinstance(size, Dim):
                    yield (number, axis), size

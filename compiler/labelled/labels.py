"""The labels of rows and columns: an index of pandas, or one that is known only when a compiled function is called."""

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeAlias


class KnownLabels:
    """An index of pandas. Two are equal if their labels, names and dtypes are."""

    __slots__ = ("index",)

    def __init__(self, index: Any) -> None:
        self.index = index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KnownLabels):
            return NotImplemented
        return self.index is other.index or bool(self.index.identical(other.index))

    def __hash__(self) -> int:
        return hash((KnownLabels, len(self.index)))

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.index[:3]))
        return f"[{names}{', …' if len(self.index) > 3 else ''}]"

    def sliced(self, part: slice) -> "KnownLabels":
        return KnownLabels(self.index[part])


@dataclass(frozen=True, slots=True, repr=False)
class LabelsOfCall:
    """One of the indices of a call. A compiled function does not look at them, so that one program serves all."""

    number: int
    """Indices of a call with the same labels, names and dtypes have the same number."""
    like: int
    """Those with the same labels, which pandas does not align, have the same here."""
    parts: tuple[tuple[int | None, int | None, int | None], ...] = ()
    """The slices that were taken from it, one after the other."""
    columns: KnownLabels | None = None
    """The columns of a DataFrame of the call, if a Series has these as its index."""

    def __repr__(self) -> str:
        return f"index {self.number}{''.join(f'[{slice(*part)}]' for part in self.parts)}"

    def sliced(self, part: slice) -> "LabelsOfCall":
        return replace(self, parts=(*self.parts, (part.start, part.stop, part.step)), columns=None)

    def known(self, indices: Sequence[Any]) -> KnownLabels:
        """The labels, given all indices of a call."""
        index = indices[self.number]
        for part in self.parts:
            index = index[slice(*part)]
        return KnownLabels(index)


Labels: TypeAlias = KnownLabels | LabelsOfCall

ASKED: "ContextVar[list[str] | None]" = ContextVar("asked", default=None)
"""What a compiled function has asked about labels of the call, which are then part of the variant."""


def note_asked(question: str) -> None:
    """Note that a function looks at labels of the call."""
    if (asked := ASKED.get()) is not None:
        asked.append(question)


def are_same(one: Labels, other: Labels) -> bool:
    """Whether pandas would not align them."""
    if isinstance(one, KnownLabels) and isinstance(other, KnownLabels):
        return one.index is other.index or bool(one.index.equals(other.index))
    for labels, more in ((one, other), (other, one)):
        if isinstance(labels, LabelsOfCall) and isinstance(more, KnownLabels):
            return labels.columns is not None and are_same(labels.columns, more)
    return (one.like, one.parts) == (other.like, other.parts)  # type: ignore[union-attr]

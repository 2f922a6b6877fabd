"""Index expressions: sums of variables times numbers, and quotients and remainders of such sums.

Every variable has a range. It decides conditions, and lets quotients and remainders vanish.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import TypeAlias

from .ir import Shape


@dataclass(frozen=True)
class Variable:
    """A whole number known while a loop runs: its counter, or an index that was read from an array."""

    name: str
    low: int
    high: int
    """The largest value: ``low - 1`` if the loop never runs."""

    def __str__(self) -> str:
        return self.name

    @property
    def extent(self) -> int:
        return self.high - self.low + 1


@dataclass(frozen=True)
class Quotient:
    """``⌊dividend / divisor⌋``."""

    dividend: "Affine"
    divisor: int

    def __str__(self) -> str:
        return f"({self.dividend}) / {self.divisor}"

    @property
    def low(self) -> int:
        return self.dividend.low // self.divisor

    @property
    def high(self) -> int:
        return self.dividend.high // self.divisor


@dataclass(frozen=True)
class Remainder:
    """``dividend - ⌊dividend / divisor⌋ · divisor``."""

    dividend: "Affine"
    divisor: int

    low = 0

    def __str__(self) -> str:
        return f"({self.dividend}) % {self.divisor}"

    @property
    def high(self) -> int:
        return self.divisor - 1


Atom: TypeAlias = Variable | Quotient | Remainder


@dataclass(frozen=True)
class Affine:
    """``constant + Σ coefficient · atom``; the atoms are different ones, in the order of their texts."""

    constant: int
    terms: tuple[tuple[Atom, int], ...] = ()

    def __str__(self) -> str:
        text = ""
        for atom, factor in self.terms:
            size = f"{atom}" if abs(factor) == 1 else f"{abs(factor)} * {_as_factor(atom)}"
            sign = "-" if factor < 0 else "+"
            text += f" {sign} {size}" if text else f"{'-' if factor < 0 else ''}{size}"
        if not text:
            return str(self.constant)
        return (
            text if not self.constant else f"{text} {'-' if self.constant < 0 else '+'} {abs(self.constant)}"
        )

    @cached_property
    def _hash(self) -> int:
        return hash((self.constant, self.terms))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def low(self) -> int:
        """No value is less."""
        return self.constant + sum(f * (a.low if f > 0 else a.high) for a, f in self.terms)

    @cached_property
    def high(self) -> int:
        """No value is greater."""
        return self.constant + sum(f * (a.high if f > 0 else a.low) for a, f in self.terms)

    @cached_property
    def variables(self) -> frozenset[Variable]:
        """All variables, those in quotients and remainders included."""
        found: set[Variable] = set()
        for atom, _ in self.terms:
            found |= {atom} if isinstance(atom, Variable) else atom.dividend.variables
        return frozenset(found)

    @cached_property
    def is_linear(self) -> bool:
        """Whether there is neither a quotient nor a remainder."""
        return all(isinstance(atom, Variable) for atom, _ in self.terms)

    def factor(self, variable: Variable) -> int | None:
        """By how much the value rises when the variable does by 1; None if that differs from place to place."""
        total = 0
        for atom, factor in self.terms:
            if atom == variable:
                total = factor
            elif not isinstance(atom, Variable) and variable in atom.dividend.variables:
                return None
        return total

    def at(self, variable: Variable, value: "Affine") -> "Affine":
        """The sum for a value of the variable."""
        if variable not in self.variables:
            return self
        total = Affine(self.constant)
        for atom, factor in self.terms:
            if atom == variable:
                total += value * factor
            elif isinstance(atom, Variable):
                total += Affine(0, ((atom, factor),))
            else:
                inner = atom.dividend.at(variable, value)
                whole = inner // atom.divisor if isinstance(atom, Quotient) else inner % atom.divisor
                total += whole * factor
        return total

    def __add__(self, other: "Affine | int") -> "Affine":
        if isinstance(other, int):
            return Affine(self.constant + other, self.terms)
        if not other.terms:
            return Affine(self.constant + other.constant, self.terms)
        return _collected(self.constant + other.constant, (*self.terms, *other.terms))

    def __sub__(self, other: "Affine | int") -> "Affine":
        return self + other * -1

    def __mul__(self, factor: int) -> "Affine":
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        return Affine(self.constant * factor, tuple((atom, f * factor) for atom, f in self.terms))

    def __floordiv__(self, divisor: int) -> "Affine":
        """The quotient rounded down."""
        whole, rest = self._split(divisor)
        if rest.low >= 0 and rest.high < divisor:
            return whole
        high, _, step = rest._apart(divisor)
        divisor //= step
        if high.constant == 0 and len(high.terms) == 1:
            atom, factor = high.terms[0]
            if isinstance(atom, Quotient) and factor == 1:
                high, divisor = atom.dividend, atom.divisor * divisor
        if high.low >= 0 and high.high < divisor:
            return whole
        return whole + Affine(0, ((Quotient(high, divisor), 1),))

    def __mod__(self, divisor: int) -> "Affine":
        """What the quotient rounded down leaves."""
        _, rest = self._split(divisor)
        if rest.low >= 0 and rest.high < divisor:
            return rest
        high, low, step = rest._apart(divisor)
        return low + Affine(0, ((Remainder(high, divisor // step), step),))

    def _apart(self, divisor: int) -> tuple["Affine", "Affine", int]:
        """``high, low, step``: ``self = high · step + low``, ``0 ≤ low < step``, and the step divides the divisor.

        The quotient depends on ``high`` alone; with the largest such step that has no more terms than it needs.
        """
        terms = sorted(self.terms, key=lambda term: -gcd(term[1], divisor))
        for count in range(1, len(terms) + 1):
            step = gcd(divisor, *(factor for _, factor in terms[:count]))
            low = _collected(self.constant % step, terms[count:])
            if low.low >= 0 and low.high < step:
                high = _collected(self.constant // step, [(a, f // step) for a, f in terms[:count]])
                return high, low, step
        raise AssertionError("all terms together leave a constant, which is below the step")

    def _split(self, divisor: int) -> tuple["Affine", "Affine"]:
        """``whole, rest`` with ``self = whole · divisor + rest``: terms that the divisor divides leave no rest.

        The rest is never negative, for C rounds quotients towards 0.
        """
        whole = [(atom, f // divisor) for atom, f in self.terms if f % divisor == 0]
        rest = _collected(self.constant, [(atom, f) for atom, f in self.terms if f % divisor])
        below = rest.low // divisor
        return Affine(below, tuple(whole)), rest - below * divisor


ZERO = Affine(0)


def of(variable: Variable) -> Affine:
    """The variable, or its only value."""
    return Affine(variable.low) if variable.extent == 1 else Affine(0, ((variable, 1),))


def _as_factor(atom: Atom) -> str:
    return f"{atom}" if isinstance(atom, Variable) else f"({atom})"


def _collected(constant: int, terms: Iterable[tuple[Atom, int]]) -> Affine:
    """The sum with every atom once, and ``n·⌊x / n⌋ + x mod n`` as x."""
    factors: dict[Atom, int] = {}
    for atom, factor in terms:
        factors[atom] = factors.get(atom, 0) + factor
    for atom in [atom for atom in factors if isinstance(atom, Remainder)]:
        factor = factors[atom]
        quotient = atom.dividend // atom.divisor
        if not factor or quotient.constant or len(quotient.terms) != 1:
            continue
        ((other, _),) = quotient.terms
        if factors.get(other) == factor * atom.divisor:
            del factors[atom], factors[other]
            return _collected(constant, factors.items()) + atom.dividend * factor
    kept = [(atom, factor) for atom, factor in factors.items() if factor]
    return Affine(constant, tuple(sorted(kept, key=lambda term: str(term[0]))))


Index: TypeAlias = tuple[Affine, ...]
"""One expression per axis."""


def strides(shape: Shape) -> Shape:
    """How far the next element along each axis lies, in row-major order."""
    steps: list[int] = []
    step = 1
    for dim in reversed(shape):
        steps.append(step)
        step *= dim
    return tuple(reversed(steps))


def flattened(index: Sequence[Affine], shape: Shape) -> Affine:
    """The place of an element in row-major order."""
    total = ZERO
    for place, step in zip(index, strides(shape), strict=True):
        total += place * step
    return total


def unflattened(place: Affine, shape: Shape) -> Index:
    """The index of the element at a place in row-major order."""
    return tuple(_along(place, shape))


def _along(place: Affine, shape: Shape) -> Iterator[Affine]:
    for axis, (dim, step) in enumerate(zip(shape, strides(shape), strict=True)):
        if dim == 1:
            yield ZERO
        elif step == 0:  # nothing lies there
            yield place
        else:
            along = place // step
            yield along if axis == 0 or dim == 0 else along % dim


def within(index: Sequence[Affine], shape: Shape) -> bool:
    """Whether the index lies inside an array for all values of its variables."""
    return all(place.low >= 0 and place.high < dim for place, dim in zip(index, shape, strict=True))

"""Index expressions: sums of variables times numbers, and quotients and remainders of such sums.

Every variable has a range. The ranges decide conditions, and let quotients and remainders cancel. Numbers may be
symbolic sizes: a condition on them is decided only if it holds for all of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import TypeAlias

from .intervals import Interval, add, scaled
from .ir import Shape
from .symbolic_size import SymbolicSize, is_known, is_none, is_one, quotient, remainder, typical


@dataclass(frozen=True)
class Variable:
    """An integer that is known while a loop runs: its counter, or an index read from an array."""

    name: str
    low: int
    high: int
    """The largest value: ``low - 1`` if the loop never runs."""

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Variable) or self.name != other.name:
            return False
        return same(self.low, other.low) and same(self.high, other.high)

    def __hash__(self) -> int:
        return hash((self.name, self.low, self.high))

    @property
    def extent(self) -> int:
        return self.high - self.low + 1


@dataclass(frozen=True)
class Quotient:
    """``⌊dividend / divisor⌋``."""

    dividend: "Affine"
    divisor: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quotient) and _same_division(self, other)

    def __hash__(self) -> int:
        return hash((Quotient, self.dividend, self.divisor))

    def __str__(self) -> str:
        return self.text(str)

    def text(self, size: "SizeText") -> str:
        """The quotient in C, given how sizes are spelled."""
        return f"({self.dividend.text(size)}) / {_number(self.divisor, size)}"

    @property
    def low(self) -> int:
        low: int = quotient(self.dividend.low, self.divisor)
        return low

    @property
    def high(self) -> int:
        high: int = quotient(self.dividend.high, self.divisor)
        return high


@dataclass(frozen=True)
class Remainder:
    """``dividend - ⌊dividend / divisor⌋ · divisor``."""

    dividend: "Affine"
    divisor: int

    low = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remainder) and _same_division(self, other)

    def __hash__(self) -> int:
        return hash((Remainder, self.dividend, self.divisor))

    def __str__(self) -> str:
        return self.text(str)

    def text(self, size: "SizeText") -> str:
        """The remainder in C, given how sizes are spelled."""
        return f"({self.dividend.text(size)}) % {_number(self.divisor, size)}"

    @property
    def high(self) -> int:
        return self.divisor - 1


Atom: TypeAlias = Variable | Quotient | Remainder

SizeText: TypeAlias = Callable[[int], str]
"""A size as text: a number, or an expression of named sizes."""


@dataclass(frozen=True)
class Affine:
    """``constant + Σ coefficient · atom``. The atoms differ, and are sorted by their texts."""

    constant: int
    terms: tuple[tuple[Atom, int], ...] = ()

    def __str__(self) -> str:
        return self.text(str)

    def text(self, size: SizeText) -> str:
        """The sum in C, given how sizes are spelled."""
        text = ""
        for atom, factor in self.terms:
            negative, count = _sign_apart(factor)
            product = (
                _atom_text(atom, size)
                if same(count, 1)
                else f"{_number(count, size)} * {_as_factor(atom, size)}"
            )
            text += (
                f" {'-' if negative else '+'} {product}" if text else f"{'-' if negative else ''}{product}"
            )
        if not text:
            return size(self.constant)
        if same(self.constant, 0):
            return text
        negative, constant = _sign_apart(self.constant)
        shown = _number(constant, size) if negative else size(constant)
        return f"{text} {'-' if negative else '+'} {shown}"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Affine) or self._hash != other._hash:
            return False
        return (
            same(self.constant, other.constant)
            and len(self.terms) == len(other.terms)
            and all(same(f, g) and a == b for (a, f), (b, g) in zip(self.terms, other.terms, strict=True))
        )

    @cached_property
    def _hash(self) -> int:
        return hash((self.constant, self.terms))

    def __hash__(self) -> int:
        return self._hash

    @property
    def low(self) -> int:
        """A lower bound of the values."""
        low: int = self._bounds[0]
        return low

    @property
    def high(self) -> int:
        """An upper bound of the values."""
        high: int = self._bounds[1]
        return high

    @cached_property
    def _bounds(self) -> Interval:
        total: Interval = self.constant, self.constant
        for atom, factor in self.terms:
            total = add(total, scaled((atom.low, atom.high), factor))
        return total

    @cached_property
    def variables(self) -> frozenset[Variable]:
        """All variables, including those in quotients and remainders."""
        found: set[Variable] = set()
        for atom, _ in self.terms:
            found |= {atom} if isinstance(atom, Variable) else atom.dividend.variables
        return frozenset(found)

    @cached_property
    def is_linear(self) -> bool:
        """Whether it contains neither a quotient nor a remainder."""
        return all(isinstance(atom, Variable) for atom, _ in self.terms)

    def factor(self, variable: Variable) -> int | None:
        """How much the value grows when the variable grows by 1; None if that is not constant."""
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
        if not isinstance(other, Affine):
            return Affine(self.constant + other, self.terms)
        if not other.terms:
            return Affine(self.constant + other.constant, self.terms)
        return _collected(self.constant + other.constant, (*self.terms, *other.terms))

    def __sub__(self, other: "Affine | int") -> "Affine":
        return self + other * -1

    def __mul__(self, factor: int) -> "Affine":
        if same(factor, 1):
            return self
        if same(factor, 0):
            return ZERO
        return Affine(self.constant * factor, tuple((atom, f * factor) for atom, f in self.terms))

    def __floordiv__(self, divisor: int) -> "Affine":
        """The quotient rounded down."""
        if is_one(divisor):
            return self
        whole, rest = self._split(divisor)
        if rest.is_below(divisor):
            return whole
        high, _, step = rest._apart(divisor)
        divisor = quotient(divisor, step)
        if same(high.constant, 0) and len(high.terms) == 1:
            atom, factor = high.terms[0]
            if isinstance(atom, Quotient) and same(factor, 1):
                high, divisor = atom.dividend, atom.divisor * divisor
        if high.is_below(divisor):
            return whole
        return whole + Affine(0, ((Quotient(high, divisor), 1),))

    def __mod__(self, divisor: int) -> "Affine":
        """The remainder of the quotient rounded down."""
        _, rest = self._split(divisor)
        if rest.is_below(divisor):
            return rest
        high, low, step = rest._apart(divisor)
        return low + Affine(0, ((Remainder(high, quotient(divisor, step)), step),))

    def is_below(self, end: int) -> bool:
        """Whether it is known to be in [0, end)."""
        return is_known(self.low >= 0) and is_known(self.high < end)

    def _apart(self, divisor: int) -> tuple["Affine", "Affine", int]:
        """``high, low, step``: ``self = high · step + low``, ``0 ≤ low < step``, and the step divides the divisor.

        The quotient depends only on ``high``. The step is the largest one that adds no terms.
        """
        numbers = (divisor, self.constant, *(factor for _, factor in self.terms))
        if any(isinstance(number, SymbolicSize) for number in numbers):
            return self._apart_by_sizes(divisor)
        terms = sorted(self.terms, key=lambda term: -gcd(term[1], divisor))
        for count in range(1, len(terms) + 1):
            step = gcd(divisor, *(factor for _, factor in terms[:count]))
            low = _collected(self.constant % step, terms[count:])
            if low.low >= 0 and low.high < step:
                high = _collected(self.constant // step, [(a, f // step) for a, f in terms[:count]])
                return high, low, step
        raise AssertionError("all terms together leave a constant, which is below the step")

    def _apart_by_sizes(self, divisor: int) -> tuple["Affine", "Affine", int]:
        """The same with sizes. Their greatest common divisor is unknown, so the candidate steps are those of the
        terms, and 1."""
        steps = {factor for _, factor in self.terms if _divides(factor, divisor)}
        for step in sorted(steps, key=typical, reverse=True):
            rest = [(a, f) for a, f in self.terms if not _divides(step, f)]
            low = _collected(remainder(self.constant, step), rest)
            if low.is_below(step):
                high = [(a, quotient(f, step)) for a, f in self.terms if _divides(step, f)]
                return _collected(quotient(self.constant, step), high), low, step
        return self, ZERO, 1

    def _split(self, divisor: int) -> tuple["Affine", "Affine"]:
        """``whole, rest`` with ``self = whole · divisor + rest``. Terms that the divisor divides add nothing to the
        rest.

        The rest is never negative, because C rounds quotients towards 0.
        """
        whole = [(atom, quotient(f, divisor)) for atom, f in self.terms if _divides(divisor, f)]
        rest = _collected(self.constant, [(atom, f) for atom, f in self.terms if not _divides(divisor, f)])
        low = rest.low
        if not isinstance(low, SymbolicSize) and not isinstance(divisor, SymbolicSize):
            below = low // divisor
        elif _divides(divisor, rest.constant):
            below = quotient(rest.constant, divisor)
        else:
            below = 0
        if not is_known(low - below * divisor >= 0):
            below = quotient(low, divisor)
        return Affine(below, tuple(whole)), rest - below * divisor


ZERO = Affine(0)


def of(variable: Variable) -> Affine:
    """The variable, or its only value."""
    return Affine(variable.low) if is_one(variable.extent) else Affine(0, ((variable, 1),))


def same(left: int, right: int) -> bool:
    """Whether two numbers are the same expression of sizes."""
    if isinstance(left, SymbolicSize) or isinstance(right, SymbolicSize):
        return left is right
    return left == right


def is_unit(factor: int | None) -> bool:
    """Whether a factor is 1 or -1."""
    return factor is not None and (same(factor, 1) or same(factor, -1))


def _same_division(left: Quotient | Remainder, right: Quotient | Remainder) -> bool:
    return same(left.divisor, right.divisor) and left.dividend == right.dividend


def _divides(divisor: int, number: int) -> bool:
    """Whether the number is known to be a multiple of the divisor, which is not 0."""
    return not same(divisor, 0) and same(remainder(number, divisor), 0)


def _sign_apart(number: int) -> tuple[bool, int]:
    """Whether a number starts with a minus sign, and the number without it."""
    negative = str(number).startswith("-") if isinstance(number, SymbolicSize) else number < 0
    return negative, -number if negative else number


def _number(number: int, size: SizeText) -> str:
    """A number as an operand."""
    text = size(number)
    return f"({text})" if isinstance(number, SymbolicSize) and not text.isidentifier() else text


def _atom_text(atom: Atom, size: SizeText) -> str:
    return atom.name if isinstance(atom, Variable) else atom.text(size)


def _as_factor(atom: Atom, size: SizeText) -> str:
    return atom.name if isinstance(atom, Variable) else f"({atom.text(size)})"


def _collected(constant: int, terms: Iterable[tuple[Atom, int]]) -> Affine:
    """The sum with every atom once, and ``n·⌊x / n⌋ + x mod n`` as x."""
    factors: dict[Atom, int] = {}
    for atom, factor in terms:
        factors[atom] = factors.get(atom, 0) + factor
    for atom in [atom for atom in factors if isinstance(atom, Remainder)]:
        factor = factors[atom]
        quotient = atom.dividend // atom.divisor
        if same(factor, 0) or not same(quotient.constant, 0) or len(quotient.terms) != 1:
            continue
        ((other, _),) = quotient.terms
        if other in factors and same(factors[other], factor * atom.divisor):
            del factors[atom], factors[other]
            return _collected(constant, factors.items()) + atom.dividend * factor
    kept = [(atom, factor) for atom, factor in factors.items() if not same(factor, 0)]
    return Affine(constant, tuple(sorted(kept, key=lambda term: str(term[0]))))


Index: TypeAlias = tuple[Affine, ...]
"""One expression per axis."""


def strides(shape: Shape) -> Shape:
    """The distance to the next element along each axis, in row-major order."""
    steps: list[int] = []
    step = 1
    for dim in reversed(shape):
        steps.append(step)
        step *= dim
    return tuple(reversed(steps))


def flattened(index: Sequence[Affine], shape: Shape) -> Affine:
    """The position of an element in row-major order."""
    total = ZERO
    for place, step in zip(index, strides(shape), strict=True):
        total += place * step
    return total


def unflattened(place: Affine, shape: Shape) -> Index:
    """The index of the element at a position in row-major order."""
    return tuple(_along(place, shape))


def _along(place: Affine, shape: Shape) -> Iterator[Affine]:
    for axis, (dim, step) in enumerate(zip(shape, strides(shape), strict=True)):
        if is_one(dim):
            yield ZERO
        elif is_none(step):  # no element is there
            yield place
        else:
            along = place // step
            yield along if axis == 0 or is_none(dim) else along % dim


def aligned(index: Index, shape: Shape) -> Index:
    """The index in an operand of `shape` that is broadcast: its axes of length 1 stay at 0."""
    own = index[len(index) - len(shape) :]
    return tuple(ZERO if is_one(dim) else place for place, dim in zip(own, shape, strict=True))


def within(index: Sequence[Affine], shape: Shape) -> bool:
    """Whether the index lies inside an array for all values of its variables."""
    return all(place.is_below(dim) for place, dim in zip(index, shape, strict=True))

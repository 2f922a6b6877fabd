"""Sizes from the shapes of arguments: which dims they determine, and the values of the dims in a call."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...errors import ContradictoryConstraintsError, DimMismatchError, UndeterminedDimError
from ..assumptions import Assumptions
from ..dim import Comparison, Dim, Extent, of_size, of_terms, terms_of
from ..spelling import spelled_comparison, spelled_facts
from ..terms import Size, Terms, add, evaluated, multiply, sizes_in, without

Shape: TypeAlias = Sequence[Extent]
Place: TypeAlias = tuple[int, int]
"""The number of an argument, and one of its axes."""


@dataclass(frozen=True, slots=True)
class Step:
    """``factor * size + rest`` is the length of an axis of an argument, or is 0 by a constraint, and determines the
    size.

    In it, `size` is counted in units of its `multiple_of`.
    """

    size: Size
    factor: Terms
    rest: Terms
    place: Place | None


class SizeReader:
    """Reads the sizes of dims from the shapes of a call, and checks all that is known about them.

    >>> import tracemill as tm
    >>> K, B = tm.Dim("K"), tm.Dim("B", min=1)
    >>> reader = SizeReader(["x", "w"], [(B, 2 * K + 1), (K,)])
    >>> reader.read([(8, 785), (392,)])
    {'B': 8, 'K': 392}

    Raises:
        UndeterminedDimError: a dim stands nowhere where it can be read off.
    """

    def __init__(
        self, names: Sequence[str], shapes: Sequence[Shape], relations: Iterable[Comparison | bool] = ()
    ) -> None:
        self.names = tuple(names)
        self.shapes = tuple(tuple(shape) for shape in shapes)
        self.assumptions = Assumptions(relations, hold_for_a_call=True)
        self.axes = [
            ((i, axis), terms_of(dim))
            for i, shape in enumerate(self.shapes)
            for axis, dim in enumerate(shape)
        ]
        """All sizes of all arguments, with their positions."""
        self._sizes = list(dict.fromkeys(size for _, terms in self.axes for size in sizes_in(terms)))
        self._sizes += [
            size
            for size in dict.fromkeys(s for one in self.assumptions.relations for s in sizes_in(one.terms))
            if size not in self._sizes
        ]
        self._check_names()
        self.steps = self._plan()
        """In this order they determine all sizes: each has one that is new."""

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The named sizes, in the order in which they are read."""
        return tuple(of_size(step.size) for step in self.steps)

    def read(self, shapes: Sequence[Sequence[int]]) -> dict[str, int]:
        """The sizes of the dims, by name. `DimMismatchError` names what does not fit."""
        self._check_ranks(shapes)
        sizes: dict[str, int] = {}
        for step in self.steps:
            sizes[step.size.text] = self._solved(step, shapes, sizes)
        for step in self.steps:
            self._check_limits(step, sizes[step.size.text])
        for relation in self.assumptions.relations:
            self._check_relation(relation, sizes)
        for (i, axis), terms in self.axes:
            self._check_axis((i, axis), terms, shapes, sizes)
        return dict(sorted(sizes.items()))

    def _plan(self) -> tuple[Step, ...]:
        """An order in which each axis with one new dim determines that dim."""
        given: list[tuple[Place | None, Terms]] = [*self.axes]
        given += [(None, one.terms) for one in self.assumptions.relations if one.relation == "=="]
        steps: list[Step] = []
        known: set[Size] = set()
        missing = set(self._sizes)
        while missing:
            step = next((s for place, terms in given if (s := self._step(place, terms, known))), None)
            if step is None:
                raise self._undetermined(min(missing, key=lambda size: size.text))
            steps.append(step)
            known.add(step.size)
            missing.discard(step.size)
        return tuple(steps)

    def _step(self, place: Place | None, terms: Terms, known: set[Size]) -> Step | None:
        unknown = {size for size in sizes_in(terms) if size not in known}
        if len(unknown) != 1:
            return None
        (size,) = unknown
        factor: Terms = ()
        rest: Terms = ()
        for monomial, count in terms:
            left = without(monomial, (size,))
            if left is None:
                rest = add(rest, ((monomial, count),))
            else:
                factor = add(factor, ((left, count),))
        if size in sizes_in(factor) or size in sizes_in(rest):
            return None
        nonzero = of_terms(factor) != 0
        return Step(size, factor, rest, place) if self.assumptions.decide(nonzero) else None

    def _undetermined(self, size: Size) -> UndeterminedDimError:
        where = [f"{self._place(place)} is {of_terms(t)!r}" for place, t in self.axes if size in sizes_in(t)]
        found = "; ".join(where) if where else "no argument's shape has it"
        return UndeterminedDimError(
            f"dim {size.text} cannot be determined from the shapes of the arguments: {found}. Let an argument have an "
            f"axis of size {size.text}, or of {size.text} and dims that others determine"
        )

    # ---- checks ------------------------------------------------------------------------------------

    def _check_names(self) -> None:
        by_name: dict[str, Size] = {}
        for size in self._sizes:
            if by_name.setdefault(size.text, size) != size:
                raise ContradictoryConstraintsError(f"two dims with different limits are called {size.text}")

    def _check_ranks(self, shapes: Sequence[Sequence[int]]) -> None:
        for name, expected, found in zip(self.names, self.shapes, shapes, strict=True):
            if len(expected) != len(found):
                raise DimMismatchError(
                    f"{name} has {axes_text(len(found))}, {list(found)}, and {len(expected)} are declared:"
                    f" {list(expected)}"
                )

    def _solved(self, step: Step, shapes: Sequence[Sequence[int]], sizes: Mapping[str, int]) -> int:
        actual = shapes[step.place[0]][step.place[1]] if step.place else 0
        factor, rest = evaluated(step.factor, sizes), evaluated(step.rest, sizes)
        part, left = divmod(actual - rest, factor) if factor else (0, 1)
        if not (left == 0 and part >= 0):
            raise DimMismatchError(self._unsolved(step, actual, sizes))
        multiple = step.size.multiple_of
        return actual - rest if type(factor) is int and factor == multiple else part * multiple

    def _unsolved(self, step: Step, actual: int, sizes: Mapping[str, int]) -> str:
        whole = add(multiply(step.factor, (((step.size,), 1),)), step.rest)
        if step.place is not None and of_terms(whole) is of_size(step.size):
            return self._beyond(step, actual)
        known = ", ".join(f"{name} = {sizes[name]!r}" for name in _names(whole) if name in sizes)
        limits = ", ".join(spelled_facts(step.size))
        where = f", where {limits}" if limits else ""
        if step.place is None:
            relation = spelled_comparison(whole, "==")
            return f"the constraint {relation} holds for no {step.size.text} in this call with {known}{where}"
        given = f" with {known}" if known else ""
        return f"{self._place(step.place)} is {actual!r}, which is not of the form {of_terms(whole)!r}{given}{where}"

    def _check_limits(self, step: Step, value: int) -> None:
        size = step.size
        is_allowed = value >= size.min and (size.max is None or value <= size.max)
        if not (is_allowed and value % size.multiple_of == 0):
            raise DimMismatchError(self._beyond(step, value))

    def _beyond(self, step: Step, value: int) -> str:
        where = f"{self._place(step.place)}: " if step.place else ""
        limits = ", ".join(spelled_facts(step.size))
        return f"{where}dim {step.size.text} is {value!r} in this call, and its limits are {limits}"

    def _check_relation(self, relation: Comparison, sizes: Mapping[str, int]) -> None:
        if not relation.holds(sizes):
            given = ", ".join(f"{name} = {sizes[name]!r}" for name in _names(relation.terms))
            raise DimMismatchError(f"the constraint {relation!r} does not hold in this call, where {given}")

    def _check_axis(
        self,
        place: Place,
        terms: Terms,
        shapes: Sequence[Sequence[int]],
        sizes: Mapping[str, int],
    ) -> None:
        expected, actual = evaluated(terms, sizes), shapes[place[0]][place[1]]
        if expected != actual:
            text = repr(of_terms(terms))
            given = [f"{name} = {sizes[name]!r}" for name in _names(terms) if name != text]
            wanted = f"{text} = {expected!r}" if _names(terms) else text
            raise DimMismatchError(
                f"{self._place(place)} is {actual!r}, and it must be {wanted}"
                + (f", as {', '.join(given)}" if given else "")
            )

    def _place(self, place: Place) -> str:
        return f"axis {place[1]} of {self.names[place[0]]}"


def axes_text(count: int) -> str:
    """``1 axis``, ``2 axes``."""
    return f"{count} {'axis' if count == 1 else 'axes'}"


def _names(terms: Terms) -> list[str]:
    return sorted({size.text for size in sizes_in(terms)})

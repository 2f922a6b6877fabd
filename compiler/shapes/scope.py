"""Decides comparisons when Python needs an answer: from declarations, or from the sizes of an actual call."""

from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType
from typing import Any, Protocol

from ..errors import UndecidedDimError
from .advice import instead_of
from .assumptions import NOTHING, Assumptions, nothing
from .dim import ANSWERS, Comparison, Dim, IsForUser, compared, of_size
from .guards import OF_KERNEL, Guard, Guards
from .terms import Operation, Size, Terms, evaluated, nesting, sizes_in

MOST_GUARDS = 32
DEEPEST_GUARD = 2
"""Limits on nested quotients and on the number of guards. A loop that follows the size exceeds them, and reasoning
would take long. The program is then for one size."""
USUAL = 256
"""A size about which nothing is known."""

_KERNEL: ContextVar[Any] = ContextVar("_KERNEL", default=None)
"""The line of the kernel that is being generated."""

Where = Callable[[], Any]
"""The line of the user's program that is running."""


def no_location() -> None:
    """No line is known."""


def never_for_user(code: CodeType) -> bool:
    """All code is Tracemill's."""
    return False


def never_computed(names: set[str]) -> bool:
    """All sizes are those of arguments."""
    return False


_NOT_ASKED = (
    "depends on values: the array is as long as the program finds out when it runs, and one program has to serve all "
    "lengths"
)
_INSTEAD = (
    "Cut arrays to the shorter of two lengths, as in n = min(len(a), len(b)), or keep the shape with np.where"
)


class Declared:
    """Answers what holds for all sizes; otherwise raises an `UndecidedDimError` with the line and a fix.

    >>> import tracemill as tm
    >>> from tracemill.compiler.shapes import answering
    >>> A, B = tm.Dim("A"), tm.Dim("B")
    >>> with answering(Declared(Assumptions([A <= B]))):
    ...     bool(A < B + 1)
    True
    """

    def __init__(
        self,
        assumptions: Assumptions | None = None,
        where: Where = no_location,
        is_for_user: IsForUser = never_for_user,
        is_computed: "Callable[[set[str]], bool]" = never_computed,
    ) -> None:
        """`is_for_user` distinguishes the user's code from Tracemill's, when it looks up a size in sets and dicts;
        `is_computed`, whether a size with one of these names is a length that the program computes."""
        self._given = assumptions
        self._is_computed = is_computed
        self.where = where
        self.is_for_user = is_for_user

    @property
    def assumptions(self) -> Assumptions:
        """The known facts."""
        return nothing() if self._given is None else self._given

    def adding(self, *facts: Comparison | bool) -> "Declared":
        """With further facts."""
        added = self.assumptions.adding(*facts)
        return Declared(added, is_for_user=self.is_for_user, is_computed=self._is_computed)

    def answer(self, comparison: Comparison) -> bool:
        found = self.assumptions.decide(comparison)
        if found is None and self._is_of_computed(comparison.terms):
            raise UndecidedDimError(f"whether {comparison!r} {_NOT_ASKED}. {_INSTEAD}", self.where())
        if found is None:
            likely, other = advised(comparison)
            raise UndecidedDimError(
                f"whether {comparison!r} is not known for all sizes: {self._known(comparison)}. Add the "
                f'constraint "{likely!r}", or "{other!r}"',
                self.where(),
            )
        return found

    def decide(self, comparison: Comparison) -> bool | None:
        return self.assumptions.decide(comparison)

    def assume(self, comparison: Comparison) -> bool:
        return self.assumptions.decide(comparison) is True

    def is_shown(self, dim: Dim) -> bool:
        """Nothing is known of it either way: an undecided question is an error."""
        return True

    def is_left_to_program(self, comparison: Comparison) -> bool:
        """Whether it is about lengths that the program computes."""
        return self.decide(comparison) is None and self._is_of_computed(comparison.terms)

    def _is_of_computed(self, terms: Terms) -> bool:
        return self._is_computed({size.text for size in sizes_in(terms)})

    def typical(self, dim: Dim) -> int:
        return evaluated(dim.terms, {size.text: usual(size) for size in sizes_in(dim.terms)})

    def whole(self, dim: Dim, because: str = "") -> int:
        low, high = self.assumptions.bounds(dim)
        if low == high:
            return int(low)
        where = self.where()
        fix = instead_of("" if where is None else where.code)
        reason = f"{because[0].upper()}{because[1:]}. " if because else ""
        if self._is_of_computed(dim.terms):
            raise UndecidedDimError(
                f"an int is needed, and {dim!r} {_NOT_ASKED}. {reason}{fix[0].upper()}{fix[1:]}", where
            )
        raise UndecidedDimError(
            f"an int is needed, and {dim!r} is not one number: {self._known(dim)}. {reason}{fix[0].upper()}{fix[1:]}, "
            f'or add a constraint such as "{dim!r} == {max(int(low), 1)}"',
            where,
        )

    def _known(self, about: Comparison | Dim) -> str:
        known = self.assumptions.describe(about)
        return "nothing is declared" if known == NOTHING else f"known is {known}"


class Lengths(Protocol):
    """What is known about the lengths that a program computes."""

    def lengths(self, names: Iterable[str]) -> dict[str, int] | None:
        """Their sizes in the current call; None if one is not known."""
        ...

    def expect(self, comparison: Comparison) -> None:
        """Let the program be for calls in which the comparison holds."""
        ...

    def trace(self) -> object:
        """The outermost trace at work, which the lengths belong to; None after tracing."""
        ...


class SizesFixedError(UndecidedDimError):
    """Each size that has a name can have only one value, so the function is traced again without these names."""


def end_if_fixed() -> None:
    """End tracing for named sizes before a loop that Python runs, if it has turned out to be for one size each.

    Raises:
        SizesFixedError: it is.
    """
    if isinstance(scope := ANSWERS.get(), Observed):
        scope.end_if_fixed()


class _Typical(dict[str, int]):
    """Sizes by name. Those that a program finds out when it runs are as large as may be."""

    def __missing__(self, name: str) -> int:
        return USUAL


class Observed:
    """Answers what holds for all sizes, otherwise what holds for those of this call, and records that as a guard.

    >>> import tracemill as tm
    >>> from tracemill.compiler.shapes import answering
    >>> N, M = tm.Dim("N"), tm.Dim("M")
    >>> scope = Observed({"N": 6, "M": 2})
    >>> with answering(scope):
    ...     bool(N == 3 * M), bool(N > 2), int(M // 2)
    (True, True, 1)
    >>> print(scope.guards)
    N == 3*M and M // 2 == 1
    """

    def __init__(
        self,
        hints: Mapping[str, int],
        assumptions: Assumptions | None = None,
        where: Where = no_location,
        is_for_user: IsForUser = never_for_user,
        ahead: Mapping[str, int] | None = None,
        lengths: Lengths | None = None,
    ) -> None:
        """`is_for_user` distinguishes the user's code from Tracemill's, when it looks up a size in sets and dicts;
        `ahead` are sizes for which a program may have been compiled before; `lengths` knows the lengths that the
        program finds out when it runs."""
        self.lengths = lengths
        self.hints = dict(hints)
        self.is_for_user = is_for_user
        self._assumptions = self._given = nothing() if assumptions is None else assumptions
        self._computed_in: object = None
        """The trace of the lengths that something is assumed about."""
        self.where = where
        self.judged = _Typical((name, size_class(size)) for name, size in self.hints.items())
        """The sizes by which programs are weighed. All calls with about the same sizes give the same program."""
        self.judged_ahead = (
            None if ahead is None else _Typical((name, size_class(size)) for name, size in ahead.items())
        )
        """The sizes by which a program was weighed that was compiled ahead of time and serves this call as well."""
        self._guards: list[Guard] = []
        self._wanted: Collection[Dim] = ()

    @property
    def assumptions(self) -> Assumptions:
        """What is known. If a function is traced again, its computed lengths are others, with the same names."""
        if self._computed_in is not None:
            assert self.lengths is not None
            trace = self.lengths.trace()
            if trace is not None and trace is not self._computed_in:
                self._computed_in = None
                self._assumptions = self._given_and_guarded()
        return self._assumptions

    @assumptions.setter
    def assumptions(self, new: Assumptions) -> None:
        self._assumptions = new

    def _given_and_guarded(self) -> Assumptions:
        return self._given.adding(*(guard.comparison for guard in self._guards))

    @property
    def assumed(self) -> tuple[Guard, ...]:
        """All assumptions so far, in order."""
        return tuple(self._guards)

    @property
    def guards(self) -> Guards:
        """The assumptions so far without those that follow from the rest, and without the limits of dims."""
        return Guards(tuple(self._guards)).simplified()

    def adding(self, *facts: Comparison | bool) -> Declared:
        """The known facts and further ones; the call is no longer used."""
        return Declared(self.assumptions.adding(*facts), is_for_user=self.is_for_user)

    def _is_seen(self, terms: Terms) -> bool:
        """Whether the call shows all sizes, none of which the program finds out when it runs."""
        return all(size.text in self.hints for size in sizes_in(terms))

    def answer(self, comparison: Comparison, because: str = "") -> bool:
        found = self.assumptions.decide(comparison)
        if found is None and not self._is_seen(comparison.terms):
            return self._found_by_values(comparison)
        if found is None:
            found = comparison.holds(self.hints)
            self._guard(comparison if found else comparison.negated, because)
        return found

    def assume(self, comparison: Comparison) -> bool:
        found = self.assumptions.decide(comparison)
        if found is None and not self._is_seen(comparison.terms):
            return False
        if found is None:
            found = comparison.holds(self.hints)
            if found:
                self._guard(comparison)
        return found

    def _found_by_values(self, comparison: Comparison) -> bool:
        """What holds for computed lengths in the current call: the program is then for that."""
        found = comparison.holds(self._sizes_by_values(comparison.terms, f"whether {comparison!r}"))
        held = comparison if found else comparison.negated
        assert self.lengths is not None
        self.lengths.expect(held)
        self.assumptions = self.assumptions.adding(held)
        self._computed_in = self.lengths.trace()
        return found

    def _sizes_by_values(self, terms: Terms, what: str) -> dict[str, int]:
        found = self._found_lengths(terms)
        if found is None:
            error = UndecidedDimError(
                f"{what} depends on values: an array is as long as the program finds out when it runs. Ask it of "
                "arrays whose lengths are those of arguments, or use np.where, which keeps the shape",
                self.where(),
            )
            error.asked = what
            raise error
        return self.hints | found

    def _found_lengths(self, terms: Terms) -> dict[str, int] | None:
        """The computed lengths in it in the current call; None if one is not known."""
        unseen = sorted({size.text for size in sizes_in(terms)} - self.hints.keys())
        return None if self.lengths is None else self.lengths.lengths(unseen)

    def _guard(self, comparison: Comparison, because: str = "") -> None:
        if len(self._guards) >= MOST_GUARDS or nesting(comparison.terms) > DEEPEST_GUARD:
            self._fix(comparison)
            return
        self._guards.append(self._asked(comparison, because))
        self.assumptions = self.assumptions.adding(comparison)

    def _asked(self, comparison: Comparison, because: str = "") -> Guard:
        """With the current line, or that of the kernel that is being generated."""
        location, kernel = self.where(), _KERNEL.get()
        if location is None and kernel is not None:
            return Guard(comparison, kernel, OF_KERNEL)
        return Guard(comparison, location, because)

    def _fix(self, comparison: Comparison) -> None:
        """Fix the sizes in a comparison to those of this call; all earlier assumptions about them alone follow."""
        sizes = set(sizes_in(comparison.terms))
        values = [compared("==", of_size(size), self.hints[size.text]) for size in sizes]
        fixed = [self._asked(one) for one in values if isinstance(one, Comparison)]
        kept = [guard for guard in self._guards if not sizes.issuperset(sizes_in(guard.comparison.terms))]
        self._guards = [*kept, *fixed]
        self.assumptions = self._given_and_guarded()

    def adopt(self, guards: Guards) -> bool:
        """Assume what another program does; returns False, and assumes nothing, if that does not hold for this call."""
        if not all(guard.comparison.holds(self.hints) for guard in guards.guards):
            return False
        self._guards += guards.guards
        self.assumptions = self.assumptions.adding(*(guard.comparison for guard in guards.guards))
        return True

    def fixes(self, dim: Dim) -> bool:
        """Whether the guards leave only one value."""
        low, high = self.assumptions.bounds(dim)
        return bool(low == high)

    @contextmanager
    def compiling_for(self, sizes: Collection[Dim]) -> Generator[None]:
        """Within the block, a function is traced for many values of these sizes, which is of no use once Python has
        asked for the values of all."""
        self._wanted = sizes
        try:
            yield
        finally:
            self._wanted = ()

    def end_if_fixed(self) -> None:
        """Asked before Python runs a loop, which may take long.

        Raises:
            SizesFixedError: the sizes that a function is traced for have one value each.
        """
        if self._wanted and all(map(self.fixes, self._wanted)):
            raise SizesFixedError("Python needs the values of all sizes", self.where())

    def decide(self, comparison: Comparison) -> bool | None:
        return self.assumptions.decide(comparison)

    def is_shown(self, dim: Dim) -> bool:
        return self._is_seen(dim.terms)

    def is_left_to_program(self, comparison: Comparison) -> bool:
        """Whether it is about lengths that the program finds out, as for an example of a batch."""
        return (
            self.decide(comparison) is None
            and not self._is_seen(comparison.terms)
            and self._found_lengths(comparison.terms) is None
        )

    def typical(self, dim: Dim) -> int:
        try:
            return max(1, evaluated(dim.terms, self.judged))
        except ZeroDivisionError:
            return 1

    def whole(self, dim: Dim, because: str = "") -> int:
        sizes = (
            self.hints if self._is_seen(dim.terms) else self._sizes_by_values(dim.terms, f"{dim!r} as an int")
        )
        value = evaluated(dim.terms, sizes)
        same = compared("==", dim, value)
        if isinstance(same, Comparison):
            self.answer(same, because)
        return value


def advised(comparison: Comparison) -> tuple[Comparison, Comparison]:
    """A comparison and its negation, the more likely one first.

    Equality and divisibility are more likely than their negations; so are nonzero sizes, and for one size what allows
    usual values.
    """
    sizes, monomials = {*sizes_in(comparison.terms)}, [monomial for monomial, _ in comparison.terms]
    is_remainder = any(
        isinstance(one, Operation) and one.op == "%" for monomial in monomials for one in monomial
    )
    if comparison.relation == ">=" or (len(sizes) == 1 and not is_remainder and len(monomials) > 1):
        is_likely = len(sizes) > 1 or comparison.holds({size.text: usual(size) for size in sizes})
    else:
        is_likely = comparison.relation == ("!=" if len(monomials) == 1 and not is_remainder else "==")
    likely, other = (comparison, comparison.negated) if is_likely else (comparison.negated, comparison)
    if likely.relation == "!=" and monomials == [(size,) for size in sizes]:
        at_least_one = compared(">=", of_size(*sizes), 1)
        likely = at_least_one if isinstance(at_least_one, Comparison) else likely
    return likely, other


def relations_among(names: Collection[str]) -> tuple[Comparison, ...]:
    """The assumptions in this context about these sizes only, in addition to what is known about each alone."""
    return tuple(one for one in relations() if all(size.text in names for size in sizes_in(one.terms)))


def relations() -> tuple[Comparison, ...]:
    """The assumptions in this context, in addition to what is known about each size alone."""
    answers = ANSWERS.get()
    return answers.assumptions.relations if isinstance(answers, Declared | Observed) else ()


def example(dims: Collection[Dim]) -> dict[str, int]:
    """Values of these named sizes: those by which programs are weighed if they are allowed, otherwise those of the
    call.

    Without a call, only what is known about each size alone counts.
    """
    answers, sizes = ANSWERS.get(), [size for dim in dims for size in sizes_in(dim.terms)]
    if not isinstance(answers, Observed):
        return {size.text: usual(size) for size in sizes}
    found = {size.text: answers.judged[size.text] for size in sizes}
    sizes = [size for size in sizes if size.text in answers.hints]
    are_allowed = all(
        value >= size.min and (size.max is None or value <= size.max) and not value % size.multiple_of
        for size, value in ((size, found[size.text]) for size in sizes)
    )
    if are_allowed and all(relation.holds(found) for relation in relations_among(found)):
        return found
    return found | {size.text: answers.hints[size.text] for size in sizes}


def usual(size: Size) -> int:
    """An allowed size, neither small nor large if possible."""
    highest = USUAL if size.max is None else min(size.max, USUAL)
    return max(highest // size.multiple_of, -(-size.min // size.multiple_of)) * size.multiple_of


def size_class(size: int) -> int:
    """The representative of all sizes from a power of 4 to the next: one program is compiled for this class.

    >>> [size_class(size) for size in (1, 3, 4, 15, 16, 63, 64, 1000)]
    [2, 2, 8, 8, 32, 32, 128, 512]
    """
    bits = max(size, 1).bit_length()
    return 1 << (bits - 1 | 1)


@contextmanager
def making_kernel(location: Any) -> Generator[None]:
    """Within the block, questions that no line of the user's causes are attributed to the kernel of this line."""
    token = _KERNEL.set(location)
    try:
        yield
    finally:
        _KERNEL.reset(token)


Dim.answers = Declared()

"""Guards: what a program assumed about the sizes of a call, to read and to check."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from ..errors import DimSpecError
from .assumptions import Assumptions
from .dim import Comparison, Dim
from .reading import Sizes, read_conjunction
from .spelling import spelled_comparison
from .terms import Size, sizes_in

OF_KERNEL: Final = "the kernel that computes it on a GPU is made for these sizes"
"""The origin of a guard that no line of the user's caused."""
REMEMBERED = 256
"""The number of conjunctions whose simplified form is cached."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A comparison that is assumed to hold, and the line of the user's program that caused it."""

    comparison: Comparison
    location: Any = None
    because: str = ""
    """Why that line needs the answer, if it could do without: what keeps a loop from being part of the program."""

    def __str__(self) -> str:
        return repr(self.comparison) if self.location is None else f"{self.comparison!r}  # {self.location}"


@dataclass(frozen=True, slots=True)
class Guards:
    """A conjunction of guards on sizes.

    >>> guards = Guards.read("N >= 2 and N == 3*M and M >= 0")
    >>> print(guards)
    N >= 2 and N == 3*M
    >>> guards.source({"N": "s0", "M": "s1"})
    's0 >= 2 and s0 == 3*s1'
    """

    guards: tuple[Guard, ...] = ()
    sizes: tuple[Dim, ...] = ()
    """Dims whose own limits are part of it, in addition to those in the guards."""

    @staticmethod
    def read(text: str, sizes: Sizes | None = None) -> "Guards":
        """The guards in a text; `sizes` are dims by their names. Raises `DimSpecError` for any other text."""
        text, known = text.strip(), {} if sizes is None else sizes
        found = read_conjunction(text, known) if text not in ("", "True") else ()
        if False in found:
            raise DimSpecError(f"the guards {text!r} hold for no sizes")
        return Guards(tuple(Guard(one) for one in found if isinstance(one, Comparison))).simplified()

    def __str__(self) -> str:
        return " and ".join(repr(guard.comparison) for guard in self.guards) or "True"

    def described(self) -> list[str]:
        """A line for each guard, with the user's line that caused it: ``B >= 2  # model.py:12``."""
        return [f"{guard}; {guard.because}" if guard.because else str(guard) for guard in self.guards]

    def simplified(self) -> "Guards":
        """Without guards that follow from the others; the earlier ones stay."""
        return Guards(_needed(self.guards), self.sizes)

    def source(self, names: Mapping[str, str]) -> str:
        """A Python expression that is true if the guards and the dims' own limits hold.

        `names` are the variables of the dims. Limits come first, so that nothing is divided by 0.
        """
        sums = [one.terms for one in self.sizes] + [one.terms for one in self._comparisons()]
        found = dict.fromkeys(size for terms in sums for size in sizes_in(terms))
        texts = [text for size in found for text in limit_texts(size, names[size.text])]
        texts += [spelled_comparison(one.terms, one.relation, names) for one in self._comparisons()]
        return " and ".join(texts) or "True"

    def _comparisons(self) -> list[Comparison]:
        return [guard.comparison for guard in self.guards]


@lru_cache(REMEMBERED)
def _needed(guards: tuple[Guard, ...]) -> tuple[Guard, ...]:
    """Cached, because a compilation needs its assumptions so far again and again."""
    kept = list(dict.fromkeys(guards))
    for guard in reversed(kept[:]):
        others = [one.comparison for one in kept if one is not guard]
        about = set(sizes_in(guard.comparison.terms))
        near = [
            one for one in others if about.issuperset(sizes_in(one.terms))
        ]  # in total there may be too many cases
        if any(Assumptions(known, hold_for_a_call=True).decide(guard.comparison) for known in (near, others)):
            kept.remove(guard)
    return tuple(kept)


def limit_texts(size: Size, name: str) -> list[str]:
    """What is known about a size alone, as Python conditions: ``["1 <= n <= 4096", "n % 16 == 0"]``."""
    low = f"{size.min} <= " if size.min else ""
    high = "" if size.max is None else f" <= {size.max}"
    texts = [f"{low}{name}{high}"] if low or high else []
    return [*texts, f"{name} % {size.multiple_of} == 0"] if size.multiple_of > 1 else texts

"""Tests of many cases together, such as all samples of a family: a separate test for each takes longer to start than
to run."""

import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import pytest

from samples.lazy import Lazy
from samples.sample import Failure, Sample
from tracemill.compiler.op import lookup

Test: TypeAlias = Callable[..., None]


class Case(NamedTuple):
    """What a test is called with, its name in a report, and the name of its group.

    Slow cases run with the slow tests, and exhaustive ones only with ``--more``.
    """

    group: str
    name: str
    values: tuple[Any, ...]
    is_slow: bool = False
    is_exhaustive: bool = False

    @property
    def mark(self) -> str | None:
        """The mark of its test."""
        return "exhaustive" if self.is_exhaustive else "slow" if self.is_slow else None


def in_groups(
    cases: Iterable[Case] | Callable[[], Iterable[Case]], values: int | None = None
) -> Callable[[Test], Test]:
    """A test of one case as a test of each group, which runs all of its cases and names those that fail.

    The test takes a case's values first, and then fixtures, which the cases of a group share. Slow cases are a group,
    and a slow test, of their own; and so are exhaustive ones.

    `cases` may be a function, which is called if the test is collected. Then `values` is how many each case has.
    """
    parameters = Lazy(lambda: _groups(cases())) if callable(cases) else _groups(cases)

    def decorated(test: Test) -> Test:
        def test_all(cases: Sequence[Case], **fixtures: Any) -> None:
            errors = [error for case in cases if (error := _error(test, case, fixtures))]
            if errors:
                raise ExceptionGroup(f"{len(errors)} of {len(cases)} cases", errors)

        fixtures = list(inspect.signature(test).parameters.values())[values or _values_of_each(parameters) :]
        cases = inspect.Parameter("cases", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        test_all.__signature__ = inspect.Signature([cases, *fixtures])  # type: ignore[attr-defined]
        test_all.__name__, test_all.__doc__, test_all.__module__ = (
            test.__name__,
            test.__doc__,
            test.__module__,
        )
        grouped: Test = pytest.mark.parametrize("cases", parameters)(test_all)
        return grouped

    return decorated


def _groups(cases: Iterable[Case]) -> Sequence[Any]:
    """The parameters of the test of each group."""
    groups: dict[tuple[str, str | None], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.group, case.mark), []).append(case)
    return [
        pytest.param(group, id=f"{name}-{mark}", marks=getattr(pytest.mark, mark))
        if mark
        else pytest.param(group, id=name)
        for (name, mark), group in groups.items()
    ]


def quick_first(
    cases: Iterable[Case], slow: int = 1, kind: Callable[[Case], str] = lambda case: case.group
) -> list[Case]:
    """The cases, of which the first of each kind, by default of each group, runs always.

    Of the others, one in `slow` is slow, and the rest is exhaustive.
    """
    seen: Counter[str] = Counter()
    found: list[Case] = []
    for case in cases:
        number = seen[kind(case)]
        is_exhaustive = number > 0 and (number - 1) % slow > 0
        found.append(case._replace(is_slow=case.is_slow or number > 0, is_exhaustive=is_exhaustive))
        seen[kind(case)] += 1
    return found


def of_each_sample(
    samples: Iterable[Sample | Failure],
    quick: Collection[Sample] | None = None,
    slow: Collection[Sample] | None = None,
) -> Callable[[Test], Test]:
    """A test of one sample as a test of all samples of each family; see `cases_of`."""
    return in_groups(lambda: cases_of(samples, quick, slow), values=1)


def cases_of(
    samples: Iterable[Sample | Failure],
    quick: Collection[Sample] | None = None,
    slow: Collection[Sample] | None = None,
) -> list[Case]:
    """A case for each sample, in groups by family.

    If some are named as quick, the others are slow; if some are named as slow, the rest runs with ``--more``.
    """
    fast = None if quick is None else frozenset(quick)
    some = None if slow is None else frozenset(slow) | (fast or frozenset())
    return [
        Case(
            lookup(sample.op).family,
            sample.id,
            (sample,),
            is_slow=fast is not None and sample not in fast,
            is_exhaustive=some is not None and sample not in some,
        )
        for sample in samples
    ]


def _values_of_each(parameters: Sequence[Any]) -> int:
    ((case, *_),) = parameters[0].values
    return len(case.values)


def _error(test: Test, case: Case, fixtures: dict[str, Any]) -> Exception | None:
    try:
        test(*case.values, **fixtures)
    except Exception as error:
        error.add_note(f"the case is {case.name}")
        return error
    return None

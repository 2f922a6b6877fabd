"""Functions that one program cannot hold for all values: the program is for calls that take the same path."""

import copy
import warnings
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import RecompileWarning

BACKENDS = pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.slow)])


def sides(numbers: list[Any], middle: Any) -> Any:
    below: list[Any] = []
    above: list[Any] = []
    for number in numbers:
        if number < middle:
            below.append(number)
        elif number > middle:
            above.insert(0, number)
    return below, above


def neighbours(count: int, pairs: list[tuple[int, int]]) -> Any:
    found: list[list[int]] = [[] for _ in range(count)]
    for a, b in pairs:
        found[a].append(b)
        found[b].append(a)
    return found


def tally(words: list[int]) -> Any:
    counts: dict[int, int] = {}
    for word in words:
        if word in counts:
            counts[word] += 1
        else:
            counts[word] = 1
    return counts


def merged(left: list[Any], right: list[Any]) -> Any:
    left, right, found = left[:], right[:], []
    while left and right:
        found.append((left if left[0] <= right[0] else right).pop(0))
    return found + left + right


def repeats(chain: list[int]) -> Any:
    seen: set[int] = set()
    again = [one for one in chain if one in seen or seen.add(one)]  # type: ignore[func-returns-value]
    return again, seen


def drained(first: int) -> Any:
    waiting, order = deque([first]), []
    while waiting:
        number = waiting.popleft()
        order.append(number)
        if number > 1:
            waiting.append(number // 2)
    return order


def halves(numbers: list[Any]) -> Any:
    if len(numbers) < 2:
        return numbers
    pivot, *others = numbers
    smaller = [one for one in others if one < pivot]
    return [*halves(smaller), pivot, *halves([one for one in others if not one < pivot])]


def tail(numbers: list[Any], limit: Any) -> Any:
    start = 0
    while start < len(numbers) and numbers[start] < limit:
        start += 1
    return numbers[start:], numbers[:start]


class Ledger:
    def __init__(self) -> None:
        self.entries: list[Any] = []
        self.total = 0

    def add(self, entry: Any) -> None:
        self.entries.append(entry)
        self.total += entry


def booked(numbers: list[Any]) -> Any:
    ledger = Ledger()
    for number in numbers:
        if number > 0:
            ledger.add(number)
    return ledger.entries, ledger.total


def kept_in_place(numbers: list[Any]) -> None:
    for place in range(len(numbers) - 1, -1, -1):
        if numbers[place] < 0:
            del numbers[place]


def ways(numbers: list[int], total: int) -> Any:
    found: list[list[int]] = []

    def further(start: int, kept: list[int], rest: int) -> None:
        if rest == 0:
            found.append(kept[:])
        for place in range(start, len(numbers)):
            if numbers[place] > rest:
                break
            kept.append(numbers[place])
            further(place, kept, rest - numbers[place])
            kept.pop()

    further(0, [], total)
    return found


def multiples(factors: list[int], first: int, product: int, degrees: dict[int, int]) -> None:
    degrees[factors[first]] = degrees.get(factors[first], 0) + 1
    for place in range(first, len(factors)):
        if factors[place] * product > 20:
            break
        multiples(factors, place, product * factors[place], degrees.copy())


def one_or_all(x: Any) -> Any:
    few = x if x[0] > 0 else x[:2]
    return few * 2, few.sum() if len(few) > 2 else few, 1.0 if x[0] < 0 else x


CALLS: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (sides, [([3, 1, 2, 5], 2), ([4, 0, 9, 7], 6), ([1.5, 2], 2), ([3, 1, 2, 5], 3)]),
    (neighbours, [(3, [(0, 1), (1, 2)]), (3, [(0, 2), (2, 2)]), (4, [(0, 3), (3, 1)])]),
    (tally, [([1, 2, 1],), ([7, 7, 7],), ([4, 5, 4],)]),
    (merged, [([1, 4], [2, 3]), ([1, 2], [3, 4]), ([2, 3], [4.5, 5.0])]),
    (repeats, [([1, 2, 1],), ([5, 6, 7],), ([3, 3, 3],)]),
    (drained, [(5,), (9,), (1,)]),
    (halves, [([3, 1, 2],), ([6, 5, 4],), ([9.5, 7, 8],)]),
    (tail, [([1, 3, 5], 4), ([1, 3, 5], 0), ([1.0, 2.0], 9.0)]),
    (booked, [([1, -2, 3],), ([4, -5, 6],), ([-1, -1, -1],), ([1.5, 0, 2],)]),
    (ways, [([2, 3], 6), ([1, 4], 3), ([5], 4)]),
    (multiples, [([2, 3, 7], 0, 1, {}), ([3, 5], 1, 2, {5: 1}), ([2, 3, 7], 1, 1, {})]),
    (kept_in_place, [([1, -2, 3],), ([-1, -1],), ([2, 3],)]),
    (
        one_or_all,
        [(np.array([1.0, -2.0, 3.0]),), (np.array([-1.0, 2.0, 3.0]),), (np.array([4.0, 4.0, 4.0]),)],
    ),
]


@BACKENDS
@pytest.mark.parametrize(("function", "calls"), CALLS, ids=lambda one: getattr(one, "__name__", ""))
def test_values_types_and_arguments_are_pythons(
    function: Callable[..., Any], calls: list[tuple[Any, ...]], backend: str
) -> None:
    compiled: Any = tm.compile(function, backend=backend, on_recompile="ignore")
    for _ in range(2):
        for call in calls:
            ours, theirs = copy.deepcopy(call), copy.deepcopy(call)
            assert repr(compiled(*ours)) == repr(function(*theirs))
            assert repr(ours) == repr(theirs)


def test_a_program_serves_all_calls_that_go_its_way() -> None:
    compiled: Any = tm.compile(sides, on_recompile="ignore")
    for middle in (2, 3):
        for scale in (1, 2, 5):
            numbers = [scale * one for one in (3, 1, 2, 5)]
            assert compiled(numbers, scale * middle) == sides(numbers, scale * middle)
    assert len(compiled.signatures()) == 2
    assert "the test of an `if`" in compiled.explain_recompile() or "bool(x)" in compiled.explain_recompile()


def test_beyond_max_variants_the_function_runs_uncompiled_with_one_warning() -> None:
    compiled: Any = tm.compile(tally, max_variants=2)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for number in range(6):
            assert compiled([number, 1, 2]) == tally([number, 1, 2])
    assert [one.category for one in seen] == [RecompileWarning]


def test_derivatives_go_the_same_way() -> None:
    def loss(x: Any) -> Any:
        parts = []
        for one in x:
            if one > 0:
                parts.append(one * one)
            elif one < -1:
                parts.extend([one, 2 * one])
        return sum(parts, 0.0)

    compiled = tm.compile(tm.grad(loss), on_recompile="ignore")
    for x in ([1.0, -2.0, 3.0], [-0.5, 4.0, -3.0]):
        array = np.array(x)
        expected = np.where(array > 0, 2 * array, np.where(array < -1, 3.0, 0.0))
        np.testing.assert_allclose(compiled(array), expected)


NOTED: list[Any] = []


def noting(x: float) -> float:
    while x > 1:
        NOTED.append(x)
        x = x / 2
    return x


def test_what_is_outside_is_changed_once_in_each_call() -> None:
    compiled: Any = tm.compile(noting)
    NOTED.clear()
    assert compiled(0.5) == 0.5
    assert compiled(4.0) == noting(4.0)
    with pytest.warns(RecompileWarning, match="runs uncompiled: .*changes a list"):
        compiled(4.0)
    assert NOTED == [4.0, 2.0] * 3


def test_keys_that_arrays_decide_are_numpys_numbers() -> None:
    def keyed(x: Any) -> Any:
        pairs = {}
        pairs[x.argmin(), 0] = "least"
        return {x.argmax(): "most"}, pairs, {x.argmax()}, dict.fromkeys(x.astype(int), 1)

    compiled = tm.compile(keyed, on_recompile="ignore")
    for x in (np.array([1.0, 3.0, 2.0]), np.array([9.0, 1.0, 5.0])):
        assert repr(compiled(x)) == repr(keyed(x))


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_lengths_that_were_asked_before_the_call_was_followed_are_asked_again(backend: str) -> None:
    """The first trace gives up at the list. What it knew of lengths does not hold for those of the second."""

    def positive(m: Any, d: Any) -> Any:
        found, text, chosen = m[m > 0].tolist(), f"{len(m[m > 0])}", []
        if d > 0:
            chosen.append(d)
        return found, text, chosen, sorted(m[m > 0])

    compiled = tm.compile(positive, backend=backend, on_recompile="ignore")
    for m, d in [
        ([1.0, 1.0, -2.0], 1.0),
        ([2.0, 1.0, 4.0], 1.0),
        ([-4.0, -1.0, 4.0], 1.0),
        ([2.0, 1.0, 4.0], -1.0),
    ]:
        assert compiled(np.array(m), d) == positive(np.array(m), d)


def test_the_text_that_is_least_by_a_key_is_a_key_of_sets_and_dicts() -> None:
    def distances(lengths: Any) -> Any:
        roads = dict(zip([("a", "b"), ("b", "c"), ("a", "c")], lengths, strict=True))
        found, todo = {"a": 0.0}, {"a", "b", "c"}
        while todo:
            town = min(sorted(todo), key=lambda one: found.get(one, np.inf))
            todo.remove(town)
            for (start, end), length in roads.items():
                if start == town and found[town] + length < found.get(end, np.inf):
                    found[end] = found[town] + length
        return found

    compiled = tm.compile(distances, on_recompile="ignore")
    for lengths in ([1.0, 2.0, 5.0], [1.0, 2.0, 0.5], [4.0, 1.0, 3.0]):
        assert compiled(lengths) == distances(lengths)

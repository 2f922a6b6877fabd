"""Contestants in turns: rows, calls, and the curves of compile time and memory."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .contestant import Contestant
from .findings import Case
from .frameworks import OURS, PLAIN
from .more_rows import ALL_ROWS
from .neighbours import Neighbours
from .rows import CALLS, Row

NODES = (10, 30, 100, 300, 1000, 3000, 10_000)
ELEMENTS = (10**3, 10**4, 10**5, 10**6, 10**7, 10**8)
TOO_LONG = 30.0
"""If compiling takes a contestant more seconds than this, it skips larger sizes."""

_TOLERANCE = {"f": 1e-3, "d": 1e-8, "F": 1e-3, "D": 1e-8}
"""Relative to the largest number, by type; other results must be equal."""


def race(row: Row, contestants: Iterable[Contestant], *, rounds: int, table: str, size: int = 0) -> Case:
    """A row: every contestant computes it, results are compared, then calls are timed in turns."""
    case, ready = _prepared(row, contestants, table, size)
    for number in range(rounds):
        _time(case.values, case.problems, ready, number)
    return case


def race_beside(
    neighbours: Neighbours, row: Row, contestants: Iterable[Contestant], *, rounds: int, size: int = 0
) -> Case:
    """The same beside busy neighbours. In each round, Tracemill is also timed without them."""
    case, ready = _prepared(row, contestants, "busy", size)
    ours = {one: calls for one, calls in ready.items() if one.name.startswith(OURS)}
    for number in range(rounds):
        with neighbours.busy():
            _time(case.values, case.problems, ready, number)
        _time(case.idle, case.problems, ours, number)
    return case


def _prepared(
    row: Row, contestants: Iterable[Contestant], table: str, size: int
) -> tuple[Case, dict[Contestant, int]]:
    """A case without numbers, and how many calls to time of each contestant whose results are right."""
    case = Case(table, row.name, row.about, "s", group="" if table == "calls" else row.group.name)
    ready: dict[Contestant, int] = {}
    expected: list[np.ndarray[Any, Any]] = []
    for contestant in contestants:
        if contestant.name == PLAIN and not row.has_numpy:
            continue
        file = contestant.folder / "result.npz"
        answer = contestant.ask("prepare", row=row.name, size=size or row.size, file=str(file))
        if "problem" in answer:
            case.problems[contestant.name] = answer["problem"]
            continue
        found = _read(file)
        expected = expected or found
        if wrong := difference(found, expected):
            case.problems[contestant.name] = wrong
        else:
            ready[contestant] = answer["calls"]
    return case, ready


def _time(
    values: dict[str, list[float]], problems: dict[str, str], ready: dict[Contestant, int], number: int
) -> None:
    """A round: the seconds of a call of each contestant. Every other round runs backwards."""
    order = list(ready)
    for contestant in order if number % 2 else reversed(order):
        answer = contestant.ask("time", calls=ready[contestant])
        _take(values, problems, contestant.name, answer, "seconds")


def compile_times(contestants: list[Contestant], *, rounds: int) -> Iterator[Case]:
    """The first call of functions with this many operations, after one that loads the compiler's modules."""
    for contestant in contestants:
        contestant.ask("compile", nodes=2)
    spared: set[str] = set()
    for nodes in NODES:
        case = Case("compile", f"{nodes} nodes", "first call", "s", size=nodes)
        for contestant in contestants:
            if contestant.name in spared:
                case.problems[contestant.name] = "fewer operations took too long"
                continue
            for _ in range(rounds):
                answer = contestant.ask("compile", nodes=nodes)
                _take(case.values, case.problems, contestant.name, answer, "seconds")
                if answer.get("seconds", TOO_LONG) >= TOO_LONG:
                    spared.add(contestant.name)
                    break
        yield case


def memory(contestants: list[Contestant]) -> Iterator[Case]:
    """Bytes used in addition to the arguments, against the number of elements."""
    for elements in ELEMENTS:
        case = Case("memory", f"{elements:,} f32", "GELU: peak beyond its argument", "bytes", size=elements)
        for contestant in contestants:
            contestant.stop()  # a process whose memory nothing else has used
            _take(
                case.values,
                case.problems,
                contestant.name,
                contestant.ask("memory", row="gelu", size=elements),
                "bytes",
            )
            contestant.stop()
        yield case


def calls(contestants: list[Contestant], *, rounds: int) -> Iterator[Case]:
    """Functions of a few small arrays."""
    return (race(row, contestants, rounds=rounds, table="calls") for row in CALLS.values())


def rows(names: Iterable[str], contestants: list[Contestant], *, rounds: int) -> Iterator[Case]:
    """The named rows, one by one."""
    return (race(ALL_ROWS[name], contestants, rounds=rounds, table="rows") for name in names)


def busy(names: Iterable[str], contestants: list[Contestant], *, rounds: int, cores: int) -> Iterator[Case]:
    """The named rows beside a neighbour on every core."""
    with Neighbours(cores) as neighbours:
        for name in names:
            yield race_beside(neighbours, ALL_ROWS[name], contestants, rounds=rounds)


def difference(found: list[np.ndarray[Any, Any]], expected: list[np.ndarray[Any, Any]]) -> str:
    """How results differ by more than rounding; empty if they do not."""
    if [array.shape for array in found] != [array.shape for array in expected]:
        return "results of other shapes"
    for ours, theirs in zip(found, expected, strict=True):
        scale = np.max(np.abs(theirs), initial=0.0)
        apart = np.max(np.abs(ours - theirs), initial=0.0)
        if not apart <= _TOLERANCE.get(theirs.dtype.char, 0.0) * scale:
            return f"results differ by {apart:.1e}, where the largest is {scale:.1e}"
    return ""


def _read(file: Path) -> list[np.ndarray[Any, Any]]:
    with np.load(file) as arrays:
        return [arrays[f"arr_{number}"] for number in range(len(arrays.files))]


def _take(
    values: dict[str, list[float]],
    problems: dict[str, str],
    contestant: str,
    answer: dict[str, Any],
    key: str,
) -> None:
    if "problem" in answer:
        problems[contestant] = answer["problem"]
    else:
        values.setdefault(contestant, []).append(answer[key])

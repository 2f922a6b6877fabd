"""Every statement of every stage once, with the stage that adds it and the one that removes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ...compiler.ir import Graph
from ...compiler.text.printer import Statement
from .steady_names import SteadyNames


@dataclass(slots=True, eq=False)
class Row:
    """A statement, and the stages that have it: from `first` up to, not including, `last`."""

    statement: Statement
    first: int
    last: int | None = None
    """None if the last stage has it."""

    def is_in(self, stage: int) -> bool:
        """Whether it is there after a stage."""
        return self.first <= stage and (self.last is None or stage < self.last)


def history(graphs: Sequence[Graph], names: SteadyNames) -> list[Row]:
    """The statements of all stages in one order, in which those of each stage keep theirs."""
    rows: list[Row] = []
    for stage, graph in enumerate(graphs):
        rows = _merged(rows, names.statements(graph), stage)
    return rows


def _merged(rows: Sequence[Row], new: Sequence[Statement], stage: int) -> list[Row]:
    """Merges the next stage: what it adds comes after what it removes at the same place."""
    alive = [row for row in rows if row.last is None]
    added: dict[int, list[Row]] = {}  # by the number of the current row before which they belong
    matcher = SequenceMatcher(None, [_key(row.statement) for row in alive], [*map(_key, new)], autojunk=False)
    for kind, start, stop, first, end in matcher.get_opcodes():
        if kind == "equal":
            continue
        for row in alive[start:stop]:
            row.last = stage
        added[stop] = [Row(statement, stage) for statement in new[first:end]]
    merged: list[Row] = []
    numbers = {row: number for number, row in enumerate(alive)}
    for row in rows:
        if row in numbers:
            merged += added.get(numbers[row], ())
        merged.append(row)
    return merged + added.get(len(alive), [])


def _key(statement: Statement) -> object:
    code, call, path = statement
    return path, code, call.location if call else None

"""The computation of a kernel, split into stages: each is one function on a grid."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ....loops.nest import Block, Choose, Let, Local, Loop, Result, Statement
from ....loops.walk import accumulated, expressions, places, reset_in, statements


@dataclass(slots=True)
class Stage:
    """The computation of one function: one loop over programs, or the work of a single program."""

    body: Block
    is_parallel: bool
    given: tuple[Local, ...] = ()
    """What it needs from the stages before."""
    kept: list[Local] = field(default_factory=list[Local])
    """What later stages need from it."""


def stages_of(body: Block) -> Iterator[Stage]:
    """The outermost statements, split where one needs the combined results of all programs before."""
    free: dict[Local, Statement] = {}
    gathered: set[Local] = set()
    stages: list[Stage] = []
    alone: list[Statement] = []

    def close() -> None:
        if alone:
            stages.append(Stage(tuple(alone), is_parallel=False))
            alone.clear()

    for statement in body:
        if isinstance(statement, Loop) and set(accumulated((statement,))) <= reset_in((statement,)):
            if _needed((statement,), gathered) & gathered:
                close()
            stages.append(Stage((statement,), is_parallel=True))
        elif isinstance(statement, (Let, Choose)) and not _gathers(statement, gathered):
            free[statement.local] = statement
        else:
            if isinstance(statement, (Let, Choose)):
                gathered.add(statement.local)
            alone.append(statement)
    close()
    for stage in stages:
        own = _defined(stage.body)
        wanted = _with_free(stage.body, free, gathered)
        stage.given = tuple(sorted((wanted & gathered) - own, key=lambda x: x.name))
        stage.body = (*(statement for local, statement in free.items() if local in wanted), *stage.body)
    for stage in stages:
        stage.kept = [x for x in _defined(stage.body) if any(x in other.given for other in stages)]
        stage.kept.sort(key=lambda x: x.name)
        yield stage


def _needed(body: Block, known: Iterable[Local]) -> set[Local]:
    """The locals that statements use, and the `known` ones in their offsets."""
    by_name = {local.name: local for local in known}
    found: set[Local] = set()
    for statement in statements(body):
        found.update(e for e in expressions(statement) if isinstance(e, Local))
        for place in places(statement):
            found.update(by_name[v.name] for v in place.variables if v.name in by_name)
    return found


def _defined(body: Block) -> set[Local]:
    return {s.local for s in statements(body) if isinstance(s, (Let, Choose))}


def _gathers(statement: Let | Choose, gathered: set[Local]) -> bool:
    """Whether a statement needs the combined results of all iterations of a loop before it."""
    inner = list(statements((statement,)))
    has_result = any(isinstance(e, Result) for s in inner for e in expressions(s))
    return has_result or bool(_needed((statement,), gathered) & gathered)


def _with_free(body: Block, free: dict[Local, Statement], gathered: set[Local]) -> set[Local]:
    """What a body needs, and what the statements need that every program computes for it."""
    known = {*free, *gathered}
    wanted = _needed(body, known)
    while True:
        more = wanted | _needed(tuple(free[local] for local in wanted if local in free), known)
        if more == wanted:
            return wanted
        wanted = more

"""The stages of a function as text: the traced graph, what each pass makes of it, the generated source."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
from rich.console import Console
from rich.syntax import Syntax

from ..runtime.lower import Lowered

TRACED, NUMPY, C, PLAN, TRITON = "traced", "numpy", "c", "plan", "triton"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a program, with the text of the stage before it."""

    name: str
    title: str
    text: str
    before: str | None

    @property
    def is_unchanged(self) -> bool:
        return self.text == self.before

    def diff(self) -> str:
        """A unified diff against the stage before."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(), self.text.splitlines(), "before", self.name, lineterm="", n=2
        )
        return "\n".join(lines)


def stages_of(lowered: Lowered) -> list[Stage]:
    """All stages, in order: ``traced``, ``after:<pass>`` for each pass, ``numpy``, and ``c`` if there is some.

    Of programs for GPUs the last ones are ``plan`` and ``triton``.

    The module is without the self-check that the file on disk ends with.
    """
    text = lowered.graph.code
    stages = [Stage(TRACED, "traced", text, None)]
    runs: dict[str, int] = {}
    for name, graph in lowered.stages:
        run = runs[name] = runs.get(name, 0) + 1
        title = f"after {name}" if run == 1 else f"after {name}, run {run}"
        stages.append(Stage(f"after:{name}", title, graph.code, text))
        text = stages[-1].text
    if lowered.plan is not None:
        stages.append(Stage(PLAN, "the plan", str(lowered.plan), None))
        stages.append(Stage(TRITON, "generated Triton", lowered.source.rstrip(), None))
        return stages
    source = lowered.unchecked
    stages.append(Stage(NUMPY, "generated NumPy", source.python.rstrip(), None))
    if source.c is not None:
        stages.append(Stage(C, "generated C", source.c.rstrip(), None))
    return stages


def choose(stages: Sequence[Stage], name: str) -> list[Stage]:
    """The stages called `name`: ``all``, or one, which is the last run of a pass that runs twice."""
    if name == "all":
        return list(stages)
    chosen = [stage for stage in stages if stage.name == name]
    if not chosen:
        known = dict.fromkeys(stage.name for stage in stages)
        raise click.UsageError(f"there is no stage {name!r}: choose from {', '.join(known)}, all")
    return chosen[-1:]


def show(stages: Sequence[Stage], console: Console, *, as_diff: bool) -> None:
    """Print stages, highlighted on a terminal. A stage alone is printed without a heading."""
    alone = len(stages) == 1 and not as_diff
    for number, stage in enumerate(stages):
        if not alone:
            _heading(stage, console, is_first=number == 0)
        if alone or not stage.is_unchanged:
            _text(stage, console, as_diff=as_diff and stage.before is not None)


def _heading(stage: Stage, console: Console, *, is_first: bool) -> None:
    unchanged = ": nothing to do" if stage.is_unchanged else ""
    start = "" if is_first or stage.is_unchanged else "\n"
    console.print(
        f"{start}# ---- {stage.title}{unchanged}", style="dim" if unchanged else "bold", highlight=False
    )


def _text(stage: Stage, console: Console, *, as_diff: bool) -> None:
    text = stage.diff() if as_diff else stage.text
    if not console.is_terminal:
        print(text, file=console.file)
        return
    language = "diff" if as_diff else "c" if stage.name == C else "python"
    console.print(Syntax(text, language, theme="ansi_dark", background_color="default", word_wrap=True))


def as_rows(stages: Sequence[Stage]) -> Iterator[dict[str, object]]:
    """Stages as JSON-ready records."""
    for stage in stages:
        yield {
            "stage": stage.name,
            "title": stage.title,
            "changed": not stage.is_unchanged,
            "text": stage.text,
        }

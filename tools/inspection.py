"""The stages of a function as text: the traced graph, the graph after each pass, the generated source."""

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click
from rich.console import Console
from rich.syntax import Syntax

from ..compiler.text.html import code_html, folded_html
from ..runtime.inspection.lowered import Lowered

TRACED, NUMPY, C, PLAN, TRITON = "traced", "numpy", "c", "plan", "triton"
TRANSFORMS = "transforms"
CONVERTED = "converted"
KERNELS, MEMORY, COST, PTX, SASS = "kernels", "memory", "cost", "ptx", "sass"
GUARDS = "guards"
ALL = "all"
WORDS = (
    CONVERTED,
    TRANSFORMS,
    TRACED,
    "after:PASS",
    GUARDS,
    KERNELS,
    MEMORY,
    COST,
    NUMPY,
    C,
    PLAN,
    TRITON,
    PTX,
    SASS,
    ALL,
)
"""All values of ``--stage``, on any backend."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a program, and the text of the stage before it."""

    name: str
    title: str
    text: str
    before: str | None
    data: Any = None
    """The same as data for JSON, if the text is a table."""

    @property
    def is_unchanged(self) -> bool:
        return self.text == self.before

    def _repr_html_(self) -> str:
        """The text in colours, in notebooks."""
        code = code_html(self.text, "c" if self.name == C else "python")
        return folded_html(self.title, code, is_open=True)

    def diff(self) -> str:
        """A unified diff against the stage before."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(), self.text.splitlines(), "before", self.name, lineterm="", n=2
        )
        return "\n".join(lines)


def stages_of(lowered: Lowered) -> list[Stage]:
    """All stages that are cheap to compute, in order.

    ``converted`` if functions were, ``transforms`` if there are any, ``traced``, ``after:<pass>`` for each pass,
    ``guards`` for named sizes, ``kernels``, ``memory``, ``cost``, ``numpy``, and ``c`` if there is C. Programs for
    GPUs end with ``plan`` and ``triton``.

    The module does not include the self-check at the end of the file on disk.
    """
    text = lowered.graph.code
    stages = [Stage(TRACED, "traced", text, None)]
    if lowered.transforms:
        transforms = "\n\n".join(map(str, lowered.transforms))
        stages.insert(0, Stage(TRANSFORMS, "transforms", transforms, None))
    if conversions := lowered.conversions:
        text_of_all = "\n\n".join(one.text for one in conversions)
        stages.insert(0, Stage(CONVERTED, "converted", text_of_all, None))
    runs: dict[str, int] = {}
    for name, graph in lowered.stages:
        run = runs[name] = runs.get(name, 0) + 1
        title = f"after {name}" if run == 1 else f"after {name}, run {run}"
        stages.append(Stage(f"after:{name}", title, graph.code, text))
        text = stages[-1].text
    if lowered.signature.dims:
        stages.append(Stage(GUARDS, "guards", _guards(lowered), None))
    stages += _tables(lowered)
    if lowered.plan is not None:
        stages.append(Stage(PLAN, "the plan", str(lowered.plan), None))
        stages.append(Stage(TRITON, "generated Triton", lowered.source.rstrip(), None))
        return stages
    source = lowered.unchecked
    stages.append(Stage(NUMPY, "generated NumPy", source.python.rstrip(), None))
    if source.c is not None:
        stages.append(Stage(C, "generated C", source.c.rstrip(), None))
    return stages


def _guards(lowered: Lowered) -> str:
    """What is assumed about named sizes, and the values used for the counts below."""
    guards = lowered.guards.described() or ["none: it serves all sizes"]
    return "\n".join([*guards, f"# kernels and cost are counted for {_sizes(lowered)}"])


def _sizes(lowered: Lowered) -> str:
    return ", ".join(f"{name} = {size}" for name, size in lowered.sizes.items())


def _tables(lowered: Lowered) -> Iterator[Stage]:
    """The program's functions, and what they need."""
    kernels = [
        {
            "name": kernel.name,
            "computes": kernel.graph.name,
            "bytes_moved": kernel.bytes_moved,
            "operations": kernel.operations,
            "least_time": kernel.least_time,
        }
        for kernel in lowered.kernels
    ]
    lines = [f"{kernel.name}: {kernel}" for kernel in lowered.kernels]
    yield Stage(KERNELS, "kernels", "\n".join(lines) or "none: statements of NumPy do it", None, kernels)
    memory = lowered.memory.at(lowered.sizes)
    shown = str(lowered.memory)
    if lowered.sizes:
        shown += f"\n# for {_sizes(lowered)}: {memory.peak:_} bytes"
    yield Stage(MEMORY, "memory", shown, None, asdict(memory) | {"peak": memory.peak})
    yield Stage(COST, "cost", str(lowered.cost), None, lowered.cost.as_dict())


def _machine_code(lowered: Lowered, architecture: str | None) -> dict[str, Callable[[], str]]:
    """The stages that take seconds to compute, by name; only for GPU programs."""
    if lowered.backend != "triton":
        return {}
    from ..runtime.gpu_programs.machine_code import assembly, instructions

    return {
        PTX: lambda: assembly(lowered.built(architecture)),
        SASS: lambda: instructions(lowered.built(architecture)),
    }


def choose(lowered: Lowered, name: str, architecture: str | None = None) -> list[Stage]:
    """The stages called `name`: one, which is the last run of a pass that runs twice; or ``all`` except machine code.

    Raises `click.UsageError` that lists the stages of this backend.
    """
    slow = _machine_code(lowered, architecture)
    if name in slow:
        return [Stage(name, name.upper(), slow[name]().rstrip(), None)]
    stages = stages_of(lowered)
    if name == ALL:
        return stages
    chosen = [stage for stage in stages if stage.name == name]
    if not chosen:
        known = dict.fromkeys([*(stage.name for stage in stages), *slow, ALL])
        raise click.UsageError(
            f"there is no stage {name!r} on the backend {lowered.backend!r}: choose from {', '.join(known)}"
        )
    return chosen[-1:]


def show(stages: Sequence[Stage], console: Console, *, as_diff: bool) -> None:
    """Print stages, highlighted on a terminal. A single stage has no heading."""
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
    if stage.name in (KERNELS, MEMORY, COST, PTX, SASS, PLAN) and not as_diff:
        console.print(text, markup=False, highlight=False, soft_wrap=True)
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
            **({} if stage.data is None else {"data": stage.data}),
        }

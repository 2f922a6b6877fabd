"""The stages: one list of statements; each stage shows its own and its changes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...compiler.ir import Graph
from .escaped import escaped, shortened
from .history import Row, history
from .marks import Marks, marked
from .steady_names import SteadyNames

_CALL = re.compile(r"(\s*)((?:\w+: [\w\[\], ]+)(?:, \w+: [\w\[\], ]+)*) = (\w+)\((.*)\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Stages:
    """The effect of all passes together on a graph."""

    titles: Sequence[str]
    """The stages that differ from the one before."""
    order: Sequence[tuple[str, int | None]]
    """Every pass by name, with the number of its stage; None if it changed nothing."""
    rows: Sequence[Row]

    @property
    def last(self) -> int:
        return len(self.titles) - 1

    def rows_of(self, stage: int) -> Iterator[Row]:
        """The statements of one stage, in order."""
        return (row for row in self.rows if row.is_in(stage))


def stages_of(traced: Graph, after: Sequence[tuple[str, Graph]], names: SteadyNames) -> Stages:
    """The stages of a program: as traced, and after each pass."""
    graphs, titles = [traced], ["traced"]
    order: list[tuple[str, int | None]] = [("traced", 0)]
    runs: dict[str, int] = {}
    for name, graph in after:
        run = runs[name] = runs.get(name, 0) + 1
        title = name if run == 1 else f"{name} ({run})"
        if graph is graphs[-1] or graph == graphs[-1]:
            order.append((title, None))
            continue
        order.append((title, len(graphs)))
        graphs.append(graph)
        titles.append(title)
    return Stages(titles, order, history(graphs, names))


def stages_section(stages: Stages, marks: Marks) -> str:
    """Tabs that work without scripts, and the rows."""
    radios = "".join(
        f'<input type="radio" name="stage" id="s{stage}" class="hidden"{" checked" if stage == 0 else ""}>'
        for stage in range(len(stages.titles))
    )
    rows = "".join(_row(row, marks) for row in stages.rows)
    switches = (
        '<span class="switches"><label for="only">changes only</label>'
        '<label for="without">without what is gone</label></span>'
    )
    return (
        f'<div class="stages"><input type="checkbox" id="only" class="hidden">'
        f'<input type="checkbox" id="without" class="hidden">{radios}'
        f'<div class="tabs">{"".join(_tabs(stages))}{switches}</div><ol class="walk rows">{rows}</ol></div>'
    )


def stage_rules(stages: Stages) -> str:
    """The style that shows the statements of each stage, and marks new and removed ones."""
    last = stages.last
    rules: list[str] = []
    for stage in range(last + 1):
        here = f"#s{stage}:checked"
        later = [f".f{other}" for other in range(stage + 1, last + 1)]
        gone = [f".t{other}" for other in range(1, stage)]
        if later or gone:
            rules.append(f"{here}~.rows>:is({','.join(later + gone)}){{display:none}}")
        tab = f'{here}~.tabs [for="s{stage}"]'
        rules.append(f"{tab}{{background:var(--accent);color:var(--on-accent);border-color:var(--accent)}}")
        rules.append(f"{tab} small{{color:inherit}}")
        rules.append(
            f'#s{stage}:focus-visible~.tabs [for="s{stage}"]{{outline:var(--ring);outline-offset:2px}}'
        )
        if stage:
            rules.append(f"{here}~.rows>.f{stage}{{background:var(--new)}}")
            rules.append(f'{here}~.rows>.f{stage}::before{{content:"+"}}')
            rules.append(f"{here}~.rows>.t{stage}{{background:var(--gone)}}")
            rules.append(f'{here}~.rows>.t{stage}::before{{content:"−"}}')
            rules.append(f"#only:checked~{here}~.rows>:not(.f{stage},.t{stage}){{display:none}}")
            rules.append(f"#without:checked~{here}~.rows>.t{stage}{{display:none}}")
    return "\n".join(rules)


def _tabs(stages: Stages) -> Iterator[str]:
    """A tab for each stage that changed something; a word for each that did not."""
    idle: list[str] = []
    for title, stage in stages.order:
        if stage is None:
            idle.append(title)
            continue
        yield from _idle(idle)
        idle = []
        if stage == 0:
            detail = f"{sum(row.is_in(0) and row.statement.call is not None for row in stages.rows)} calls"
        else:
            gone = sum(row.last == stage for row in stages.rows)
            new = sum(row.first == stage for row in stages.rows)
            detail = f"−{gone} +{new}"
        yield f'<label for="s{stage}">{escaped(title)} <small>{detail}</small></label>'
    yield from _idle(idle)


def _idle(titles: Sequence[str]) -> Iterator[str]:
    if titles:
        yield f'<span class="idle">{escaped(", ".join(titles))}: nothing to do</span>'


def _row(row: Row, marks: Marks) -> str:
    statement = row.statement
    location = statement.call.location if statement.call else None
    classes = [f"f{row.first}"] if row.first else []
    if row.last is not None:
        classes.append(f"t{row.last}")
    kind = f' class="{" ".join(classes)}"' if classes else ""
    is_head = statement.call is None and statement.code.lstrip().startswith("def ")
    depth = len(statement.path) - is_head
    place = "" if depth == 1 else f" style=--d:{2 * depth}"  # the style indents the others by two
    return (
        f"<li{kind}{marked(marks.number(location))}><code{place}>{_code(statement.code.strip())}</code>"
        f"{marks.link(location)}</li>\n"
    )


def _code(code: str) -> str:
    """A statement with its op highlighted, and types dimmed."""
    found = _CALL.fullmatch(code)
    if found is None or len(code) > 400:
        return shortened(code)
    _, made, op, arguments = found.groups()
    types = re.sub(r": ([\w]+\[[^\]]*\])", lambda match: f"<i>: {escaped(match[1])}</i>", escaped(made))
    return f"{types} = <b>{escaped(op)}</b>({escaped(arguments)})"

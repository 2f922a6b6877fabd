"""The table of docs/reliability.md: which faults were tried, how often, and what came of them."""

import ast
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parent
PAGE: Final = FOLDER.parent.parent / "docs" / "reliability.md"
HEAD: Final = "| fault | tried | outcome |\n|---|---:|---|\n"


def faults() -> list[str]:
    """Every fault that the campaign tries, in the words of its test."""
    found: list[str] = []
    for file in sorted(FOLDER.glob("test_*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found += [
            in_words(node.name)
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
            and node.name.startswith("test_")
            and any(argument.arg == "place" for argument in node.args.args)
        ]
    return found


def in_words(test: str) -> str:
    return test.partition("[")[0].removeprefix("test_").replace("_", " ")


def row(fault: str, outcomes: Mapping[str, int]) -> str:
    """A fault with the number of trials and their outcomes, the most frequent first."""
    kinds: Counter[str] = Counter()
    for outcome, count in outcomes.items():
        kinds[kind(outcome)] += count
    shown = ", ".join(f"{name} ({count})" for name, count in kinds.most_common())
    return f"| {fault} | {kinds.total()} | {shown} |\n"


def kind(outcome: str) -> str:
    """An outcome without the file that was damaged, and without the warnings that came with right numbers."""
    last = re.sub(r", \w+Warning", "", outcome.rpartition(": ")[2])
    steps = last.split(" and ")
    return steps[0] if len(set(steps)) == 1 else last


def write_table(found: Mapping[str, Mapping[str, int]], page: Path = PAGE) -> None:
    """Write the rows of the faults that were tried into the page; the others stay as they are."""
    text = page.read_text(encoding="utf-8")
    before, head, rest = text.partition(HEAD)
    assert head, f"{page} has no table under {HEAD}"
    lines = rest.splitlines(keepends=True)
    end = next((i for i, line in enumerate(lines) if not line.startswith("|")), len(lines))
    known = {line.split("|")[1].strip(): line for line in lines[:end]}
    known |= {fault: row(fault, outcomes) for fault, outcomes in found.items()}
    table = "".join(known[fault] for fault in faults() if fault in known)
    page.write_text(before + HEAD + table + "".join(lines[end:]), encoding="utf-8")


def rows_of(page: Path = PAGE) -> list[str]:
    """The faults that the page lists."""
    lines = page.read_text(encoding="utf-8").partition(HEAD)[2].splitlines()
    end = next((i for i, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [line.split("|")[1].strip() for line in lines[:end]]

"""``TRACEMILL_DUMP``: a folder for each compiled program, with all its stages as files.

Two dumps of the same program differ only in ``log.json``, which has the times.
"""

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ...compiler.errors import TracemillError
from ..files.cache_folder import delete, discard, temporary_in
from ..log import complain_once
from ..report.report import report_html
from ..stage_times import StageTimes

if TYPE_CHECKING:
    from ..lowering.lowered_program import LoweredProgram

LOG = "log.json"
_KEY_DIGITS = 12
_NAME = 60
"""Characters of a function's name in the name of its folder."""


def dump(lowered: "LoweredProgram", times: StageTimes, place: str) -> Path | None:
    """Write the folder of a program, in place of an earlier one of the same program; returns its path.

    None, and a single `SettingWarning`, if it cannot be written.
    """
    try:
        root = Path(os.path.abspath(os.path.expanduser(place)))
        root.mkdir(parents=True, exist_ok=True)
        built = temporary_in(root)
        try:
            built.mkdir()
            for name, text in files_of(lowered, times):
                file = built / name
                file.parent.mkdir(exist_ok=True)
                file.write_text(text.rstrip("\n") + "\n", encoding="utf-8", newline="\n")
            return _installed(built, root / folder_name(lowered))
        finally:
            delete(built)
    except (OSError, ValueError) as error:  # a null byte is a ValueError
        reason = getattr(error, "strerror", None) or error
        complain_once(
            f"TRACEMILL_DUMP={place!r}: no dump is written: {reason}. Name a folder that you can write to"
        )
        return None


def folder_name(lowered: "LoweredProgram") -> str:
    """The function's name and a digest of what is compiled: ``loss-4f0c1a2b3c4d``."""
    digest = hashlib.sha256(f"{lowered.identity}\n{lowered.graph}".encode()).hexdigest()
    return f"{lowered.graph.name[:_NAME]}-{digest[:_KEY_DIGITS]}"


def files_of(lowered: "LoweredProgram", times: StageTimes) -> Iterator[tuple[str, str]]:
    """The files by their names within the folder."""
    yield "00-traced.txt", f"# {lowered.signature}\n{lowered.graph}"
    before = lowered.graph
    for number, (name, graph) in enumerate(lowered.stages, start=1):
        yield f"{number:02}-{name}.txt", str(graph) if graph != before else "# nothing to do"
        before = graph
    for number, transform in enumerate(lowered.transforms):
        yield f"transforms/{number:02}-{transform.name}.txt", str(transform)
    yield "index.html", report_html(lowered, is_timed=False)
    yield "memory.txt", str(lowered.memory)
    yield "cost.json", _json(lowered.cost.counts())
    if lowered.plan is not None:
        yield "plan.txt", str(lowered.plan)
    else:
        yield f"{lowered.graph.name}.py", lowered.source
        if lowered.c_source is not None:
            yield f"{lowered.graph.name}.c", lowered.c_source
    problems: list[str] = []
    for kernel in lowered.kernels:
        for name, text in kernel.files.items():
            yield f"kernels/{name}", text
        if lowered.backend == "triton":
            try:
                yield f"kernels/{kernel.name}.ptx", kernel.ptx
            except TracemillError as error:
                problems.append(f"{kernel.name}.ptx: {error.message}")
    stages = [{"stage": name, "seconds": seconds} for name, seconds in times.stages]
    log = {"signature": str(lowered.signature), "backend": lowered.backend, "from_disk": times.from_disk}
    yield LOG, _json({**log, "stages": stages, "total": times.total, "problems": problems})


def _installed(built: Path, final: Path) -> Path:
    """Rename a folder to its place; if several processes write the same program, one of them stays."""
    for _ in range(3):
        with contextlib.suppress(OSError):
            os.rename(built, final)
            return final
        with contextlib.suppress(FileNotFoundError):  # another process took it away
            if not stat.S_ISDIR(os.lstat(final).st_mode):
                break  # that is not a dump: it stays, and renaming says why nothing is written
            discard(final)
    os.rename(built, final)
    return final


def _json(document: object) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False)

"""``tracemill gpu-check``: whether programs work on this machine's GPU, and how fast they are compared with others."""

import json
import tempfile
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from ...compiler.errors import MissingPackageError
from ...runtime.files.output_file import write_output
from ...runtime.gpu.driver import driver
from ...runtime.machine.package_versions import version_of_package
from ..bench.machine import machine_text
from ..gpu_check.check import check
from ..gpu_check.findings import Findings
from ..gpu_check.offline import OfflineKernel, architecture_named, offline, offline_markdown, offline_table
from ..gpu_check.peers import PEERS, is_installed, version_of
from ..gpu_check.rows import ROWS
from ..gpu_check.tables import markdown, picture, problems_of, table_of
from ..gpu_check.worker import OURS
from ..terminal.output_path import FORCE, to_folder
from ..terminal.wide_console import wide_console

FOUND: Final = "gpu-check.json"
TABLES: Final = "gpu-check.md"
PICTURE: Final = "gpu-check.svg"
OFFLINE: Final = "gpu-offline.md"


@click.command("gpu-check")
@click.option(
    "--rows",
    "beginnings",
    multiple=True,
    metavar="NAME",
    help="Run only the rows whose names start with NAME. Repeatable.",
)
@click.option(
    "--vs",
    "peers",
    multiple=True,
    type=click.Choice(["none", *PEERS]),
    help="Another framework to time. Default: all that are installed. Repeatable.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=1),
    default=480.0,
    show_default=True,
    help="Time limit; rows that are left are skipped.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    callback=to_folder(FOUND, TABLES, PICTURE, OFFLINE),
    help="Write JSON, tables and a chart to this folder.",
)
@FORCE
@click.option("--small", is_flag=True, help="Use small arrays, which check correctness but not speed.")
@click.option(
    "--offline",
    "architectures",
    multiple=True,
    metavar="ARCHITECTURE",
    help="Compile without a GPU, for example for sm_90, and report on the machine code. Repeatable.",
)
def gpu_check(
    beginnings: tuple[str, ...],
    peers: tuple[str, ...],
    seconds: float,
    folder: Path | None,
    force: bool,
    small: bool,
    architectures: tuple[str, ...],
) -> None:
    """Check that programs work on the first GPU, and time them against PyTorch and JAX.

    The report starts with the measured limits of the card and with examples that are compared with NumPy. Each row
    after that is a plain NumPy function. Its results are compared with NumPy's in double precision, and the GPU's own
    clock times it. Each framework runs in a process of its own. The folder is updated after each row. The exit status
    is 1 if a result of Tracemill is wrong.

    The roofline is a lower bound on the time, from the bytes and operations of a row: once at the copying speed
    measured on this card, once at the speed of its data sheet. Keep the machine otherwise idle.
    """
    if find_spec("triton") is None:
        raise MissingPackageError("compiling for GPUs needs Triton: pip install 'tracemill[gpu]', on Linux")
    rows = _rows_that_start_with(beginnings)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    console = wide_console()
    if architectures:
        _offline(rows, architectures, folder, console, force=force)
    else:
        _check(rows, peers, seconds, folder, console, small=small, force=force)


def _rows_that_start_with(beginnings: tuple[str, ...]) -> list[str]:
    for beginning in beginnings:
        if not any(row.startswith(beginning) for row in ROWS):
            raise click.BadParameter(
                f"no row starts with {beginning!r}: choose of {', '.join(ROWS)}", param_hint="--rows"
            )
    return [row for row in ROWS if not beginnings or row.startswith(beginnings)]


# ---- with a GPU ----------------------------------------------------------------------------------------


def _check(
    rows: list[str],
    peers: tuple[str, ...],
    seconds: float,
    folder: Path | None,
    console: Console,
    *,
    small: bool,
    force: bool,
) -> None:
    driver()  # raises if something is missing
    for name in peers:
        if name != "none" and not is_installed(name):
            console.print(f"{name} is not installed, so it takes no part", markup=False)
    taking_part = [name for name in PEERS if is_installed(name) and (name in peers or not peers)]
    versions = {OURS: version_of_package(OURS), **{name: version_of(name) for name in taking_part}}
    findings = Findings(machine_text(), small, versions)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        status = stack.enter_context(console.status("looking at the card"))  # silent in a pipe

        def report(added: str) -> None:
            status.update(f"{added} is done")
            if folder is not None:
                text = json.dumps(findings.document(), indent=1) + "\n"
                write_output(folder / FOUND, text.encode(), overwrite=True)  # that of the row before

        check(findings, rows, scratch, seconds=seconds, report=report)
    _show(findings, console)
    if folder is not None:
        write_output(folder / TABLES, markdown(findings).encode(), overwrite=force)
        if find_spec("matplotlib") is not None:
            write_output(folder / PICTURE, picture(findings), overwrite=force)
        console.print(f"wrote {folder}", highlight=False)
    if findings.failures:
        raise click.ClickException(f"{len(findings.failures)} of our results are missing or wrong")


def _show(findings: Findings, console: Console) -> None:
    console.print(str(findings.card), style="bold", markup=False, highlight=False, soft_wrap=True)
    if findings.ceilings is not None:
        console.print(str(findings.ceilings), markup=False, highlight=False, soft_wrap=True)
    wrong = {name: problem for name, problem in findings.examples.items() if problem}
    right = len(findings.examples) - len(wrong)
    console.print(f"{right} of {len(findings.examples)} examples give what NumPy gives", highlight=False)
    for name, problem in wrong.items():
        console.print(f"  {name}: {problem}", style="red", markup=False, highlight=False, soft_wrap=True)
    console.print()
    console.print(table_of(findings))
    for problem in problems_of(findings):
        console.print(f"  {problem}", markup=False, highlight=False, soft_wrap=True)


# ---- without one ---------------------------------------------------------------------------------------


def _offline(
    rows: list[str], architectures: tuple[str, ...], folder: Path | None, console: Console, *, force: bool
) -> None:
    for architecture in architectures:
        architecture_named(architecture)  # raises before anything is compiled
    kernels: list[OfflineKernel] = []
    about = f"{machine_text()}; triton {version_of_package('triton')}"
    console.print(about, style="dim", highlight=False, soft_wrap=True)
    with console.status("compiling") as status:
        for row in rows:
            for architecture in architectures:
                kernels += offline(ROWS[row], architecture)
            status.update(f"{row} is done")
    console.print(offline_table(kernels))
    if folder is not None:
        text = offline_markdown(kernels) + f"\n{about}.\n"
        write_output(folder / OFFLINE, text.encode(), overwrite=force)
        console.print(f"wrote {folder}", highlight=False)

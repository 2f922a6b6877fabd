"""``tracemill doctor``: the environment of compiled programs, and whether they work."""

import json
import os
import platform
import sys
from dataclasses import asdict, dataclass
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...compiler.errors import MissingCompilerError, TracemillError
from ...compiler.errors.tracemill_error import text_of
from ...runtime.cache.disk_cache import default_cache
from ...runtime.compilation.compile import compile
from ...runtime.environment import usual_backend
from ...runtime.gpu.device import Device, gpus
from ...runtime.machine.compiler_features import FEATURES, REQUIRED
from ...runtime.machine.machine_facts import place_of, recall
from ...runtime.machine.measurements import Machine, measure, measured_machine
from ...runtime.machine.package_versions import NOT_INSTALLED, version_of_package
from ...runtime.machine.threads import available_cores, get_num_threads
from ...runtime.machine.toolchain import Toolchain, recheck_compiler, toolchain, why_this
from .cache_commands import count_text, size_text


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    section: str
    name: str
    value: str
    ok: bool | None = None
    """Whether it is in order; None if there is no right or wrong."""


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--measure",
    "anew",
    is_flag=True,
    help="Repeat the measurements of the machine and the compiler, which are otherwise cached.",
)
def doctor(as_json: bool, anew: bool) -> None:
    """Report versions, the C compiler, threads, the cache and the GPUs, and check that each backend works."""
    machine = measure() if anew else measured_machine()
    if anew:
        recheck_compiler()
    findings = [
        *_versions(),
        *_compiler(),
        *_threads(),
        *_cache(),
        *_facts(),
        *_machine(machine),
        *_gpus(),
        *(_check(backend) for backend in ("numpy", "c")),
    ]
    if as_json:
        click.echo(json.dumps({"findings": [asdict(f) for f in findings], "machine": asdict(machine)}))
    else:
        Console().print(_table(findings))
    if any(f.section == "check" and f.name == "numpy" and not f.ok for f in findings):
        raise click.ClickException("the NumPy backend does not work here")


def _versions() -> list[Finding]:
    found = {
        "tracemill": version_of_package("tracemill"),
        "Python": f"{platform.python_implementation()} {sys.version.split()[0]}",
        "NumPy": np.__version__,
        "BLAS": _blas(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    return [Finding("versions", name, value) for name, value in found.items()]


def _blas() -> str:
    """NumPy's library for matrix products, if it reports one."""
    about: Any = np.show_config(mode="dicts")
    found = about.get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def _compiler() -> list[Finding]:
    try:
        found = toolchain()
    except MissingCompilerError as error:
        is_named = bool(os.environ.get("TRACEMILL_CC"))
        return [Finding("compiler", "C", error.message, ok=False if is_named else None)]
    except TracemillError as error:
        return [Finding("compiler", "C", error.message, ok=False)]
    return [
        Finding("compiler", "command", " ".join(found.command), ok=found.is_found),
        Finding("compiler", "chosen", why_this(found.command)),
        Finding("compiler", "version", found.version),
        *_features(found),
        Finding("compiler", "flags", " ".join((*REQUIRED, *found.flags))),
    ]


def _features(found: Toolchain) -> list[Finding]:
    why_not = dict(found.why_not)
    findings: list[Finding] = []
    for feature in FEATURES:
        used = next((a for a in feature.alternatives if set(a) <= set(found.flags)), ())
        value = f"not here: {why_not[feature.name]}" if feature.name in why_not else " ".join(used)
        ok = None if feature.name in why_not else True  # programs are slower without it, and not wrong
        if feature.name in found.unasked:
            value = f"could not be asked, as a plain program failed too: {why_not.get(feature.name, value)}"
            ok = False
        findings.append(Finding("compiler", feature.name, value, ok=ok))
    return findings


def _threads() -> list[Finding]:
    return [
        Finding("threads", "programs use", str(get_num_threads())),
        Finding("threads", "cores", str(available_cores())),
    ]


def _cache() -> list[Finding]:
    info = default_cache().info()
    state = (
        f"{count_text(info.count)}, {size_text(info.bytes)}" if info.enabled else f"not used: {info.why_not}"
    )
    return [
        Finding("cache", "folder", str(info.folder)),
        Finding("cache", "state", state, ok=info.enabled),
    ]


def _facts() -> list[Finding]:
    """Facts that other processes use without measuring again."""
    findings: list[Finding] = []
    for name, what in (("toolchain", "the compiler"), ("machine", "the machine")):
        place = place_of(name)
        if place is None:
            value = "not remembered, as there is no disk cache"
        elif recall(name):
            value = f"remembered in {place}; --measure finds out again"
        else:
            value = "not remembered: each process finds out again"
        findings.append(Finding("facts", what, value))
    return findings


def _machine(machine: Machine) -> list[Finding]:
    found = {
        "processor": machine.processor,
        "caches": ", ".join(f"L{level} {size_text(size)}" for level, size in machine.caches.items())
        or "unknown",
        **{
            f"{threads} thread{'s' * (threads > 1)} copy": f"{speed / 1e9:.1f} GB/s, read and written"
            for threads, speed in machine.copied.items()
        },
        **{
            f"products of {dtype}": f"{speed / 1e9:.1f} Gflop/s, by NumPy's BLAS"
            for dtype, speed in machine.multiplied.items()
        },
        "a call of NumPy": f"{machine.call * 1e6:.2f} µs",
    }
    return [Finding("machine", name, value) for name, value in found.items()]


def _gpus() -> list[Finding]:
    """The compiler for GPU programs, and the GPUs of this machine."""
    triton = version_of_package("triton")
    if triton == NOT_INSTALLED:
        triton += ": kernels for GPUs are compiled by it, pip install 'tracemill[gpu]'"
    found = [Finding("GPUs", "Triton", triton)]
    try:
        devices = gpus()
    except TracemillError as error:  # most machines have none
        return [*found, Finding("GPUs", "CUDA", error.message)]
    return [*found, *(Finding("GPUs", device.name, _device_text(device), ok=True) for device in devices)]


def _device_text(device: Device) -> str:
    free, total = device.memory()
    memory = f"{size_text(free)} of {size_text(total)} free"
    return f"{device.product}, {device.target}, {memory}, driver for CUDA {device.cuda_version}"


def _check(backend: str) -> Finding:
    """Whether a small program gives NumPy's result."""
    x = np.linspace(-2.0, 2.0, 1000).reshape(10, 100)
    is_auto = usual_backend() in ("auto", backend)
    try:
        difference = np.max(np.abs(compile(_sample, backend=backend)(x) - _sample(x)))
    except MissingCompilerError:
        return Finding("check", backend, "not here: NumPy computes all programs")
    except Exception as error:  # any error is the answer
        return Finding("check", backend, f"{type(error).__name__}: {text_of(error)}", ok=False)
    note = "" if is_auto else f"; TRACEMILL_BACKEND={usual_backend()} asks for another"
    ok = bool(difference < 1e-12)
    return Finding(
        "check", backend, f"{'works' if ok else f'differs from NumPy by {difference:.1e}'}{note}", ok=ok
    )


def _sample(x: Any) -> Any:
    return np.cumsum(np.tanh(x) * np.exp(-x * x), axis=1) / (1 + np.sum(x * x, axis=1, keepdims=True))


def _table(findings: list[Finding]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    marks = {None: "", True: "[green]✓[/] ", False: "[red]✗[/] "}
    section = ""
    for finding in findings:
        first = finding.section if finding.section != section else ""
        table.add_row(first, finding.name, marks[finding.ok] + escape(finding.value))
        section = finding.section
    return table

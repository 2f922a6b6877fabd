"""Identifies the processor: code that was compiled for one may not run on another."""

import functools
import platform
from hashlib import sha256
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
_TELLING = {
    "vendor_id", "cpu family", "model", "model name", "flags",  # x86
    "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features",  # Arm
    "isa", "uarch", "cpu", "machine",  # RISC-V, POWER, s390
}  # fmt: skip


@functools.cache
def processor_name() -> str:
    """The common name of the processor."""
    facts = _facts()
    return facts.get("model name") or facts.get("cpu") or platform.processor() or platform.machine()


@functools.cache
def processor_digest() -> str:
    """The same for processors that run the same code."""
    facts = _facts() or {"name": f"{platform.machine()} {platform.processor()}"}
    text = "\n".join(f"{name}: {value}" for name, value in sorted(facts.items()))
    return sha256(text.encode()).hexdigest()[:16]


@functools.cache
def _facts() -> dict[str, str]:
    """Linux's description of the first core. The file is long on large machines, and slow to generate: only its start
    is read."""
    try:
        with _CPUINFO.open("rb", buffering=0) as file:
            text = file.read(16384).decode(errors="replace")
    except OSError:
        return {}
    pairs = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs if name.strip() in _TELLING}

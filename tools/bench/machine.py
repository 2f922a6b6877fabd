"""The machine on which a benchmark was measured."""

import os
import platform
from datetime import date
from pathlib import Path

import numpy as np


def machine_text() -> str:
    """The machine, the versions, and the date."""
    computer = f"{_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    return f"{date.today()}, {computer}, Python {platform.python_version()}, NumPy {np.__version__}"


def _processor() -> str:
    """The processor's name: Linux has it only in a file."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next(
        (line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine()
    )

"""Files that tests have compiled, kept between runs and shared by the processes of one."""

import json
import os
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from shutil import which
from tempfile import NamedTemporaryFile
from typing import Any

from tracemill.runtime.machine.processor import processor_digest

FOLDER = Path(__file__).parents[2] / ".pytest_cache" / "compiled"
"""``pytest --cache-clear`` empties it."""


def kept(suffix: str, made_of: Any, make: Callable[[], bytes]) -> Path:
    """What compiling gives, which is done if no run on this machine has done it.

    `made_of` is all that it depends on, as JSON has it: the text, the flags, and the compiler.
    """
    path = FOLDER / f"{sha256(json.dumps(made_of).encode()).hexdigest()}{suffix}"
    if not path.exists():
        made = make()
        FOLDER.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=FOLDER, delete=False) as file:
            file.write(made)
        os.chmod(file.name, 0o755)  # some are programs
        os.replace(file.name, path)
    return path


def compiler_facts(command: Sequence[str]) -> list[Any]:
    """What tells a compiler from others, and from itself after an update."""
    status = os.stat(which(command[0]) or command[0])
    return [*command, status.st_size, status.st_mtime_ns, processor_digest()]


def is_program(path: str) -> bool:
    """Rather than a script."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def keeping(compile: Callable[..., bytes]) -> Callable[..., bytes]:
    """Compiling that keeps what a C compiler makes. Scripts, which stand for one in tests, run each time."""

    def compiled(
        command: Sequence[str], flags: Sequence[str], text: str, *limits: Any, **options: Any
    ) -> bytes:
        if not is_program(command[0]):
            return compile(command, flags, text, *limits, **options)
        key = [compiler_facts(command), list(flags), text]
        return kept(".so", key, lambda: compile(command, flags, text, *limits, **options)).read_bytes()

    return compiled

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
    """The file that `make` gives, made unless an earlier run on this machine has made it.

    `made_of` is everything that it depends on, as JSON: the text, the flags, and the compiler.
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
    """What distinguishes a compiler from others, and from itself after an update."""
    status = os.stat(which(command[0]) or command[0])
    return [*command, status.st_size, status.st_mtime_ns, processor_digest()]


def is_program(path: str) -> bool:
    """Whether the file is a binary and not a script."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def keeping(compile: Callable[..., bytes]) -> Callable[..., bytes]:
    """`compile`, but what a C compiler makes is kept. Scripts that stand in for a compiler run each time."""

    def compiled(
        command: Sequence[str], flags: Sequence[str], text: str, *limits: Any, **options: Any
    ) -> bytes:
        if not is_program(command[0]):
            return compile(command, flags, text, *limits, **options)
        key = [compiler_facts(command), list(flags), text]
        return kept(".so", key, lambda: compile(command, flags, text, *limits, **options)).read_bytes()

    return compiled

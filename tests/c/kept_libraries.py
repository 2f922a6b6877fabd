"""Shared libraries that tests compile, kept between runs and shared by the processes of one."""

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

from tracemill.runtime.machine.toolchain import Toolchain

FOLDER = Path(__file__).parents[2] / ".pytest_cache" / "libraries"
"""``pytest --cache-clear`` empties it."""


def kept(toolchain: Toolchain, flags: str, text: str, compile: Callable[[], bytes]) -> Path:
    """The library of a C text, which is compiled if no run on this machine has compiled it with these flags."""
    key = json.dumps([dict(toolchain.identity()), toolchain.command, flags, text])
    path = FOLDER / f"{sha256(key.encode()).hexdigest()}.so"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=FOLDER, delete=False) as file:
            file.write(compile())
        os.replace(file.name, path)
    return path

"""Runs a C compiler in a process of its own, and returns its output."""

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any, Final

from ...compiler.errors import CompilerError
from ..files.scratch_folder import ScratchFolder

SECONDS = 600.0
"""The time limit for compiling a program."""
INSTEAD: Final = "name another one in TRACEMILL_CC, or choose backend='numpy'"
"""What a user can do about a compiler that fails."""
_OWN_CACHES: Final = {"ZIG_LOCAL_CACHE_DIR": "."}
"""What keeps compilers from collecting what they have made: every program is compiled once."""
STOPPED: Final[set[str]] = set()
"""The compilers that timed out. ``backend="auto"`` does not wait for them again."""


def compiled(
    command: Sequence[str],
    flags: Sequence[str],
    text: str,
    seconds: float = SECONDS,
    *,
    keeps_text: bool = True,
) -> bytes:
    """The shared library that a compiler makes of a C text. If it fails, the text stays where the error says.

    The compiler's own temporary files are in the same folder, so that they are removed even if it is killed.
    """
    line = [*command, *flags, "-o", "program.so", "program.c", "-lm"]
    try:
        with ScratchFolder() as folder:
            folder.write("program.c", text.encode())
            status, _, said = run(line, seconds, folder.working_path)
            if status == 0 and (made := _left_by(command, folder)) is not None:
                return made
            if keeps_text:
                folder.keep()
            place = folder.path / "program.c" if keeps_text else "program.c"
    except OSError as error:
        raise CompilerError(
            f"there is no place to compile a program in {_temporary_folder()} ({error}): free some space, set TMPDIR "
            "to another folder, or choose backend='numpy'"
        ) from error
    how = f"exit status {status}" if status >= 0 else f"killed by signal {-status}"
    raise CompilerError(
        f"the C compiler failed ({how}) on {place}:\n{said.strip() or 'it says nothing'}\n"
        f"The command was: {shlex.join(line)}\n"
        f"See what `tracemill doctor` says of it, {INSTEAD}"
    )


def _left_by(command: Sequence[str], folder: ScratchFolder) -> bytes | None:
    """The file that a compiler has written; None if there is none."""
    try:
        return folder.read("program.so")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CompilerError(
            f"what the C compiler {shlex.join(command)} leaves is not a file to load ({error}): {INSTEAD}"
        ) from error


def run(line: Sequence[str], seconds: float, folder: str | None = None) -> tuple[int, str, str]:
    """The exit status of a compiler, and its output on both streams. None of its processes outlives the call.

    Raises:
        CompilerError: it cannot be started, or does not end within this many seconds.
    """
    try:
        with _CompilerProcess(line, folder) as process:
            out, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as error:
        STOPPED.add(line[0])
        raise CompilerError(
            f"the C compiler {line[0]} has not ended after {seconds:g} seconds and was stopped: {INSTEAD}"
        ) from error
    except (OSError, subprocess.SubprocessError) as error:
        raise cannot_run(line[:1], error) from error
    return process.returncode, out, said


class _CompilerProcess(subprocess.Popen[str]):
    """A compiler, and the group of all processes that it starts. Any exception kills the whole group.

    This includes an exception that a signal handler raises while the process is being started.
    """

    def __init__(self, line: Sequence[str], folder: str | None) -> None:
        self.pid = 0
        try:
            super().__init__(
                line,
                cwd=folder,
                env={**os.environ, "TMPDIR": ".", **_OWN_CACHES} if folder is not None else None,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except BaseException:
            self._kill_group()
            raise

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        if kind is not None:
            self._kill_group()
        super().__exit__(kind, *rest)

    def _kill_group(self) -> None:
        if self.pid and self.returncode is None:
            for kill in (
                os.kill,
                os.killpg,
            ):  # a process that has just been started is not a group leader yet
                with contextlib.suppress(ProcessLookupError):
                    kill(self.pid, signal.SIGKILL)


def cannot_run(command: Sequence[str], error: Exception) -> CompilerError:
    """The error for a compiler that does not even start."""
    return CompilerError(f"the C compiler {shlex.join(command)} cannot be run ({error}): {INSTEAD}")


def _temporary_folder() -> str:
    """The folder for temporary files, if there is one."""
    with contextlib.suppress(OSError):
        return tempfile.gettempdir()
    return os.environ.get("TMPDIR", "the temporary folder")

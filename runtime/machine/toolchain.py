"""The C compiler of this machine: which one, what it supports, and how to call it."""

import contextlib
import ctypes
import functools
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any, Final

from ...compiler.backends.c.flags import FAST, FLAGS, LONG, QUICK
from ...compiler.errors import CompilerError, CompilerWarning, MissingCompilerError
from ..files.scratch_folder import ScratchFolder
from .loaded_library import LoadedLibrary
from .machine_facts import recall, remember
from .processor import processor_digest

SETTINGS = ("TRACEMILL_CC", "CC")
NAMES = ("cc", "gcc", "clang")
SECONDS = 600.0
"""The time limit for compiling a program."""
PROBE_SECONDS = 30.0
"""The time limit for testing a feature."""
_LONGEST_VERSION: Final = 200
"""Characters of a compiler's message that are kept."""
_INSTEAD: Final = "name another one in TRACEMILL_CC, or choose backend='numpy'"

REQUIRED = (*FLAGS, *(("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()))
"""The flags of every program."""

_complained: set[str | None] = set()
"""The values of ``TRACEMILL_CC`` whose problems have been reported: each is reported once."""
_stopped: set[str] = set()
"""The compilers that timed out. ``backend="auto"`` does not wait for them again."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature that a compiler may support."""

    name: str
    alternatives: tuple[tuple[str, ...], ...]
    """Flags that enable it, the best first."""


FEATURES = (
    Feature("code for this processor", (("-march=native",), ("-mcpu=native",))),
    Feature("threads", (("-fopenmp",),)),
    Feature("vector loops", (("-fopenmp-simd",),)),
    Feature("vector math", (("-DTM_VECTOR_MATH",), ("-fveclib=libmvec",))),
    Feature("512-bit vectors", (("-mprefer-vector-width=512",),)),
)  # fmt: skip

PROBE = """\
#include <math.h>
#ifdef TM_VECTOR_MATH
#ifdef __clang__
#error "clang vectorises calls by -fveclib"
#endif
__attribute__((simd("notinbranch"))) double tanh(double);
__attribute__((simd("notinbranch"))) float erff(float);
#endif
#if defined(WANTS_512_BITS) && !defined(__AVX512F__)
#error "the processor has no such vectors"
#endif
void sums(const double *restrict x, const float *restrict y, double *restrict sum, long n, long threads) {
    double total = 0;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (long i = 0; i < n; i++) sum[i + 1] = tanh(x[i]) + erff(y[i]);
#pragma omp simd reduction(+ : total)
    for (long i = 0; i < n; i++) total += sum[i + 1];
    sum[0] = total;
}
"""
"""Uses all features. Without their flags, it is plain C."""

WANTS = {"-mprefer-vector-width=512": "-DWANTS_512_BITS"}
"""Flags that every processor accepts: the probe tests whether they have an effect."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A C compiler that works."""

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]
    """In addition to `REQUIRED`: the supported features."""
    why_not: tuple[tuple[str, str], ...]
    """For unsupported features: the compiler's message."""
    unasked: tuple[str, ...] = ()
    """The features among these for which there is no answer, because even a plain program failed at that moment."""
    is_found: bool = True
    """Otherwise it is only remembered: its programs are in the cache, and no others can be compiled."""

    def compile(self, text: str, *, fast_math: bool = False, keeps_text: bool = True) -> bytes:
        """The shared library made from a C text. If it fails and `keeps_text`, the text stays where the error says.

        Raises:
            MissingCompilerError: the compiler is no longer found.
            CompilerError: it fails; what it says.
        """
        if not self.is_found:
            raise missing_compiler(None)
        quick = QUICK if len(text) >= LONG else ()
        flags = [*self.flags_for(fast_math=fast_math), *quick]
        return compiled(self.command, flags, text, SECONDS, keeps_text=keeps_text)

    def flags_for(self, *, fast_math: bool) -> tuple[str, ...]:
        """The flags with which programs are compiled."""
        return (*REQUIRED, *self.flags, *(FAST if fast_math else ()))

    def identity(self) -> Mapping[str, str]:
        """What its code depends on."""
        flags = " ".join((*REQUIRED, *FAST, *QUICK, *self.flags))
        return {"compiler": self.version, "flags": flags, "processor": processor_digest()}


def toolchain() -> Toolchain:
    """The compiler for the current environment, or the first one that works.

    If ``TRACEMILL_CC`` names one, no other is tried; otherwise ``CC``, ``cc``, ``gcc`` and ``clang`` are, in this
    order. Its features are tested once, and stored in the disk cache's folder. A compiler that has been removed can
    still be the one whose programs are in the cache.

    Raises:
        MissingCompilerError: there is none.
        CompilerError: there are some, but none can compile a few lines: what the first of them says.
    """
    found = _known(tuple(map(os.environ.get, (*SETTINGS, "PATH", "TRACEMILL_CACHE", "TRACEMILL_CACHE_DIR"))))
    if isinstance(found, Toolchain):
        return found
    raise type(found)(found.message)


def working_toolchain() -> Toolchain | None:
    """`toolchain`, or None, with a single `CompilerWarning`, if that raises or has timed out before."""
    try:
        found = toolchain()
    except (MissingCompilerError, CompilerError) as error:
        warn_once(error)
        return None
    return None if found.command[0] in _stopped else found


def recheck_compiler() -> None:
    """Test the compiler again. If it is gone, the stored features stay, for the programs in the cache."""
    _known.cache_clear()
    _stopped.clear()
    known = recall("toolchain")
    if isinstance(stamp := known.get("stamp"), list):
        remember("toolchain", {**known, "stamp": stamp[-1:]})  # which is not a compiler's


def warn_once(error: CompilerError | MissingCompilerError) -> None:
    """The `CompilerWarning` that NumPy computes instead; none if no compiler is named and none exists."""
    named = os.environ.get("TRACEMILL_CC")
    if named in _complained or (isinstance(error, MissingCompilerError) and not named):
        return
    _complained.add(named)
    warnings.warn(f"NumPy does without C: {error.message}", CompilerWarning, stacklevel=2)


@functools.lru_cache(maxsize=8)
def _known(settings: tuple[str | None, ...]) -> "Toolchain | CompilerError | MissingCompilerError":
    """`toolchain`, or its error: a compiler that failed is not tested again by this process."""
    try:
        return _find()
    except (MissingCompilerError, CompilerError) as error:
        return error


def _find() -> Toolchain:
    known = recall("toolchain")
    failure: CompilerError | None = None
    for command in _commands():
        try:
            stamp = _stamp(command)
            if known.get("stamp") == stamp and (found := _recalled(known)) is not None:
                return found
            found = _probed(command)
        except CompilerError as error:
            failure = failure or error
            continue
        if not found.unasked:
            remember("toolchain", {"stamp": stamp, **asdict(found)})
        return found
    if failure is not None:
        raise failure
    named = os.environ.get("TRACEMILL_CC")
    if not named and (found := _recalled(known)) is not None:
        return replace(found, is_found=False)
    raise missing_compiler(named)


def missing_compiler(named: str | None) -> MissingCompilerError:
    """The error that says what to install."""
    if named:
        return MissingCompilerError(
            f"TRACEMILL_CC={named} does not name a program: set it to a C compiler, such as gcc"
        )
    return MissingCompilerError(
        f"no C compiler is found ({', '.join(NAMES)}): install one (`apt install gcc`, `dnf install gcc`, "
        "`xcode-select --install`), set TRACEMILL_CC to one, or choose backend='numpy'"
    )


def _commands() -> Iterator[list[str]]:
    """The existing compilers, as absolute paths with their first arguments."""
    if os.name == "nt":
        return
    named = _setting("TRACEMILL_CC")
    for command in [named] if named else [_setting("CC"), *([name] for name in NAMES)]:
        path = shutil.which(command[0]) if command else None
        if path is not None:
            yield [os.path.abspath(path), *command[1:]]


def _setting(name: str) -> list[str]:
    """The words of a command in the environment."""
    given = os.environ.get(name, "")
    try:
        return shlex.split(given)
    except ValueError as error:
        raise CompilerError(f"{name}={given} is not a command ({error}): correct it, or unset it") from error


def _stamp(command: Sequence[str]) -> list[Any]:
    """Changes with the compiler."""
    try:
        status = os.stat(command[0])
    except OSError as error:
        raise _cannot_run(command, error) from error
    return [*command, status.st_mtime_ns, status.st_size, _questions()]


def _questions() -> str:
    """The key of the stored features: the same for one processor and one version of the tests."""
    asked = repr((processor_digest(), REQUIRED, FEATURES, PROBE, WANTS))
    return sha256(asked.encode()).hexdigest()[:16]


def _recalled(known: Mapping[str, Any]) -> Toolchain | None:
    """The stored features; None if there are none, or if they are for other tests, or unreadable."""
    try:
        if known["stamp"][-1] != _questions():
            return None
        why_not = tuple((str(name), str(reason)) for name, reason in known["why_not"])
        command, flags = (tuple(map(str, known[name])) for name in ("command", "flags"))
        return Toolchain(command, str(known["version"]), flags, why_not)
    except (KeyError, IndexError, TypeError, ValueError):
        return None


# ---- asking what it can do ---------------------------------------------------------------------------


def _probed(command: Sequence[str]) -> Toolchain:
    """All features at once if that works, otherwise one after another."""
    version = _version(command)
    best = [flag for feature in FEATURES for flag in feature.alternatives[0]]
    if _problem(command, best) is None:
        return Toolchain(tuple(command), version, tuple(best), ())
    _check(command, ())  # which raises if nothing works at all
    flags: list[str] = []
    why_not: list[tuple[str, str]] = []
    unasked: list[str] = []
    for feature in FEATURES:
        problems: list[str] = []
        is_answered = True
        for alternative in feature.alternatives:
            problem, is_answer = _answer(command, [*flags, *alternative])
            if problem is None:
                flags += alternative
                break
            is_answered &= is_answer
            problems.append(f"{' '.join(alternative)}: {problem}")
        else:
            why_not.append((feature.name, "; ".join(problems)))
        if not is_answered:
            unasked.append(feature.name)
    return Toolchain(tuple(command), version, tuple(flags), tuple(why_not), tuple(unasked))


def _version(command: Sequence[str]) -> str:
    """The first line of its version message, if it is text."""
    _, said, _ = _run([*command, "--version"], PROBE_SECONDS)
    printable = "".join(letter for letter in said.partition("\n")[0] if letter.isprintable())
    return printable[:_LONGEST_VERSION].strip()


def _answer(command: Sequence[str], flags: Sequence[str]) -> tuple[str | None, bool]:
    """Why flags do not work, and whether the flags are the reason.

    They are if it happens twice and a plain program works right after: otherwise memory, disk or processes ran out.
    """
    if _problem(command, flags) is None or (problem := _problem(command, flags)) is None:
        return None, True
    return problem, _problem(command, ()) is None


def _problem(command: Sequence[str], flags: Sequence[str]) -> str | None:
    """Why a library compiled with these flags does not work; None if it does."""
    try:
        _check(command, flags)
    except CompilerError as error:
        return _first_error(error.message)
    return None


def _check(command: Sequence[str], flags: Sequence[str]) -> None:
    """Raises `CompilerError` if a library compiled with these flags does not work."""
    asked = [WANTS[flag] for flag in flags if flag in WANTS]
    library = compiled(command, [*REQUIRED, *flags, *asked], PROBE, PROBE_SECONDS, keeps_text=False)
    try:
        loaded = LoadedLibrary(library)
        sums = loaded.library.sums
    except (OSError, AttributeError) as error:
        raise CompilerError(
            f"what the C compiler {shlex.join(command)} makes cannot be loaded ({error}): free some memory, {_INSTEAD}"
        ) from error
    x, y, total = (ctypes.c_double * 32)(*[0.5] * 32), (ctypes.c_float * 32)(), (ctypes.c_double * 33)()
    sums(x, y, total, ctypes.c_long(32), ctypes.c_long(1))
    if not abs(total[0] - 32 * 0.46211715726000976) < 1e-6:
        raise CompilerError(
            f"what the C compiler {shlex.join(command)} makes computes wrong numbers: {_INSTEAD}"
        )


def _first_error(message: str) -> str:
    """The compiler's first complaint, or the other reason of failure."""
    first, *said = (line.strip() for line in message.splitlines())
    return next((line for line in said if "error" in line), said[0] if said else first)


# ---- running it --------------------------------------------------------------------------------------


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
            status, _, said = _run(line, seconds, folder.working_path)
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
        f"See what `tracemill doctor` says of it, {_INSTEAD}"
    )


def _left_by(command: Sequence[str], folder: ScratchFolder) -> bytes | None:
    """What a compiler leaves as its output; None if there is nothing."""
    try:
        return folder.read("program.so")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CompilerError(
            f"what the C compiler {shlex.join(command)} leaves is not a file to load ({error}): {_INSTEAD}"
        ) from error


def _run(line: Sequence[str], seconds: float, folder: str | None = None) -> tuple[int, str, str]:
    """The exit status of a compiler, and its output on both streams. None of its processes outlives the call.

    Raises:
        CompilerError: it cannot be started, or does not end within this many seconds.
    """
    try:
        with _CompilerProcess(line, folder) as process:
            out, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as error:
        _stopped.add(line[0])
        raise CompilerError(
            f"the C compiler {line[0]} has not ended after {seconds:g} seconds and was stopped: {_INSTEAD}"
        ) from error
    except (OSError, subprocess.SubprocessError) as error:
        raise _cannot_run(line[:1], error) from error
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
                env={**os.environ, "TMPDIR": "."} if folder is not None else None,
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


def _cannot_run(command: Sequence[str], error: Exception) -> CompilerError:
    return CompilerError(f"the C compiler {shlex.join(command)} cannot be run ({error}): {_INSTEAD}")


def _temporary_folder() -> str:
    """The folder for temporary files, if there is one."""
    with contextlib.suppress(OSError):
        return tempfile.gettempdir()
    return os.environ.get("TMPDIR", "the temporary folder")

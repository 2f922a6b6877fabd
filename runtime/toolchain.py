"""The C compiler of this machine: which one, what it can do, and how to call it."""

import ctypes
import functools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..compiler.backends.c.flags import FAST, FLAGS, LONG, QUICK
from ..compiler.errors import CompilerError, CompilerWarning, MissingCompilerError
from .processor import processor_digest
from .remembered import recall, remember
from .threads import resting_threads

SETTINGS = ("TRACEMILL_CC", "CC")
NAMES = ("cc", "gcc", "clang")
SECONDS = 600.0
"""After which a compiler is given up."""

REQUIRED = (*FLAGS, *(("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()))
"""How every program is compiled."""

_complained: set[str] = set()
"""The settings that have been found not to work: each is said once."""


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that a compiler may be able to do."""

    name: str
    alternatives: tuple[tuple[str, ...], ...]
    """Flags that ask for it, the best first."""


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
"""Uses all that the features are about. Where they are not asked for, it is plain C."""

WANTS = {"-mprefer-vector-width=512": "-DWANTS_512_BITS"}
"""Flags that every processor accepts: the probe asks whether they mean anything."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A C compiler that works."""

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...]
    """Beside `REQUIRED`: what it can do here."""
    why_not: tuple[tuple[str, str], ...]
    """For what it cannot do: what it said."""
    is_found: bool = True
    """Else it is only remembered: its programs are in the cache, and no others can be made."""

    def compile(self, text: str, *, fast_math: bool = False) -> bytes:
        """The shared library made of a C text.

        Raises:
            MissingCompilerError: the compiler is no longer found.
            CompilerError: it fails; what it says.
        """
        if not self.is_found:
            raise missing_compiler(None)
        quick = QUICK if len(text) >= LONG else ()
        return compiled(self.command, [*self.flags_for(fast_math=fast_math), *quick], text)

    def flags_for(self, *, fast_math: bool) -> tuple[str, ...]:
        """What programs are compiled with."""
        return (*REQUIRED, *self.flags, *(FAST if fast_math else ()))

    def identity(self) -> Mapping[str, str]:
        """What the code depends on that it makes."""
        flags = " ".join((*REQUIRED, *FAST, *QUICK, *self.flags))
        return {"compiler": self.version, "flags": flags, "processor": processor_digest()}


def toolchain() -> Toolchain:
    """The compiler that the environment asks for at this moment, or the first that works.

    ``TRACEMILL_CC`` names one and no other is tried; else ``CC``, ``cc``, ``gcc`` and ``clang`` are, in this order.
    It is asked what it can do once, which the disk cache's folder keeps. A compiler that is gone can still be the one
    whose programs are in the cache.

    Raises:
        MissingCompilerError: there is none.
        CompilerError: there are some, but none can compile a few lines: what the first of them says.
    """
    found = _known(tuple(map(os.environ.get, (*SETTINGS, "PATH", "TRACEMILL_CACHE", "TRACEMILL_CACHE_DIR"))))
    if isinstance(found, Toolchain):
        return found
    raise type(found)(found.message)


def working_toolchain() -> Toolchain | None:
    """`toolchain`, or None where that raises; `CompilerWarning`, once, if ``TRACEMILL_CC`` is to blame."""
    try:
        return toolchain()
    except (MissingCompilerError, CompilerError) as error:
        named = os.environ.get("TRACEMILL_CC")
        if named and named not in _complained:
            _complained.add(named)
            warnings.warn(f"NumPy does without C: {error.message}", CompilerWarning, stacklevel=2)
        return None


@functools.lru_cache(maxsize=8)
def _known(settings: tuple[str | None, ...]) -> "Toolchain | CompilerError | MissingCompilerError":
    """`toolchain`, or the error that it raises: a compiler that failed is not asked again by this process."""
    try:
        return _find()
    except (MissingCompilerError, CompilerError) as error:
        return error


def _find() -> Toolchain:
    known = recall("toolchain")
    failure: CompilerError | None = None
    for command in _commands():
        stamp = _stamp(command)
        if known.get("stamp") == stamp and (found := _recalled(known)) is not None:
            return found
        try:
            found = _probed(command)
        except CompilerError as error:
            failure = failure or error
            continue
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
            f"TRACEMILL_CC={named} names no program: set it to a C compiler, such as gcc"
        )
    return MissingCompilerError(
        f"no C compiler is found ({', '.join(NAMES)}): install one (`apt install gcc`, `dnf install gcc`, "
        "`xcode-select --install`), set TRACEMILL_CC to one, or choose backend='numpy'"
    )


def _commands() -> Iterator[list[str]]:
    """The compilers that are there, as absolute paths with their first arguments."""
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
        raise CompilerError(f"{name}={given} is no command ({error}): correct it, or unset it") from error


def _stamp(command: Sequence[str]) -> list[Any]:
    """What changes with a compiler."""
    status = os.stat(command[0])
    return [*command, status.st_mtime_ns, status.st_size, _questions()]


def _questions() -> str:
    """The same where the answers are: for one processor, and one version of what is asked."""
    asked = repr((processor_digest(), REQUIRED, FEATURES, PROBE, WANTS))
    return sha256(asked.encode()).hexdigest()[:16]


def _recalled(known: Mapping[str, Any]) -> Toolchain | None:
    """What was found out before; None if nothing was, or something else was asked, or it cannot be read."""
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
    """All at once if that works, else one feature after the other."""
    version = _version(command)
    best = [flag for feature in FEATURES for flag in feature.alternatives[0]]
    if _problem(command, best) is None:
        return Toolchain(tuple(command), version, tuple(best), ())
    compiled(command, REQUIRED, PROBE)  # which raises if nothing works at all
    flags: list[str] = []
    why_not: list[tuple[str, str]] = []
    for feature in FEATURES:
        problems: list[str] = []
        for alternative in feature.alternatives:
            problem = _problem(command, [*flags, *alternative])
            if problem is None:
                flags += alternative
                break
            problems.append(f"{' '.join(alternative)}: {problem}")
        else:
            why_not.append((feature.name, "; ".join(problems)))
    return Toolchain(tuple(command), version, tuple(flags), tuple(why_not))


def _version(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise CompilerError(f"the C compiler {shlex.join(command)} cannot be run: {error}") from error
    return done.stdout.partition("\n")[0].strip()


def _problem(command: Sequence[str], flags: Sequence[str]) -> str | None:
    """Why a library compiled with these flags does not work; None if it does."""
    asked = [WANTS[flag] for flag in flags if flag in WANTS]
    try:
        with tempfile.TemporaryDirectory(prefix="tracemill-") as folder:  # gone also if it is refused
            library = _compiled_in(Path(folder), command, [*REQUIRED, *flags, *asked], PROBE)
        with library_file(library) as path, resting_threads():
            sums = ctypes.CDLL(str(path)).sums
    except CompilerError as error:
        return _first_error(error.message)
    except OSError as error:
        return str(error)
    x, y, total = (ctypes.c_double * 32)(*[0.5] * 32), (ctypes.c_float * 32)(), (ctypes.c_double * 33)()
    sums(x, y, total, ctypes.c_long(32), ctypes.c_long(1))
    return None if abs(total[0] - 32 * 0.46211715726000976) < 1e-6 else "it computes wrong numbers"


def _first_error(message: str) -> str:
    """Of what `compiled` says: the compiler's first complaint."""
    said = [line.strip() for line in message.splitlines()[1:]]
    return next((line for line in said if "error" in line), said[0])


# ---- running it --------------------------------------------------------------------------------------


def compiled(command: Sequence[str], flags: Sequence[str], text: str) -> bytes:
    """The shared library that a compiler makes of a C text. If it fails, the text stays where the error says."""
    folder = Path(tempfile.mkdtemp(prefix="tracemill-"))  # closed to all others
    library = _compiled_in(folder, command, flags, text)
    shutil.rmtree(folder)
    return library


def _compiled_in(folder: Path, command: Sequence[str], flags: Sequence[str], text: str) -> bytes:
    line = [*command, *flags, "-o", "program.so", "program.c", "-lm"]
    (folder / "program.c").write_text(text, encoding="utf-8")
    try:
        done = subprocess.run(
            line,
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        said, status = done.stderr.strip(), f"exit status {done.returncode}"
    except (OSError, subprocess.SubprocessError) as error:
        said, status = "", str(error)
    library = folder / "program.so"
    if status != "exit status 0" or not library.exists():
        raise CompilerError(
            f"the C compiler fails ({status}) on {folder / 'program.c'}:\n{said or 'it says nothing'}\n"
            f"The command was: {shlex.join(line)}"
        )
    return library.read_bytes()


@contextmanager
def library_file(content: bytes) -> Generator[Path]:
    """A shared library as a file in a private folder, for as long as it takes to load it."""
    folder = Path(tempfile.mkdtemp(prefix="tracemill-"))
    try:
        path = folder / "program.so"
        path.write_bytes(content)
        yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)

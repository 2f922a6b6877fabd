"""The C compiler of this machine: which one it is, and the library that it makes of a text."""

import functools
import os
import shlex
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from typing import Any

from ...compiler.backends.c.flags import FAST, LONG, QUICK
from ...compiler.backends.c.threads.pool_text import ABI
from ...compiler.errors import CompilerError, CompilerWarning, MissingCompilerError
from .compiler_features import FEATURES, PROBE, REQUIRED, WANTS, supported
from .compiler_process import SECONDS, STOPPED, cannot_run, compiled
from .machine_facts import recall, remember
from .packaged_compiler import is_packaged, packaged_command, prepare
from .processor import processor_digest

SETTINGS = ("TRACEMILL_CC", "CC")
NAMES = ("cc", "gcc", "clang")

_complained: set[str | None] = set()
"""The values of ``TRACEMILL_CC`` whose problems have been reported: each is reported once."""


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

    def compile(
        self, text: str, *, fast_math: bool = False, keeps_text: bool = True, more: Sequence[str] = ()
    ) -> bytes:
        """The shared library made from a C text, with `more` flags than those of programs.

        If it fails and `keeps_text`, the text stays where the error says.

        Raises:
            MissingCompilerError: the compiler is no longer found.
            CompilerError: it fails; what it says.
        """
        if not self.is_found:
            raise missing_compiler(None)
        quick = QUICK if len(text) >= LONG else ()
        flags = [*self.flags_for(fast_math=fast_math), *quick, *more]
        return compiled(self.command, flags, text, SECONDS, keeps_text=keeps_text)

    def flags_for(self, *, fast_math: bool) -> tuple[str, ...]:
        """The flags with which programs are compiled."""
        return (*REQUIRED, *self.flags, *(FAST if fast_math else ()))

    def identity(self) -> Mapping[str, str]:
        """What its code depends on."""
        flags = " ".join((*REQUIRED, *FAST, *QUICK, *self.flags))
        return {
            "compiler": self.version,
            "flags": flags,
            "processor": processor_digest(),
            "threads": str(ABI),
        }


def toolchain() -> Toolchain:
    """The compiler for the current environment, or the first one that works.

    If ``TRACEMILL_CC`` names one, no other is tried; otherwise ``CC``, ``cc``, ``gcc``, ``clang`` and that of the
    package `ziglang` are, in this order. Its features are tested once, and stored in the disk cache's folder. A
    compiler that has been removed can still be the one whose programs are in the cache.

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
    return None if found.command[0] in STOPPED else found


def recheck_compiler() -> None:
    """Test the compiler again. If it is gone, the stored features stay, for the programs in the cache."""
    _known.cache_clear()
    STOPPED.clear()
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
            if is_packaged(command):
                prepare(command, REQUIRED)
            found = Toolchain(tuple(command), *supported(command))
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
        f"no C compiler is found ({', '.join(NAMES)}): install one (`pip install 'tracemill[cc]'`, `apt install gcc`, "
        "`xcode-select --install`), set TRACEMILL_CC to one, or choose backend='numpy'"
    )


def _commands() -> Iterator[list[str]]:
    """The existing compilers, as absolute paths with their first arguments."""
    if os.name == "nt":
        return
    named = _setting("TRACEMILL_CC")
    for command in [named] if named else [_setting("CC"), *([name] for name in NAMES)]:
        if (found := _existing(command)) is not None:
            yield found
    if not named and (packaged := packaged_command()) is not None:
        yield packaged


def _existing(command: Sequence[str]) -> list[str] | None:
    """A command with the absolute path of its program; None if there is no such program."""
    path = shutil.which(command[0]) if command else None
    return None if path is None else [os.path.abspath(path), *command[1:]]


def why_this(command: Sequence[str]) -> str:
    """Why it is this compiler."""
    for name in SETTINGS:
        if _existing(_setting(name)) == list(command):
            return f"named in {name}"
    if is_packaged(command):
        return "from the package ziglang, since no other works"
    return f"the first of {', '.join(NAMES)} that works"


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
        raise cannot_run(command, error) from error
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

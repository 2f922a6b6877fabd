"""What a C compiler supports, found out by compiling and running a few lines."""

import ctypes
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from ...compiler.backends.c.flags import FLAGS
from ...compiler.errors import CompilerError
from .compiler_process import INSTEAD, compiled, run
from .loaded_library import LoadedLibrary

PROBE_SECONDS = 30.0
"""The time limit for testing a feature."""
_LONGEST_VERSION: Final = 200
"""Characters of a compiler's message that are kept."""

REQUIRED = (*FLAGS, *(("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()))
"""The flags of every program."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature that a compiler may support."""

    name: str
    alternatives: tuple[tuple[str, ...], ...]
    """Flags that enable it, the best first."""


FEATURES = (
    Feature("code for this processor", (("-march=native",), ("-mcpu=native",))),
    Feature("vector loops", (("-fopenmp-simd",),)),
    Feature("vector math", (("-DTM_VECTOR_MATH",), ("-fveclib=libmvec",))),
    Feature("512-bit vectors", (("-mprefer-vector-width=512",),)),
    # For gcc. Loops of a few iterations are written out only if they are short: long ones take a fifth of its time.
    # The search for partly redundant expressions takes another fifth, and makes branches of choices between complex
    # numbers, which then cannot run on vectors.
    Feature("less time in gcc", (("--param=max-completely-peeled-insns=100", "-fno-tree-pre"), ())),
)  # fmt: skip

PROBE = """\
#include <math.h>
#ifdef TM_VECTOR_MATH
#ifdef __clang__
#error "clang vectorises calls by -fveclib"
#endif
__attribute__((simd("notinbranch"))) double sin(double);
__attribute__((simd("notinbranch"))) float erff(float);
#endif
#if defined(WANTS_512_BITS) && !defined(__AVX512F__)
#error "the processor has no such vectors"
#endif
void sums(const double *restrict x, const float *restrict y, double *restrict sum, long n) {
    double total = 0;
#pragma omp simd
    for (long i = 0; i < n; i++) sum[i + 1] = sin(x[i]);
#pragma omp simd
    for (long i = 0; i < n; i++) sum[i + 1] += erff(y[i]);
#pragma omp simd reduction(+ : total)
    for (long i = 0; i < n; i++) total += sum[i + 1];
    sum[0] = total;
}
"""
"""Uses all features. Without their flags, it is plain C."""

WANTS = {"-mprefer-vector-width=512": "-DWANTS_512_BITS", "-fveclib=libmvec": "-Wl,--no-undefined"}
"""Flags that are accepted where they have no effect, or where the library that they call is not linked: how the probe
finds out."""


class Supported(NamedTuple):
    """What a compiler has answered."""

    version: str
    flags: tuple[str, ...]
    """Of the supported features."""
    why_not: tuple[tuple[str, str], ...] = ()
    """For unsupported features: the compiler's message."""
    unasked: tuple[str, ...] = ()
    """The features among these for which there is no answer, because even a plain program failed at that moment."""


def supported(command: Sequence[str]) -> Supported:
    """What a compiler says: about all features at once if that works, otherwise about one after another.

    Raises:
        CompilerError: it cannot compile a few lines, whatever the flags.
    """
    version = _version(command)
    best = [flag for feature in FEATURES for flag in feature.alternatives[0]]
    if _problem(command, best) is None:
        return Supported(version, tuple(best))
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
    return Supported(version, tuple(flags), tuple(why_not), tuple(unasked))


def _version(command: Sequence[str]) -> str:
    """The first line of its version message, if it is text."""
    _, said, _ = run([*command, "--version"], PROBE_SECONDS)
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
            f"what the C compiler {shlex.join(command)} makes cannot be loaded ({error}): free some memory, {INSTEAD}"
        ) from error
    x, y, total = (ctypes.c_double * 32)(*[0.5] * 32), (ctypes.c_float * 32)(), (ctypes.c_double * 33)()
    sums(x, y, total, ctypes.c_long(32))
    if not abs(total[0] - 32 * 0.479425538604203) < 1e-6:
        raise CompilerError(
            f"what the C compiler {shlex.join(command)} makes computes wrong numbers: {INSTEAD}"
        )


def _first_error(message: str) -> str:
    """The compiler's first complaint, or the other reason of failure."""
    first, *said = (line.strip() for line in message.splitlines())
    return next((line for line in said if "error" in line), said[0] if said else first)

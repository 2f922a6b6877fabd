"""Loops over elements and numbers in Tracemill and in Numba, from the same source; and a loop over an array."""

import ctypes
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from math import exp, log
from typing import Any, Final

import numpy as np

from ....compiler.errors import MissingPackageError, TracemillError
from ....compiler.errors.tracemill_error import text_of
from ....runtime.compilation.compile import compile
from ....runtime.machine.loaded_library import LoadedLibrary
from ....runtime.machine.toolchain import toolchain
from ..timing import Measurement, ratio_in_turn
from .cases import ELEMENTS, NUMBERS, Case

ABOUT: str = (
    "Loops as people write them: Numba's time over Tracemill's on C, and the first call with all compiling"
)
SCALE: float = 1.0
"""The factor by which the sizes of all cases are multiplied."""
STEPS: Final = 10_000
HERE: Final = __name__.rpartition(".")[0]
"""Where the programs are; this is not a module of the user's."""
WIDTH: Final = 1000


def measure(rounds: int) -> Iterator[Measurement]:
    """A row per program, and the geometric mean of each group; then a `while` loop over a whole array.

    Raises:
        MissingPackageError: Numba is not installed.
    """
    if find_spec("numba") is None:
        raise MissingPackageError("loops are compared with Numba's: pip install 'tracemill[bench]'")
    for group, cases in (("elements", ELEMENTS), ("numbers", NUMBERS)):
        found = [_beside_numba(case, rounds) for case in cases]
        yield from found
        ran = [row.value for row in found if row.value]
        mean = exp(sum(map(log, ran)) / len(ran)) if ran else 0.0
        detail = f"Numba / Tracemill, {len(ran)} of {len(found)} programs"
        yield Measurement("loops", f"{group}, geometric mean", mean, "x", detail)
    yield from _beside_plain_loops(rounds)


def _beside_numba(case: Case, rounds: int) -> Measurement:
    import numba

    arguments = case.drawn(max(case.small, round(SCALE * case.size)))
    ours, theirs = compile(case.function, backend="c", convert=HERE), numba.njit(case.function)
    start = time.perf_counter()
    try:
        found = ours(*arguments)
    except (TracemillError, RecursionError) as error:
        reason = " ".join(text_of(error).split())
        return Measurement("loops", case.name, 0.0, "x", f"does not compile: {reason:.100}")
    first = time.perf_counter() - start
    for one, other in zip(_leaves(found), _leaves(theirs(*arguments)), strict=True):
        np.testing.assert_array_equal(one, other)
    ratio, seconds = ratio_in_turn(
        lambda: theirs(*arguments), lambda: ours(*arguments), rounds=rounds, calls=1
    )
    detail = (
        f"Numba {1e3 * seconds:.3g} ms, Tracemill {1e3 * seconds / ratio:.3g} ms, first call {first:.2f} s"
    )
    return Measurement("loops", case.name, ratio, "x", detail)


def _leaves(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


# ---- a loop over a whole array ---------------------------------------------------------------------------


def relaxed(x: Any, target: Any, steps: int) -> Any:
    """A `while` loop in which every iteration computes a whole array."""
    i = 0
    while i < steps:
        x = x + 0.001 * (target - x)
        i = i + 1
    return x


BY_HAND: Final = """\
#include <string.h>

void relaxed(const double *restrict x, const double *restrict target, long n, long steps, double *restrict out)
{
    memcpy(out, x, n * sizeof *x);
    for (long step = 0; step < steps; step++)
        for (long i = 0; i < n; i++)
            out[i] = out[i] + 0.001 * (target[i] - out[i]);
}
"""


def _beside_plain_loops(rounds: int) -> Iterator[Measurement]:
    rng = np.random.default_rng(0)
    x, target, steps = rng.normal(size=WIDTH), rng.normal(size=WIDTH), max(1, round(SCALE * STEPS))
    by_hand = _by_hand()
    for backend, name, other in (("c", "C by hand", by_hand), ("numpy", "plain NumPy", relaxed)):
        compiled = compile(relaxed, backend=backend, convert=HERE)
        np.testing.assert_array_equal(compiled(x, target, steps), other(x, target, steps))
        ratio, seconds = ratio_in_turn(
            lambda other=other: other(x, target, steps),  # type: ignore[misc]
            lambda compiled=compiled: compiled(x, target, steps),  # type: ignore[misc]
            rounds=rounds,
            calls=1,
        )
        detail = f"{name} {1e3 * seconds:.3g} ms, Tracemill {1e3 * seconds / ratio:.3g} ms"
        yield Measurement("loops", f"array of {WIDTH} on {backend}", ratio, "x", detail)


def _by_hand() -> Callable[[Any, Any, int], Any]:
    """The loop in C, with the flags of generated programs."""
    loaded = LoadedLibrary(toolchain().compile(BY_HAND), None)
    function = loaded.library.relaxed

    def call(x: Any, target: Any, steps: int) -> Any:
        out = np.empty_like(x)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (x, target, out)]
        function(pointers[0], pointers[1], ctypes.c_long(len(x)), ctypes.c_long(steps), pointers[2])
        return out

    call.owner = loaded.owner  # type: ignore[attr-defined]
    return call

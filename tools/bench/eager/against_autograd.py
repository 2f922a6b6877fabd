"""Gradients without `compile`, in Tracemill and in HIPS autograd, of the same programs."""

from collections.abc import Iterator
from importlib.util import find_spec
from math import exp, log
from typing import Any, Final

import numpy as np

from ....compiler.errors import MissingPackageError
from ....runtime.derivatives.grad import grad
from ..timing import Measurement, ratio_in_turn
from .programs import PROGRAMS, Program

ABOUT: str = "Gradients of functions that are not compiled: autograd's time over Tracemill's"
HERE: Final = __name__.rpartition(".")[0]
"""Where the programs are; this is not a module of the user's."""
_SECONDS: Final = 0.02
"""About how long one sample takes."""


def measure(rounds: int) -> Iterator[Measurement]:
    """A row per program, and the geometric mean.

    Raises:
        MissingPackageError: autograd is not installed.
    """
    if find_spec("autograd") is None:
        raise MissingPackageError("eager gradients are compared with autograd's: pip install autograd")
    ratios = []
    for program in PROGRAMS:
        row = _beside_autograd(program, rounds)
        ratios.append(row.value)
        yield row
    mean = exp(sum(map(log, ratios)) / len(ratios))
    yield Measurement("eager", "geometric mean", mean, "x", "autograd / Tracemill")


def _beside_autograd(program: Program, rounds: int) -> Measurement:
    import autograd
    import autograd.numpy

    ours = grad(program.made(np), convert=HERE)
    theirs = autograd.grad(program.made(autograd.numpy))
    x = program.argument
    for one, other in zip(_leaves(ours(x)), _leaves(theirs(x)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)
    _, seconds = ratio_in_turn(lambda: theirs(x), lambda: ours(x), rounds=3, calls=1)
    calls = max(1, round(_SECONDS / seconds))
    ratio, seconds = ratio_in_turn(lambda: theirs(x), lambda: ours(x), rounds=rounds, calls=calls)
    detail = f"autograd {1e3 * seconds:.3g} ms, Tracemill {1e3 * seconds / ratio:.3g} ms"
    return Measurement("eager", program.name, ratio, "x", detail)


def _leaves(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)

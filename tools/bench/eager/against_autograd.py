"""Derivatives without `compile`, in Tracemill and in HIPS autograd, of the same programs."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from math import exp, log
from typing import Any, Final

import numpy as np

from ....compiler.errors import MissingPackageError
from ....runtime.derivatives.grad import grad
from ....runtime.derivatives.jacobians.hvp import hvp
from ..timing import Measurement, ratio_in_turn
from .programs import CURVED, PROGRAMS, Program

ABOUT: str = "Derivatives of functions that are not compiled: autograd's time over Tracemill's"
HERE: Final = __name__.rpartition(".")[0]
"""Where the programs are; this is not a module of the user's."""
_SECONDS: Final = 0.02
"""About how long one sample takes."""


def measure(rounds: int) -> Iterator[Measurement]:
    """A row per gradient, their geometric mean, and a row per product with a Hessian.

    Raises:
        MissingPackageError: autograd is not installed.
    """
    if find_spec("autograd") is None:
        raise MissingPackageError("eager gradients are compared with autograd's: pip install autograd")
    ratios = []
    for program in PROGRAMS:
        row = _row(program.name, *_gradients(program), rounds)
        ratios.append(row.value)
        yield row
    mean = exp(sum(map(log, ratios)) / len(ratios))
    yield Measurement("eager", "geometric mean", mean, "x", "autograd / Tracemill")
    for program in CURVED:
        yield _row(f"hvp of {program.name}", *_products(program), rounds)


_Call = Callable[[], Any]


def _gradients(program: Program) -> tuple[_Call, _Call]:
    """The gradient by autograd, and by Tracemill."""
    import autograd
    import autograd.numpy

    ours = grad(program.made(np), convert=HERE)
    theirs = autograd.grad(program.made(autograd.numpy))
    return lambda: theirs(program.argument), lambda: ours(program.argument)


def _products(program: Program) -> tuple[_Call, _Call]:
    """The Hessian times the argument by autograd, and by Tracemill."""
    import autograd
    import autograd.numpy

    x, function = program.argument, program.made(np)
    gradient = autograd.grad(program.made(autograd.numpy))

    def along(y: Any) -> Any:
        slopes = gradient(y)
        pairs = zip(slopes, x, strict=True) if isinstance(x, tuple) else [(slopes, x)]
        return sum(autograd.numpy.sum(slope * direction) for slope, direction in pairs)

    product = autograd.grad(along)
    return lambda: product(x), lambda: hvp(function, (x,), (x,), convert=HERE)


def _row(name: str, theirs: _Call, ours: _Call, rounds: int) -> Measurement:
    for one, other in zip(_leaves(ours()), _leaves(theirs()), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8)
    _, seconds = ratio_in_turn(theirs, ours, rounds=3, calls=1)
    calls = max(1, round(_SECONDS / seconds))
    ratio, seconds = ratio_in_turn(theirs, ours, rounds=rounds, calls=calls)
    detail = f"autograd {1e3 * seconds:.3g} ms, Tracemill {1e3 * seconds / ratio:.3g} ms"
    return Measurement("eager", name, ratio, "x", detail)


def _leaves(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)

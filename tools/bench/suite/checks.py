"""The cost of ``if np.any(x < …): raise …`` in functions of the suite, and of a program that is made for a value."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from ....runtime.compilation.compile import compile
from ..timing import Measurement, ratio_in_turn, seconds_in_turn
from . import workloads

SIZE = 1_000_000
BACKENDS: Final = ("c", "numpy")
ABOUT: str = (
    "Time with a check of the first argument divided by the time without, and microseconds of a guard"
)


def cases(size: int) -> dict[str, tuple[Any, ...]]:
    """The functions of the suite, and their arguments."""
    rng = np.random.default_rng(0)
    rows = max(size // 1024, 1)
    wide = rng.normal(size=(rows, 1024)).astype(np.float32)
    vector = np.ones(1024, np.float32)
    bodies = max(round(size**0.5), 1)
    return {
        "gelu": (rng.normal(size=size).astype(np.float32),),
        "black_scholes": tuple(rng.uniform(1, 2, size) for _ in range(3)),
        "layer_norm": (wide, vector, vector),
        "softmax": (wide,),
        "cross_entropy": (wide, np.arange(rows), rng.integers(0, 1024, rows)),
        "n_body": (rng.normal(size=(bodies, 3)), rng.uniform(1, 2, bodies)),
    }


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a check of its first argument."""

    def run(x: Any, *others: Any) -> Any:
        if np.any(x < -1e9):
            raise ValueError("an entry is far too small")
        return function(np, x, *others)

    return run


def chosen(x: Any) -> Any:
    """The length of a text that a reduction of all entries decides."""
    stars = "*" * int(x.sum() > 0)
    return x[:1] + len(stars)


def measure(rounds: int) -> Iterator[Measurement]:
    """A row per function and backend, and one per guard."""
    for name, args in cases(SIZE).items():
        function = getattr(workloads, name)
        for backend in BACKENDS:
            with_check = partial(compile(checked(function), backend=backend), *args)
            without = partial(compile(partial(function, np), backend=backend), *args)
            ratio, own = ratio_in_turn(with_check, without, rounds=rounds, calls=3)
            detail = f"a checked call takes {1e6 * own:.0f} µs"
            yield Measurement("checks", f"{name} ({backend})", ratio, "x", detail)
    for backend in BACKENDS:
        for size in (16, SIZE):
            yield _guard(backend, np.ones(size), rounds)


def _guard(backend: str, x: Any, rounds: int) -> Measurement:
    """What a guard costs besides the reduction that it compares, and the program that it guards.

    That is a small difference of long times, so they alternate often.
    """
    functions = [chosen, lambda x: x.sum() > 0, lambda x: x[:1] + 1]
    compiled = [partial(compile(function, backend=backend), x) for function in functions]
    guarded, reduction, plain = seconds_in_turn(compiled, rounds=100 * rounds, calls=max(1, 2_000 // x.size))
    above = 1e6 * (guarded - reduction - plain)
    name = f"guard on a sum of {x.size} numbers ({backend})"
    return Measurement("checks", name, above, "µs", f"a call takes {1e6 * guarded:.1f} µs")

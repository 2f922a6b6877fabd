"""The cost of one program for all sizes compared with one per size: to compile, to call, and to run."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import exp, log
from typing import Any

import numpy as np

from ....runtime.compilation.compile import compile
from ....runtime.compilation.compiled_function import CompiledFunction
from ....runtime.variants.generated_entry import MISS, CheckWriter
from ....runtime.variants.signature import Signature
from ..compilation import chain, seconds_to_compile
from ..timing import Measurement, ratio_in_turn, seconds_in_turn
from .frameworks import transformed
from .rows import ROWS, Row

ABOUT: str = "Programs for every size, beside those for one"
BACKENDS = ("c", "numpy")
COMPILED = (30, 300, 3000)
"""Nodes of graphs."""
BATCHES = 1000
SECONDS = 0.02
"""The numbers of consecutive calls that are timed."""
PAIRS = 5
"""How often both programs for a row are timed in each round."""


def measure(rounds: int) -> Iterator[Measurement]:
    """Compilations for many sizes, and ratios of time: to compile, to call, and to run the rows of the suite."""
    yield from _many_sizes()
    for nodes in COMPILED:
        yield _compiling(nodes, max(3, rounds * COMPILED[0] // nodes))
    yield _calling(rounds)
    yield from _checking(rounds)
    for backend in BACKENDS:
        ratios = []
        for row in ROWS.values():
            measured = _running(row, backend, rounds)
            ratios.append(measured.value)
            yield measured
        mean = exp(sum(map(log, ratios)) / len(ratios))
        yield Measurement("sizes", f"{backend}, geometric mean", mean, "×", f"worst {max(ratios):.2f}")


def _many_sizes() -> Iterator[Measurement]:
    for kind, dynamic, about in (
        ("batch sizes", None, "the first is of one size"),
        ("declared batch sizes", {"x": "f64[B, 16]"}, ""),
    ):
        function = compile(lambda x: np.tanh(x @ np.ones((16, 4))).sum(axis=1), dynamic=dynamic)
        for batch in range(2, BATCHES + 2):
            function(np.ones((batch, 16)))
        count = len(function.signatures())
        yield Measurement("sizes", f"{BATCHES} {kind}", count, "compilations", about)


def _compiling(nodes: int, repeats: int) -> Measurement:
    argument = np.ones(8, np.float32)
    static, symbolic = (
        seconds_to_compile(partial(chain, nodes), argument, repeats=repeats, dynamic=dynamic)
        for dynamic in (False, True)
    )
    detail = f"{1e3 * symbolic:.1f} ms, and {1e3 * static:.1f} ms for one size, medians of {repeats}"
    return Measurement("sizes", f"compiling {nodes} nodes", symbolic / static, "×", detail)


def _calling(rounds: int) -> Measurement:
    arrays = np.ones((8, 16), np.float32), np.ones((8, 16), np.float32)
    static, symbolic = _both(
        lambda x, y: x + y, arrays, [tuple(array[:rows] for array in arrays) for rows in (2, 4)], "numpy"
    )
    seconds = seconds_in_turn([lambda: symbolic(*arrays), lambda: static(*arrays)], rounds=rounds, calls=2000)
    beyond = 1e6 * (seconds[0] - seconds[1])
    return Measurement("sizes", "guards of a call on 2 arrays", beyond, "µs", "more than for one size")


def _asking(x: Any, y: Any, z: Any) -> Any:
    """Makes five comparisons of the sizes of three arrays."""
    if x.shape[0] > 8 and x.shape[0] % 6 == 0:
        x = x + 1
    if y.shape[1] > 3 * z.shape[0] and y.shape[1] <= 4096 and z.shape[1] // 2 % 5 == 0:
        y = y + 1
    return x.sum() + y.sum() + z.sum()


def _checking(rounds: int) -> Iterator[Measurement]:
    """The checks of a call, without the call itself."""
    arrays = np.ones((12, 3)), np.ones((7, 30)), np.ones((5, 20))
    functions = [
        compile(_asking, backend="numpy", dynamic=False),
        compile(lambda x, y, z: x.sum() + y.sum() + z.sum(), backend="numpy", dynamic=True),
        compile(_asking, backend="numpy", dynamic=True),
    ]
    for function in functions:
        function(*arrays)
    checks = [partial(_check(function.signatures()[0]), arrays, {}) for function in functions]
    times = [1e6 * seconds for seconds in seconds_in_turn(checks, rounds=rounds, calls=5000)]
    kinds = ("one size", "many sizes", "many sizes and 5 guards")
    for kind, time in zip(kinds, times, strict=True):
        yield Measurement("sizes", f"checks of 3 arrays, {kind}", time, "µs", "alone")


def _check(signature: Signature) -> Callable[..., Any]:
    """The start of the entry of a variant: whether a call fits."""
    writer = CheckWriter(signature)
    writer.write()
    names = {**writer.names, "MISS": MISS}
    exec("def check(args, kwargs):\n" + "".join(f"    {line}\n" for line in writer.lines), names)
    check: Callable[..., Any] = names["check"]
    return check


def _running(row: Row, backend: str, rounds: int) -> Measurement:
    function, arguments = transformed(row, row.arguments(row.size))
    others = [transformed(row, row.arguments(size))[1] for size in (row.size // 2 + 1, row.size * 3 // 4)]
    static, symbolic = _both(function, arguments, others, backend)
    programs = (lambda: symbolic(*arguments), lambda: static(*arguments))
    once = max(seconds_in_turn(programs, rounds=1, calls=1))
    calls = max(1, int(SECONDS / once))
    ratio, seconds = ratio_in_turn(*programs, rounds=PAIRS * rounds, calls=calls)
    more = len(symbolic.signatures()) - 2
    detail = f"{1e3 * seconds:.3g} ms" + (f", {more} more for other sizes" if more else "")
    return Measurement("sizes", f"{backend}, {row.name}", ratio, "×", detail)


def _both(
    function: Callable[..., Any], arguments: tuple[Any, ...], others: Sequence[tuple[Any, ...]], backend: str
) -> tuple[CompiledFunction, CompiledFunction]:
    """The function compiled for these arguments; and compiled by default, after calls with two other sizes."""
    static = compile(function, backend=backend, dynamic=False)
    symbolic = compile(function, backend=backend, on_recompile="ignore")
    static(*arguments)
    for call in (*others, arguments):
        symbolic(*call)
    return static, symbolic

"""How much of a program's results is rounding error: if numbers cancel, another order of operations gives other
results, and neither is wrong.

Every intermediate result is rounded randomly, as in Monte Carlo arithmetic: D. S. Parker, B. Pierce and P. R. Eggert,
"Monte Carlo arithmetic: how to gamble with floating point and win" (2000).
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...compiler.builder import not_recording
from ...compiler.dtypes import Array, is_inexact, real_dtype
from ...compiler.interpreter import Interpreter
from ...compiler.ir import Call, Graph
from ..gpu_programs.agreement import wide

RUNS: Final = 6
MARGIN: Final = 4.0
"""A deviation up to this many times the largest in these few runs counts as rounding."""


class _Rounding(Interpreter):
    """Computes with each result off by up to one unit in its last place."""

    def __init__(self, graph: Graph, rng: np.random.Generator) -> None:
        super().__init__(graph)
        self._rng = rng

    def call(self, call: Call, inputs: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self._rounded(np.asarray(x)) for x in super().call(call, inputs))

    def _rounded(self, x: Array) -> Array:
        if not is_inexact(x.dtype):
            return x
        unit = float(np.spacing(np.ones((), real_dtype(x.dtype))))
        return np.asarray(x.astype(wide(x)) * (1 + unit * self._rng.uniform(-1, 1, x.shape))).astype(x.dtype)


def rounding_noise(graph: Graph, inputs: Sequence[Array], expected: Sequence[Array]) -> list[float]:
    """For each output, how far it may be from the expected value because of rounding. It is 0 for integers.

    >>> import numpy as np, tracemill as tm
    >>> graph = tm.export(lambda x: (x + 1) - x, "f64[1]").graph
    >>> x = np.array([1e12])
    >>> (noise,) = rounding_noise(graph, [x], [np.ones(1)])
    >>> 1e-5 < noise < 1e-2
    True
    """
    noise = [0.0] * len(expected)
    with not_recording(), np.errstate(all="ignore"):
        for seed in range(RUNS):
            outputs = _Rounding(graph, np.random.default_rng(seed)).run(*(x.copy() for x in inputs))
            for place, (found, wanted) in enumerate(zip(outputs, expected, strict=True)):
                if is_inexact(wanted.dtype):
                    apart = np.abs(np.asarray(found).astype(wide(wanted)) - wanted.astype(wide(wanted)))
                    largest = float(np.max(apart, initial=0, where=np.isfinite(apart)))
                    noise[place] = max(noise[place], MARGIN * largest)
    return noise

"""Turn an unrolled Python loop, which is many repetitions of the same calls, into a loop again."""

from collections.abc import Mapping

from ...compiler.ir import Graph, Param, Value, holds_graphs
from ..rerolling.repetition import FEWEST_CALLS, candidates
from ..rewrite import Rewriter
from ..simplification.remove_dead_code import remove_dead_code


def reroll(graph: Graph, *, fewest_calls: int = FEWEST_CALLS) -> Graph:
    """Replace repeated calls by a `scan` over one repetition, which compiles in the time of one.

    Repetitions may differ in regular ways. A value of an earlier repetition is carried. Consecutive entries of an
    array, and constants, become the arrays that the scan runs over. A slice, an update or a pad at a moving position
    begins at an entry of such an array. Calls that are the same in each repetition run once, before the loop. Values
    that are used later are stacked, unless it is only the last one. The first and last repetitions stay as they are
    if they differ. The results are bit-identical to those of the calls.

    Before, from ``for i in range(1000): x = np.sin(x) * w[i]``::

        sin_1: f64[3] = sin(x)
        slice_1: f64[1, 3] = slice(w, start=(0, 0), stop=(1, 3), step=(1, 1))
        reshape_1: f64[3] = reshape(slice_1, shape=(3,))
        multiply_1: f64[3] = multiply(sin_1, reshape_1)
        sin_2: f64[3] = sin(multiply_1)
        slice_2: f64[1, 3] = slice(w, start=(1, 0), stop=(2, 3), step=(1, 1))
        ...
        multiply_1000: f64[3] = multiply(sin_1000, reshape_1000)

    after::

        def f_step(carried0: f64[3], entry0: f64[3]) -> f64[3]:
            sin_1: f64[3] = sin(carried0)
            reshape_1: f64[1, 3] = reshape(entry0, shape=(1, 3))
            reshape_2: f64[3] = reshape(reshape_1, shape=(3,))
            multiply_1: f64[3] = multiply(sin_1, reshape_2)
            return multiply_1
        scan_1: f64[3] = scan(x, w, graph=f_step, counts=(0, 1), length=1000)

    Nested loops are found one after another: once the inner ones are written, they are repetitions of the outer one.
    Repetitions of fewer than `fewest_calls` calls in total stay as they are: see
    `passes.rerolling.repetition.FEWEST_CALLS`.
    """
    if holds_graphs(graph):
        graph = _Nested(graph, fewest_calls).run()
    while True:
        rolled = _rolled(graph, fewest_calls)
        if rolled is graph:
            return graph
        graph = remove_dead_code(rolled)


def _rolled(graph: Graph, fewest_calls: int) -> Graph:
    """The graph with the loops that can be found now. Writing them may reveal others."""
    places = list(candidates(graph.calls, fewest_calls))
    if not places:
        return graph
    from ..rerolling.rolling import roll  # few programs have a loop to write

    return roll(graph, places, fewest_calls)


class _Nested(Rewriter):
    """Rewrites nested graphs."""

    def __init__(self, graph: Graph, fewest_calls: int) -> None:
        super().__init__(graph)
        self.fewest_calls = fewest_calls

    def nested(self, graph: Graph) -> Graph:
        return reroll(graph, fewest_calls=self.fewest_calls)

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        return None

"""Express ops that a target lacks by ops that it has."""

from collections.abc import Mapping, Set

from ..compiler.decompositions import decomposable, decomposition
from ..compiler.errors import BackendError
from ..compiler.ir import Graph, Param, Value
from .rewrite import Rewriter


def decompose(graph: Graph, *, ops: Set[str]) -> Graph:
    """Replace the calls of `ops` by their decompositions (`compiler.decompositions`), also within those.

    A call stays where the table has no decomposition for its types, such as a complex sign.
    An op that has none at all is a `BackendError`.

    Before ``clip_1: f64[3] = clip(x, 0.0, 1.0)``, with ``ops={"clip"}`` after::

        maximum_1: f64[3] = maximum(x, 0.0)
        minimum_1: f64[3] = minimum(maximum_1, 1.0)
    """
    unknown = sorted(ops - decomposable())
    if unknown:
        raise BackendError(
            f"no decomposition is known for {', '.join(unknown)}: register one with register_decomposition"
        )
    return _Decomposer(graph, ops).run()


class _Decomposer(Rewriter):
    def __init__(self, graph: Graph, ops: Set[str]) -> None:
        super().__init__(graph)
        self.ops = ops

    def nested(self, graph: Graph) -> Graph:
        return decompose(graph, ops=self.ops)

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        if op not in self.ops:
            return None
        output = decomposition(op)(*inputs, **params)
        return None if output is None else (output,)

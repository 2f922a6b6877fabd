"""Let attention keep two numbers for each query instead of its weights. Its gradient recomputes the weights from
them."""

from collections.abc import Mapping

from ...compiler.builder import Builder, bind_all
from ...compiler.ir import Graph, Param, Value
from ...compiler.ops.nn.attention_derivatives import MASK
from ..rewrite import Rewriter
from .decompose import Keep


def forget_weights(graph: Graph, *, keep: Keep) -> Graph:
    """Compute gradients of attention from its sums, if the target has kernels for that: those to `keep`.

    Before::

        out, weights = attention_with_weights(q, k, v)
        dq, dk, dv = attention_gradient(ct, q, k, v, weights)

    and after::

        out, largest, total = attention_with_sums(q, k, v)
        dq, dk, dv = attention_gradient_by_sums(ct, q, k, v, out, largest, total)

    Weights that something else needs are computed in addition.
    """
    return _Forgetful(graph, keep).run()


class _Forgetful(Rewriter):
    def __init__(self, graph: Graph, keep: Keep) -> None:
        super().__init__(graph)
        self.keep = keep
        self.sums: dict[Value, tuple[Value, ...]] = {}
        """For weights: the result, the largest scores, and the sums."""

    def nested(self, graph: Graph) -> Graph:
        return _Forgetful(graph, self.keep).run()

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        if op == "attention_with_weights" and self.keep("attention_with_sums", inputs, params):
            sums = bind_all("attention_with_sums", *inputs, **params)
            _, weights = Builder.emit(self, op, inputs, params)
            self._remember(self.calls[-1])
            self.sums[weights] = sums
            return sums[0], weights
        if op == "attention_gradient":
            return self._by_sums(inputs, params["wrt"])
        return None

    def _by_sums(self, inputs: tuple[Value, ...], wrt: Param) -> tuple[Value, ...] | None:
        ct, query, key, value, weights = inputs
        assert isinstance(wrt, tuple)
        if weights not in self.sums or MASK in wrt:
            return None
        call = self.producer[weights]
        operands = (ct, *call.inputs, *self.sums[weights])
        if call.inputs[:3] != (query, key, value):
            return None
        found = bind_all("attention_gradient_by_sums", *operands, **call.params)
        return tuple(found[place] for place in wrt)

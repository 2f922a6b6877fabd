"""Combine an array with joined arrays part by part, in its memory: what was joined is then never copied."""

from collections.abc import Mapping
from typing import Final

from ...compiler.builder import bind
from ...compiler.ir import Call, Graph, Param, Value, same_type
from ...compiler.op import is_view
from ...compiler.params import int_param
from ...compiler.symbolic_size import SymbolicSize
from ..rewrite import Rewriter
from ..simplification.remove_dead_code import remove_dead_code

OPS: Final = frozenset({"add", "divide", "maximum", "minimum", "multiply", "subtract"})

SMALLEST: Final = 1 << 15
"""Smaller arrays are copied in less time than the statements for parts take."""

MOST: Final = 4
"""The largest number of parts."""


def combine_parts(graph: Graph) -> Graph:
    """Replace operations on a large array and one that is joined of others, if nothing else needs the two.

    Before, for ``exp_1: f64[256, 256]``, to which its neighbours' numbers ``x`` are added::

        concatenate_1: f64[256, 256] = concatenate(slice_1, slice_2, axis=0)  # x[255:] and x[:255]
        add_1: f64[256, 256] = add(exp_1, concatenate_1)

    after::

        slice_3: f64[1, 256] = slice(exp_1, start=(0, 0), stop=(1, 256), step=(1, 1))
        add_1: f64[1, 256] = add(slice_3, slice_1)
        update_slice_1: f64[256, 256] = update_slice(exp_1, add_1, start=(0, 0), stop=(1, 256), step=(1, 1))
        …                                                                     # and the same for the other part

    The NumPy backend writes the sums to where they belong: ``np.add(exp_1[:1], x[255:], out=exp_1[:1])``. Nested graphs
    are changed, too.
    """
    combined = _Combiner(graph).run()
    return combined if combined is graph else remove_dead_code(combined)


class _Combiner(Rewriter):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.uses: dict[Value, int] = {}
        for value in (*graph.outputs, *(value for call in graph.calls for value in call.inputs)):
            self.uses[value] = self.uses.get(value, 0) + 1

    def stands_for(self, new: Value, old: Value) -> None:
        self.uses[new] = self.uses.get(old, 0)

    def nested(self, graph: Graph) -> Graph:
        return combine_parts(graph)

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        if op not in OPS or inputs[0] is inputs[1] or not same_type(inputs[0].type, inputs[1].type):
            return None
        if any(isinstance(size, SymbolicSize) for size in inputs[0].shape):
            return None
        for place, value in enumerate(inputs):
            base, joined = inputs[1 - place], self.joined(value)
            if joined is not None and self.is_free(base) and value.type.nbytes >= SMALLEST:
                return (self.combined(op, base, joined, place),)
        return None

    def joined(self, value: Value) -> Call | None:
        """The call that has joined a value of few parts."""
        call = self.producer.get(value)
        is_joined = call is not None and call.op == "concatenate" and len(call.inputs) <= MOST
        return call if is_joined and self.uses.get(value, 0) == 1 else None

    def is_free(self, value: Value) -> bool:
        """Whether a call has made an array that only this call needs, so that it can be overwritten."""
        call = self.producer.get(value)
        return call is not None and not is_view(call) and self.uses.get(value, 0) == 1

    def combined(self, op: str, base: Value, joined: Call, place: int) -> Value:
        """The array with each part replaced by its combination with what is at the `place` of the operands."""
        axis = int_param(joined, "axis")
        first = 0
        for part in joined.inputs:
            last = first + part.shape[axis]
            where: dict[str, Param] = {
                "start": tuple(first if at == axis else 0 for at in range(base.ndim)),
                "stop": tuple(last if at == axis else size for at, size in enumerate(base.shape)),
                "step": (1,) * base.ndim,
            }
            own = bind("slice", base, **where)
            base = bind("update_slice", base, bind(op, *((own, part) if place else (part, own))), **where)
            first = last
        return base

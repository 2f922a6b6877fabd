"""Join many arrays in groups, and then the groups: a kernel asks for each element which of the arrays it is of."""

from collections.abc import Mapping
from typing import Final

from ...compiler.ir import Graph, Param, Value
from ...compiler.value_ops import concatenate
from ..rewrite import Rewriter

MOST: Final = 64
"""So many arrays a kernel joins."""

GROUP: Final = 32
"""Of more, so many are joined first."""


def split_concatenate(graph: Graph) -> Graph:
    """Replace what joins more than 64 arrays.

    Before, of a hundred arrays::

        concatenate_1: f32[1600] = concatenate(x_1, ..., x_100, axis=0)

    after::

        concatenate_1: f32[512] = concatenate(x_1, ..., x_32, axis=0)
        concatenate_2: f32[512] = concatenate(x_33, ..., x_64, axis=0)
        concatenate_3: f32[512] = concatenate(x_65, ..., x_96, axis=0)
        concatenate_4: f32[64] = concatenate(x_97, ..., x_100, axis=0)
        concatenate_5: f32[1600] = concatenate(concatenate_1, ..., concatenate_4, axis=0)

    For a GPU, on which a kernel goes through all arrays for each element, and Triton compiles no text so deep. Elements
    are copied twice then.
    """
    return _Splitter(graph).run()


class _Splitter(Rewriter):
    def nested(self, graph: Graph) -> Graph:
        return split_concatenate(graph)

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        if op != "concatenate" or len(inputs) <= MOST:
            return None
        axis = params["axis"]
        assert isinstance(axis, int)
        groups = [inputs[first : first + GROUP] for first in range(0, len(inputs), GROUP)]
        return (concatenate([concatenate(group, axis) for group in groups], axis),)

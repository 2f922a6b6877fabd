"""Join many arrays in groups, and then join the groups: a kernel finds the array of each element."""

from collections.abc import Mapping
from typing import Final

from ...compiler.ir import Graph, Param, Value
from ...compiler.value_ops import concatenate
from ..rewrite import Rewriter

MOST: Final = 64
"""A kernel joins at most this many arrays."""

GROUP: Final = 32
"""If there are more, this many are joined first."""


def split_concatenate(graph: Graph) -> Graph:
    """Replace a call that joins more than 64 arrays.

    Before, for a hundred arrays::

        concatenate_1: f32[1600] = concatenate(x_1, ..., x_100, axis=0)

    after::

        concatenate_1: f32[512] = concatenate(x_1, ..., x_32, axis=0)
        concatenate_2: f32[512] = concatenate(x_33, ..., x_64, axis=0)
        concatenate_3: f32[512] = concatenate(x_65, ..., x_96, axis=0)
        concatenate_4: f32[64] = concatenate(x_97, ..., x_100, axis=0)
        concatenate_5: f32[1600] = concatenate(concatenate_1, ..., concatenate_4, axis=0)

    On a GPU, a kernel checks all arrays for each element, and Triton cannot compile such deeply nested code. Elements
    are then copied twice.
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

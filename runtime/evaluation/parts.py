"""Reading and writing ``x[index]`` of evaluated arrays.

The backward pass adds the cotangent of a part at its place in the whole, at the cost of the part. The rule is the
transpose of `slice` and of `gather`, but a plan for each index would cost more than all the rest.

Each plan says how cotangents are pulled back, how tangents move forward, and how they are pushed in a graph.
"""

from typing import Any, ClassVar

import numpy as np

from ...compiler.builder import inline
from ...compiler.ir import Value
from ...compiler.tracing.registry import METHODS
from ...compiler.tracing.traced_array import wrap
from ...compiler.value_ops import constant, gather, zeros_like
from .call_graphs import Place, graph_of_call
from .nodes import Node
from .operand_types import OperandType


class SlicePlan:
    """The plan of ``x[index]`` with slices and integers. It saves the kind of `x`, and the index."""

    name: ClassVar[str] = "slice"

    @staticmethod
    def pull(node: Node, cotangent: Any, cotangents: Any) -> None:
        (whole,), (kind, index) = node.parents, node.saved
        cotangents.add_part(whole, kind, index, cotangent)

    @staticmethod
    def move(node: Node, tangents: Any) -> None:
        (whole,), (_, index) = node.parents, node.saved
        tangents[node] = tangents.part(tangents[whole], index)

    @staticmethod
    def push(node: Node, tangents: Any) -> None:
        (whole,), (kind, index) = node.parents, node.saved
        if whole in tangents:
            graph, _ = graph_of_call("part", lambda x: x[_constants(index)], (Place(0),), {}, [kind])
            (tangents[node],) = inline(graph, (tangents[whole],))


def _constants(index: Any) -> Any:
    """The index with constants instead of NumPy arrays, which would become inputs of the graph."""
    if type(index) is tuple:
        return tuple(map(_constants, index))
    return wrap(constant(index)) if isinstance(index, np.ndarray) else index


class GatherPlan(SlicePlan):
    """The plan of ``x[index]`` with arrays of integers, which may name an entry several times."""

    name: ClassVar[str] = "gather"

    @staticmethod
    def pull(node: Node, cotangent: Any, cotangents: Any) -> None:
        (whole,), (kind, index) = node.parents, node.saved
        cotangents.add_entries(whole, kind, index, cotangent)


class SortPlan:
    """The plan of ``np.sort(x)`` of a vector. It saves the kind of `x`, and `x`."""

    name: ClassVar[str] = "sort"

    @staticmethod
    def pull(node: Node, cotangent: Any, cotangents: Any) -> None:
        (whole,), (_, array) = node.parents, node.saved
        cotangents.add(whole, cotangents.put_back(cotangent, np.argsort(array, kind="stable")))

    @staticmethod
    def move(node: Node, tangents: Any) -> None:
        (whole,), (_, array) = node.parents, node.saved
        tangents[node] = tangents.part(tangents[whole], np.argsort(array, kind="stable"))

    @staticmethod
    def push(node: Node, tangents: Any) -> None:
        (whole,), (_, array) = node.parents, node.saved
        if whole in tangents:
            order = constant(np.argsort(array, kind="stable"))
            tangents[node] = gather(tangents[whole], [order], (0,), unique=True)


class CollectedPlan:
    """The plan of an array that is 0 except at parts, whose sums it holds.

    It is the cotangent of an array after parts of it were read. It saves the kind of the array, and for each part its
    index and its kind.
    """

    name: ClassVar[str] = "scatter"

    @staticmethod
    def pull(node: Node, cotangent: Any, cotangents: Any) -> None:
        for parent, (index, _) in zip(node.parents, node.saved[1], strict=True):
            cotangents.add(parent, cotangent[index])

    @staticmethod
    def move(node: Node, tangents: Any) -> None:
        kind, parts = node.saved
        found = zip(node.parents, parts, strict=True)
        tangents[node] = tangents.collected(
            [(kind, index, tangents[parent]) for parent, (index, _) in found if parent in tangents]
        )

    @staticmethod
    def push(node: Node, tangents: Any) -> None:
        kind, parts = node.saved
        moving = [
            (tangents[parent], part)
            for parent, part in zip(node.parents, parts, strict=True)
            if parent in tangents
        ]
        if not moving:
            return

        def total(*given: Any) -> Any:
            whole = wrap(zeros_like(Value(kind.type)), is_scalar=False)
            for (_, (index, _)), one in zip(moving, given, strict=True):
                np.add.at(whole, _constants(index), one)
            return whole

        kinds = [kind for _, (_, kind) in moving]
        graph, _ = graph_of_call("total", total, tuple(map(Place, range(len(moving)))), {}, kinds)
        (tangents[node],) = inline(graph, [tangent for tangent, _ in moving])


class SetItemPlan:
    """The plan of an array after ``x[index] = new``.

    It saves the index, the kinds of both, and whether each is differentiated.
    """

    name: ClassVar[str] = "update_slice"

    @staticmethod
    def pull(node: Node, cotangent: Any, cotangents: Any) -> None:
        index, _, kind, of_whole, of_new = node.saved
        if of_new:
            cotangents.add(node.parents[-1], _summed(cotangent[index], kind))
        if of_whole:
            rest = cotangents.copied(cotangent)
            rest[index] = 0
            cotangents.add(node.parents[0], rest)

    @staticmethod
    def move(node: Node, tangents: Any) -> None:
        index, whole, _, of_whole, of_new = node.saved
        before = tangents.get(node.parents[0]) if of_whole else None
        new = tangents.zeros(whole) if before is None else tangents.copied(before)
        tangents.write(new, index, tangents.get(node.parents[-1]) if of_new else None)
        tangents[node] = new

    @staticmethod
    def push(node: Node, tangents: Any) -> None:
        index, whole, kind, of_whole, of_new = node.saved
        given = [
            tangents.get(node.parents[0]) if of_whole else None,
            tangents.get(node.parents[-1]) if of_new else None,
        ]
        if all(one is None for one in given):
            return

        def written(x: Any, new: Any) -> Any:
            copy = METHODS["copy"](x)
            copy[index] = new
            return copy

        graph, _ = graph_of_call("write", written, (Place(0), Place(1)), {}, [whole, kind])
        full = [zeros_like(v) if one is None else one for one, v in zip(given, graph.inputs, strict=True)]
        (tangents[node],) = inline(graph, full)


def _summed(cotangent: Any, kind: OperandType) -> Any:
    """The sum over the axes along which an array of this kind was repeated, in its dtype."""
    shape, found = kind.type.shape, cotangent.astype(kind.type.dtype)
    if found.shape == shape:
        return found
    lead = found.ndim - len(shape)
    if lead > 0:
        found = found.sum(axis=tuple(range(lead)))
    axes = tuple(axis for axis, dim in enumerate(shape[-found.ndim :]) if dim != found.shape[axis])
    return found.sum(axis=axes, keepdims=True).reshape(shape)

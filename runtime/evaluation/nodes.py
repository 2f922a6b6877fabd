"""`Node`: a call, as far as its derivative needs it."""

from itertools import count
from typing import Any, Final

from ...compiler.callers.user_code import Place, location_of
from ...compiler.dtypes import is_inexact
from ...compiler.ir import Graph, Location, Value

NUMBERS: Final = count()
"""The numbers of all nodes. Those of a function may lead to those of variables, which may move to another thread."""


class Node:
    """A call, as far as its derivative needs it. `parents` are the nodes of its differentiated operands."""

    __slots__ = ("__weakref__", "number", "parents", "place", "plan", "saved", "tangent")

    tangent: Any
    """In a `ForwardTrace`, the tangent of the result, or a tuple with those of all results; None if it is 0."""
    place: "Location | Place | None"
    """Where the call is in the user's program, if an error or a warning may name it."""

    def __init__(
        self, number: int, plan: Any, parents: tuple["Node", ...] = (), saved: tuple[Any, ...] = ()
    ) -> None:
        self.number = number
        """Greater than those of its parents."""
        self.plan = plan
        """How its derivative is computed; None for a leaf, with which the derivative begins."""
        self.parents = parents
        self.saved = saved

    @property
    def location(self) -> Location | None:
        """The line of the user's program, if it is known."""
        place = getattr(self, "place", None)
        return location_of(place) if isinstance(place, tuple) else place


class NodeOfGraphs(Node):
    """A call that holds graphs. It saves their residuals; a second derivative also needs their inputs."""

    __slots__ = ("graph", "inputs")

    graph: Graph
    inputs: tuple[Value, ...]


class NodeOfSeveral(Node):
    """A call with several outputs."""

    __slots__ = ("outputs",)

    outputs: tuple[Any, ...]
    """References to the nodes of all outputs, which hold this one; None for those that have no derivative."""

    def node_of(self, output: int) -> Any:
        """The node of an output; a new one if the first is gone."""
        reference = self.outputs[output]
        if reference is None:
            return None
        floating = [place for place, type in enumerate(self.plan.primal.outputs) if is_inexact(type.dtype)]
        found = reference()
        if found is None:
            place = floating.index(output)
            found = Node(self.number + 1, OneOfSeveral, (self,), (place, len(floating)))
            tangents = getattr(self, "tangent", None)
            found.tangent = None if tangents is None else tangents[place]
        return found


class OneOfSeveral:
    """The plan of a node that is one of several outputs of a call. It saves its place and how many there are."""

    @staticmethod
    def pull(node: Node, cotangent: Any, cotangents: Any) -> None:
        (source,), (place, outputs) = node.parents, node.saved
        arrived = cotangents.arrived
        if source not in arrived:
            arrived[source] = [None] * outputs
        before = arrived[source][place]
        arrived[source][place] = cotangent if before is None else before + cotangent

    @staticmethod
    def push(node: Node, tangents: Any) -> None:
        (source,), (place, _) = node.parents, node.saved
        if source in tangents:
            tangents[node] = tangents[source][place]

    move = push

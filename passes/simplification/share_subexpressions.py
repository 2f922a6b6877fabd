"""Compute equal calls once."""

from collections.abc import Hashable, Mapping

from ...compiler.ir import Call, Constant, Graph, Param, Value, exact
from ...compiler.op import has_effect
from ..rewrite import Rewriter

COMMUTATIVE = frozenset({"add", "multiply", "equal", "not_equal", "logical_and", "logical_or", "logical_xor"})
"""Ops whose two real operands can be swapped without changing a bit of the result."""


def share_subexpressions(graph: Graph) -> Graph:
    """Replace a call by an earlier one of the same op, inputs and parameters; constants count by their bits.

    Before::

        sin_1: f64[] = sin(x)
        sin_2: f64[] = sin(x)
        add_1: f64[] = add(sin_1, sin_2)

    after::

        sin_1: f64[] = sin(x)
        add_1: f64[] = add(sin_1, sin_1)

    Calls with an effect stay separate.
    """
    return _Sharer(graph).run()


class _Sharer(Rewriter):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._first: dict[Hashable, tuple[Value, ...]] = {}
        self._asked: Hashable = None
        """The key of the call that was asked for last, which is then kept or replaced."""
        self._constants: dict[Value, Hashable] = {}

    def nested(self, graph: Graph) -> Graph:
        return share_subexpressions(graph)

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        self._asked = self._key(op, inputs, params)
        return self._first.get(self._asked)

    def _remember(self, call: Call) -> None:
        super()._remember(call)
        if not has_effect(call):
            self._first[self._asked] = call.outputs

    def _key(self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]) -> Hashable:
        names = [self._identity(value) for value in inputs]
        if op in COMMUTATIVE and inputs[0].dtype.kind != "c":
            names.sort(key=hash)
        return op, tuple(names), tuple((name, exact(param)) for name, param in sorted(params.items()))

    def _identity(self, value: Value) -> Hashable:
        """Equal for values that are known to be equal."""
        if not isinstance(value, Constant):
            return value
        if value not in self._constants:
            self._constants[value] = value.digest
        return self._constants[value]

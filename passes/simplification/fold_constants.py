"""Compute calls now that depend only on constants."""

from collections.abc import Mapping

import numpy as np

from ...compiler.free_sizes import is_symbolic
from ...compiler.interpreter import run_call
from ...compiler.ir import ArrayType, Call, Constant, Graph, Param, Value, called
from ...compiler.op import has_effect, lookup, moved_inputs
from ..rewrite import Rewriter

LARGEST = 1 << 16
"""Calls whose results have more bytes than this, and more than their operands, stay calls."""

LOOPS = frozenset({"scan", "while_loop"})


def fold_constants(graph: Graph) -> Graph:
    """Replace calls whose inputs are all constants by their results.

    A call stays if it has an effect, if it raises, or if its result is large (see `LARGEST`). Loops stay, too: they
    may take long, or forever.

    Before::

        log_1: f64[] = log(10.0)
        multiply_1: f64[3] = multiply(x, log_1)

    after::

        multiply_1: f64[3] = multiply(x, 2.302585092994046)
    """
    return _Folder(graph).run()


class _Folder(Rewriter):
    def nested(self, graph: Graph) -> Graph:
        return fold_constants(graph)

    def replace(
        self, op: str, inputs: tuple[Value, ...], params: Mapping[str, Param]
    ) -> tuple[Value, ...] | None:
        if not all(isinstance(value, Constant) for value in inputs):
            return None
        types = lookup(op).type(*[value.type for value in inputs], **params)
        types = (types,) if isinstance(types, ArrayType) else types
        allowed = max(LARGEST, sum(value.type.nbytes for value in inputs))
        call = Call(op, inputs, params, tuple(map(Value, types)))
        if is_symbolic(call) or _is_short(call) or sum(type.nbytes for type in types) > allowed:
            return None
        if has_effect(call) or _loops(call):
            return None
        arrays = [value.array for value in inputs if isinstance(value, Constant)]
        try:
            with np.errstate(all="ignore"):
                return tuple(Constant(result) for result in run_call(call, arrays))
        except Exception:  # the call fails at run time, not at compile time
            return None


def _is_short(call: Call) -> bool:
    """Whether it describes in one word what would become many numbers."""
    moved = moved_inputs(call)
    is_longer = bool(moved) and call.outputs[0].type.size > sum(value.type.size for value in moved)
    return is_longer or call.op == "iota"


def _loops(call: Call) -> bool:
    """Whether the call is a loop, or contains one."""
    return call.op in LOOPS or any(_loops(inner) for graph in called((call,)) for inner in graph.calls)

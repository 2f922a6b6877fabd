"""Finds ints of a loop that may exceed 64 bits, unlike Python's: ``product *= i``, ``i ** 9``, ``1 << i``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ....compiler.ir import Call, Constant, Graph, Value, called
from ....compiler.params import graphs_param

_GROWS: Final = frozenset({"multiply", "power", "left_shift"})
_BOUNDS: Final = frozenset({"bitwise_and", "remainder", "fmod"})
_GREATEST: Final = (1 << 63) - 1
_GREATEST_SIZE: Final = 1 << 31
"""Larger numbers of iterations and longer axes do not occur in practice."""


def may_outgrow(iteration: Graph, carried: Sequence[tuple[Value, Value]], length: Any) -> bool:
    """Whether an iteration computes a Python int that may exceed 64 bits.

    `carried` holds the Python ints before and after an iteration. Its first input is its number, below `length`.
    """
    if any(_inputs_of(after, iteration).get(before, False) for before, after in carried):
        return True
    greatest = {iteration.inputs[0]: length if type(length) is int else _GREATEST_SIZE}
    for call in iteration.calls:
        found = _magnitude(call, greatest)
        if found is not None:
            if found > _GREATEST:
                return True
            greatest[call.outputs[0]] = found
    return False


def _magnitude(call: Call, known: Mapping[Value, int]) -> int | None:
    """The greatest magnitude of a number that depends only on the number of the iteration."""
    rule = _MAGNITUDES.get(call.op)
    if rule is None or call.outputs[0].ndim or call.outputs[0].dtype.kind not in "iu":
        return None
    if not any(value in known for value in call.inputs):
        return None
    given = [_at_most(value, known) for value in call.inputs]
    return None if None in given else rule(*given)


def _at_most(value: Value, known: Mapping[Value, int]) -> int | None:
    if isinstance(value, Constant) and value.ndim == 0 and value.dtype.kind in "iu":
        return abs(int(value.array))
    return known.get(value)


_MAGNITUDES: Final[dict[str, Callable[..., int]]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x + y,
    "negative": lambda x: x,
    "multiply": lambda x, y: x * y,
    "power": lambda x, y: x ** min(y, 64) if x > 1 else 1,
    "left_shift": lambda x, y: x << min(y, 64),
    "floor_divide": lambda x, y: x,
    "remainder": lambda x, y: y,
    "convert": lambda x: x,
}


def _inputs_of(value: Value, graph: Graph) -> dict[Value, bool]:
    """The inputs of a graph that a value is computed from without a remainder, and whether products are involved."""
    makes = {output: call for call in graph.calls for output in call.outputs}
    found: dict[Value, bool] = {}
    seen, stack = set[tuple[Value, bool]](), [(value, False)]
    while stack:
        top, is_grown = stack.pop()
        if (top, is_grown) in seen or isinstance(top, Constant):
            continue
        seen.add((top, is_grown))
        call = makes.get(top)
        if call is None:
            found[top] = found.get(top, False) or is_grown
        elif call.op == "switch":
            branches = graphs_param(call)
            for branch in branches:
                inner = _inputs_of(branch.outputs[call.outputs.index(top)], branch)
                places = {source: place for place, source in enumerate(branch.inputs, 1)}
                stack += [(call.inputs[places[one]], is_grown or more) for one, more in inner.items()]
        elif call.op not in _BOUNDS:
            more = call.op in _GROWS or any(called((call,)))
            stack += [(one, is_grown or more) for one in call.inputs]
    return found

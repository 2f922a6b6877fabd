"""Finds ints of a loop that may exceed 64 bits, unlike Python's: ``product *= i``, ``i ** 9``, ``1 << i``."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Final

from ....compiler.ir import Call, Constant, Graph, Value
from ....compiler.op import moved_inputs
from ....compiler.ops.control.loop_params import scan_params, while_params
from ....compiler.params import graphs_param

_GREATEST: Final = (1 << 63) - 1
_GREATEST_SIZE: Final = 1 << 31
"""Larger numbers of iterations and longer axes do not occur in practice."""


def may_outgrow(iteration: Graph, carried: Sequence[tuple[Value, Value]], length: Any) -> bool:
    """Whether an iteration computes a Python int that may exceed 64 bits.

    `carried` holds the Python ints before and after an iteration. Its first input is its number, below `length`.
    """
    growth, pairs = _Growth(iteration), dict(carried)
    if any(_multiplies(growth, pairs, _cycle(growth, pairs, before)) for before in pairs):
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


# ---- how numbers depend on those before ----------------------------------------------------------------

_Terms = Mapping[Value, float]
"""A number is at most a constant plus these multiples of the magnitudes of inputs."""
_MOST_CASES: Final = 8
_ANY: Final = math.inf
"""The multiple is not known, or products are involved."""


class _Growth:
    """Bounds for the numbers of a graph, by the magnitudes of its inputs: in each of several cases, a sum of terms."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._known: dict[Value, list[_Terms]] = {}
        self._nested: dict[int, _Growth] = {}

    def cases(self, value: Value) -> list[_Terms]:
        if isinstance(value, Constant):
            return [{}]
        if not self._known:
            self._known = {one: [{one: 1.0}] for one in self.graph.inputs}
            for call in self.graph.calls:
                self._known.update({output: _capped(self._computed(call, output)) for output in call.outputs})
        return self._known[value]

    def _of(self, nested: Graph) -> "_Growth":
        return self._nested.setdefault(id(nested), _Growth(nested))

    def _computed(self, call: Call, value: Value) -> list[_Terms]:
        if call.op in _BOUNDED or value.dtype.kind == "b":
            return [{}]
        if call.op in _SAME or len(moved_inputs(call)) == 1:
            return self.cases(call.inputs[0])
        if call.op in _CHOICES:
            return [case for one in call.inputs[_CHOICES[call.op] :] for case in self.cases(one)]
        if call.op in ("add", "subtract"):
            x, y = map(self.cases, call.inputs)
            return [_total((one, 1.0), (other, 1.0)) for one in x for other in y]
        if call.op in _SCALES:
            for one, other in (call.inputs, call.inputs[::-1] if call.op == "multiply" else call.inputs):
                if isinstance(other, Constant) and other.array.size == 1 and other.dtype.kind in "iuf":
                    factor = _SCALES[call.op](abs(float(other.array.reshape(()))))
                    return [_total((case, factor)) for case in self.cases(one)]
        if call.op == "switch":
            branches, place = graphs_param(call), call.outputs.index(value)
            return [
                case
                for branch in branches
                for case in self._with(call.inputs[1:], branch, self._of(branch).cases(branch.outputs[place]))
            ]
        if call.op in ("scan", "while_loop"):
            return self._of_loop(call, call.outputs.index(value))
        return [
            dict.fromkeys((one for given in call.inputs for case in self.cases(given) for one in case), _ANY)
        ]

    def _with(self, inputs: Sequence[Value], inner: Graph, cases: Iterable[_Terms]) -> list[_Terms]:
        """Cases for a nested graph, whose inputs are values of this one."""
        given = dict(zip(inner.inputs, inputs, strict=True))
        found: list[_Terms] = []
        for case in cases:
            sums: list[_Terms] = [{}]
            for one, factor in case.items():
                sums = [_total((x, 1.0), (y, factor)) for x in sums for y in self.cases(given[one])]
            found += sums
        return found

    def _of_loop(self, call: Call, place: int) -> list[_Terms]:
        """A number that a loop carries is its initial value plus any multiple of everything that it is computed from:
        each iteration takes time, so that what only adds up stays small. It is multiplied if it grows by itself."""
        if call.op == "scan":
            scan = scan_params(call)
            body, first, count = scan.graph, scan.consts, scan.carried
        else:
            loop = while_params(call)
            body, first, count = loop.body, loop.consts, len(call.outputs)
        inner = self._of(body)
        carried = dict(zip(body.inputs[first : first + count], body.outputs, strict=False))
        sources = _sources_of(inner, {body.outputs[place]}, carried)
        own = body.inputs[first + place] if place < count else None
        cycle = set[Value]() if own is None else _cycle(inner, carried, own)
        if _multiplies(inner, carried, cycle):
            cycle = set()
        others = dict.fromkeys(sources - cycle, _ANY)
        cases = [{**others, one: 1.0} for one in cycle]
        if own is not None and own not in cycle:  # it keeps its initial value if there is no iteration
            cases.append({**others, own: others.get(own, 1.0)})
        return self._with(call.inputs, body, cases or [others])


def _sources_of(growth: _Growth, values: Iterable[Value], carried: Mapping[Value, Value]) -> set[Value]:
    """The inputs of an iteration from which values are computed, now or in earlier iterations."""
    found: set[Value] = set()
    stack = [one for value in values for case in growth.cases(value) for one in case]
    while stack:
        top = stack.pop()
        if top not in found:
            found.add(top)
            if top in carried:
                stack += [one for case in growth.cases(carried[top]) for one in case]
    return found


def _cycle(growth: _Growth, carried: Mapping[Value, Value], before: Value) -> set[Value]:
    """The carried numbers that depend on each other, with this one; none if it does not depend on itself."""
    return {
        one
        for one in _sources_of(growth, [carried[before]], carried)
        if one in carried and before in _sources_of(growth, [carried[one]], carried)
    }


def _multiplies(growth: _Growth, carried: Mapping[Value, Value], cycle: Set[Value]) -> bool:
    """Whether a carried number may be a multiple of these after an iteration: ``n + n``, ``a, b = b, a + b``."""
    return any(
        sum(factor for one, factor in case.items() if one in cycle) > 1.0
        for member in cycle
        for case in growth.cases(carried[member])
    )


def _total(*parts: tuple[_Terms, float]) -> _Terms:
    """The sum of terms, each part multiplied by a factor."""
    found: dict[Value, float] = {}
    for terms, factor in parts:
        for one, own in terms.items():
            if own and factor:
                found[one] = found.get(one, 0.0) + own * factor
    return found


def _capped(cases: Sequence[_Terms]) -> list[_Terms]:
    """The same cases, or one that is at least as large as each of them."""
    distinct = [dict(pairs) for pairs in dict.fromkeys(frozenset(case.items()) for case in cases)]
    if len(distinct) <= _MOST_CASES:
        return [*distinct]
    largest: dict[Value, float] = {}
    for case in distinct:
        for one, factor in case.items():
            largest[one] = max(factor, largest.get(one, 0.0))
    return [largest]


_BOUNDED: Final = frozenset({"bitwise_and", "fmod", "remainder", "sign"})
_SAME: Final = frozenset({"absolute", "convert", "negative", "positive"})
_CHOICES: Final = {"maximum": 0, "minimum": 0, "where": 1}
"""They give one of their inputs from this one on."""
_SCALES: Final[dict[str, Callable[[float], float]]] = {
    "multiply": lambda factor: factor,
    "floor_divide": lambda divisor: 1 / max(divisor, 1),
    "right_shift": lambda places: 0.5 ** min(places, 63),
    "left_shift": lambda places: 2.0 ** min(places, 63),
}
"""By a constant: the factor."""

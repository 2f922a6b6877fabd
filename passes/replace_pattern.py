"""Replace every occurrence of a small graph in a graph by another small graph."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..compiler.builder import Builder, inline, recording, require_graph
from ..compiler.errors import TransformArgumentError
from ..compiler.ir import ArrayType, Call, Constant, Graph, Value, same_params, same_type
from ..compiler.verifier import check


def replace_pattern(graph: Graph, pattern: Graph, replacement: Graph, *, any_shape: bool = False) -> Graph:
    """`graph` with every match of `pattern` replaced by `replacement`, which has the same inputs and outputs.

    A match is a set of calls with the ops, parameters and types of the pattern, connected in the same way. An input
    of the pattern matches any value of its type, the same value wherever it is used; a constant matches equal
    constants. Values inside a match must not be used outside it, and its outputs not before its last call. Matches do
    not overlap: the first one wins. The order of operands counts, and nested graphs do not change. With `any_shape`,
    values need only have the dtypes of the pattern's values.

    Raises `TransformArgumentError` if the two graphs do not fit each other or if the pattern cannot match anything,
    and `TransformTypeError` for anything that is not a graph.

    With the pattern ``log(exp(x))`` and the replacement ``x``, before::

        def f(a: f32[3]) -> f32[3]:
            exp_1: f32[3] = exp(a)
            log_1: f32[3] = log(exp_1)
            sin_1: f32[3] = sin(log_1)
            return sin_1

    and after::

        def f(a: f32[3]) -> f32[3]:
            sin_1: f32[3] = sin(a)
            return sin_1

    >>> import numpy as np, tracemill as tm
    >>> f, pattern, nothing = (
    ...     tm.compile(g).lower(np.ones(3)).graph
    ...     for g in (lambda a: np.sin(np.log(np.exp(a))), lambda x: np.log(np.exp(x)), lambda x: x)
    ... )
    >>> [call.op for call in replace_pattern(f, pattern, nothing)]
    ['sin']
    """
    for what, given in (("graph", graph), ("pattern", pattern), ("replacement", replacement)):
        require_graph(f"replace_pattern: the {what}", given)
    _check_arguments(pattern, replacement, any_shape)
    matches = list(_Search(graph, pattern, any_shape).matches())
    if not matches:
        return graph
    result = _rebuild(graph, pattern, replacement, matches)
    check(result)
    return result


def _rebuild(graph: Graph, pattern: Graph, replacement: Graph, matches: Sequence["_Match"]) -> Graph:
    """`graph` with the replacement at the position of the last call of each match."""
    ends = {max(match.indices): match for match in matches}
    matched = {index for match in matches for index in match.indices}
    env: dict[Value, Value] = {}
    with recording(Builder()) as builder:
        for index, call in enumerate(graph.calls):
            if index not in matched:
                builder.calls.append(replace(call, inputs=tuple(env.get(v, v) for v in call.inputs)))
            elif index in ends:
                match = ends[index]
                builder.location = call.location
                given = [match.values[v] for v in pattern.inputs]
                made = inline(replacement, [env.get(v, v) for v in given])
                before = [match.values[v] for v in pattern.outputs]
                if [v.type for v in made] != [v.type for v in before]:
                    raise TransformArgumentError(
                        f"replace_pattern: here the replacement gives {_types(made)} for {_types(before)}",
                        call.location,
                    )
                env.update(zip(before, made, strict=True))
    outputs = tuple(env.get(v, v) for v in graph.outputs)
    return Graph(graph.name, graph.inputs, tuple(builder.calls), outputs, graph.input_names)


def _check_arguments(pattern: Graph, replacement: Graph, any_shape: bool) -> None:
    for part, ours, theirs in (
        ("inputs", pattern.inputs, replacement.inputs),
        ("outputs", pattern.outputs, replacement.outputs),
    ):
        fits = (_fits(a.type, b.type, any_shape) for a, b in zip(ours, theirs, strict=False))
        if len(ours) != len(theirs) or not all(fits):
            raise TransformArgumentError(
                f"replace_pattern: the {part} of the pattern are {_types(ours)}, those of the replacement "
                f"{_types(theirs)}; they must agree"
            )
    used = {value for call in pattern.calls for value in call.inputs}
    made = {value for call in pattern.calls for value in call.outputs}
    kept = used.union(pattern.outputs)
    for what, holds in (
        ("output of the pattern must be made by one of its calls", made.issuperset(pattern.outputs)),
        ("input of the pattern must be used by one of its calls", used.issuperset(pattern.inputs)),
        ("call of the pattern must be needed", not any(kept.isdisjoint(c.outputs) for c in pattern.calls)),
    ):
        if not (holds and pattern.outputs):
            raise TransformArgumentError(f"replace_pattern: every {what}, and there must be an output")


def _types(values: Sequence[Value]) -> str:
    return ", ".join(str(value.type) for value in values) or "none"


def _fits(ours: ArrayType, theirs: ArrayType, any_shape: bool) -> bool:
    return ours.dtype == theirs.dtype if any_shape else same_type(ours, theirs)


# ---- the search ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Match:
    """The graph values and calls that match those of the pattern."""

    values: dict[Value, Value] = field(default_factory=dict[Value, Value])
    indices: tuple[int, ...] = ()
    """The positions of the matched calls, in the order of the plan."""


class _Search:
    """Matches the calls of the pattern one by one, in an order in which each is connected to an earlier one."""

    def __init__(self, graph: Graph, pattern: Graph, any_shape: bool) -> None:
        self.graph = graph
        self.pattern = pattern
        self.any_shape = any_shape
        self.plan = _plan(pattern)
        self.maker = {value: index for index, call in enumerate(graph.calls) for value in call.outputs}
        self.users: dict[Value, list[int]] = {}
        self.by_op: dict[str, list[int]] = {}
        for index, call in enumerate(graph.calls):
            self.by_op.setdefault(call.op, []).append(index)
            for value in dict.fromkeys(call.inputs):
                self.users.setdefault(value, []).append(index)
        self.returned = set(graph.outputs)
        self.taken: set[int] = set()

    def matches(self) -> Iterator[_Match]:
        """The matches that do not overlap, ordered by their first outputs."""
        for index in self.by_op.get(self.plan[0].op, ()):
            match = self.extend(_Match(), 0, [index])
            if match is not None:
                self.taken.update(match.indices)
                yield match

    def extend(self, match: _Match, step: int, candidates: Sequence[int]) -> _Match | None:
        """`match` with the calls of the plan from `step` on; the first of them is at one of the candidates."""
        for index in candidates:
            bound = self.bind(match, self.plan[step], index)
            if bound is None:
                continue
            if step + 1 == len(self.plan):
                if self.can_be_replaced(bound):
                    return bound
            elif (found := self.extend(bound, step + 1, self.candidates(bound, step + 1))) is not None:
                return found
        return None

    def candidates(self, match: _Match, step: int) -> Sequence[int]:
        """Where the next call of the plan may be: at the producer or the users of a known value, or anywhere."""
        call = self.plan[step]
        for value in call.outputs:
            if value in match.values:
                maker = self.maker.get(match.values[value])
                return () if maker is None else (maker,)
        for value in call.inputs:
            if value in match.values:
                return self.users.get(match.values[value], ())
        return self.by_op.get(call.op, ())

    def bind(self, match: _Match, wanted: Call, index: int) -> _Match | None:
        """`match` with one more call, or None if the call at `index` does not fit."""
        call = self.graph.calls[index]
        if index in self.taken or index in match.indices or call.op != wanted.op:
            return None
        if len(call.inputs) != len(wanted.inputs) or not same_params(call.params, wanted.params):
            return None
        values = dict(match.values)
        for ours, theirs in zip(
            (*wanted.inputs, *wanted.outputs), (*call.inputs, *call.outputs), strict=True
        ):
            if not self.bind_value(values, ours, theirs):
                return None
        return _Match(values, (*match.indices, index))

    def bind_value(self, values: dict[Value, Value], ours: Value, theirs: Value) -> bool:
        """Match a value of the pattern with one of the graph, if possible."""
        if isinstance(ours, Constant):
            return isinstance(theirs, Constant) and ours.same_as(theirs)
        known = values.setdefault(ours, theirs)
        return _fits(ours.type, theirs.type, self.any_shape) and _same_value(known, theirs)

    def can_be_replaced(self, match: _Match) -> bool:
        """Nothing outside needs a value from inside, or an output before the last matched call."""
        last = max(match.indices)
        outputs = {match.values[value] for value in self.pattern.outputs}
        for index in match.indices:
            for value in self.graph.calls[index].outputs:
                outside = [user for user in self.users.get(value, ()) if user not in match.indices]
                if value in outputs:
                    if any(user < last for user in outside):
                        return False
                elif outside or value in self.returned:
                    return False
        return True


def _same_value(left: Value, right: Value) -> bool:
    if isinstance(left, Constant) and isinstance(right, Constant):
        return left.same_as(right)
    return left is right


def _plan(pattern: Graph) -> list[Call]:
    """The calls of a pattern: the one that computes the first output, then always one connected to earlier ones."""
    maker = {value: call for call in pattern.calls for value in call.outputs}
    plan = [maker[pattern.outputs[0]]]
    rest = [call for call in reversed(pattern.calls) if call is not plan[0]]
    while rest:
        known = {value for call in plan for value in (*call.inputs, *call.outputs)}
        makers = (call for call in rest if known.intersection(call.outputs))
        users = (call for call in rest if known.intersection(call.inputs))
        chosen = next(makers, None) or next(users, rest[0])
        plan.append(chosen)
        rest.remove(chosen)
    return plan

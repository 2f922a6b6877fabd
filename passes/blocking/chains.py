"""Chains of matrix products: a product whose rows are computed from those of other products, without other rows."""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Final

from ...compiler.analysis.fusible_ops import REDUCTIONS, is_loop_call
from ...compiler.analysis.row_products import DTYPES, leading_axes
from ...compiler.ir import Call, Constant, Graph, Value
from ...compiler.params import ints_param
from ...compiler.symbolic_size import SymbolicSize

SMALLEST: Final = 1 << 18
"""If fewer bytes lie between the products, they stay in the cache anyway."""

LONGEST: Final = 1 << 12
"""The terms of a sum that are added one after the other, and of a column of a matrix that stays in the cache."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The calls of a chain, and what they take and make."""

    calls: tuple[Call, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    """The last product first, then values that calls elsewhere need."""


def chain_to(last: Call, uses: "Uses") -> Chain | None:
    """The chain that ends with a product, if it pays to compute it in blocks; None otherwise."""
    if not _is_product(last):
        return None
    behind: dict[Call, None] = {last: None}
    waiting = [last.inputs[0]]
    while waiting:
        call = uses.producer.get(waiting.pop())
        if call is None or call in behind:
            continue
        if call.op == "dot":
            if _is_product(call):
                behind[call] = None
        elif is_loop_call(call) and len(call.outputs) == 1:
            behind[call] = None
            waiting += call.inputs
    members = _members(last, sorted(behind, key=uses.place.__getitem__))
    if len(members) < 2:
        return None
    made = {call.outputs[0] for call in members}
    inputs = dict.fromkeys(v for call in members for v in call.inputs if v not in made and not is_number(v))
    inside = frozenset(members)
    if uses.reached(inside, made) & inputs.keys():
        return None
    (result,) = last.outputs
    others = (v for call in members for v in call.outputs if v is not result)
    outputs = [result, *(v for v in others if uses.are_outside(v, inside))]
    chain = Chain(tuple(members), tuple(inputs), tuple(outputs))
    return chain if _pays(chain) else None


def _members(last: Call, behind: Sequence[Call]) -> list[Call]:
    """Those of the calls behind a product that use the results of other products."""
    made: set[Value] = set()
    members: list[Call] = []
    for call in behind:
        is_first = call.op == "dot" and call is not last
        if is_first or any(value in made for value in call.inputs):
            members.append(call)
            made.update(call.outputs)
    return members if last in members else []


def _pays(chain: Chain) -> bool:
    """Whether so much is not written to memory, and read again, that the products may be slower.

    Without blocks, these are the results of products, and what products and reductions read. The other values are
    computed where they are used.
    """
    first = [call.outputs[0] for call in chain.calls[:-1] if call.op == "dot"]
    read = [call.inputs[0] for call in chain.calls if call.op in {"dot", *REDUCTIONS}]
    stored = {*first, *read}.difference(chain.inputs, chain.outputs)
    saved = sum(value.type.nbytes for value in stored)
    return saved - sum(value.type.nbytes for value in chain.outputs[1:]) >= SMALLEST


def _is_product(call: Call) -> bool:
    """Whether rows can be multiplied as they lie in memory, or after a transposition of one operand."""
    if call.op != "dot" or leading_axes(call) is None or call.inputs[0].dtype.name not in DTYPES:
        return False
    x, y = call.inputs
    (*_, lead) = ints_param(call, "batch_x", ()) or (-1,)
    contract = ints_param(call, "contract_x"), ints_param(call, "contract_y")
    sizes = (*x.shape, *y.shape)
    return (
        not any(isinstance(size, SymbolicSize) for size in sizes)
        and len(contract[0]) == 1
        and contract[0] == (x.ndim - 1,)
        and y.ndim == lead + 3
        and 1 <= x.shape[-1] <= LONGEST
        and 0 not in sizes
    )


def is_number(value: Value) -> bool:
    """Whether a value is a constant that each block contains."""
    return isinstance(value, Constant) and value.type.size == 1


class Uses:
    """Which calls of a graph compute and use each value."""

    def __init__(self, graph: Graph) -> None:
        self.producer: dict[Value, Call] = {v: call for call in graph.calls for v in call.outputs}
        self.place = {call: number for number, call in enumerate(graph.calls)}
        self.users: dict[Value, list[Call]] = {}
        for call in graph.calls:
            for value in call.inputs:
                self.users.setdefault(value, []).append(call)
        self.returned = set(graph.outputs)

    def are_outside(self, value: Value, members: Set[Call]) -> bool:
        """Whether anything but these calls needs a value."""
        return value in self.returned or any(call not in members for call in self.users.get(value, ()))

    def reached(self, members: Set[Call], made: set[Value]) -> set[Value]:
        """What other calls compute from the results of these."""
        found: set[Value] = set()
        waiting = [user for value in made for user in self.users.get(value, ()) if user not in members]
        while waiting:
            call = waiting.pop()
            if call.outputs and call.outputs[0] in found:
                continue
            found.update(call.outputs)
            waiting += [user for value in call.outputs for user in self.users.get(value, ())]
        return found

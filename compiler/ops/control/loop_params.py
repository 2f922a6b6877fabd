"""The parameters of calls of loops by name and type: ``scan_params(call).length``."""

from typing import NamedTuple

from ...ir import Call, Extent, Graph
from ...params import flag_param, graph_param, int_param, ints_param


class ScanParams(NamedTuple):
    """For ``scan``. Its inputs are constants, the carry, and stacks; its outputs are the carry and stacks."""

    graph: Graph
    length: Extent
    consts: int
    carried: int
    reverse: bool
    unroll: int


class WhileParams(NamedTuple):
    """For ``while_loop``. Its inputs are constants and the carry; its outputs are the carry."""

    cond: Graph
    body: Graph
    consts: int
    max_steps: Extent | None


def scan_params(call: Call) -> ScanParams:
    consts, carried = ints_param(call, "counts")
    length, unroll = int_param(call, "length"), int_param(call, "unroll", 1)
    return ScanParams(graph_param(call), length, consts, carried, flag_param(call, "reverse"), unroll)


def while_params(call: Call) -> WhileParams:
    most = None if call.params.get("max_steps") is None else int_param(call, "max_steps")
    return WhileParams(graph_param(call, "cond"), graph_param(call, "body"), int_param(call, "consts"), most)

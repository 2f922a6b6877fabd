"""The parameters of calls of loops by name and type: ``scan_params(call).length``."""

from typing import Any, NamedTuple

from ...ir import Call, Dim, Graph


class ScanParams(NamedTuple):
    """For ``scan``. Its inputs are constants, the carry, and stacks; its outputs are the carry and stacks."""

    graph: Graph
    length: Dim
    consts: int
    carried: int
    reverse: bool
    unroll: int


class WhileParams(NamedTuple):
    """For ``while_loop``. Its inputs are constants and the carry; its outputs are the carry."""

    cond: Graph
    body: Graph
    consts: int
    max_steps: Dim | None


def scan_params(call: Call) -> ScanParams:
    params: Any = call.params
    consts, carried = params["counts"]
    return ScanParams(
        params["graph"],
        params["length"],
        consts,
        carried,
        bool(params.get("reverse", False)),
        params.get("unroll", 1),
    )


def while_params(call: Call) -> WhileParams:
    params: Any = call.params
    return WhileParams(params["cond"], params["body"], params["consts"], params.get("max_steps"))

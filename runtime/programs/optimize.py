"""Which passes a program goes through, for each backend."""

from collections.abc import Callable
from functools import partial

from ...compiler.ir import Graph
from ...passes.fusion.cost import CPU, Costs
from ...passes.lowering.inline_calls import inline_calls
from ...passes.lowering.real_products import real_products
from ...passes.optimizations.block_rows import block_rows
from ...passes.optimizations.combine_parts import combine_parts
from ...passes.optimizations.contract_sums import contract_sums
from ...passes.optimizations.fuse import fuse
from ...passes.optimizations.select_scattered import select_scattered
from ...passes.optimizations.split_concatenate import split_concatenate
from ...passes.optimizations.sum_products import sum_products
from ...passes.optimizations.tile import tile
from ...passes.pipeline import run
from ...passes.simplification.remove_dead_code import remove_dead_code
from ...passes.simplification.share_subexpressions import share_subexpressions
from ...passes.simplification.simplify import simplify
from ..environment import checking
from ..stage_times import pass_times
from .canonicalize import canonical_passes
from .simplifying import SIMPLIFYING

PASSES = SIMPLIFYING
"""The passes of every program, in this order, before those of its backend."""


def passes_for(backend: str) -> tuple[Callable[[Graph], Graph], ...]:
    """The passes of a program for this backend after those."""
    if backend == "numpy":
        return tile, contract_sums, combine_parts
    if backend == "c":
        return inline_calls, block_rows, sum_products, real_products, fuse
    before = (inline_calls, select_scattered, simplify, share_subexpressions, split_concatenate)
    return *before, partial(fuse, costs=costs_for(backend)), remove_dead_code


def costs_for(backend: str) -> Costs:
    """The costs of operations and memory that fusion assumes there."""
    if backend != "triton":
        return CPU
    from ...passes.fusion.gpu import GPU

    return GPU


def optimize(graph: Graph, backend: str) -> Graph:
    """A canonical graph after all passes."""
    return run(graph, (*PASSES, *passes_for(backend)), check=checking(), record=pass_times())


def optimize_in_stages(graph: Graph, backend: str) -> tuple[Graph, list[tuple[str, Graph]]]:
    """A graph without custom rules after all passes, and after each of them."""
    stages: list[tuple[str, Graph]] = []
    passes = (*canonical_passes(backend), *PASSES, *passes_for(backend))
    return run(graph, passes, check=checking(), record=stages), stages

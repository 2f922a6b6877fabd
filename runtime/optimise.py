"""Which passes a program goes through, for each backend."""

from collections.abc import Callable
from functools import partial

from ..compiler.ir import Graph
from ..compiler.op import has_effect
from ..passes.decompose import decompose_composites
from ..passes.fold_constants import fold_constants
from ..passes.forget_weights import forget_weights
from ..passes.fuse import fuse
from ..passes.fusion.cost import CPU, Costs
from ..passes.inline_calls import inline_calls
from ..passes.inline_rules import inline_rules
from ..passes.pipeline import apply, run
from ..passes.remove_dead_code import remove_dead_code
from ..passes.reroll import reroll
from ..passes.select_scattered import select_scattered
from ..passes.share_subexpressions import share_subexpressions
from ..passes.simplify import simplify
from ..passes.tile import tile
from .environment import checking
from .stage_times import pass_times

FIRST = (decompose_composites, remove_dead_code, reroll)
"""What they leave is what the disk cache knows a program by: a Python loop as a loop, whose text is short."""

OTHERS = (simplify, fold_constants, share_subexpressions, simplify, remove_dead_code)

PASSES = (*FIRST, *OTHERS)
"""What programs go through, in this order, for targets that have no kernels of composite ops."""


def first_for(backend: str) -> tuple[Callable[[Graph], Graph], ...]:
    """What leaves the graph by which the disk cache knows a program."""
    if backend != "triton":
        return FIRST
    from ..compiler.backends.triton.steps.attention_gradient import has_kernel

    before = (inline_calls, partial(forget_weights, keep=has_kernel))
    return *before, partial(decompose_composites, keep=has_kernel), *FIRST[1:]


def passes_for(backend: str) -> tuple[Callable[[Graph], Graph], ...]:
    """What it goes through then."""
    if backend == "numpy":
        return (tile,)
    if backend == "c":
        return inline_calls, fuse
    before = (inline_calls, select_scattered, simplify, share_subexpressions)
    return *before, partial(fuse, costs=costs_for(backend)), remove_dead_code


def costs_for(backend: str) -> Costs:
    """What fusion believes that things cost there."""
    if backend != "triton":
        return CPU
    from ..passes.fusion.gpu import GPU

    return GPU


def final(graph: Graph) -> Graph:
    """The graph as it is compiled: no transform will ask for the rules that its calls hold."""
    return apply(inline_rules, graph, check=checking())


def prepared(graph: Graph, backend: str) -> Graph:
    """The graph by whose text the disk cache knows a program."""
    return run(final(graph), first_for(backend), check=checking(), record=pass_times())


def can_be_cached(graph: Graph) -> bool:
    """Whether text knows a program: one that calls back into Python has a function that has none."""
    return not any(has_effect(call, "calls Python") for call in graph.calls)


def optimised(graph: Graph, backend: str) -> Graph:
    """A `prepared` graph after all passes."""
    return run(graph, (*OTHERS, *passes_for(backend)), check=checking(), record=pass_times())


def optimise(graph: Graph, backend: str) -> tuple[Graph, list[tuple[str, Graph]]]:
    """A `final` graph after all passes, and after each."""
    stages: list[tuple[str, Graph]] = []
    passes = (*first_for(backend), *OTHERS, *passes_for(backend))
    return run(graph, passes, check=checking(), record=stages), stages

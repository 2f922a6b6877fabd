"""The passes that run before a program is looked up on disk."""

from collections.abc import Callable
from functools import partial

from ...compiler.errors import ExportError
from ...compiler.ir import Graph
from ...compiler.op import has_effect
from ...passes.lowering.collect_checks import has_checks
from ...passes.lowering.decompose import decompose_composites
from ...passes.lowering.forget_weights import forget_weights
from ...passes.lowering.inline_calls import inline_calls
from ...passes.optimizations.reroll import reroll
from ...passes.pipeline import run
from ..environment import checking
from ..stage_times import pass_times
from .every_program import DECOMPOSING, INLINING

CANONICAL = (*DECOMPOSING, reroll)
"""Their result is the text for the key of the disk cache: short, with Python loops as loops."""


def canonical_passes(backend: str) -> tuple[Callable[[Graph], Graph], ...]:
    """The passes that produce the graph by which the disk cache identifies a program."""
    if backend != "triton":
        return CANONICAL
    from ...compiler.backends.triton.steps.attention.gradient import has_kernel

    before = (inline_calls, partial(forget_weights, keep=has_kernel))
    return *before, partial(decompose_composites, keep=has_kernel), *CANONICAL[1:]


def inline_user_rules(graph: Graph) -> Graph:
    """The graph to compile: no later transform needs the rules in its calls."""
    return run(graph, INLINING, check=checking())


def canonicalize(graph: Graph, backend: str) -> Graph:
    """The graph whose text identifies a program in the disk cache."""
    return run(inline_user_rules(graph), canonical_passes(backend), check=checking(), record=pass_times())


def refuse_checks(name: str, graph: Graph) -> None:
    """Raises `ExportError` if the graph of a file that cannot raise may raise."""
    if has_checks(graph):
        raise ExportError(
            f"{name} cannot be exported for GPUs with checks of values: such a file has no way to raise. Export with "
            "checks=False, and check where it is called"
        )


def can_be_cached(graph: Graph) -> bool:
    """Whether text identifies a program: a callback's function has no text."""
    return not any(has_effect(call, "calls Python") for call in graph.calls)

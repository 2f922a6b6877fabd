"""Records Python loops as loops of the program: `while_loop`, and `known_loop` for loops of a known length."""

from collections.abc import Callable, Mapping
from typing import Any

from ....compiler.dtypes import INT64
from ....compiler.frontend.program import Argument
from ....compiler.frontend.sites import Site
from ....compiler.ir import ArrayType, Value
from ....compiler.symbolic_size import SymbolicSize, is_known
from ...branching.outcomes import FELL, Outcome
from ...branching.watching import Watch
from ...control_flow.scan import run_loop, slices_of
from ...control_flow.while_loop import record_while
from ...eager.nested_function import NestedFunction
from .growing_lists import GrowingLists
from .growing_numbers import may_outgrow
from .iterations import NUMBER, Iterations
from .staged_loop import Iteration, StagedLoop
from .unrolling import RunsInPythonError, is_long, is_very_long


def while_loop(
    where: str,
    site: Site,
    names: Mapping[str, Any],
    test: Callable[[Mapping[str, Any]], Any],
    iteration: Iteration,
    watch: Watch,
    *,
    most: int | None = None,
    has_iterations: bool = False,
    only_if_left: bool = False,
    settled: StagedLoop | None = None,
) -> Outcome:
    """A loop that runs while a test is true, for at most `most` iterations.

    If its body has been traced as that of another loop, it carries what that one has `settled` on.

    Raises:
        RunsInPythonError: with `only_if_left`, if no jump out of the loop depends on values.
    """
    loop = StagedLoop(where, site, names, watch, has_iterations=has_iterations)
    if settled is not None:
        loop.carry_as(settled)
    step = loop.traced(iteration)
    if only_if_left and not loop.is_left_by_values(step):
        raise RunsInPythonError("no value ends it")
    limit = {} if most is None else {"max_steps": most}
    return loop.outcome_of(record_while(where, loop.carry, step, loop.condition(test, step), limit))


def known_loop(
    where: str,
    site: Site,
    names: Mapping[str, Any],
    iteration: Iteration,
    iterations: Iterations,
    has_jumped: Callable[[], bool],
    watch: Watch,
) -> Outcome:
    """A loop of known length: a `scan`, unless a jump may end it. `has_jumped` says whether one depends on values.

    Raises:
        RunsInPythonError: it is short and no value ends it, or it must run on Python's own numbers and arrays.
    """
    has_iterations = is_known(iterations.length >= 1)
    loop, slices = (
        StagedLoop(where, site, names, watch, has_iterations=has_iterations),
        slices_of(where, iterations.rows, iterations.length),
    )
    counter = Argument(ArrayType(INT64, ()), "i", int, is_scalar=True)
    loop.may_append = type(iterations.length) is int and is_very_long(iterations.length)
    step = loop.traced(iteration, [counter, *slices.arguments])
    lists = GrowingLists(loop)
    if iterations.rows and loop.memory.needs_views(loop.rows, iterations.rows, step):
        return known_loop(where, site, names, iteration, iterations.indexed(), has_jumped, watch)
    are_sizes_known = not isinstance(iterations.length, SymbolicSize)
    computes_numbers = any(loop.carry.weak) or (are_sizes_known and not is_very_long(iterations.length))
    if computes_numbers and not loop.depends_on_inputs(step, iterations.rows):
        raise RunsInPythonError("it computes numbers that Python knows in each iteration")
    if may_outgrow(step.program.graph, _whole_numbers(loop, step), iterations.length):
        raise RunsInPythonError("it computes Python ints that may exceed 64 bits")
    if loop.outcome.kind is not FELL:
        return while_loop(
            where,
            site,
            {**names, NUMBER: 0},
            lambda given: given[NUMBER] < iterations.length,
            iteration,
            watch,
            most=iterations.length if are_sizes_known else None,
            has_iterations=has_iterations,
            settled=loop,
        )
    if not (is_long(site, iterations.length) or has_jumped()):
        raise RunsInPythonError("it is short")
    if loop.choices is None and loop.memory.shares() and not is_very_long(iterations.length):
        raise RunsInPythonError("its variables may be the same array afterwards")
    last, stacks = run_loop(step, loop.carry, slices, {}, None, first=0)
    return loop.outcome_of(last, lists.after(last, stacks, step))


def _whole_numbers(loop: StagedLoop, step: NestedFunction) -> list[tuple[Value, Value]]:
    """The carried Python ints before and after an iteration."""
    graph = step.program.graph
    return [
        (graph.inputs[1 + place], graph.outputs[step.results[place].index])
        for place, weak in enumerate(loop.carry.weak)
        if weak is int and step.results[place].index >= 0
    ]

"""Programs are traced once for all sizes, assume no more of them than they must, and then mean what NumPy does."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from numpy_surface.differential import assert_same, run_numpy
from symbolic.programs import OBSERVED, OTHERS, PROGRAMS, SymbolicProgram
from tracemill.compiler.dtypes import Array
from tracemill.compiler.ir import ArrayType, Graph
from tracemill.compiler.program import Argument, Program, flatten_arguments, trace
from tracemill.compiler.shapes import Observed, answering
from tracemill.compiler.shapes.guards import Guards
from tracemill.compiler.trace import evaluate
from tracemill.passes.fix_sizes import fix_sizes


def traced(program: SymbolicProgram, types: Sequence[ArrayType]) -> Program:
    """The function traced for arguments of these types."""
    _, tree = flatten_arguments(tuple(range(len(types))), {})
    return trace(
        program.function, tree, [Argument(type, f"args[{place}]") for place, type in enumerate(types)]
    )


def run(program: Program, graph: Graph, arrays: Sequence[Array]) -> Any:
    """What the function returns and what it leaves in its arguments, by the meaning of the graph."""
    outputs = evaluate(graph, *arrays, *program.captured)
    after = list(arrays)
    for place, output in program.mutated:
        after[place] = outputs[output]
    return as_arrays((program.result(outputs), after))


def as_arrays(result: Any) -> Any:
    return optree.tree_map(np.asarray, result)


def allowed(guards: Guards, sizes: Mapping[str, int]) -> bool:
    return bool(eval(guards.source({name: name for name in sizes}), dict(sizes)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_traced_once_for_all_sizes(name: str) -> None:
    program = PROGRAMS[name]
    scope = Observed(OBSERVED)
    with answering(scope):
        once = traced(program, program.types())
        once.graph.lint()
        assert tm.parse(str(once.graph)) == once.graph
    assert str(scope.guards) == program.guards
    for sizes in (OBSERVED, *OTHERS):
        if not allowed(scope.guards, sizes):
            continue
        fixed = fix_sizes(once.graph, sizes)
        fixed.lint()
        arrays = program.arrays(sizes)
        static = traced(program, [ArrayType(x.dtype, x.shape) for x in arrays])
        theirs = program.arrays(sizes)
        expected = as_arrays((run_numpy(program.function, *theirs), theirs))
        found = run(once, fixed, arrays)
        assert_same(run(static, static.graph, arrays), found)
        assert_same(expected, found, program.rtol, program.rtol)

"""Many arrays are joined in groups."""

from typing import Any

import numpy as np
import pytest

from support.recording import assert_same, ops, recorded
from tracemill.compiler import value_ops as fn
from tracemill.compiler.backends.triton.planning.program import triton_program
from tracemill.compiler.interpreter import evaluate
from tracemill.passes.optimizations.split_concatenate import split_concatenate
from tracemill.runtime.programs.optimize import optimize


def joined(*xs: Any) -> Any:
    return fn.concatenate(xs, 1)


@pytest.mark.parametrize(("count", "made"), [(64, 1), (65, 3), (96, 4), (2049, 67)])
def test_no_call_joins_more_than_64_arrays_and_their_elements_are_the_same(count: int, made: int) -> None:
    graph = recorded(joined, *(f"i32[2, {n % 3}]" for n in range(count)))
    split = split_concatenate(graph)
    split.lint()
    assert (split is graph) == (count <= 64)
    assert ops(split) == ["concatenate"] * made
    assert all(len(call.inputs) <= 64 for call in split.calls)
    arrays = [np.full(value.shape, n, np.int32) for n, value in enumerate(graph.inputs)]
    assert_same(evaluate(split, *arrays), evaluate(graph, *arrays))


def test_programs_for_gpus_join_hundreds_of_arrays() -> None:
    graph = recorded(joined, *["f32[2, 4]"] * 600)
    functions = triton_program(optimize(graph, "triton")).plan.launches
    assert sum(1 for _ in functions) == 20

"""Derivatives, batches and loops are traced once for all sizes, and then compute what they do for each."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import optree
import pytest

import tracemill as tm
from symbolic.programs import OBSERVED, OTHERS, SymbolicProgram
from symbolic.sized_samples import allowed
from symbolic.transforms import TRANSFORMS
from tracemill.compiler.arguments.leaves import flatten_arguments
from tracemill.compiler.callers.user_code import user_location
from tracemill.compiler.errors import UndecidedDimError
from tracemill.compiler.frontend.program import Argument, Program
from tracemill.compiler.frontend.traced_program import trace
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import ArrayType
from tracemill.compiler.shapes import Declared, Observed, answering
from tracemill.passes.lowering.fix_sizes import fix_sizes


def traced(function: Callable[..., Any], types: list[ArrayType]) -> Program:
    """The function traced for arguments of these types."""
    _, tree = flatten_arguments(tuple(range(len(types))), {})
    arguments = [Argument(type, f"args[{place}]") for place, type in enumerate(types)]
    return trace(function, tree, arguments, check_bounds=False)


def result(program: Program, arrays: Any, sizes: dict[str, int]) -> Any:
    """The function's results for arrays of these sizes, by the NumPy definitions of the graph's ops."""
    fixed = fix_sizes(program.graph, sizes)
    fixed.lint()
    return program.result(list(evaluate(fixed, *arrays, *program.captured)))


def assert_close(program: SymbolicProgram, found: Any, expected: Any) -> None:
    assert optree.tree_structure(found) == optree.tree_structure(expected)
    for ours, theirs in zip(optree.tree_leaves(found), optree.tree_leaves(expected), strict=True):
        assert (np.asarray(ours).dtype, np.shape(ours)) == (np.asarray(theirs).dtype, np.shape(theirs))
        np.testing.assert_allclose(ours, theirs, max(program.rtol, 1e-11), 1e-11)


@pytest.mark.sampled(slow=5)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_is_traced_once_for_all_sizes(name: str) -> None:
    """Against the same function on arrays of known sizes."""
    program = TRANSFORMS[name]
    scope = Observed(OBSERVED)
    with answering(scope):
        once = traced(program.function, program.types())
        once.graph.lint()
        assert "callable" in str(once.graph) or tm.parse(str(once.graph)) == once.graph
    assert str(scope.guards) == program.guards
    for sizes in (OBSERVED, *OTHERS):
        if allowed(scope.guards, sizes):
            arrays = program.arrays(sizes)
            expected = program.function(*(x.copy() for x in arrays))
            assert_close(program, result(once, arrays, sizes), expected)
    with answering(Declared(scope.assumptions)):  # what is declared answers all that was asked
        traced(program.function, program.types()).graph.lint()


@pytest.mark.sampled(
    "gradients-jacfwd-of-a-matrix",
    "gradients-custom-jvp",
    "batches-pmean",
    "loops-fori-loop",
    "networks-vmap-of-convolution",
    "networks-grad-of-attention",
    "networks-cross-entropy-of-any-classes",
    "linalg-grad-of-rfft",
    slow=5,
)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_compiled_transform_serves_all_sizes(name: str) -> None:
    """By one program, or by two where arguments had a size in common when it was first called."""
    program = TRANSFORMS[name]
    compiled = tm.compile(program.function, backend="numpy", dynamic=True)
    for sizes in (OBSERVED, *OTHERS):
        if eval(program.guards, dict(sizes)):
            arrays = program.arrays(sizes)
            expected = program.function(*(x.copy() for x in arrays))
            found = compiled(*arrays)
            assert_close(replace(program, rtol=max(program.rtol, 1e-9)), found, expected)
    assert len(compiled.signatures()) <= 2


def undecided() -> dict[str, tuple[Callable[..., Any], tuple[str, ...]]]:
    """Functions that ask of their sizes what is not declared."""
    return {
        "vmap": (tm.vmap(lambda x, y: x + y), ("f64[B]", "f64[N]")),
        "scan": (lambda x, y: tm.scan(lambda c, s: (c + s[0], s[1]), 0.0, (x, y)), ("f64[B]", "f64[N]")),
        "jvp": (lambda x, dx: tm.jvp(np.sin, (x,), (dx,)), ("f64[B]", "f64[N]")),
        "conv": (tm.nn.conv, ("f64[B, 1, N]", "f64[1, 1, K]")),
        "cumprod": (tm.grad(lambda x: np.sum(np.cumprod(x))), ("f64[N]",)),
    }


@pytest.mark.parametrize("name", undecided())
def test_a_question_that_nothing_declared_answers_names_the_users_line(name: str) -> None:
    function, texts = undecided()[name]
    types = SymbolicProgram(function, texts).types()
    with (
        answering(Declared(where=user_location)),
        pytest.raises(UndecidedDimError) as caught,
    ):
        traced(function, types)
    assert "test_transforms.py" in str(caught.value)
    assert "constraint" in str(caught.value)

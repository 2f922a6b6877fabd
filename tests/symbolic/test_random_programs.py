"""Random programs are compiled once for all sizes, and give what NumPy gives, and what programs of one size give."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tracemill as tm
from symbolic.random_programs import Program, programs

pytestmark = pytest.mark.usefixtures("lightly_optimised")

EXAMPLES = settings().max_examples
"""As many as the tests that run ask for: ``--more`` multiplies them."""


def check(program: Program, backend: str, *, with_fixed: bool) -> None:
    """One function for all sizes against NumPy, and one for a single size, too."""
    function = program.function
    symbolic = tm.compile(function, backend=backend, dynamic=True, on_recompile="ignore")
    for number, sizes in enumerate(program.sizes):
        arguments = program.arguments(sizes)
        expected = function(*arguments)
        agree(symbolic(*arguments), expected)
        if number == 0 and with_fixed:
            agree(tm.compile(function, backend=backend, dynamic=False)(*arguments), expected)
    rows, columns = program.sizes[0]
    if rows != columns and "longer" not in program.body:  # sizes that are equal at first share a name
        assert len(symbolic.signatures()) == 1


def check_gradient(program: Program) -> None:
    """The gradient of a sum of all results for all sizes against that for each."""
    function = program.function

    def loss(*arguments: Any) -> Any:
        results = function(*arguments)
        return sum(np.sum(np.cos(x)) for x in (results if isinstance(results, tuple) else (results,)))

    gradient = tm.grad(loss, argnums=(0, 1, 2))
    symbolic = tm.compile(gradient, backend="numpy", dynamic=True, on_recompile="ignore")
    for sizes in program.sizes[:3]:
        arguments = program.arguments(sizes)
        agree(symbolic(*arguments), gradient(*arguments))


def agree(found: Any, expected: Any) -> None:
    expected, found = (x if isinstance(x, tuple) else (x,) for x in (expected, found))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(theirs).max()))


@pytest.mark.slow
@settings(deadline=None)
@given(programs())
def test_one_compilation_serves_all_sizes(program: Program) -> None:
    check(program, "numpy", with_fixed=True)


@pytest.mark.slow
@settings(deadline=None)
@given(programs(steps=4))
def test_one_compilation_of_gradients_serves_all_sizes(program: Program) -> None:
    check_gradient(program)


@pytest.mark.slow
@pytest.mark.long
@settings(max_examples=EXAMPLES, deadline=None)
@given(programs())
def test_many_gradients_serve_all_sizes(program: Program) -> None:
    check_gradient(program)


@pytest.mark.slow
@pytest.mark.long
@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(programs())
def test_many_programs_serve_all_sizes(program: Program) -> None:
    check(program, "numpy", with_fixed=False)


@pytest.mark.slow
@pytest.mark.long
@settings(max_examples=EXAMPLES // 4, deadline=None)
@given(programs(steps=10))
def test_one_compilation_to_c_serves_all_sizes(program: Program) -> None:
    check(program, "c", with_fixed=False)

"""A function on NumPy arrays, and the same function traced and evaluated: value, shape and dtype must agree."""

from collections.abc import Callable
from typing import Any

import numpy as np
import optree

from tracemill.compiler.arguments.leaves import argument_names, flatten_arguments, leaf_type, weak_type
from tracemill.compiler.frontend.program import Argument
from tracemill.compiler.frontend.traced_program import trace
from tracemill.compiler.interpreter import evaluate

Function = Callable[..., Any]


def run_traced(function: Function, *args: Any) -> Any:
    """Trace `function`, evaluate the graph on `args` by the NumPy definitions of its ops, write back what it
    mutated."""
    leaves, tree = flatten_arguments(args, {})
    arguments = [
        Argument(leaf_type(x, name), name, weak_type(x), np.ndim(x) == 0 and not isinstance(x, np.ndarray))
        for x, name in zip(leaves, argument_names(tree), strict=True)
    ]
    program = trace(function, tree, arguments)
    inputs: list[Any] = [*map(np.asarray, leaves), *program.captured]
    outputs = [output.copy() for output in evaluate(program.graph, *inputs)]  # before inputs are written to
    for place, output in program.mutated:
        inputs[place][...] = outputs[output]
    scalars = {leaf.index for leaf in program.array_outputs if leaf.is_scalar}
    return program.result([x[()] if i in scalars else x for i, x in enumerate(outputs)])


def run_numpy(function: Function, *args: Any) -> Any:
    """The function on the arrays themselves, without NumPy's warnings about values."""
    with np.errstate(all="ignore"):
        return function(*args)


def assert_same(expected: Any, actual: Any, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Equal dtypes, shapes and values; with `rtol` = 0 to the bit, except for the payload of a NaN."""
    expected_leaves, expected_tree = optree.tree_flatten(expected)
    actual_leaves, actual_tree = optree.tree_flatten(actual)
    assert len(expected_leaves) == len(actual_leaves), (expected_tree, actual_tree)
    for want, got in zip(expected_leaves, actual_leaves, strict=True):
        assert isinstance(want, np.ndarray) == isinstance(got, np.ndarray), (want, got)
        want, got = np.asarray(want), np.asarray(got)
        assert (want.dtype, want.shape) == (got.dtype, got.shape), (want, got)
        if want.dtype.name == "bfloat16":  # with NaNs that NumPy does not know
            want, got = want.astype(np.float32), got.astype(np.float32)
        if rtol or atol:
            np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(got, want)
            if want.dtype.kind == "f":
                np.testing.assert_array_equal(
                    np.signbit(got) | np.isnan(got), np.signbit(want) | np.isnan(want)
                )


def check(function: Function, *args: Any, rtol: float = 0.0, atol: float = 0.0) -> None:
    """The traced function gives what NumPy gives, also in its arguments if it changes them."""
    twice: Any = (args, args)
    ours, theirs = optree.tree_map(copied, twice)
    expected = run_numpy(function, *theirs)
    actual = run_traced(function, *ours)
    assert_same(expected, actual, rtol, atol)
    assert_same(theirs, ours, rtol, atol)


def copied(x: Any) -> Any:
    return x.copy() if isinstance(x, np.ndarray) else x


def check_both_raise(function: Function, *args: Any) -> None:
    """NumPy refuses the call, and so does the trace, with an error of the same base class."""
    caught: list[Exception] = []
    for run in (run_numpy, run_traced):
        try:
            run(function, *args)
        except Exception as error:
            caught.append(error)
    assert len(caught) == 2, caught
    kinds = (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, NotImplementedError)
    assert any(isinstance(caught[0], kind) and isinstance(caught[1], kind) for kind in kinds), caught

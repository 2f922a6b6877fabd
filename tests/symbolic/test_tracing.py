"""Programs are traced once for all sizes, assume no more about them than necessary, and then compute what NumPy
does."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree
import pytest

import symbolic.programs
import tracemill as tm
from numpy_surface.differential import assert_same, run_numpy
from samples.grouping import Case, in_groups
from symbolic.programs import OBSERVED, OTHERS, PROGRAMS, SMALL, SymbolicProgram
from symbolic.sized_samples import allowed
from tracemill.compiler.arguments.leaves import flatten_arguments
from tracemill.compiler.callers.user_code import user_location
from tracemill.compiler.dtypes import Array
from tracemill.compiler.errors import (
    AxisError,
    DimArithmeticError,
    OutOfBoundsError,
    ShapeError,
    TracemillError,
    UndecidedDimError,
)
from tracemill.compiler.frontend.program import Argument, Program
from tracemill.compiler.frontend.traced_program import trace
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.ir import ArrayType, Graph
from tracemill.compiler.shapes import Declared, Observed, answering
from tracemill.passes.lowering.fix_sizes import fix_sizes

SIMPLER_FOR_SOME = {
    "indexing:up-to-length-guarded",
    "indexing:first-few-guarded",
    "indexing:moving-average",
    "order:searchsorted",
    "order:isin",
}
"""Programs that a guard makes simpler, or faster, and that can be traced for all sizes."""


def traced(program: SymbolicProgram, types: Sequence[ArrayType]) -> Program:
    """The function traced for arguments of these types."""
    _, tree = flatten_arguments(tuple(range(len(types))), {})
    arguments = [Argument(type, f"args[{place}]") for place, type in enumerate(types)]
    return trace(program.function, tree, arguments, check_bounds=False)


def run(program: Program, graph: Graph, arrays: Sequence[Array]) -> Any:
    """The function's results and its changes to its arguments, by the NumPy definitions of the graph's ops."""
    outputs = evaluate(graph, *arrays, *program.captured)
    after = list(arrays)
    for place, output in program.mutated:
        after[place] = outputs[output]
    return as_arrays((program.result(outputs), after))


def as_arrays(result: Any) -> Any:
    return optree.tree_map(np.asarray, result)


every_program = in_groups(Case(name.partition(":")[0], name, (name,)) for name in PROGRAMS)
each_program = in_groups(
    Case(name.partition(":")[0], name, (name,), bool(number % 4), number % 4 > 1)
    for number, name in enumerate(PROGRAMS)
)


@pytest.mark.slow
@each_program
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
        assert_same(run(static, static.graph, arrays), found, program.rtol, program.rtol)
        assert_same(expected, found, program.rtol, program.rtol)


@pytest.mark.sampled("order", every=7)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@every_program
def test_guards_say_where_sizes_of_0_and_1_are_others(name: str) -> None:
    program = PROGRAMS[name]
    scope = Observed(OBSERVED)
    with answering(scope):
        once = traced(program, program.types(least=0))
    for sizes in SMALL:
        arrays, theirs = program.arrays(sizes), program.arrays(sizes)
        try:
            expected = as_arrays((run_numpy(program.function, *theirs), theirs))
        except (ValueError, IndexError, ZeroDivisionError) as error:
            if allowed(scope.guards, sizes):
                with pytest.raises((type(error), TracemillError)):
                    run(once, fix_sizes(once.graph, sizes), arrays)
            continue
        if allowed(scope.guards, sizes):
            found = run(once, fix_sizes(once.graph, sizes), arrays)
            assert_same(expected, found, program.rtol, program.rtol)


@every_program
def test_declared_sizes_are_traced_without_questions_or_the_users_line_is_named(name: str) -> None:
    program = PROGRAMS[name]
    with answering(Declared(where=user_location)):
        if program.guards == "True" or name in SIMPLER_FOR_SOME:
            traced(program, program.types()).graph.lint()
            return
        with pytest.raises(UndecidedDimError, match=r"at programs\.py:") as caught:
            traced(program, program.types())
    location: Any = caught.value.location
    assert location.file == symbolic.programs.__file__


@pytest.mark.parametrize(
    ("function", "least"),
    [
        (tm.grad(lambda x: np.sum(np.cumprod(x) ** 2)), 0),
        (tm.grad(lambda x: np.sum(np.logaddexp.accumulate(x[::-1]) ** 2)), 0),
        (lambda x: tm.associative_scan(lambda a, b: a + b + a * b, x, reverse=True), 0),
        (lambda x: np.hypot.accumulate(x) + 1, 0),
        (lambda x: np.hypot.reduce(x) + 1, 1),
    ],
)
def test_scans_have_the_steps_of_the_longest_array_where_a_maximum_is_declared(
    function: Callable[..., Any], least: int
) -> None:
    with pytest.raises(UndecidedDimError, match=r'gives the size a maximum, such as "N <= 4096"'):
        tm.export(function, "x: f64[N]", constraints="N >= 1")
    loaded = tm.export(function, "x: f64[N]", constraints=f"N in {least}..9").function()
    for length in range(least, 10):
        x = np.linspace(-1.3, 1.4, length)
        np.testing.assert_allclose(loaded(x), function(x), rtol=1e-12, atol=1e-12)


# ---- numbers ---------------------------------------------------------------------------------------------


def observed(function: Callable[..., Any], *types: str) -> tuple[Program, str]:
    """The function traced for `OBSERVED`, and what it assumes, with the lines that did."""
    program = SymbolicProgram(function, types)
    scope = Observed(OBSERVED, where=user_location)
    with answering(scope):
        found = traced(program, program.types())
    return found, " and ".join(scope.guards.described())


def test_a_guard_names_the_line_that_asked() -> None:
    def shortened(x: Any) -> Any:
        if x.shape[0] > 3:
            return x[:3]
        return x

    _, guards = observed(shortened, "f64[B]")
    assert guards.startswith("B >= 4  # test_tracing.py:")
    assert guards.endswith("if x.shape[0] > 3:")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * math.sqrt(x.shape[0] / 2 - 1),
        lambda x: x[: int(x.shape[0] * 0.5)],
        lambda x: max(x[i] for i in range(x.shape[0])),
        sum,
        lambda x: np.zeros(int(np.prod(x.shape))) + x,
        lambda x: x if x.shape[0] / 2 > 2 else -x,
        lambda x: np.apply_along_axis(lambda row: row.sum(), 1, x[:, None] * x),
        lambda x: np.subtract.accumulate(x) * 2,
        lambda x: np.insert(x, [1, -1], 0.0),
        lambda x: np.stack(np.triu_indices(x.shape[0], 1, 3)) + x[0],
        lambda x: np.arange(0, x.shape[0], 0.1)[: len(x)] * x,
        tm.laplacian(lambda x: np.sum(x**3)),
    ],
)
def test_what_python_needs_as_an_int_holds_for_this_size_only(function: Callable[..., Any]) -> None:
    found, guards = observed(function, "f64[B]")
    assert guards.startswith("B == 5  # test_tracing.py:")
    x = np.linspace(-1, 1, 5)
    expected = np.asarray(function(x))
    (actual,) = evaluate(fix_sizes(found.graph, OBSERVED), x)
    np.testing.assert_array_equal(actual, expected)
    assert actual.dtype == expected.dtype


def test_a_size_that_an_integer_dtype_cannot_hold_is_an_error_as_a_python_int_is() -> None:
    assert observed(lambda x: x + x.shape[0], "u8[B]")[1].startswith("B <= 255  #")
    program = SymbolicProgram(lambda x: x + x.shape[0], ("u8[B]",))
    types = program.types()
    with (
        answering(Observed({"B": 300})),
        pytest.raises(OverflowError, match="Python integer 300 out of bounds for uint8"),
    ):
        traced(program, types)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda x: x.reshape(x.shape[0] + 1), ShapeError),
        (lambda x: x + np.ones(x.shape[0] + 1), ShapeError),
        (lambda x: x[x.shape[0]], OutOfBoundsError),
        (lambda x: x.transpose(x.shape[0]), AxisError),
    ],
)
def test_what_no_size_allows_is_a_named_error_with_the_line(
    function: Callable[..., Any], error: type[TracemillError]
) -> None:
    with pytest.raises(error, match=r"at test_tracing\.py:"):
        observed(function, "f64[B]")


@pytest.mark.parametrize(
    "compute",
    [
        lambda n: n / 2,
        lambda n: 2.0 * n,
        np.sqrt,
        lambda n: n * np.ones(2),
        lambda n: np.float64(2) - n,
        lambda n: n**-1,
        lambda n: 2**n,
    ],
)
def test_outside_of_traces_sizes_give_sizes_only(compute: Callable[[Any], Any]) -> None:
    with pytest.raises(DimArithmeticError, match="N has no value outside a traced function"):
        compute(tm.Dim("N"))


def test_sizes_compute_with_numpys_integers_and_compare_with_floats() -> None:
    n: Any = tm.Dim("N", min=2)
    assert np.add(n, np.int32(1)) is n + 1
    assert np.maximum(3, n) is tm.Dim.maximum(n, 3)
    assert str(np.array(3) < n) == "N >= 4"
    assert str(n > 2.5) == str(n >= 2.25) == "N >= 3"
    assert str(n <= 8.5) == "N <= 8"
    assert str(np.float32(4) == n) == "N == 4"
    assert (n != 2.5) is True
    assert (n == 2.5) is False


def test_the_length_of_a_traced_array_is_a_size_while_tracing_alone() -> None:
    own = len, math.sqrt

    def failing(x: Any) -> Any:
        found.append(len(x) is x.shape[0])
        found.append(len([1, 2]) == math.sqrt(4) == math.log2(4) == 2)
        raise KeyError

    found: list[bool] = []
    with pytest.raises(KeyError):
        observed(failing, "f64[B]")
    assert found == [True, True]
    assert (len, math.sqrt) == own


def test_math_has_no_value_where_python_has_none() -> None:
    assert observed(lambda x: x * math.log(x.shape[0] - 4), "f64[B]")[1].startswith("B >= 5  #")
    for compute in (lambda n: math.log(n - 5), lambda n: math.sqrt(n - 6), lambda n: math.log(n / 2 - 3)):
        with pytest.raises(ValueError, match=r"math domain error|expected a "):
            observed(lambda x, compute=compute: x * compute(x.shape[0]), "f64[B]")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (
            x[:5],
            x[-3:],
            x[:-2],
            x[2:5],
            x[1:-1],
            x[-5:-2],
            x[::-1][:3],
            x[:4][1:],
            x[:-5:2],
            x[4:2],
        ),
        lambda x: (x[1:] - x[:-1], x[:-2] + x[2:], x[len(x) // 2 :][:2], np.split(x, [1, 3]), np.roll(x, 3)),
        lambda x: (np.concatenate([x[3:], x[:3]]), np.append(x, x[:1]), np.take(x, x[:2] > 9, mode="wrap")),
        lambda x: np.trace(np.ones((len(x), 3)), -2) + np.diagonal(np.ones((5, len(x))), 1),
    ],
)
def test_what_is_cut_off_needs_no_question_where_nobody_can_be_asked(function: Callable[[Any], Any]) -> None:
    loaded = tm.export(function, "x: f64[N]", constraints="N in 1..").function()
    for n in range(1, 9):
        x = np.arange(n) + 1.0
        for got, wanted in zip(optree.tree_leaves(loaded(x)), optree.tree_leaves(function(x)), strict=True):
            np.testing.assert_array_equal(got, wanted)

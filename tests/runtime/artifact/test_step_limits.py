"""``max_steps`` ends loops of loaded functions in any context, and changes nothing else."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import StepLimitError, TransformArgumentError
from tracemill.compiler.interpreter import evaluate
from tracemill.compiler.verifier import check
from tracemill.passes.lowering.limit_steps import limit_steps

GOES_ON = "a while loop exceeds max_steps="


@pytest.fixture(params=["numpy", "c"])
def load(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., tm.LoadedFunction]:
    """Exports a function of an i64[], and loads it with a limit."""

    def load(function: Any, max_steps: int | None = None, spec: str = "x: i64[]") -> tm.LoadedFunction:
        path = tm.export(function, spec).save(tmp_path / "f.tmill", overwrite=True)
        return tm.load(path, backend=request.param, max_steps=max_steps)

    return load


def up_to(limit: int, x: Any) -> Any:
    return tm.while_loop(lambda x: x < limit, lambda x: x + 1, x)


def forever(x: Any) -> Any:
    return tm.while_loop(lambda x: x > 0, lambda x: x + 1, x)


def test_a_loop_that_never_ends_is_ended(load: Callable[..., Any]) -> None:
    f = load(forever, 1000)
    with pytest.raises(StepLimitError, match=f"forever: {GOES_ON}1000 steps"):
        f(np.int64(1))
    assert f(np.int64(0)) == 0


@pytest.mark.slow
def test_as_many_steps_as_the_limit_are_taken(load: Callable[..., Any]) -> None:
    def ten(x: Any) -> Any:
        return up_to(10, x)

    assert load(ten, 10)(np.int64(0)) == 10
    assert load(ten, 3)(np.int64(7)) == 10
    f = load(ten, 9)
    for _ in range(3):  # each call counts anew
        with pytest.raises(StepLimitError):
            f(np.int64(0))
        assert f(np.int64(1)) == 10


def nested(x: Any) -> Any:
    """3 steps, of 4 each."""
    return tm.while_loop(lambda x: x < 30, lambda x: up_to(4, x * 0) + x + 6, x)


def in_a_condition(x: Any) -> Any:
    """Twice 4 steps that end in a condition, around 1 step."""
    return tm.while_loop(lambda x: up_to(4, x * 0) + x < 5, lambda x: x + 1, x)


def in_a_scan(x: Any) -> Any:
    """3 times 4 steps."""
    return tm.scan(lambda total, _: (total + up_to(4, x * 0), total), x, length=3)[0]


def in_a_branch(x: Any) -> Any:
    """4 steps where x is positive."""
    return tm.cond(x > 0, lambda x: up_to(5, x), lambda x: x, x)


def in_a_checkpoint(x: Any) -> Any:
    """4 steps, and then 4 of another loop."""
    return tm.checkpoint(lambda x: up_to(5, x))(x) + up_to(5, x)


def twice(x: Any) -> Any:
    """4 steps each."""
    return up_to(5, x) + up_to(5, x)


@pytest.mark.sampled(slow=2)
@pytest.mark.parametrize(
    ("function", "steps"),
    [
        (nested, 12),
        (in_a_condition, 8),
        (in_a_scan, 12),
        (in_a_branch, 4),
        (in_a_checkpoint, 4),
        (twice, 4),
    ],
)
def test_steps_are_counted_over_all_runs_of_a_loop(
    function: Any, steps: int, load: Callable[..., Any]
) -> None:
    x = np.int64(0 if function in (nested, in_a_condition) else 1)
    expected = load(function)(x)
    assert load(function, steps)(x) == expected
    with pytest.raises(StepLimitError, match=f"{GOES_ON}{steps - 1} steps"):
        load(function, steps - 1)(x)


def test_a_loop_whose_derivative_is_the_users_is_limited(load: Callable[..., Any]) -> None:
    @tm.custom_rule
    def f(x: Any) -> Any:
        return up_to(5, x)

    assert load(f, 4)(np.int64(1)) == 5
    with pytest.raises(StepLimitError):
        load(f, 3)(np.int64(1))


def test_loops_of_known_length_are_refused_when_they_are_loaded(load: Callable[..., Any]) -> None:
    def scans(x: Any) -> Any:
        return tm.scan(lambda x, _: (tm.fori_loop(0, 20, lambda i, x: x + i, x), None), x, length=10)[0]

    assert load(scans, 200)(np.int64(0)) == 1900
    with pytest.raises(StepLimitError, match="a loop of 200 steps has more than max_steps=199"):
        load(scans, 199)

    def endless(x: Any) -> Any:
        return tm.scan(lambda x, _: (x + 1, None), x, length=2**62)[0]

    with pytest.raises(StepLimitError, match=f"a loop of {2**62} steps"):
        load(endless, 10**6)


def test_transforms_keep_the_limit(load: Callable[..., Any]) -> None:
    def ten(x: Any) -> Any:
        return up_to(10, x)

    f = load(ten, 10)
    for g in (tm.vmap(f), tm.compile(tm.vmap(f))):
        np.testing.assert_array_equal(g(np.arange(3)), [10, 10, 10])
        with pytest.raises(StepLimitError):
            g(np.arange(-1, 3))

    def halves(x: Any) -> Any:
        return tm.while_loop(lambda x: x > 1, lambda x: x / 2, x, max_steps=100)

    h = load(halves, 4, "x: f64[]")
    assert tm.grad(h)(np.float64(8.0)) == 0.125
    with pytest.raises(StepLimitError):
        tm.grad(h)(np.float64(64.0))


def test_arguments_are_not_updated_where_the_limit_is_reached(load: Callable[..., Any]) -> None:
    def update(x: Any) -> Any:
        x += up_to(10, x.sum())

    f, x = load(update, 3, "x: i64[2]"), np.zeros(2, np.int64)
    with pytest.raises(StepLimitError):
        f(x)
    np.testing.assert_array_equal(x, [0, 0])


def test_named_sizes_are_limited(load: Callable[..., Any]) -> None:
    f = load(lambda x: up_to(10, x.sum() * 0) + x.shape[0], 10, "x: i64[B]")
    assert f(np.ones(3, np.int64)) == 13
    f = load(lambda x: up_to(10, x.sum() * 0) + x.shape[0], 9, "x: i64[B]")
    for size in (3, 5):
        with pytest.raises(StepLimitError):
            f(np.ones(size, np.int64))


def test_without_a_limit_nothing_changes(load: Callable[..., Any]) -> None:
    f = load(nested)
    assert f.artifact.max_steps is None
    source = f.lower(np.int64(0)).source
    assert "callback" not in source
    assert "callback" in load(nested, 100).lower(np.int64(0)).source


def test_limited_graphs_are_well_formed() -> None:
    for function in (nested, in_a_condition, in_a_scan, in_a_branch, in_a_checkpoint, twice):
        graph = limit_steps(tm.export(function, "x: i64[]").graph, 100)
        check(graph)
        np.testing.assert_array_equal(evaluate(graph, np.int64(1))[0], function(np.int64(1)))


def test_a_graph_without_loops_stays_as_it_is() -> None:
    graph = tm.export(np.sin, "f64[3]").graph
    assert limit_steps(graph, 1) is graph


def test_max_steps_is_a_positive_int(tmp_path: Path) -> None:
    path = tm.export(np.sin, "f64[3]").save(tmp_path / "f.tmill")
    wrong: list[Any] = [0, -1, 1.5, True, "many"]
    for most in wrong:
        with pytest.raises(TransformArgumentError, match="load: max_steps must be a positive int"):
            tm.load(path, max_steps=most)

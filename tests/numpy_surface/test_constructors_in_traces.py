"""NumPy's constructors see a trace in its own thread and nowhere else, and are NumPy's own again afterwards."""
# ruff: noqa: PLW0108  (lambdas look NumPy's functions up while they are traced)

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from numpy_surface.differential import check, run_traced
from tracemill.compiler.errors import (
    ArgumentTypeError,
    ConcretizationError,
    EscapedTracerError,
    IndexTypeError,
    RandomStateError,
)
from tracemill.compiler.tracing.traced_memory import is_traced

pytestmark = pytest.mark.usefixtures("lightly_optimised")

ROW = np.arange(4.0)
ORIGINALS = {
    name: getattr(np, name) for name in ("zeros", "array", "sum", "concatenate", "r_", "mgrid", "eye")
}


def in_another_thread(function: Callable[[], Any]) -> Any:
    """What `function` returns in a thread of its own."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def test_constructors_are_numpys_own_before_and_after_a_trace() -> None:
    run_traced(lambda x: np.zeros(3) + x[0], ROW)
    for name, original in ORIGINALS.items():
        assert getattr(np, name) is original
    assert type(np.zeros(3)) is np.ndarray


def test_constructors_are_numpys_own_after_an_exception() -> None:
    def fail(x: Any) -> Any:
        np.zeros(3)[0] = x[0]
        raise KeyError("of the user")

    with pytest.raises(KeyError, match="of the user"):
        run_traced(fail, ROW)
    for name, original in ORIGINALS.items():
        assert getattr(np, name) is original


def test_another_thread_gets_arrays_while_this_one_traces() -> None:
    def use(x: Any) -> Any:
        kinds.extend(in_another_thread(types_of_new_arrays))
        kinds.append(is_traced(np.zeros(2)))
        return x

    kinds: list[Any] = []
    check_is_identity(use)
    assert kinds == [np.ndarray, np.ndarray, np.ndarray, np.ndarray, True]


def types_of_new_arrays() -> list[Any]:
    return [type(np.zeros(2)), type(np.array([1.0])), type(np.r_[1.0, 2.0]), type(np.mgrid[0:2])]


def check_is_identity(use: Callable[[Any], Any]) -> None:
    np.testing.assert_array_equal(run_traced(use, ROW), ROW)


def test_two_threads_may_trace_at_once() -> None:
    barrier = threading.Barrier(2, timeout=30)
    results: dict[str, Any] = {}

    def traced(name: str, factor: float) -> None:
        def use(x: Any) -> Any:
            z = np.zeros(4)
            barrier.wait()
            z[1:] = x[1:] * factor
            barrier.wait()
            return z + np.ones(4)

        results[name] = run_traced(use, ROW)

    threads = [threading.Thread(target=traced, args=case) for case in (("a", 2.0), ("b", 3.0))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(results["a"], [1, 3, 5, 7])
    np.testing.assert_array_equal(results["b"], [1, 4, 7, 10])
    assert np.zeros is ORIGINALS["zeros"]


def test_a_trace_inside_a_trace_leaves_the_outer_one_its_constructors() -> None:
    def use(x: Any) -> Any:
        inner = tm.grad(lambda y: np.sum(np.ones(4) * y))(2.0)
        z = np.zeros(4)
        z[0] = x[1]
        return z + inner

    np.testing.assert_array_equal(run_traced(use, ROW), [5.0, 4.0, 4.0, 4.0])


def test_numpy_and_tracemill_keep_their_own_constructors() -> None:
    """Functions of NumPy that make arrays inside get NumPy arrays, not traced ones."""

    def use(x: Any) -> Any:
        window = np.interp([0.5, 1.5], [0.0, 1.0, 2.0], [1.0, 2.0, 4.0])
        rotated = np.kron(np.eye(2).tolist(), [[1, 2]])
        return x[0] + window[0] + rotated[0, 0]

    check(use, ROW)


def test_however_a_constructor_is_spelled_it_makes_a_traced_array() -> None:
    import numpy
    from numpy import linalg

    def use(x: Any) -> Any:
        a = numpy.zeros(
            4,
        )
        zeros = np.zeros
        b = zeros(4)
        c = (np.zeros(4) + 1).reshape(2, 2).T
        a[0] = b[1] = c[0, 1] = x[2]
        return a, b, c, linalg.norm is np.linalg.norm

    check(use, ROW)


def test_generators_draw_outside_of_the_trace() -> None:
    def use(x: Any) -> Any:
        rng = np.random.default_rng(0)
        return x + rng.normal(size=4)

    check(use, ROW)


@pytest.mark.parametrize(
    "draw", [lambda: np.random.rand(3), lambda: np.random.seed(), lambda: np.random.permutation(3)]
)
def test_the_global_random_state_is_refused_by_name(draw: Callable[[], Any]) -> None:
    with pytest.raises(
        RandomStateError,
        match=r"np\.random\.\w+ (was|is) called (while tracing|without a seed)(.|\n)*at test_constructors",
    ):
        run_traced(lambda x: draw(), ROW)
    draw()


# ---- questions that need values ----------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize(
    "use",
    [
        lambda x: 1 if x[0] > 0 else 2,
        lambda x: float(x[0]) * np.float32(0.5),
        lambda x: (int(x[0] * 2.6), complex(x[1]), bool(x[2])),
        lambda x: (3.0 in x, 3.5 in x, x[0] not in (1.0, 2.0)),
        lambda x: (min(x[0], x[1], 0.5), max(x), abs(x[2]), sum(x), any(x > 2), all(x > 2)),
        lambda x: (0 < x[0] < 2 and not x[1] > 5, x[0] or 4.0),
        lambda x: (*x.tolist(), x[0].item(), x.item(1)),
        lambda x: (*divmod(x[3], x[1]), pow(x[0], 2), math.sqrt(abs(x[1])), math.floor(x[2] / 2)),
    ],
)
def test_what_python_asks_of_numbers_is_computed(use: Callable[[Any], Any], backend: str) -> None:
    compiled = tm.compile(use, backend=backend, on_recompile="ignore")
    for row in (ROW, -ROW[::-1], ROW * 0.3):
        for ours, theirs in zip(*map(np.atleast_1d, (compiled(row), use(row))), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-14)


@pytest.mark.parametrize(
    ("use", "match"),
    [
        (lambda x: [0] * x.sum().astype(int), r"an index or a size(.|\n)*tm\.fori_loop\(0, n, …\)"),
        (lambda x: round(x[0]), r"int\(x\)"),
    ],
)
def test_a_question_that_needs_the_value_names_the_fix_and_the_line(
    use: Callable[[Any], Any], match: str
) -> None:
    with pytest.raises(ConcretizationError, match=rf"{match}(.|\n)*at test_constructors_in_traces\.py:\d+"):
        run_traced(use, ROW.copy())


def _store(table: Any, place: Any, value: Any) -> None:
    table[place] = value


@pytest.mark.parametrize(
    ("use", "match"),
    [
        (lambda i: [1.0, 2.0][:i], "a slice begins or ends at"),
        (lambda i: _store([1.0] * 300, i, 2.0), "a write at a traced place to a list of 300 entries"),
        (lambda i: _store({}, i, 2.0), r"a dict gets an entry at a key that values decide.*dict\.fromkeys"),
    ],
)
@pytest.mark.parametrize("around", ["vmap", "compiled_vmap", "scan", "fori_loop"])
def test_what_takes_no_traced_index_says_what_to_write(
    use: Callable[[Any], Any], match: str, around: str
) -> None:
    called: dict[str, Callable[[], Any]] = {
        "vmap": lambda: tm.vmap(use)(np.arange(2)),
        "compiled_vmap": lambda: tm.compile(tm.vmap(use))(np.arange(2)),
        "scan": lambda: tm.compile(lambda x: tm.scan(lambda _, i: (None, use(i)), None, x))(np.arange(2)),
        "fori_loop": lambda: tm.compile(lambda y: tm.fori_loop(0, 2, lambda i, y: y + use(i), y))(0.0),
    }
    with pytest.raises(ConcretizationError, match=rf"{match}(.|\n)*at test_constructors_in_traces\.py:\d+"):
        called[around]()


def test_what_an_index_error_says_to_write_works() -> None:
    def places(i: Any) -> Any:
        entry = np.take(ROW, i) + np.asarray(ROW)[i] + np.asarray([3.0, 4.0])[i]
        return entry, np.take(ROW, i + np.arange(2)), np.where(np.arange(4) < i, ROW, 0)

    for i, found in enumerate(zip(*tm.vmap(places)(np.arange(2)), strict=True)):
        for ours, theirs in zip(found, places(i), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(IndexTypeError, match=r"integer or boolean arrays are valid indices, not f64\[\]"):
        tm.vmap(lambda x: ROW[x])(np.ones(3))
    assert tm.grad(lambda x: [2.0, 3.0][np.argmax(x)] * np.sum(x))(ROW[:2]).tolist() == [3.0, 3.0]


WRITTEN = np.zeros(4)


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_tables_from_outside_are_read_and_written_at_traced_places(backend: str) -> None:
    def use(i: Any, x: Any) -> Any:
        WRITTEN[i] = x
        WRITTEN[i - 1] += 1.0
        return ROW[i] + ROW[:, None][i, 0] + [1.0, 2.0, 3.0][i], [np.ones(2), 2 * np.ones(2)][i] * x

    compiled = tm.compile(use, backend=backend)
    for i in (1, 0, -1):
        WRITTEN[:] = 0.0
        expected, written = use(i, 2.0), WRITTEN.copy()
        WRITTEN[:] = 0.0
        for ours, theirs in zip(compiled(i, 2.0), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(WRITTEN, written)


def test_what_is_known_can_be_asked_for() -> None:
    def use(x: Any) -> Any:
        steps = np.arange(3)
        if steps[1] > 0 and bool(np.any(steps == 2)):
            x = x * float(steps[2]) + int(np.sum(steps)) + [10, 20, 30][steps[1]]
        for step in steps:
            x = x + range(10)[step]
        return x, steps.tolist(), 2 in steps

    check(use, ROW)


def test_a_traced_array_that_escapes_is_named_where_it_is_used() -> None:
    escaped: list[Any] = []
    run_traced(lambda x: escaped.append(x), ROW)
    (x,) = escaped
    uses: list[Callable[[], Any]] = [lambda: x + 1, lambda: np.sin(x), lambda: x[0], lambda: x.reshape(2, 2)]
    for use in uses:
        with pytest.raises(EscapedTracerError, match="outside of the trace that made it"):
            use()
    with pytest.raises(EscapedTracerError, match="outside"):
        run_traced(lambda y: y + x, ROW)


def test_a_scalar_is_formatted_as_a_number_where_it_is_known() -> None:
    seen: list[str] = []

    def logged(x: Any) -> Any:
        seen.append(f"{x * 2:.2f}")
        return x

    tm.grad(logged)(1.5)
    assert seen == ["3.00"]


def test_scalars_can_be_rounded_and_arrays_cannot() -> None:
    check(lambda x: (round(x[1] / 3, 2), round(x.sum(), -1)), ROW)
    assert tm.grad(lambda x: x * round(x))(2.4) == 2
    with pytest.raises(ArgumentTypeError, match=r"np\.round"):
        run_traced(lambda x: round(x, 2), ROW)

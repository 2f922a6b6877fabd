"""Derivatives outside of `compile` run the function as it is: each operation is computed when Python reaches it."""

import math
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from samples.numpy_functions import without_warning
from tracemill.compiler.errors import (
    ArgumentValueError,
    ConcretizationError,
    DerivativeMemoryError,
    ShapeError,
)
from tracemill.runtime.evaluation.plans import MOST_PLANS, PLANS, remember

X = np.array([0.5, -1.5, 2.0])
POSITIVE = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])


def same(program: Callable[..., Any], *args: Any) -> None:
    """The gradient is that of the compiled program."""
    found, wanted = tm.grad(program)(*args), tm.compile(tm.grad(program))(*args)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    assert found.dtype == wanted.dtype


# ---- values ----------------------------------------------------------------------------------------------


def test_arrays_show_their_values(capsys: pytest.CaptureFixture[str]) -> None:
    def loss(x: Any) -> Any:
        y = x * 2
        print(y, repr(y), f"{np.sum(y):.2f}", str(y[0]))
        return np.sum(y)

    tm.grad(loss)(X)
    assert capsys.readouterr().out == "[ 1. -3.  4.] array([ 1., -3.,  4.]) 2.00 1.0\n"


def test_numpys_exceptions_reach_the_users_try() -> None:
    def loss(a: Any) -> Any:
        try:
            return np.sum(np.linalg.cholesky(a))
        except np.linalg.LinAlgError:
            return np.sum(a**2)

    np.testing.assert_allclose(tm.grad(loss)(-np.eye(2)), -2 * np.eye(2))
    assert np.isfinite(tm.grad(loss)(POSITIVE)).all()


def test_effects_happen_once_and_with_numbers() -> None:
    seen: list[float] = []

    def loss(x: Any) -> Any:
        seen.append(int(np.argmax(x)))
        while np.sum(x) > 1:
            x = x / 2
        return np.sum(x**2)

    tm.value_and_grad(loss)(X)
    assert seen == [2]


def test_float_keeps_the_derivative_or_refuses_to_lose_it() -> None:
    def loss(x: Any) -> Any:
        return np.sum(x) * float(x[0]) * float(np.sign(x[0])) * float(np.ones(2)[0])

    same(loss, X)
    with pytest.raises(ConcretizationError, match=r"float\(x\) of a traced f64\[\]"):
        tm.grad(loss, convert=False)(X)
    np.testing.assert_array_equal(
        tm.grad(lambda x: np.sum(x) * float(np.sign(x[0])), convert=False)(X), np.ones(3)
    )


def test_the_error_state_of_the_function_holds() -> None:
    def loss(x: Any) -> Any:
        with np.errstate(divide="raise"):
            return np.sum(1 / x)

    with pytest.raises(FloatingPointError, match="divide by zero"):
        tm.grad(loss)(np.array([0.0, 1.0]))


def test_large_gradients_and_infinities_cause_no_warning() -> None:
    assert tm.grad(lambda x: np.sum(x * 1e308))(X).tolist() == [1e308] * 3
    found = tm.grad(lambda x: np.sum(np.sqrt(x) - np.sqrt(x[::-1] * 4)))(np.zeros(2))
    assert np.isnan(found).all()


def test_an_error_names_the_line() -> None:
    with pytest.raises(ShapeError, match=r"test_evaluation\.py"):
        tm.grad(lambda x: np.sum(x + np.ones(2)))(X)


# ---- the same as compiled --------------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda x: np.sum((x + 1) * x / (3 - x) - (-x) + 3 / (1 + x**2)),
    "powers": lambda x: np.sum(x**2 + x**3 + (x * x) ** 0.5 + (x * x + 1) ** -1 + 2.0**x + (x * x) ** x),
    "matrices": lambda x: np.sum((POSITIVE @ x) * (x @ POSITIVE)) + x @ x,
    "reductions": lambda x: np.sum(x) * np.mean(x) + np.max(x) * np.prod(x) + np.var(x) + x.std() + np.ptp(x),
    "axes": lambda x: np.sum(np.sum(np.outer(x, x), axis=0) * np.max(np.outer(x, x), axis=1, keepdims=True)),
    "layout": lambda x: np.sum(np.outer(x, x).T.reshape(9)[::2] * np.arange(5.0)),
    "joining": lambda x: np.sum(np.concatenate([x, x * 2]) ** 2) + np.sum(np.stack([x, X]) ** 3),
    "entries": lambda x: np.sum(np.array([x[0], x[1] * x[2], 1.0]) ** 2),
    "choices": lambda x: np.sum(np.where(x > 0, np.exp(x), 0.5) + np.clip(x, -1.0, 1.0) + np.maximum(x, 0.1)),
    "gathers": lambda x: (
        np.sum(x[[0, 0, 2]] ** 2) + np.sum(x[np.array([True, False, True])] ** 3) + x[-1] * x[1]
    ),
    "a Python float": lambda x: float(np.sum(x * x)),
    "Python's numbers": lambda x: max(1.0, float(x[1])) * math.sin(x[0]) + sum([float(v) for v in x]),
    "positions": lambda x: np.sum(x[np.where(x > 0)] ** 2) + len(np.where(x)[0]) * x[0],
    "sorting": lambda x: (
        np.sum(np.sort(x * 2) * X)
        + np.sum(np.sort(np.outer(x, X)) ** 2 * X)
        + np.sum(np.cumsum(x) ** 2)
        + np.sum(np.cumprod(x))
    ),
    "algebra": lambda x: (
        np.sum(np.linalg.solve(POSITIVE * x[2], x))
        + np.linalg.det(POSITIVE + x)
        + np.linalg.norm(x)
        + np.sum(np.linalg.inv(POSITIVE + np.diag(x**2)))
    ),
    "several outputs": lambda x: np.sum(np.linalg.eigh(POSITIVE * x[0])[0] ** 2) + np.sum(np.split(x, 3)[1]),
    "ufuncs of several outputs": lambda x: (
        np.sum(np.divmod(x, 0.7)[1] ** 2) + np.sum(np.modf(x)[0] ** 3) + np.sum(np.frexp(x)[0])
    ),
    "complex numbers": lambda x: np.sum(np.abs(1j * x + 2) ** 2) + np.sum(np.exp(2j * x).real),
    "complex": lambda x: np.sum(np.abs(np.exp(1j * x) + x) ** 2) + np.real((x + 2j) @ (x - 1j)),
    "float32": lambda x: np.sum(x.astype(np.float32) * np.float32(2)) + np.sum(x * np.float32(3)),
    "steps": lambda x: np.sum(np.sign(x) * x + np.floor(x) + (x > 0)),
    "einsum": lambda x: np.einsum("i,ij,j->", x, POSITIVE, x) + np.tensordot(x, POSITIVE, 1)[0],
    "views": lambda x: np.sum(
        np.broadcast_to(x, (2, 3)) * np.swapaxes(np.outer(X, x), 0, 1)[:2, None].squeeze()
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_the_compiled_function(name: str) -> None:
    same(FUNCTIONS[name], X)
    np.testing.assert_allclose(
        tm.jacfwd(FUNCTIONS[name])(X), tm.grad(FUNCTIONS[name])(X), rtol=1e-6, atol=1e-12
    )


def writes_to_entries(x: Any) -> Any:
    z = np.zeros(4)
    for i in range(3):
        z[i] = x[i] * 2
    z[3] = z[0] * z[1]
    return np.sum(z**2)


def writes_through_views(x: Any) -> Any:
    y = x * 1
    first, rest = y[:1], y[1:]
    rest *= 2
    first += rest[0]
    y[0] = y[0] ** 2
    z = np.outer(y, y)
    z.T[0] = y
    z[1:, 1] -= z[0, 0]
    return np.sum(z * np.arange(9.0).reshape(3, 3)) + np.sum(rest)


def writes_to_its_argument(x: Any) -> Any:
    before = x.sum()
    x[1:] = x[0] * x[1:]
    x += 1
    return np.sum(x**2) * before


def writes_after_use(x: Any) -> Any:
    y = np.exp(x)
    z = y * y
    y[0] = 0.0
    y *= x
    return np.sum(z * y)


def writes_in_place_to_what_a_node_has_saved(x: Any) -> Any:
    y = np.zeros(3)
    y[:] = x
    z = y * y
    y[1] = 5.0
    y[2] = y[0]
    return np.sum(z) + np.sum(y**3)


def reshapes_in_place(x: Any) -> Any:
    y = np.outer(x, x)
    without_warning(lambda: setattr(y, "shape", (9,)))
    y[4] = y[0]
    return np.sum(y * np.arange(9.0))


def writes_numbers_to_a_copy(x: Any) -> Any:
    y = np.outer(x, x).T.copy(order="K")
    np.copyto(y, 2.0)
    y.ravel("A")[:2] = x[:2]
    return np.sum(y**2 * np.arange(9.0).reshape(3, 3))


PROGRAMS = [
    writes_numbers_to_a_copy,
    writes_to_entries,
    writes_through_views,
    writes_to_its_argument,
    writes_after_use,
    writes_in_place_to_what_a_node_has_saved,
    reshapes_in_place,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_writes_are_those_of_numpy(program: Callable[..., Any]) -> None:
    step = 1e-6 * np.eye(3)
    wanted = [(program(X + one) - program(X - one)) / 2e-6 for one in step]
    np.testing.assert_allclose(tm.grad(program)(X.copy()), wanted, rtol=1e-6, atol=1e-6)
    same(program, X.copy())
    strided = np.repeat(X, 2)[::2]
    np.testing.assert_allclose(tm.grad(program)(strided), wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(strided, X)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_all_transforms_agree_on_writes(program: Callable[..., Any]) -> None:
    wanted = tm.grad(program)(X)
    np.testing.assert_allclose(tm.vjp(program, X)[1](1.0)[0], wanted)
    np.testing.assert_allclose(tm.jacfwd(program)(X), wanted)
    np.testing.assert_allclose(tm.jvp(program, (X,), (np.ones(3),))[1], np.sum(wanted))
    np.testing.assert_allclose(tm.hessian(program)(X), tm.compile(tm.hessian(program))(X), atol=1e-9)


def test_gradients_of_gradients_are_those_of_the_compiled_function() -> None:
    def inner(x: Any) -> Any:
        return np.sum(np.sin(x) ** 3) * x[0]

    same(lambda x: np.sum(tm.grad(inner)(x) ** 2), X)
    same(lambda x: np.sum(tm.grad(lambda y: np.sum(tm.grad(inner)(y) * x))(x)), X)
    same(lambda x: np.sum(tm.vmap(tm.grad(inner))(np.outer(x, x))), X)
    np.testing.assert_allclose(
        tm.hvp(inner, (X,), (np.ones(3),)), tm.compile(lambda x: tm.hvp(inner, (x,), (np.ones(3),)))(X)
    )


def test_the_second_derivative_of_a_loop_and_of_several_outputs() -> None:
    def loop(x: Any) -> Any:
        y, _ = tm.scan(lambda y, _: (np.sin(y) * x, None), x, length=3)
        return np.sum(y)

    def several(x: Any) -> Any:
        values, vectors = np.linalg.eigh(POSITIVE * (2 + np.sin(x[0])) + np.diag(x))
        return np.sum(values**3) + np.sum(np.abs(vectors[0]))

    def twice(f: Any) -> Any:
        return lambda x: np.sum(tm.autograd.grad(f(x), x)[0] ** 2)

    for program in (loop, several):
        same(program, X)
        same(twice(program), X)


# ---- bad input -------------------------------------------------------------------------------------------


def test_an_exception_leaves_the_next_call_clean() -> None:
    table = np.ones(3)

    def loss(x: Any, fails: bool) -> Any:
        table[0] = x[0]
        if fails:
            raise KeyError("stop")
        return np.sum(table * x)

    with pytest.raises(KeyError, match="stop"):
        tm.grad(loss)(X, True)
    assert type(table) is np.ndarray
    np.testing.assert_allclose(tm.grad(loss)(X, False), [1.0, 1.0, 1.0])
    assert tm.grad(np.sum)(X).tolist() == [1.0, 1.0, 1.0]


def test_writes_to_arrays_from_outside_stay() -> None:
    table = np.zeros(3)

    def loss(x: Any) -> Any:
        table[1] = x[1] * 2
        return np.sum(table)

    np.testing.assert_array_equal(tm.grad(loss)(X), [0.0, 2.0, 0.0])
    np.testing.assert_array_equal(table, [0.0, -3.0, 0.0])


def test_a_small_array_that_numpy_changes_keeps_its_value_for_the_derivative() -> None:
    weights = np.array([1.0, 2.0, 3.0])

    def loss(x: Any) -> Any:
        y = np.sum(weights * x)
        weights[...] = 0
        return y

    np.testing.assert_array_equal(tm.grad(loss)(X), [1.0, 2.0, 3.0])


def test_a_large_array_that_numpy_changes_is_an_error() -> None:
    weights = np.ones(20_000)

    def loss(x: Any) -> Any:
        y = np.sum(weights * x)
        weights[:] = 0
        return y

    with pytest.raises(ArgumentValueError, match="writes to it with NumPy alone"):
        tm.grad(loss)(np.ones(20_000))


def test_a_later_pullback_does_not_see_changes_of_arrays_from_outside() -> None:
    weights, x = np.ones(20_000), np.ones(40_000)[::2]
    _, pull = tm.vjp(lambda x: np.sum(weights * x * x), x)
    weights[:] = 0
    x[:] = 0
    np.testing.assert_array_equal(pull(1.0)[0], 2 * np.ones(20_000))


def test_results_are_separate_memory() -> None:
    large = np.ones(20_000)
    _, (same_array, itself) = tm.grad(lambda x: (np.sum(x), (large, x)), has_aux=True)(X)
    same_array[:] = 0
    itself[:] = 0
    assert large[0] == 1
    assert X[0] == 0.5
    first, second = tm.grad(lambda x, y: np.sum(x + y), argnums=(0, 1))(X, X)
    first += 1
    np.testing.assert_array_equal(second, np.ones(3))


def test_constants_of_a_plan_cannot_be_changed() -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.sum(x.reshape(1, 3), axis=0))

    tm.grad(loss)(X)[:] = 7
    np.testing.assert_array_equal(tm.grad(loss)(X), np.ones(3))


def test_threads_and_generators_do_not_mix() -> None:
    found: dict[int, Any] = {}

    def parts(x: Any) -> Any:
        for i in range(3):
            yield x[i] ** (i + 1)

    def work(number: int) -> None:
        for _ in range(20):
            found[number] = tm.grad(lambda x: number * sum(parts(x)))(X)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        np.testing.assert_allclose(found[number], number * np.array([1.0, -3.0, 12.0]))


def test_a_long_chain_of_calls_has_a_derivative() -> None:
    def loss(x: Any) -> Any:
        for _ in range(20_000):
            x = x * 0.9999
        return np.sum(x)

    np.testing.assert_allclose(tm.grad(loss)(X), 0.9999**20_000 * np.ones(3))


def test_arrays_that_no_derivative_needs_are_released() -> None:
    def loss(x: Any) -> Any:
        for _ in range(50):
            x = x + 1.0
        return np.sum(x)

    x = np.zeros(50_000)
    tm.grad(loss)(x)
    tracemalloc.start()
    tm.grad(loss)(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * x.nbytes


def test_a_derivative_that_needs_too_much_memory_advises_checkpoint() -> None:
    def loss(x: Any, calls: int) -> Any:
        for _ in range(calls):
            x = np.sin(x)
        return np.sum(x) * np.ones(1 << 58)[0]

    with pytest.raises(
        DerivativeMemoryError, match=r"keeps what it needs of 1,0\d\d calls(.|\n)*tm\.checkpoint"
    ):
        tm.grad(loss)(X, 1000)
    with pytest.raises(MemoryError) as caught:
        tm.grad(loss)(X, 10)
    assert not isinstance(caught.value, DerivativeMemoryError)


OF_NUMBERS = """
import resource
import sys
import numpy as np
import tracemill as tm

def limit_memory(more):
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, resource.RLIM_INFINITY))

def backward(x):
    for _ in range(100_000):
        x = x * 0.999
    limit_memory(1 << 20)
    return x

def forward(x):
    limit_memory(8 << 20)
    for _ in range(1_000_000):
        x = x * 0.999
    return x

transform, function = getattr(tm, sys.argv[1]), globals()[sys.argv[2]]
transform(lambda x: x * 0.999)(0.5)
try:
    transform(function)(0.5)
except tm.TracemillError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is limited as on Linux")
@pytest.mark.parametrize(
    ("transform", "function"), [("grad", "backward"), ("grad", "forward"), ("hessian", "forward")]
)
def test_a_derivative_of_many_numbers_that_needs_too_much_memory_advises_checkpoint(
    transform: str, function: str, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(OF_NUMBERS)
    done = subprocess.run(
        [sys.executable, program, transform, function], capture_output=True, text=True, check=False
    )
    assert "DerivativeMemoryError there is no memory left" in done.stdout
    assert "Wrap parts of the function in tm.checkpoint" in done.stdout


def test_the_number_of_plans_is_bounded() -> None:
    before = dict(PLANS)
    for number in range(MOST_PLANS + 10):
        remember(("test", number), None)
    assert len(PLANS) <= MOST_PLANS
    PLANS.clear()
    PLANS.update(before)


# ---- memory --------------------------------------------------------------------------------------------

WEIGHTS = np.arange(1.0, 10.0).reshape(3, 3)


def writes_to_a_copy(a: Any) -> Any:
    """The transposed array is not contiguous, so that `reshape` copies."""
    v = a.T
    v *= 3
    v.reshape(-1)[:2] = 5
    return np.sum(v * WEIGHTS)


def writes_by_another_order(a: Any) -> Any:
    v = np.reshape(a, (3, 3, 1), order="A")
    v *= 3
    v.reshape(-1)[:2] = 5
    return np.sum(v[..., 0] * WEIGHTS)


def writes_a_number(a: Any) -> Any:
    np.copyto(a, 2)
    return np.sum(a.real * WEIGHTS) + np.sum(+a)


def adds_in_another_order(a: Any) -> Any:
    v = a * 1
    v += a.T
    v.reshape(-1)[:2] = 5
    return np.sum(v * WEIGHTS)


@pytest.mark.parametrize(
    "function", [writes_to_a_copy, writes_by_another_order, writes_a_number, adds_in_another_order]
)
@pytest.mark.parametrize("layout", [lambda a: a, lambda a: a.T, lambda a: np.repeat(a, 2, axis=1)[:, ::2]])
def test_written_arrays_lie_in_memory_as_numpys_do(
    function: Callable[[Any], Any], layout: Callable[[Any], Any]
) -> None:
    def given() -> Any:
        return layout(np.arange(9.0).reshape(3, 3) - 4)

    np.testing.assert_array_equal(tm.grad(function)(given()), tm.compile(tm.grad(function))(given()))
    assert tm.value_and_grad(function)(given())[0] == function(given())


# ---- effects of loops ----------------------------------------------------------------------------------

PLACES = np.array([0, 3])
LOOPS: dict[str, Callable[[Any], Any]] = {
    "fori_loop": lambda x: tm.fori_loop(0, 3, lambda i, total: total + x[i + 1], 0.0),
    "scan": lambda x: tm.scan(lambda total, i: (total + x[i], None), 0.0, PLACES)[0],
    "map": lambda x: np.sum(tm.map(lambda i: x[i], PLACES)),
    "vmap": lambda x: np.sum(tm.vmap(lambda i: x[i])(PLACES)),
    "take": lambda x: np.sum(tm.vmap(lambda i: np.take(x, i))(PLACES)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_indices_in_loops_are_checked(name: str) -> None:
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        tm.grad(LOOPS[name])(X)
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        tm.jvp(LOOPS[name], (X,), (X,))


def test_what_a_loop_prints_is_printed_once(capfd: pytest.CaptureFixture[str]) -> None:
    def total(x: Any) -> Any:
        def step(i: Any, so_far: Any) -> Any:
            tm.debug_print("step {}", i)
            return so_far + x[i]

        return tm.fori_loop(0, 3, step, 0.0)

    tm.grad(total)(X)
    assert capfd.readouterr().out.count("step") == 3

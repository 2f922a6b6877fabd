"""Functions that converted code calls take traced arrays: NumPy's constructors, methods, functions that call others.

Nothing of it is replaced in NumPy, Python or SciPy, while a function is traced or at any other time.
"""

import builtins
import functools
import math
import threading
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from scipy.interpolate import CubicSpline

import tracemill as tm
from tracemill.compiler.errors import ConcretizationError, RandomStateError, TransformArgumentError

X = np.array([1.0, -2.0, 3.0])
TABLE = np.arange(9.0).reshape(3, 3)


class Cell:
    def __init__(self, size: int) -> None:
        self.state = np.zeros(size)

    def step(self, x: Any) -> Any:
        self.state = self.state * 0.5 + x
        return self.state


class Gated(Cell):
    def __init__(self, size: int, x: Any) -> None:
        super().__init__(size)
        self.bias = np.array([x[0], 1.0, x[1]])

    def step(self, x: Any) -> Any:
        state = super().step(x)
        if x[0] > 0:
            state = state + super().step(x)
        return state


def of_classes(x: Any) -> Any:
    cell = Gated(3, x)
    return cell.step(x) + cell.bias


def units(x: Any) -> Iterator[Any]:
    for i in range(3):
        unit = np.zeros(3)
        unit[i] = x[i]
        yield unit if i else unit * 2


def of_a_generator(x: Any) -> Any:
    return sum(units(x))


def of_a_generator_inside(x: Any) -> Any:
    def pairs() -> Iterator[Any]:
        for entry in x:
            yield np.array([entry, 1.0])

    return np.stack(list(pairs()))


def of_functions_that_call(x: Any) -> Any:
    rows = list(map(lambda v: np.array([v, 1.0]), x))  # noqa: C417
    first = functools.reduce(lambda total, row: total + np.array([row[0], row[1] * 2]), rows)
    return np.stack(rows), first, sorted(range(3), key=lambda i: np.array([1.0, -i])[1])


def of_methods(x: Any) -> Any:
    return TABLE.dot(x) + TABLE.take(np.argmax(x)) + TABLE.clip(x[1], 5)[0]


def of_lists(x: Any) -> Any:
    return np.add([x[0], 1.0, x[1]], x), np.max([x[0], x[1] * 3]), np.logaddexp(x, [x[0], 0.0, 1.0])


def of_other_names(x: Any) -> Any:
    make, root = np.full, math.sqrt
    return make(3, x[0]), root(abs(x[1])), scipy.special.logsumexp(x)


@pytest.mark.sampled("of_a_generator-numpy", every=8)
@pytest.mark.parametrize("backend", ["numpy", "c"])
@pytest.mark.parametrize(
    "function",
    [
        of_classes, of_a_generator, of_a_generator_inside, of_functions_that_call, of_methods, of_lists,
        of_other_names,
    ],
)  # fmt: skip
def test_functions_of_all_kinds_take_traced_arrays(function: Callable[[Any], Any], backend: str) -> None:
    compiled = tm.compile(function, backend=backend)
    for x in (X, -X):
        found, expected = compiled(x), function(x)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_an_array_from_outside_is_written_to_by_its_methods() -> None:
    def filled(x: Any) -> Any:
        table = TABLE.copy()
        table.fill(x[0])
        return table + 1

    np.testing.assert_array_equal(tm.compile(filled)(X), filled(X))


# ---- nothing is replaced -------------------------------------------------------------------------------


def contents() -> list[tuple[str, int]]:
    """Everything in all modules that the user's function might call, by identity."""
    modules: list[ModuleType] = [np, np.fft, np.linalg, np.random, builtins, math, scipy.special]
    return [(f"{module.__name__}.{name}", id(x)) for module in modules for name, x in vars(module).items()]


def test_tracing_replaces_nothing_in_numpy_or_python() -> None:
    found: list[list[tuple[str, int]]] = []

    def traced(x: Any) -> Any:
        found.append(contents())
        code = scipy.special.logsumexp.__code__
        found.append([("code", id(code))])
        return np.zeros(len(x)) + x

    before, code = contents(), scipy.special.logsumexp.__code__
    tm.compile(traced, dynamic=True, on_recompile="ignore")(X)
    assert found[:2] == [before, [("code", id(code))]]


def test_other_threads_are_not_affected_while_one_traces() -> None:
    stop, faults = threading.Event(), list[str]()

    def compute() -> None:
        while not stop.is_set():
            made = [np.zeros(2), np.array([1.0]), np.arange(3), np.r_[1.0, 2.0], np.mgrid[0:2]]
            kinds = {type(x) for x in made}
            if kinds != {np.ndarray} or type(len(made)) is not int or type(math.sqrt(2)) is not float:
                faults.append(str(kinds))
            np.random.default_rng(0).normal(size=3)

    threads = [threading.Thread(target=compute) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for size in range(2, 6):
            x = np.ones(size)
            assert tm.grad(lambda x: np.sum(np.zeros(len(x)) + x * np.array([2.0])))(x)[0] == 2.0
            tm.compile(lambda x: np.concatenate([np.zeros(2), x, np.ones(len(x))]), backend="numpy")(x)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert faults == []


@pytest.mark.slow
def test_libraries_compute_in_eight_threads_while_one_traces() -> None:
    originals = np.zeros, np.array, np.arange, len, math.sqrt
    stop, faults, loops = threading.Event(), list[str](), [0] * 8

    def compute(number: int) -> None:
        a = np.random.default_rng(number).normal(size=(20, 20))
        x = np.arange(20.0)
        expected = scipy.linalg.inv(a), scipy.special.logsumexp(a), CubicSpline(x, a[0])(3.3)
        while not stop.is_set():
            found = scipy.linalg.inv(a), scipy.special.logsumexp(a), CubicSpline(x, a[0])(3.3)
            if not all(map(np.array_equal, found, expected)):
                faults.append("another result")
            if (np.zeros, np.array, np.arange, len, math.sqrt) != originals or type(
                np.zeros(2)
            ) is not np.ndarray:
                faults.append("another function")
            loops[number] += 1

    def traced(x: Any) -> Any:
        made = np.zeros(len(x))
        for i in range(len(x)):
            if x[i] > 0:
                made[i] = math.sqrt(x[i])
        return np.sum(made)

    threads = [threading.Thread(target=compute, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    try:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            for size in range(3, 8):
                tm.compile(traced, backend="numpy")(np.arange(float(size)))
                tm.grad(traced)(np.arange(1.0, float(size)))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert faults == []
    assert min(loops) > 0


# ---- what is not converted -----------------------------------------------------------------------------

TYPED = "def typed(x):\n    made = np.zeros(3)\n    made[0] = x[0]\n    return made.sum()\n"


def test_an_error_in_unconverted_code_says_that_its_source_is_missing() -> None:
    module: dict[str, Any] = {"np": np}
    exec(TYPED, module)
    with pytest.raises(ConcretizationError, match="source of `typed` is not available"):
        tm.grad(module["typed"])(X)


def test_code_that_is_not_converted_may_use_constants() -> None:
    module: dict[str, Any] = {"np": np}
    exec("def typed(x):\n    return np.sum(np.arange(3.0) * x + np.ones(3))\n", module)
    np.testing.assert_array_equal(tm.grad(module["typed"])(X), np.arange(3.0))


def test_draws_from_the_global_generator_are_refused_in_code_that_is_not_converted() -> None:
    module: dict[str, Any] = {"np": np}
    exec("def typed(x):\n    return x + np.random.rand()\n", module)
    compiled: Any = tm.compile(module["typed"])
    with pytest.raises(RandomStateError):
        compiled(X)


# ---- convert= of transforms ----------------------------------------------------------------------------


def chosen(x: Any) -> Any:
    return np.sum(x) if x[0] > 0 else np.sum(x * 3)


TRANSFORMS: dict[str, Callable[..., Any]] = {
    "vmap": lambda **more: tm.vmap(chosen, **more)(np.stack([X, -X])),
    "chunk_vmap": lambda **more: tm.chunk_vmap(chosen, **more)(np.stack([X, -X])),
    "grad": lambda **more: tm.compile(tm.grad(chosen, **more))(X),
    "grad_and_value": lambda **more: tm.compile(tm.grad_and_value(chosen, **more))(X)[0],
    "value_and_grad": lambda **more: tm.compile(tm.value_and_grad(chosen, **more))(X)[1],
    "jvp": lambda **more: tm.compile(lambda x: tm.jvp(chosen, (x,), (x,), **more))(X)[1],
    "vjp": lambda **more: tm.compile(lambda x: tm.vjp(chosen, x, **more)[1](1.0))(X)[0],
    "linearize": lambda **more: tm.compile(lambda x: tm.linearize(chosen, x, **more)[1](x))(X),
    "jacfwd": lambda **more: tm.compile(tm.jacfwd(chosen, **more))(X),
    "jacrev": lambda **more: tm.compile(tm.jacrev(chosen, **more))(X),
    "jacobian": lambda **more: tm.compile(tm.jacobian(chosen, **more))(X),
    "hessian": lambda **more: tm.compile(tm.hessian(chosen, **more))(X),
    "hessian_diag": lambda **more: tm.compile(tm.hessian_diag(chosen, **more))(X),
    "laplacian": lambda **more: tm.compile(tm.laplacian(chosen, **more))(X),
    "hvp": lambda **more: tm.compile(lambda x: tm.hvp(chosen, (x,), (x,), **more))(X),
}


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_the_option_convert_selects_what_a_transform_converts(transform: str) -> None:
    run = TRANSFORMS[transform]
    np.testing.assert_array_equal(run(convert=True), run())
    np.testing.assert_array_equal(run(convert=("some_library",)), run())
    with pytest.raises(ConcretizationError):
        run(convert=False)
    for wrong in (1, (), [2]):
        with pytest.raises(
            TransformArgumentError, match="convert must be True, False, or names of libraries"
        ):
            run(convert=wrong)


def of_classes_inside(x: Any) -> Any:
    class Base:
        def value(self, factor: Any) -> Any:
            return x * factor

    class Derived(Base):
        def value(self, factor: Any) -> Any:
            return super().value(factor) * 2

    return Derived().value(3.0)


def test_super_in_a_class_inside_the_function() -> None:
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(tm.compile(of_classes_inside)(x), of_classes_inside(x))
    assert tm.grad(of_classes_inside)(1.0) == 6.0

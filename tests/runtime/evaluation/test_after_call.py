"""Arrays and numbers that outlive the uncompiled call that made them are their values."""

import copy
import functools
import math
import pickle
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from tracemill.compiler.errors import ConcretizationError, CustomRuleError, EscapedTracerError

X = np.array([2.0, 3.0])


def kept_by(make: Callable[[Any], Any], x: Any = X) -> Any:
    """What the function makes from its argument, after the gradient has been computed."""
    kept: list[Any] = []

    def loss(v: Any) -> Any:
        kept.append(make(v))
        return np.sum(v)

    tm.grad(loss)(x)
    return kept[0]


def squares(v: Any) -> Any:
    return v * v


SQUARES = X * X

USES: dict[str, Callable[[Any], Any]] = {
    "repr": repr,
    "str": str,
    "format": lambda y: f"{y[0]:.3f}",
    "len": len,
    "iteration": list,
    "an entry": lambda y: y[1],
    "a slice": lambda y: y[::-1],
    "a mask": lambda y: y[y > 5],
    "float": lambda y: float(y[0]),
    "int": lambda y: int(y[0]),
    "item": lambda y: y[0].item(),
    "item with an index": lambda y: y.item(1),
    "tolist": lambda y: y.tolist(),
    "asarray": np.asarray,
    "array of a list": lambda y: np.array([y, y + 1]),
    "array of another dtype": lambda y: np.asarray(y, np.float32),
    "y + 1": lambda y: y + 1,
    "1 - y": lambda y: 1 - y,
    "array * y": lambda y: X * y,
    "y @ y": lambda y: y @ y,
    "y // 3": lambda y: y // 3,
    "divmod": lambda y: divmod(y, 3),
    "-y": lambda y: -y,
    "abs": abs,
    "y**2": lambda y: y**2,
    "2**y": lambda y: 2**y,
    "y == array": lambda y: y == SQUARES,
    "y < array": lambda y: y < 5 * X,
    "contains": lambda y: 4.0 in y,
    "bool": lambda y: bool(y[0]),
    "sin": np.sin,
    "reduce": np.add.reduce,
    "modf": np.modf,
    "stack": lambda y: np.stack([y, y]),
    "where": lambda y: np.where(y > 5, y, 0),
    "argmax": np.argmax,
    "array_equal": lambda y: np.array_equal(y, y),
    "norm": np.linalg.norm,
    "fft": np.fft.fft,
    "out": lambda y: np.add(y, 1, out=np.zeros(2)),
    "sum": lambda y: y.sum(),
    "max with keepdims": lambda y: y.max(keepdims=True),
    "astype": lambda y: y.astype(np.float32),
    "reshape": lambda y: y.reshape(2, 1),
    "reshape in an order": lambda y: y.reshape((1, 2), order="F"),
    "transposed": lambda y: y[:, None].T,
    "flat": lambda y: list(y.flat),
    "real": lambda y: y.real,
    "strides": lambda y: y.strides,
    "nbytes": lambda y: (y.nbytes, y.shape, y.dtype, y.ndim, y.size),
    "copy": copy.copy,
    "deepcopy": lambda y: copy.deepcopy({"y": y}),
    "pickle": lambda y: pickle.loads(pickle.dumps(y)),
    "a mean of a list": lambda y: np.mean([y, y]),
    "min": lambda y: min(y[0], y[1]),
    "sorted": lambda y: sorted(y, reverse=True),
    "round": lambda y: round(y[0], 1),
    "floor": lambda y: math.floor(y[0]),
    "sqrt": lambda y: math.sqrt(y[0]),
    "isinstance": lambda y: (isinstance(y, np.ndarray), isinstance(y[0], float)),
    "an index of a list": lambda y: [1, 2, 3][np.argmax(y)],
    "an array of indices": lambda y: np.arange(10.0)[y.astype(int)],
    "a dict": lambda y: {y[0]: 1},
    "array2string": lambda y: np.array2string(y, precision=2),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_kept_array_is_a_numpy_array(use: Callable[[Any], Any]) -> None:
    found, wanted = use(kept_by(squares)), use(SQUARES)
    assert type(found) is type(wanted)
    np.testing.assert_equal(found, wanted)


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "repr": repr,
    "format": lambda n: f"{n:.2f} {n}",
    "n + 1": lambda n: n + 1,
    "n / 2": lambda n: n / 2,
    "2 / n": lambda n: 2 / n,
    "n * n": lambda n: n * n,
    "n**2": lambda n: n**2,
    "n % 2": lambda n: n % 2,
    "-n": lambda n: -n,
    "n < 3": lambda n: n < 3,
    "n == 13.0": lambda n: n == 13.0,
    "float": float,
    "int": int,
    "round": round,
    "isnan": math.isnan,
    "is_integer": lambda n: n.is_integer(),
    "sum": lambda n: sum([n, n]),
    "mean": lambda n: np.mean([n, n]),
    "best": lambda n: min(100.0, n) + 0,
    "isinstance": lambda n: isinstance(n, float),
    "pickle": lambda n: pickle.loads(pickle.dumps(n)),
    "times an array": lambda n: n * X,
    "float32 array": lambda n: np.ones(2, np.float32) * n,
    "sqrt": np.sqrt,
    "hash": hash,
}


@pytest.mark.parametrize("use", NUMBERS.values(), ids=NUMBERS)
def test_a_kept_number_is_a_python_float(use: Callable[[Any], Any]) -> None:
    found, wanted = use(kept_by(lambda v: float(np.sum(v * v)))), use(13.0)
    assert type(found) is type(wanted)
    np.testing.assert_equal(found, wanted)


class Weighted:
    """A loss with weights that the first call makes."""

    weights: Any = None

    def __call__(self, v: Any) -> Any:
        if self.weights is None:
            self.weights = np.zeros(2) + 3
        return (self.weights * v * v).sum()


LATER: dict[str, Callable[[Any], Any]] = {
    "plain": lambda f: f(X),
    "grad": lambda f: tm.grad(f)(X),
    "value_and_grad": lambda f: tm.value_and_grad(f)(X),
    "jvp": lambda f: tm.jvp(f, (X,), (X,)),
    "vjp": lambda f: tm.vjp(f, X)[1](1.0),
    "hessian": lambda f: tm.hessian(f)(X),
    "grad of grad": lambda f: tm.grad(lambda x: np.sum(tm.grad(f)(x)))(X),
    "vmap": lambda f: tm.vmap(f)(np.ones((3, 2))),
    "vmap of grad": lambda f: tm.vmap(tm.grad(f))(np.ones((3, 2))),
    "compile": lambda f: tm.compile(f)(X),
    "compile of grad": lambda f: tm.compile(tm.grad(f))(X),
    "grad of compile": lambda f: tm.grad(tm.compile(f))(X),
}


@pytest.mark.parametrize("first", LATER.values(), ids=LATER)
@pytest.mark.parametrize("later", LATER.values(), ids=LATER)
def test_a_kept_array_is_a_constant_in_later_calls(first: Any, later: Any) -> None:
    known, made = Weighted(), Weighted()
    known.weights = np.full(2, 3.0)
    try:
        first(made)
        found = later(made)
    except (
        EscapedTracerError
    ):  # those of a batch, and of a compiled call in another one, are not single arrays
        assert first in (
            LATER["vmap"],
            LATER["vmap of grad"],
            LATER["grad of compile"],
            LATER["compile of grad"],
        )
    else:
        np.testing.assert_equal(found, later(known))


def test_running_means_and_logs_go_on_over_several_calls() -> None:
    class Training:
        mean: Any = np.zeros(2)
        best = np.inf

        def __init__(self) -> None:
            self.losses: list[Any] = []
            self.numbers: list[float] = []

        def __call__(self, v: Any) -> Any:
            loss = np.sum(v * v)
            self.mean = 0.9 * self.mean + np.ones(2)
            self.best = min(self.best, float(loss))
            self.losses.append(loss)
            self.numbers.append(float(loss))
            return loss * self.mean[0]

    found, wanted = Training(), Training()
    x = X
    for count in range(4):
        gradient = tm.value_and_grad(found)(x)[1] if count == 1 else tm.grad(found)(x)
        wanted(x)
        np.testing.assert_allclose(gradient, 2 * x * wanted.mean[0])
        np.testing.assert_equal(found.mean, wanted.mean)
        x = x - 0.1 * gradient
    assert found.best == wanted.best
    assert found.numbers == wanted.numbers == [float(loss) for loss in found.losses]
    assert np.mean(found.losses) == np.mean(wanted.losses)
    tm.jvp(found, (x,), (x,))
    tm.vjp(found, x)
    tm.hessian(found)(x)
    for _ in range(3):
        wanted(x)
    np.testing.assert_equal(found.mean, wanted.mean)
    assert set(found.numbers[4:]) == {float(wanted.losses[-1])}


def test_a_cached_property_and_a_default_argument_are_constants_later() -> None:
    class Model:
        @functools.cached_property
        def table(self) -> Any:
            return np.ones(2) * 3

        def loss(self, v: Any, memory: dict[str, Any] = {}) -> Any:  # noqa: B006
            if "scale" not in memory:
                memory["scale"] = np.ones(2) * 2
            return (self.table * v * memory["scale"]).sum()

    model = Model()
    for _ in range(3):
        np.testing.assert_equal(tm.grad(model.loss)(X), [6.0, 6.0])
    np.testing.assert_equal(model.table, [3.0, 3.0])


def test_what_was_computed_from_an_argument_has_no_derivative_later() -> None:
    memory: dict[str, Any] = {}

    def loss(v: Any) -> Any:
        memory.setdefault("start", v * 2)
        return np.sum(memory["start"] * v)

    np.testing.assert_equal(tm.grad(loss)(X), 4 * X)
    np.testing.assert_equal(tm.grad(loss)(np.ones(2)), 2 * X)
    np.testing.assert_equal(tm.jvp(loss, (np.ones(2),), (np.ones(2),))[1], np.sum(2 * X))


# ---- memory ----------------------------------------------------------------------------------------------

VIEWS: dict[str, Callable[[Any], Any]] = {
    "a slice": lambda a: a[1:, ::2],
    "reversed": lambda a: a[::-1, 1:],
    "a row": lambda a: a[1],
    "transposed": lambda a: a.T,
    "reshaped": lambda a: a.reshape(2, 6),
    "raveled": lambda a: a.ravel(),
    "of the transposed": lambda a: a.T[1:, None, 1],
    "a diagonal": np.diagonal,
    "broadcast": lambda a: np.broadcast_to(a[0], (2, 4)),
    "windows": lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 2)),
    "nothing": lambda a: a[3:],
    "bits": lambda a: a.view(np.int64)[1],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_kept_views_share_memory_with_what_they_are_views_of(view: Any, order: Any) -> None:
    def make(v: Any) -> Any:
        whole = np.array(np.arange(12.0).reshape(3, 4), order=order)
        return whole, view(whole)

    (whole, part), (wanted_whole, wanted) = kept_by(make), make(X)
    np.testing.assert_equal(np.asarray(part), wanted)
    assert np.asarray(part).strides == wanted.strides or not wanted.size or 1 in wanted.shape
    for each in (whole, wanted_whole):
        each[1, 2] = 50
        each += 1
    np.testing.assert_equal(np.asarray(part), wanted)
    if wanted.size and wanted.flags.writeable and np.shares_memory(wanted, wanted_whole):
        part[...] = 7
        wanted[...] = 7
    else:
        assert np.asarray(part).flags.writeable is wanted.flags.writeable
    np.testing.assert_equal(np.asarray(whole), wanted_whole)


def test_parts_of_complex_numbers_share_their_memory() -> None:
    z, real = kept_by(lambda v: (whole := np.ones(2) + 2j * np.ones(2), whole.imag))
    z[0] = 5j
    np.testing.assert_equal(np.asarray(real), [5.0, 2.0])


def test_a_kept_view_of_an_array_from_outside_is_a_view_of_it() -> None:
    table = np.arange(6.0)
    part = kept_by(lambda v: np.asarray(table)[2:4])
    table[2] = 50
    np.testing.assert_equal(np.asarray(part), [50.0, 3.0])
    part[1] = 60
    assert table[3] == 60


def test_writes_do_not_change_what_a_derivative_needs() -> None:
    kept: list[Any] = []

    def cubes(v: Any) -> Any:
        kept.append(v * v)
        return kept[0] * v

    _, pull = tm.vjp(cubes, X)
    kept[0][...] = 0
    np.testing.assert_equal(pull(np.ones(2))[0], 3 * X**2)


def test_a_later_call_writes_to_a_kept_array() -> None:
    state: dict[str, Any] = {}

    def loss(v: Any) -> Any:
        if not state:
            state["buffer"] = np.zeros(2)
        state["buffer"] += 1
        state["buffer"][0] = 5
        return np.sum(state["buffer"] * v)

    for count in (1.0, 2.0, 3.0):
        np.testing.assert_equal(tm.grad(loss)(X), [5.0, count])
        np.testing.assert_equal(np.asarray(state["buffer"]), [5.0, count])


def test_writing_what_is_differentiated_to_a_kept_array_is_as_for_any_array() -> None:
    buffer = kept_by(lambda v: np.zeros(2))

    def loss(v: Any) -> Any:
        buffer[0] = v[1] * 2
        return np.sum(buffer * v)

    np.testing.assert_equal(tm.grad(loss)(X), [6.0, 4.0])
    np.testing.assert_equal(np.asarray(buffer), [6.0, 0.0])


def test_setting_the_shape_of_a_kept_array() -> None:
    y = kept_by(squares)
    y.shape = (2, 1)
    np.testing.assert_equal(np.asarray(y), SQUARES[:, None])
    np.testing.assert_equal(tm.grad(lambda x: np.sum(x * y))(np.ones((2, 1))), SQUARES[:, None])


# ---- other places ----------------------------------------------------------------------------------------


def test_kept_arrays_are_arguments_of_transforms() -> None:
    y = kept_by(squares)
    np.testing.assert_equal(tm.grad(lambda x: np.sum(x * x))(y), 2 * SQUARES)
    np.testing.assert_equal(tm.jvp(np.sin, (y,), (y,)), tm.jvp(np.sin, (SQUARES,), (SQUARES,)))
    np.testing.assert_equal(tm.vmap(lambda x: x * 2)(y), 2 * SQUARES)
    np.testing.assert_equal(tm.compile(lambda x: x * 2)(y), 2 * SQUARES)
    np.testing.assert_equal(tm.hessian(lambda x: np.sum(x**3))(y), np.diag(6 * SQUARES))


def test_a_kept_array_is_a_result_and_a_constant_of_the_next_call() -> None:
    y = kept_by(squares)
    value, gradient = tm.value_and_grad(lambda x: y[0] + np.sum(x) * 0)(X)
    assert value == 4.0
    np.testing.assert_equal(gradient, [0.0, 0.0])
    np.testing.assert_equal(tm.grad(lambda x: tm.grad(lambda z: np.sum(z * y * x))(y)[0])(X), [4.0, 0.0])


def test_what_an_inner_call_has_kept_has_its_derivative_in_the_outer_one() -> None:
    def loss(x: Any) -> Any:
        kept: list[Any] = []

        def inner(z: Any) -> Any:
            kept.append(z * x)
            return np.sum(z**2)

        inner_gradient = tm.grad(inner)(x)
        return np.sum(kept[0] * inner_gradient)  # x * x * 2 * x

    np.testing.assert_allclose(tm.grad(loss)(X), 6 * X**2)
    np.testing.assert_allclose(tm.jvp(loss, (X,), (np.ones(2),))[1], np.sum(6 * X**2))
    np.testing.assert_allclose(tm.hessian(loss)(X), np.diag(12 * X))


def test_inside_the_same_call_a_derivative_is_not_lost_silently() -> None:
    with pytest.raises(ConcretizationError):
        tm.grad(lambda x: np.sum(x * np.float64(x.tolist()[0])))(X)


def test_arrays_of_a_call_that_failed_are_values() -> None:
    kept: list[Any] = []

    def fails(v: Any) -> Any:
        kept.append(v * 2)
        raise KeyError("no")

    with pytest.raises(KeyError):
        tm.grad(fails)(X)
    np.testing.assert_equal(np.asarray(kept[0]), 2 * X)


def test_variables_combine_with_kept_arrays() -> None:
    y = kept_by(squares)
    x = tm.autograd.variable(X)
    np.sum(x * y + y * x).backward()
    np.testing.assert_equal(x.grad, 2 * SQUARES)


def scaled_by(scale: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A sum whose backward rule uses an array from outside of it."""

    def loss(x: Any) -> Any:
        factor = scale(x)
        rule = tm.custom_rule(lambda y: 2 * y)
        return np.sum(rule.vjp(lambda y: (rule(y), ()), lambda kept, ct: (factor * ct,))(x))

    return loss


DERIVATIVES = {name: LATER[name] for name in ("grad", "value_and_grad", "vjp", "hessian", "vmap of grad")}


@pytest.mark.parametrize("derivative", DERIVATIVES.values(), ids=DERIVATIVES)
def test_a_custom_rule_takes_kept_arrays_for_constants_if_their_call_ended_before(derivative: Any) -> None:
    y = kept_by(squares)
    np.testing.assert_equal(derivative(scaled_by(lambda x: y)), derivative(scaled_by(lambda x: SQUARES)))
    with pytest.raises(CustomRuleError, match="uses a traced array from outside"):
        derivative(scaled_by(lambda x: x * x))


@pytest.mark.parametrize("transform", [tm.grad, tm.value_and_grad])
def test_kept_losses_do_not_keep_what_their_derivatives_needed(transform: Any) -> None:
    losses: list[Any] = []

    def loss(x: Any) -> Any:
        found = np.sum(np.exp(np.sin(x) * x))
        losses.append(float(found))
        return found

    x = np.ones(100_000)
    transform(loss)(x)
    tracemalloc.start()
    for _ in range(10):
        transform(loss)(x)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < x.nbytes  # those of one call alone are three such arrays
    assert losses == [losses[0]] * 11

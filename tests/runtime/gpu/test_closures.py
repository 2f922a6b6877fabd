"""Arrays of a GPU that a function closes over: used by reference in compiled functions, refused or copied elsewhere."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)


X = np.arange(6.0).reshape(2, 3)
W = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, -9.0]])


def of_w(make: Callable[[Any], Callable[[Any], Any]]) -> None:
    """The function that `make` makes with `W` gives the same with `W` on a GPU, whatever calls it."""
    expected = make(W.copy())(X)
    on_gpu = tm.compile(make(tm.device_put(W)))
    for x in (X, tm.device_put(X)):
        found = on_gpu(x)
        assert isinstance(found, tm.DeviceArray)
        np.testing.assert_allclose(found.numpy(), expected, 1e-12)


def scaled_in_place(x: Any, w: Any) -> Any:
    view = x[:2]
    x *= w
    return view


FUNCTIONS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "operators": lambda w: lambda x: 2 * w[0] - x @ w / (w**2).sum() + -abs(w[1]) // 2,
    "reflected": lambda w: lambda x: x + w[0] > w[2],
    "both from outside": lambda w: lambda x: w + w.T,
    "methods and attributes": lambda w: lambda x: x * w.T.mean(axis=0) + w.reshape(-1)[:3] + w.ndim + len(w),
    "functions": lambda w: lambda x: np.dot(x, w) + np.sum(w) + np.maximum.reduce(w, axis=0),
    "lists": lambda w: lambda x: np.stack([w, w]) + np.concatenate([x, w])[:3],
    "constructors": lambda w: lambda x: np.asarray(w) * np.ones_like(w) + np.array(w) + x.sum(),
    "rows": lambda w: lambda x: sum(row * x[0] for row in w),
    "a copy": lambda w: lambda x: w.copy()[0] * x,
    "the array itself": lambda w: lambda x: w,
    "gradient": lambda w: tm.grad(lambda x: np.sum(np.tanh(x @ w) ** 2)),
    "gradient of the array": lambda w: lambda x: tm.grad(lambda w: np.sum(np.tanh(x @ w) ** 2))(w),
    "batches": lambda w: tm.vmap(lambda row: row @ w),
    "batches of the array": lambda w: lambda x: tm.vmap(lambda row: x @ row)(w),
    "loop": lambda w: lambda x: tm.scan(lambda c, row: (c @ w / 9, None), x, None, length=3)[0],
    "loop over the array": lambda w: lambda x: tm.scan(lambda c, row: (c + row, None), x[0], w)[0],
    "choice": lambda w: lambda x: tm.cond(x.sum() > 3, lambda x: x @ w, lambda x: x, x),
    "an update of another array": lambda w: lambda x: scaled_in_place(np.full((3, 3), x.sum()), w),
    "an index": lambda w: lambda x: x[:, np.argsort(w[0])] + x[0, (w[2] > 0).astype(int)],
    "written to by NumPy": lambda w: lambda x: np.add(x[0], 1, out=w) * w,
    "put onto a GPU": lambda w: lambda x: tm.device_put(x) @ w if type(w) is tm.DeviceArray else x @ w,
    "compiled inside": lambda w: lambda x: tm.compile(lambda x: x @ w)(x) + 1,
}


@pytest.mark.sampled("written to by NumPy", "both from outside", "put onto a GPU", every=8)
@pytest.mark.parametrize("make", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_closure_over_an_array_of_a_gpu_computes_as_with_numpy(
    card: StubGpu, make: Callable[[Any], Callable[[Any], Any]]
) -> None:
    of_w(make)


def test_the_array_is_read_anew_in_each_call(card: StubGpu) -> None:
    w = tm.device_put(W)
    scaled = tm.compile(lambda x: x @ w)
    scaled(X)

    def double() -> None:
        w[...] = w * 2

    tm.compile(double)()
    np.testing.assert_allclose(scaled(X).numpy(), X @ (2 * W))


def test_an_array_of_places_or_a_mask_selects(card: StubGpu) -> None:
    places, mask = np.array([2, 0]), np.array([True, False, True])

    def f(x: Any, places: Any, mask: Any) -> Any:
        kept = np.where(mask, x, -1)
        kept[:, mask] = 5
        return kept[:, places]

    on_gpu = tm.device_put((places, mask))
    found = tm.compile(lambda x: f(x, *on_gpu))(X)
    np.testing.assert_array_equal(found.numpy(), f(X, places, mask))


@pytest.mark.slow
def test_a_generator_on_a_gpu_draws_on_where_a_function_closes_over_it(card: StubGpu) -> None:
    drawn, expected = tm.device_put(tm.random.default_rng(0)), tm.random.default_rng(0)
    by_closure = tm.compile(lambda x: x + drawn.normal(size=3))
    by_argument = tm.compile(lambda generator: generator.normal(size=3))
    batches = tm.compile(tm.vmap(lambda x: x + drawn.normal(), randomness="different"))
    assert repr(drawn) == repr(expected)
    for found in (by_closure(np.zeros(3)), by_argument(drawn), by_closure(tm.device_put(np.zeros(3)))):
        np.testing.assert_allclose(found.numpy(), expected.normal(size=3), 1e-12)
    found = batches(np.zeros(4))
    np.testing.assert_allclose(
        found.numpy(), tm.vmap(lambda x: x + expected.normal(), randomness="different")(np.zeros(4)), 1e-12
    )
    assert repr(drawn) == repr(expected)


def test_debug_print_shows_what_the_array_holds_then(
    card: StubGpu, capsys: pytest.CaptureFixture[str]
) -> None:
    w = tm.device_put(np.ones(2))

    @tm.compile
    def step() -> None:
        w[...] = w * 3
        tm.debug_print("{} {at[0]}", w, at=[w])

    step()
    step()
    assert capsys.readouterr().out == "[3. 3.] [3. 3.]\n[9. 9.] [9. 9.]\n"


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["auto", "triton"])
def test_an_array_of_a_method_is_updated_where_it_lies(card: StubGpu, backend: str) -> None:
    class Mean:
        def __init__(self) -> None:
            self.total = tm.device_put(np.zeros(3))

        @tm.compile(backend=backend)
        def add(self, x: Any) -> Any:
            self.total += x.sum(axis=0)
            return self.total / 2

    mean, other = Mean(), Mean()
    before = mean.total
    mean.add(X)
    np.testing.assert_allclose(mean.add(tm.device_put(X)).numpy(), X.sum(axis=0))
    assert mean.total is before
    np.testing.assert_allclose(mean.total.numpy(), 2 * X.sum(axis=0))
    np.testing.assert_allclose(other.total.numpy(), 0)


@pytest.mark.parametrize("look", [float, bool])
def test_its_elements_cannot_be_looked_at_while_tracing(card: StubGpu, look: Callable[[Any], Any]) -> None:
    w = tm.device_put(np.float64(3))

    def f(x: Any) -> Any:
        return x * 2 if look(w) else x

    with pytest.raises(tm.errors.ConcretizationError):
        tm.compile(f)(X)


def test_an_array_on_another_gpu_is_refused(card: StubGpu) -> None:
    w = tm.device_put(W, device=1)
    compiled = tm.compile(lambda x: x @ w)
    with pytest.raises(
        tm.errors.WrongDeviceError, match=r"f64\[3, 3\] that the function closes over on cuda:1"
    ):
        compiled(tm.device_put(X))
    assert compiled(X).device.ordinal == 1


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_backends_of_the_host_refuse_it(card: StubGpu, backend: str) -> None:
    w = tm.device_put(W)
    with pytest.raises(tm.errors.BackendError, match="computes on the host"):
        tm.compile(lambda x: x @ w, backend=backend)(X)


def test_lower_shows_the_program_for_the_gpu(card: StubGpu) -> None:
    w = tm.device_put(W)
    assert tm.compile(lambda x: x @ w).lower(X).backend == "triton"
    assert tm.compile(lambda x: x + 1).lower(w).backend == "triton"
    assert tm.compile(lambda x: x + 1).lower(W).backend == "numpy"


OUTSIDE: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: x + 1,
    "comparison": lambda x: x == 0,
    "in place": lambda x: x.__iadd__(1),
    "index": lambda x: x[0],
    "assignment": lambda x: x.__setitem__(0, 1.0),
    "iteration": list,
    "method": lambda x: x.sum(),
    "grad": tm.grad(np.sum),
    "vmap": tm.vmap(np.sin),
    "jvp": lambda x: tm.jvp(np.sin, (x,), (x,)),
    "scan": lambda x: tm.scan(lambda c, y: (c + y, c), 0.0, x),
    "associative_scan": lambda x: tm.associative_scan(np.add, x),
    "while_loop": lambda x: tm.while_loop(lambda c: c < 3, lambda c: c + 1, x),
    "cond": lambda x: tm.cond(x, np.sin, np.cos, 1.0),
}


@pytest.mark.parametrize("use", OUTSIDE.values(), ids=OUTSIDE)
def test_outside_of_compiled_functions_an_error_says_what_to_do(
    card: StubGpu, use: Callable[[Any], Any]
) -> None:
    x = tm.device_put(np.arange(3.0))
    with pytest.raises(tm.errors.TracemillError, match=r"tm\.compile\(.*x\.numpy\(\)"):
        use(x)


def test_functions_of_numpy_get_a_copy_outside_of_compiled_functions(card: StubGpu) -> None:
    w = tm.device_put(W)
    for found, expected in (
        (np.sin(w), np.sin(W)),
        (np.sum(w, axis=0), W.sum(axis=0)),
        (np.concatenate([w, w]), np.concatenate([W, W])),
        (tm.grad(lambda x: np.sum(x @ w))(X), tm.grad(lambda x: np.sum(x @ W))(X)),
        (np.asarray(np.multiply(tm.autograd.variable(W), w).detach()), W * W),
    ):
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)


def test_a_transform_that_is_not_compiled_updates_the_array_too(card: StubGpu) -> None:
    w = tm.device_put(W)

    def f(x: Any) -> Any:
        w[0] = x[0]
        return np.sum(x)

    tm.grad(f)(X)
    np.testing.assert_array_equal(w.numpy()[0], X[0])


def test_memory_that_is_written_to_may_be_no_other_arguments(card: StubGpu) -> None:
    def scale(x: Any, y: Any) -> Any:
        x *= y
        return y

    x = tm.device_put(X)
    with pytest.raises(
        tm.errors.ArgumentValueError, match=r"scale writes to x, which has memory in common with y"
    ):
        tm.compile(scale)(x, x)
    np.testing.assert_array_equal(x.numpy(), X)
    with pytest.raises(
        tm.errors.ArgumentValueError, match=r"writes to y, .* an array f64\[2, 3\] that it closes over"
    ):
        tm.compile(lambda y: scale(y, x))(x)
    y = tm.compile(scale)(x, x.copy())
    np.testing.assert_array_equal(x.numpy(), X * X)
    np.testing.assert_array_equal(y.numpy(), X)

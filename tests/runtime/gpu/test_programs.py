"""Compiled functions on a GPU: arrays in and out, what is copied, what stays, and what is refused."""

import gc
import threading
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu
from graphs.row_programs import softmax

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)


X = np.random.default_rng(0).normal(size=(5, 37)).astype(np.float32)


def test_numpy_arrays_go_in_and_come_out(card: StubGpu) -> None:
    found = tm.compile(softmax, backend="triton")(X)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, softmax(X), 1e-6)
    assert len(card.launches) == 1


def test_arrays_of_the_gpu_stay_there(card: StubGpu) -> None:
    compiled = tm.compile(softmax)
    x = tm.device_put(X)
    found = compiled(compiled(x))
    assert isinstance(found, tm.DeviceArray)
    np.testing.assert_allclose(found.numpy(), softmax(softmax(X)), 1e-6)
    assert [str(signature) for signature in compiled.signatures()] == ["args[0]: f32[5, 37] on cuda:0"]


def test_results_without_axes_are_what_the_function_returns(card: StubGpu) -> None:
    def several(x: Any) -> Any:
        return np.sum(x), np.max(x, keepdims=True).reshape(()), 2.5

    found = tm.compile(several, backend="triton")(X)
    assert list(map(type, found)) == list(map(type, several(X)))
    on_gpu, _, _ = tm.compile(several)(tm.device_put(X))
    assert isinstance(on_gpu, tm.DeviceArray)
    assert on_gpu.shape == ()


def test_what_has_no_kernel_runs_on_the_host(card: StubGpu) -> None:
    a = X[:5, :5].astype(np.float64)
    compiled = tm.compile(lambda a: np.sin(np.linalg.inv(a + 5 * np.eye(5))).T, backend="triton")
    np.testing.assert_allclose(compiled(a), np.sin(np.linalg.inv(a + 5 * np.eye(5))).T, 1e-12)


def test_an_argument_that_the_function_updates_is_updated_where_it_lies(card: StubGpu) -> None:
    def scale(x: Any) -> None:
        x *= 2

    x = tm.device_put(X)
    tm.compile(scale)(x)
    np.testing.assert_array_equal(x.numpy(), 2 * X)
    y = X.copy()
    tm.compile(scale, backend="triton")(y)
    np.testing.assert_array_equal(y, 2 * X)


def test_gradients_run_there_too(card: StubGpu) -> None:
    def loss(w: Any, x: Any) -> Any:
        return np.sum(np.tanh(x @ w) ** 2)

    w = np.random.default_rng(1).normal(size=(37, 3)).astype(np.float32)
    expected = tm.grad(loss)(w, X)
    found = tm.compile(tm.grad(loss), backend="triton")(w, X)
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


def test_arrays_on_several_gpus_are_refused(card: StubGpu) -> None:
    compiled = tm.compile(lambda x, y: x + y)
    with pytest.raises(tm.errors.WrongDeviceError, match=r"args\[1\] on cuda:1"):
        compiled(tm.device_put(X), tm.device_put(X, device=1))


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_backends_of_the_host_refuse_arrays_of_a_gpu(card: StubGpu, backend: str) -> None:
    with pytest.raises(tm.errors.BackendError, match="computes on the host"):
        tm.compile(softmax, backend=backend)(tm.device_put(X))


def test_memory_goes_back(card: StubGpu) -> None:
    compiled = tm.compile(softmax)
    x = tm.device_put(X)
    compiled(x)
    card.run()
    before = card.used()
    for _ in range(3):
        compiled(x)
    card.run()
    assert card.used() == before


def test_a_loop_of_known_length_is_queued_as_a_whole(card: StubGpu) -> None:
    def decay(x: Any, rows: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            carry = 0.5 * carry + row
            return carry, carry * carry

        return tm.scan(step, x, rows)

    x, rows = np.arange(4.0), np.arange(20.0).reshape(5, 4)
    compiled, arguments = tm.compile(decay), (tm.device_put(x), tm.device_put(rows))
    compiled(*arguments)
    gc.collect()  # modules of earlier programs wait for the stream when they go
    with card.counting("cuStreamSynchronize") as waits:
        found, trace = compiled(*arguments)
        assert waits() == 0
    expected, expected_trace = decay(x, rows)
    np.testing.assert_allclose(found.numpy(), expected)
    np.testing.assert_allclose(trace.numpy(), expected_trace)


def test_rows_that_are_not_aligned_to_16_bytes_are_copied(card: StubGpu) -> None:
    def total(rows: Any) -> Any:
        return tm.scan(
            lambda carry, row: (carry + row, np.sum(row) + carry[0]), np.zeros(3, np.float32), rows
        )

    rows = np.arange(21, dtype=np.float32).reshape(7, 3)
    compiled = tm.compile(total, backend="triton")
    for x, y in zip(compiled(rows), total(rows), strict=True):
        np.testing.assert_allclose(x, y)
    assert all(pointer % 16 == 0 for launch in card.launches for pointer in launch.pointers)


def test_a_loop_with_a_condition_runs_where_the_arrays_are(card: StubGpu) -> None:
    def halved(x: Any) -> Any:
        return tm.while_loop(lambda x: np.sum(x) > 1, lambda x: x / 2, x)

    x = np.arange(6.0)
    found = tm.compile(halved)(tm.device_put(x))
    np.testing.assert_allclose(found.numpy(), halved(x))


def chain(x: Any) -> Any:
    for _ in range(6):
        x = x / np.sum(x @ x)
    return x


def test_many_short_launches_are_recorded_when_they_run_again(card: StubGpu) -> None:
    compiled, x = tm.compile(chain), tm.device_put(np.eye(4) + 0.5)
    first = compiled(x)
    compiled(x)
    with card.counting("cuLaunchKernel") as launches:
        again = compiled(tm.device_put(np.eye(4) + 0.25))
        assert launches() == 0
    np.testing.assert_allclose(first.numpy(), chain(np.eye(4) + 0.5))
    np.testing.assert_allclose(again.numpy(), chain(np.eye(4) + 0.25))


def test_a_result_stays_as_it_is_when_the_program_runs_again(card: StubGpu) -> None:
    compiled = tm.compile(chain)
    found = [compiled(tm.device_put(np.eye(4) + shift)) for shift in (0.25, 0.5, 0.75, 1.0)]
    for shift, y in zip((0.25, 0.5, 0.75, 1.0), found, strict=True):
        np.testing.assert_allclose(y.numpy(), chain(np.eye(4) + shift))


def test_loops_are_recorded_too(card: StubGpu) -> None:
    def walk(x: Any, steps: Any) -> Any:
        return tm.scan(lambda carry, step: (carry @ carry * step, np.sum(carry)), x, steps)

    compiled, steps = tm.compile(walk), np.linspace(0.1, 0.3, 7)
    for shift in (0.25, 0.5, 0.75):
        x = np.eye(3) / 2 + shift
        found = compiled(tm.device_put(x), tm.device_put(steps))
        for y, z in zip(found, walk(x, steps), strict=True):
            np.testing.assert_allclose(y.numpy(), z)


def test_arrays_that_are_known_are_results_too(card: StubGpu) -> None:
    compiled = tm.compile(lambda x: (x + np.arange(37, dtype=np.float32), np.ones(50), 2.5), backend="triton")
    added, ones, number = compiled(X)
    np.testing.assert_array_equal(added, X + np.arange(37, dtype=np.float32))
    np.testing.assert_array_equal(ones, np.ones(50))
    assert number == 2.5


@pytest.mark.slow
@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_one_launch(card: StubGpu, causal: bool) -> None:
    rng = np.random.default_rng(2)
    query, key, value = (rng.normal(size=(2, 3, rows, 8)).astype(np.float32) for rows in (37, 67, 67))

    def attend(query: Any, key: Any, value: Any) -> Any:
        return tm.nn.attention(query, key, value, causal=causal)

    found = tm.compile(attend, backend="triton")(query, key, value)
    np.testing.assert_allclose(found, attend(query, key, value), 1e-4, 1e-5)
    assert len(card.launches) == 1


def test_a_program_that_calls_itself_by_a_callback_works_in_other_memory(card: StubGpu) -> None:
    def deeper(x: Any) -> Any:
        return np.asarray(compiled(x - 1)) if x[0] > 0 else np.array(x)

    def function(x: Any) -> Any:
        before = np.sin(np.cumsum(x)) * 2
        return np.sort(before) + tm.pure_callback(deeper, x, x)

    def reference(x: Any) -> Any:
        return np.sort(np.sin(np.cumsum(x)) * 2) + (reference(x - 1) if x[0] > 0 else x)

    compiled = tm.compile(function, backend="triton")
    x = np.array([3.0, 1.0, 2.0])
    for _ in range(2):
        np.testing.assert_allclose(compiled(x), reference(x))
    np.testing.assert_allclose(compiled(tm.device_put(x)).numpy(), reference(x))


def test_a_callback_may_wait_for_a_thread_that_runs_the_same_program(card: StubGpu) -> None:
    def deeper(x: Any) -> Any:
        if x[0] <= 0:
            return np.array(x)
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(compiled(x - 1)), daemon=True)
        thread.start()
        thread.join(timeout=60)
        return np.asarray(found[0])

    def reference(x: Any) -> Any:
        return np.cumsum(x) + (reference(x - 1) if x[0] > 0 else x)

    compiled = tm.compile(lambda x: np.cumsum(x) + tm.pure_callback(deeper, x, x), backend="triton")
    x = np.array([2.0, 1.0, 5.0])
    np.testing.assert_allclose(compiled(x), reference(x))
    assert card.contexts == 0


def test_a_callback_that_fails_leaves_the_program_as_it_was(card: StubGpu) -> None:
    def refuse(x: Any) -> Any:
        if x[0] < 0:
            raise ValueError("no number below 0")
        return x

    compiled = tm.compile(lambda x: np.cumsum(tm.pure_callback(refuse, x, x)), backend="triton")
    for _ in range(2):
        with pytest.raises(ValueError, match="no number below 0"):
            compiled(np.array([-1.0, 2.0]))
        np.testing.assert_array_equal(compiled(np.array([1.0, 2.0])), [1.0, 3.0])
    assert card.contexts == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "status"),
    [
        ("cuMemAllocAsync", 719),
        ("cuMemcpyHtoDAsync", 2),
        ("cuMemcpyDtoHAsync", 700),
        ("cuModuleLoadData", 2),
        ("cuModuleGetFunction", 500),
        ("cuLaunchKernel", 719),
        ("cuStreamSynchronize", 700),
    ],
)
def test_when_the_driver_fails_everything_is_given_back(card: StubGpu, function: str, status: int) -> None:
    def far(x: Any) -> Any:
        return np.sin(x) + np.arange(300.0).reshape(300, 1, 1), np.cumsum(x)

    x = X[:2, :3].astype(np.float64)
    gc.collect()
    card.run()
    before = card.used()
    compiled = tm.compile(far, backend="triton")
    card.fail(function, status)
    with pytest.raises(tm.errors.BackendError):
        compiled(x)
    np.testing.assert_allclose(compiled(x)[1], np.cumsum(x))
    card.fail(function, status)
    with pytest.raises(tm.errors.BackendError):
        tm.compile(far, backend="triton")(x)
    del compiled
    gc.collect()
    card.run()
    assert (card.used(), card.contexts, card.bad_frees) == (before, 0, 0)


@pytest.mark.slow
def test_results_that_do_not_fit_are_an_error_and_leave_no_memory(card: StubGpu) -> None:
    compiled = tm.compile(lambda x: tuple(x + n for n in range(4)))
    x = tm.device_put(np.zeros(1 << 23))
    card.quiet()
    gc.collect()
    card.run()
    before = card.used()
    for _ in range(2):
        with pytest.raises(tm.errors.GpuMemoryError, match="67108864 bytes do not fit on cuda:0"):
            compiled(x)
    del compiled
    gc.collect()
    card.run()
    assert (card.used(), card.contexts) == (before, 0)


def test_lower_opens_no_gpu(card: StubGpu) -> None:
    with card.counting("cuDevicePrimaryCtxRetain") as opened:
        far = np.broadcast_to(np.float32(1), (1 << 32,))
        lowered = tm.compile(lambda x: (x + 1, x.sum()), backend="triton").lower(far)
        assert "int64" in lowered.source
        assert lowered.memory.outputs == (1 << 34) + 4
        assert "launch" in str(lowered.plan)
        assert opened() == 0


@pytest.mark.parametrize("causal", [pytest.param(False, marks=pytest.mark.exhaustive), True])
def test_the_gradient_of_attention_stores_no_weights(card: StubGpu, causal: bool) -> None:
    rng = np.random.default_rng(3)
    query = rng.normal(size=(1, 2, 2, 37, 8)).astype(np.float32)
    key, value = rng.normal(size=(2, 1, 2, 1, 67, 8)).astype(np.float32)
    seen = rng.random((37, 67)) < 0.9

    def loss(query: Any, key: Any, value: Any) -> Any:
        return np.sum(tm.nn.attention(query, key, value, seen, causal=causal) ** 2)

    gradient = tm.grad(loss, argnums=(0, 1, 2))
    compiled = tm.compile(gradient, backend="triton")
    for found, expected in zip(compiled(query, key, value), gradient(query, key, value), strict=True):
        np.testing.assert_allclose(found, expected, 1e-3, 1e-4)
    optimised = str(compiled.lower(query, key, value).optimised)
    assert "attention_gradient_by_sums(" in optimised
    assert "37, 67]" not in optimised.replace("bool[37, 67]", "")

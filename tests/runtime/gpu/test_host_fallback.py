"""What cannot become a program for a GPU is computed on the host by ``auto``, which says so before anything runs."""

import sys
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu
from tracemill.runtime.gpu import host_program

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from gpu.interpreted_gpu import interpreted

X = np.arange(6.0).reshape(2, 3)
WARNING = tm.errors.HostFallbackWarning


@pytest.fixture
def card(stub_gpu: StubGpu, monkeypatch: pytest.MonkeyPatch) -> StubGpu:
    """A GPU on which nothing has been said yet."""
    monkeypatch.setenv("TRACEMILL_CACHE", "0")
    monkeypatch.setattr(host_program, "_said", set())
    return stub_gpu


def waves(x: Any, *, shift: Any) -> Any:
    return {"sum": np.sin(x + shift).sum(), "rows": [np.sort(x), x.shape]}


def refuse(*_: Any) -> Any:
    raise tm.errors.KernelError("Triton does not compile kernel_sin: out of registers")


def check(found: Any, shift: float) -> None:
    expected = waves(X, shift=shift)
    assert all(isinstance(x, tm.DeviceArray) for x in (found["sum"], found["rows"][0]))
    np.testing.assert_allclose(found["sum"].numpy(), expected["sum"])
    np.testing.assert_array_equal(found["rows"][0].numpy(), expected["rows"][0])
    assert found["rows"][1] == expected["rows"][1]


def test_without_triton_programs_run_on_the_host_and_it_is_said_once(
    card: StubGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    x, compiled = tm.device_put(X), tm.compile(waves)
    with pytest.warns(WARNING, match="computes programs on the host.*needs Triton.*backend='triton' raises"):
        check(compiled(x, shift=2.0), 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(compiled(x, shift=3.0), 3.0)
        np.testing.assert_array_equal(tm.compile(np.cos)(x).numpy(), np.cos(X))
    assert card.launches == []


def test_a_kernel_that_triton_rejects_is_reported_for_each_program(
    card: StubGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracemill.runtime.gpu_programs.gpu_strategy.build_program", refuse)
    x = tm.device_put(X)
    with pytest.warns(WARNING, match="computes waves on the host.*out of registers"):
        check(tm.compile(waves)(x, shift=2.0), 2.0)
    with pytest.warns(WARNING, match="computes cos on the host"):
        tm.compile(np.cos)(x)


def test_code_that_the_gpu_refuses_is_reported_too(card: StubGpu) -> None:
    with interpreted(card):
        card.fail("cuModuleLoadData", 209)
        with pytest.warns(WARNING, match="cuda:0 cannot run kernel_"):
            check(tm.compile(waves)(tm.device_put(X), shift=2.0), 2.0)


def test_what_the_function_updates_is_updated_on_the_gpu(
    card: StubGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracemill.runtime.gpu_programs.gpu_strategy.build_program", refuse)
    w = tm.device_put(np.ones(3))

    def update(x: Any, y: Any) -> None:
        x += y * w
        w[0] = 5.0

    x, y = tm.device_put(X), X.copy()
    with pytest.warns(WARNING):
        tm.compile(update)(x, y)
    np.testing.assert_array_equal(x.numpy(), 2 * X)
    np.testing.assert_array_equal(w.numpy(), [5.0, 1.0, 1.0])
    np.testing.assert_array_equal(y, X)


def test_triton_that_is_asked_for_raises(card: StubGpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracemill.runtime.gpu_programs.gpu_strategy.build_program", refuse)
    x = tm.device_put(X)
    with pytest.raises(tm.errors.KernelError, match="out of registers"):
        tm.compile(waves, backend="triton")(x, shift=2.0)
    monkeypatch.setenv("TRACEMILL_BACKEND", "triton")
    with pytest.raises(tm.errors.KernelError, match="out of registers"):
        tm.compile(waves)(x, shift=2.0)


def test_work_that_has_started_is_not_begun_again_on_the_host(card: StubGpu) -> None:
    with interpreted(card):
        x, compiled = tm.device_put(X), tm.compile(np.cos)
        card.fail("cuLaunchKernel", 719)
        with pytest.raises(tm.errors.GpuError, match="CUDA_ERROR_LAUNCH_FAILED"):
            compiled(x)
        card.fail("cuMemAllocAsync", 700)
        with pytest.raises(tm.errors.GpuError, match="CUDA_ERROR_ILLEGAL_ADDRESS"):
            compiled(x)
        np.testing.assert_array_equal(compiled(x).numpy(), np.cos(X))

"""What the driver reports becomes an error with a name, which says what to do."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu, machine_code
from tracemill.runtime.gpu.device import gpu
from tracemill.runtime.gpu.driver import checked, driver, started
from tracemill.runtime.gpu.kernel import LoadedKernel

TESTS = Path(__file__).resolve().parents[2]


def load(code: bytes, **changes: Any) -> LoadedKernel:
    return LoadedKernel(gpu(), code, "f", **{"warps": 4, "shared_bytes": 0, "pointers": 1, **changes})


def test_cuda_bindings_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    with pytest.raises(tm.errors.MissingPackageError, match=r'pip install "tracemill\[gpu\]"'):
        started()


@pytest.mark.slow
def test_a_missing_driver_is_reported() -> None:
    pytest.importorskip("cuda.bindings.driver")
    program = f"""
import sys
sys.path.insert(0, {str(TESTS / ".root")!r})
import numpy as np, tracemill as tm
from unittest.mock import patch
import ctypes
def nowhere(*_, **__):
    raise OSError("no such library")
import cuda.bindings.driver
with patch("ctypes.CDLL", nowhere):
    try:
        tm.device_put(np.ones(3))
    except tm.errors.NoDriverError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("NVIDIA's driver cannot be used: ")
    assert "nvidia-smi" in done.stdout


@pytest.mark.parametrize("device", [2, -1])
def test_a_gpu_that_is_not_there_is_named(stub_gpu: StubGpu, device: int) -> None:
    with pytest.raises(tm.errors.NoGpuError, match=rf"there is no GPU {device}: .* there are 2"):
        tm.device_put(np.ones(3), device=device)


def test_a_machine_without_gpus_is_reported(stub_gpu: StubGpu) -> None:
    stub_gpu.reset(devices=0)
    with pytest.raises(tm.errors.NoGpuError, match=r"starting the driver: CUDA_ERROR_NO_DEVICE \(100\)"):
        started()


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (802, r"CUDA_ERROR_SYSTEM_NOT_READY \(802\), .* fabric manager must run"),
        (803, r"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH \(803\), .* restart the machine"),
        (304, r"CUDA_ERROR_OPERATING_SYSTEM \(304\)"),
        (999, r"CUDA_ERROR_UNKNOWN \(999\)"),
    ],
)
def test_a_driver_that_does_not_start_is_none(stub_gpu: StubGpu, status: int, told: str) -> None:
    stub_gpu.fail("cuInit", status)
    with pytest.raises(tm.errors.NoDriverError, match=f"starting the driver: {told}"):
        started()


@pytest.mark.parametrize("device", ["cuda:0", 1.0, True])
def test_a_device_is_a_number(stub_gpu: StubGpu, device: Any) -> None:
    with pytest.raises(tm.errors.TransformTypeError, match="device_put: device must be an int"):
        tm.device_put(np.ones(3), device=device)


def test_code_for_another_gpu_names_both(stub_gpu: StubGpu) -> None:
    with pytest.raises(
        tm.errors.GpuCodeError, match=r"NO_BINARY_FOR_GPU .* cuda:0 is a cuda:sm_90, .* CUDA 13\.0"
    ):
        load(machine_code(100, f=1))


def test_code_for_a_newer_driver_says_so(stub_gpu: StubGpu) -> None:
    stub_gpu.describe(driver_version=12040)
    stub_gpu.fail("cuModuleLoadData", 222)
    with pytest.raises(tm.errors.GpuCodeError, match=r"UNSUPPORTED_PTX_VERSION .* update it.* CUDA 12\.4"):
        load(machine_code(f=1))


def test_bytes_that_are_not_code_are_refused(stub_gpu: StubGpu) -> None:
    with pytest.raises(tm.errors.GpuCodeError, match="cuda:0 cannot run f: CUDA_ERROR_INVALID_IMAGE"):
        load(b"no code")


def test_a_function_that_the_code_does_not_hold_is_named(stub_gpu: StubGpu) -> None:
    with pytest.raises(tm.errors.GpuCodeError, match="loading f: CUDA_ERROR_NOT_FOUND"):
        load(machine_code(g=1))


def test_more_shared_memory_than_there_is_is_refused(stub_gpu: StubGpu) -> None:
    with pytest.raises(tm.errors.GpuCodeError, match="f: it needs 232449 bytes of shared memory"):
        load(machine_code(f=1), shared_bytes=232449)


def test_a_kernel_for_which_a_processor_has_too_few_registers_is_refused(stub_gpu: StubGpu) -> None:
    kernel = load(machine_code(f=1))
    stub_gpu.fail("cuLaunchKernel", 701)
    with (
        gpu(),
        pytest.raises(tm.errors.GpuCodeError, match=r"launching f on cuda:0: .*LAUNCH_OUT_OF_RESOURCES"),
    ):
        kernel.launch(gpu().stream, 1, [0])


def test_full_memory_while_code_is_loaded_is_reported(stub_gpu: StubGpu) -> None:
    stub_gpu.fail("cuModuleLoadData", 2)
    with pytest.raises(tm.errors.GpuMemoryError, match="cuda:0 cannot run f: CUDA_ERROR_OUT_OF_MEMORY"):
        load(machine_code(f=1))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("cuMemAllocAsync", "allocating 24 bytes on cuda:0"),
        ("cuMemcpyHtoDAsync", "copying to cuda:0"),
        ("cuMemcpyDtoHAsync", "copying from cuda:0"),
        ("cuStreamSynchronize", "waiting for cuda:0"),
        ("cuCtxPushCurrent", "entering cuda:0"),
        ("cuEventRecord", "marking a place"),
    ],
)
def test_any_other_failure_has_its_name_its_text_and_what_was_done(
    stub_gpu: StubGpu, function: str, said: str
) -> None:
    device = gpu()
    stub_gpu.fail(function, 214)
    with pytest.raises(
        tm.errors.GpuError, match=rf"{said}.*: CUDA_ERROR_ECC_UNCORRECTABLE \(214\), as the test wanted"
    ):
        device.wait_for(1) if function == "cuEventRecord" else repr(tm.device_put(np.ones(3)))
    assert stub_gpu.contexts == 0
    assert tm.device_put(np.ones(3)).numpy().tolist() == [1, 1, 1]


def test_the_next_call_that_waits_reports_a_failed_kernel(stub_gpu: StubGpu) -> None:
    kernel = load(machine_code(f=1))
    with gpu():
        kernel.launch(gpu().stream, 1, [0xDEAD0])
    for _ in range(2):
        with pytest.raises(tm.errors.GpuError, match=r"ILLEGAL_ADDRESS .* can no longer use the GPU"):
            gpu().synchronize()
    stub_gpu.reset()


def test_a_pointer_at_which_no_thread_loads_16_bytes_fails_as_on_a_gpu(stub_gpu: StubGpu) -> None:
    kernel, memory = load(machine_code(f=1)), gpu().allocate(64)
    with gpu():
        kernel.launch(gpu().stream, 1, [memory.pointer + 8])
    with pytest.raises(tm.errors.GpuError, match=r"MISALIGNED_ADDRESS .* can no longer use the GPU"):
        gpu().synchronize()
    stub_gpu.reset()


def test_places_that_overlap_are_not_copied_to_each_other(stub_gpu: StubGpu) -> None:
    """A GPU copies in any order, and does not say so."""
    memory = gpu().allocate(64)
    gpu().copy(memory.pointer, memory.pointer + 32, 32)
    with pytest.raises(tm.errors.GpuError, match="CUDA_ERROR_INVALID_VALUE"):
        gpu().copy(memory.pointer, memory.pointer + 16, 32)


def test_a_forked_process_is_told_to_spawn(stub_gpu: StubGpu) -> None:
    status = driver().CUresult.CUDA_ERROR_NOT_INITIALIZED
    with pytest.raises(tm.errors.GpuError, match=r"forked .* 'spawn'"):
        checked((status,), "entering cuda:0")


def test_errors_of_gpus_are_errors_of_backends() -> None:
    for error in ("NoDriverError", "NoGpuError", "GpuMemoryError", "GpuCodeError", "GpuError"):
        assert issubclass(getattr(tm.errors, error), tm.errors.BackendError)

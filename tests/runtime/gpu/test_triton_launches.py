"""Kernels of Triton go the whole way: loaded, launched on a GPU's memory, and read back."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from gpu.stub_gpu import StubGpu, machine_code
from graphs.kernel_graphs import LARGE, SMALL
from tracemill.compiler.backends.triton.kernels.kernel import TritonKernel, triton_kernel
from tracemill.compiler.dtypes import Array
from tracemill.compiler.interpreter import evaluate
from tracemill.runtime.gpu.device import gpu
from tracemill.runtime.gpu.device_array import DeviceArray
from tracemill.runtime.gpu.device_put import device_put
from tracemill.runtime.gpu.kernel import LoadedKernel

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from gpu.triton_interpreter import on_stub

TESTS = Path(__file__).resolve().parents[2]


def launched(kernel: TritonKernel, inputs: list[Array]) -> list[DeviceArray]:
    """The outputs of a kernel, computed on a GPU."""
    device = gpu()
    code = machine_code(90, **{launch.function: len(launch.buffers) for launch in kernel.launches})
    arrays = [device_put(x) for x in inputs]
    arrays += [
        DeviceArray(device.allocate(type.nbytes), type.shape, type.dtype)
        for type in kernel.buffers[len(inputs) :]
    ]
    with device:
        for launch in kernel.launches:
            pointers = [arrays[number].pointer for number in launch.buffers]
            loaded = LoadedKernel(
                device, code, launch.function, warps=launch.warps, shared_bytes=0, pointers=len(pointers)
            )
            loaded.launch(device.stream, launch.programs, pointers)
    return arrays[len(inputs) :][: kernel.outputs]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["softmax", "layer_norm", "whole"])
def test_what_a_kernel_leaves_in_memory_is_what_its_graph_means(stub_gpu: StubGpu, name: str) -> None:
    graph = {**SMALL, **LARGE}[name]
    kernel = triton_kernel(graph, "kernel")
    stub_gpu.kernels.update(on_stub(kernel))
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=value.shape).astype(value.dtype) for value in graph.inputs]
    found = launched(kernel, inputs)
    for x, y in zip(found, evaluate(graph, *inputs), strict=True):
        np.testing.assert_allclose(x.numpy(), y, rtol=1e-4, atol=1e-6)
    assert [one.programs for one in stub_gpu.launches] == [launch.programs for launch in kernel.launches]


LOADING = """
import json, sys
from pathlib import Path
from gpu.stub_gpu import (StubGpu)
from graphs.kernel_graphs import (LARGE)
import tracemill as tm
from tracemill.compiler.backends.triton.kernels.kernel import triton_kernel
from tracemill.runtime.gpu.device import gpu
from tracemill.runtime.gpu.kernel import LoadedKernel
from tracemill.runtime.machine.triton_compiler import build, target_named

stub = StubGpu(Path(sys.argv[1]))
stub.reset(devices=4)
for number, capability in enumerate([(8, 0), (8, 9), (9, 0), (10, 0)]):
    stub.describe(number, capability)
kernel = triton_kernel(LARGE["softmax"], "kernel")
found = {}
for target in ("cuda:sm_80", "cuda:sm_90", "cuda:sm_100"):
    (built,) = build(kernel, target_named(target))
    for number in range(4):
        try:
            LoadedKernel(
                gpu(number), built.code, built.name, warps=built.warps, shared_bytes=built.shared_bytes, pointers=2
            )
            found.setdefault(target, []).append(gpu(number).target)
        except tm.errors.GpuCodeError:
            pass
print(json.dumps(found))
"""


@pytest.mark.slow
def test_what_triton_compiles_is_loaded_where_it_runs(stub_library: StubGpu) -> None:
    """A process of its own: where Triton's interpreter is loaded, nothing can be compiled."""
    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", LOADING, stub_library.library],
        env={**variables, "PYTHONPATH": f"{TESTS / '.root'}{os.pathsep}{TESTS}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "cuda:sm_80": ["cuda:sm_80", "cuda:sm_89"],
        "cuda:sm_90": ["cuda:sm_90"],
        "cuda:sm_100": ["cuda:sm_100"],
    }

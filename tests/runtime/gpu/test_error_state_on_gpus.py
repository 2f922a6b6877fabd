"""NumPy's error state and programs on GPUs."""

from importlib.util import find_spec

import numpy as np
import pytest

import tracemill as tm
from gpu.stub_gpu import StubGpu

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from gpu.interpreted_gpu import interpreted


def test_programs_on_gpus_run_as_ever_whatever_the_error_state_asks_for(stub_gpu: StubGpu) -> None:
    with interpreted(stub_gpu):
        compiled, x = tm.compile(np.reciprocal), tm.device_put(np.array([2.0, 4.0]))
        for _ in range(2):
            with np.errstate(all="raise"):
                found = compiled(x)
            assert type(found) is tm.DeviceArray
            np.testing.assert_array_equal(found.numpy(), [0.5, 0.25])

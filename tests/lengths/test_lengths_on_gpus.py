"""Programs for GPUs with computed lengths run in stages: in Triton's interpreter, on a stub of the driver."""

import numpy as np

import tracemill as tm
from gpu.interpreted_gpu import interpreted
from gpu.stub_gpu import StubGpu

X = np.array([3.0, -1.0, 2.0, 5.0, -7.0, 0.0, 4.0], np.float32)


def test_a_mask_selects_what_numpy_selects(stub_gpu: StubGpu) -> None:
    with interpreted(stub_gpu):
        selected = tm.compile(lambda x: x[x > 0] * 2, backend="triton")
        for x in (X, -X, X * 3):
            np.testing.assert_array_equal(selected(x), x[x > 0] * 2)


def test_a_selection_that_is_only_summed_needs_no_stage(stub_gpu: StubGpu) -> None:
    with interpreted(stub_gpu):
        total = tm.compile(lambda x: np.sum(x[x > 0] ** 2), backend="triton")
        np.testing.assert_allclose(total(X), np.sum(X[X > 0] ** 2))

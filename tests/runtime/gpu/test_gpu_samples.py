"""Every op runs on a GPU: in a kernel or a step of its own, or on the host where it has none."""

from importlib.util import find_spec

import numpy as np
import pytest

from gpu.stub_gpu import StubGpu
from samples.grouping import of_each_sample
from samples.sample import Sample
from samples.table import SAMPLES
from samples.thinning import some_of
from tracemill.compiler.dtypes import is_inexact, real_dtype
from tracemill.compiler.interpreter import evaluate
from tracemill.runtime.builder.build import build
from tracemill.runtime.machine.target import target_of

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)


RELATIVE = {2: 2e-2, 4: 2e-5, 8: 1e-11}
"""By the bytes of a real number: sums are added in another order."""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@of_each_sample(some_of(SAMPLES, share=0))
def test_samples_give_what_they_mean(sample: Sample, card: StubGpu) -> None:
    graph = sample.graph()
    with np.errstate(all="ignore"):
        expected = evaluate(graph, *sample.arrays())
        found = build(graph, target_of("triton", False)).function(*sample.arrays())
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        if is_inexact(y.dtype):
            size = np.max(np.abs(np.nan_to_num(y.astype(np.complex128), posinf=0, neginf=0)), initial=1)
            relative = RELATIVE[real_dtype(y.dtype).itemsize]
            wide = np.complex128 if y.dtype.kind == "c" else np.float64
            np.testing.assert_allclose(x.astype(wide), y.astype(wide), relative, relative * size)
        else:
            np.testing.assert_array_equal(x, y)

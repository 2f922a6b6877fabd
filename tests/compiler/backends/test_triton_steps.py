"""Triton functions of what is no loop nest compute what the calls mean, as Triton's interpreter runs them."""

from importlib.util import find_spec

import numpy as np
import pytest

from samples.sample import Sample
from samples.table import SAMPLES
from tracemill.compiler.backends.triton.steps import step_kernel
from tracemill.compiler.dtypes import is_inexact
from tracemill.compiler.trace import evaluate

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from triton_interpreter import run

RELATIVE = {2: 1e-2, 4: 3e-6, 8: 1e-12}
"""By the size of a number: the order of sums is what differs."""


def has_step(sample: Sample) -> bool:
    calls = sample.graph().calls
    return len(calls) == 1 and step_kernel(calls[0], "step") is not None


STEPS = [sample for sample in SAMPLES if has_step(sample)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("sample", STEPS, ids=[sample.id for sample in STEPS])
def test_samples_give_what_they_mean(sample: Sample) -> None:
    graph = sample.graph()
    kernel = step_kernel(graph.calls[0], "step")
    assert kernel is not None
    found, inputs = run(kernel, sample.arrays()), sample.arrays()
    with np.errstate(all="ignore"):
        expected = evaluate(graph, *inputs)
    for x, y in zip(found, expected, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if is_inexact(y.dtype):
            np.testing.assert_allclose(x.astype(np.float64), y.astype(np.float64), RELATIVE[y.dtype.itemsize])
        else:
            np.testing.assert_array_equal(x, y)

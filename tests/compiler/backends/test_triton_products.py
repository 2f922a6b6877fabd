"""Triton functions of kernels with products compute what the graphs mean, as Triton's interpreter runs them."""

from importlib.util import find_spec

import numpy as np
import pytest

from product_graphs import SMALL
from recording import drawn
from tracemill.compiler.backends.triton.steps.products import product_kernel
from tracemill.compiler.dtypes import is_inexact
from tracemill.compiler.trace import evaluate

if find_spec("triton") is None:
    pytest.skip("Triton is not installed; it is for Linux on x86", allow_module_level=True)

from triton_interpreter import run

RELATIVE = {2: 1e-2, 4: 1e-5, 8: 1e-12}


@pytest.mark.parametrize("name", SMALL)
def test_products_give_what_they_mean(name: str) -> None:
    graph = SMALL[name]
    inputs = drawn(graph, "real")
    found = run(product_kernel(graph, "kernel"), inputs)
    for x, y in zip(found, evaluate(graph, *inputs), strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if is_inexact(y.dtype):
            ours, wanted = x.astype(np.float64), y.astype(np.float64)
            largest = np.max(np.abs(wanted), initial=0)
            np.testing.assert_allclose(ours, wanted, 0, RELATIVE[y.dtype.itemsize] * largest)
        else:
            np.testing.assert_array_equal(x, y)

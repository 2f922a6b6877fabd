"""A GPU whose kernels Triton's interpreter runs."""

from collections.abc import Iterator
from importlib import import_module

import pytest

from gpu.stub_gpu import StubGpu


@pytest.fixture
def card(stub_gpu: StubGpu) -> Iterator[StubGpu]:
    """Tests that ask for it are skipped without Triton, which this imports."""
    with import_module("gpu.interpreted_gpu").interpreted(stub_gpu):
        yield stub_gpu

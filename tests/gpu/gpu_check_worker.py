"""A contestant's process of ``tracemill gpu-check`` on a GPU that is not there, by Triton's interpreter."""

from pathlib import Path

import pytest

from gpu.interpreted_gpu import interpreted
from gpu.stub_gpu import StubGpu
from tracemill.runtime.gpu_programs import timer
from tracemill.tools.gpu_check import card, worker

FEW = 2
"""Runs of each program that is timed: an interpreter is slow, and its times mean nothing."""


def main(library: str, contestant: str, folder: str) -> None:
    stub = StubGpu(Path(library))
    stub.reset(devices=1)
    with pytest.MonkeyPatch.context() as patch, interpreted(stub):
        patch.setattr(timer, "LEAST_SAMPLES", FEW)
        patch.setattr(timer, "MOST_SAMPLES", FEW)
        patch.setattr(card, "_CALLS", FEW)
        worker.main(contestant, folder)

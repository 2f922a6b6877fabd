"""A contestant's process of ``tracemill gpu-check`` on a GPU that is not there, by Triton's interpreter."""

from pathlib import Path

from gpu.interpreted_gpu import interpreted
from gpu.stub_gpu import StubGpu
from tracemill.tools.gpu_check import worker


def main(library: str, contestant: str, folder: str) -> None:
    stub = StubGpu(Path(library))
    stub.reset(devices=1)
    with interpreted(stub):
        worker.main(contestant, folder)

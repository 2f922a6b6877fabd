"""Factorisations and FFTs by CuPy, if it is installed: on the GPU, without moving arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from ...compiler.backends.triton.plan import HostStep
from ...compiler.builder import not_recording
from ...compiler.interpreter import Interpreter
from ...compiler.ir import ArrayType
from ...compiler.symbolic_size import is_known
from .device import Device


def is_by_cupy(step: HostStep) -> bool:
    """Whether CuPy computes a step: it can, and is installed."""
    if not step.is_in_cupy or any(is_known(slot.type.size == 0) for slot in step.touched):
        return False
    return find_spec("cupy") is not None


def compute(
    step: HostStep, inputs: Sequence[int], outputs: Sequence[int], device: Device, stream: int
) -> None:
    """Compute a step on a stream, with inputs and outputs at these addresses.

    NumPy's functions, which define the ops, dispatch to CuPy for its arrays.

    Raises:
        ImportError: CuPy does not start, or a library of NVIDIA's that it calls is not installed.
    """
    import cupy
    import cupyx

    queue = cupy.cuda.ExternalStream(stream, device.ordinal)
    with cupy.cuda.Device(device.ordinal), queue, cupyx.errstate(linalg="raise"), not_recording():
        arrays = [cupy.asarray(_Lent(x, slot.type)) for x, slot in zip(inputs, step.inputs, strict=True)]
        results = Interpreter(step.graph).run(*arrays)
        for pointer, slot, result in zip(outputs, step.outputs, results, strict=True):
            cupy.asarray(_Lent(pointer, slot.type))[...] = result


@dataclass(frozen=True, slots=True)
class _Lent:
    """Memory of a plan as a CuPy array, on the same stream, so that nothing waits."""

    pointer: int
    type: ArrayType

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.type.shape,
            "typestr": self.type.dtype.str,
            "data": (self.pointer, False),
            "strides": None,
            "stream": None,
            "version": 3,
        }

"""Loads compiled kernels onto a GPU; and the metadata of their code in a cache entry."""

from collections.abc import Mapping
from typing import Any

from ..machine.triton_compiler import BuiltKernel
from .device import Device
from .kernel import LoadedKernel


def about_kernel(kernel: BuiltKernel) -> dict[str, Any]:
    """The parameters for loading a kernel's code."""
    assert kernel.facts is not None
    numbers = {"numbers": list(kernel.numbers)} if kernel.numbers else {}
    return {
        "name": kernel.name,
        "warps": kernel.warps,
        "shared_bytes": kernel.shared_bytes,
        "scratch_bytes": kernel.scratch_bytes,
        "pointers": len(kernel.facts.parameters) - len(kernel.numbers) - 2,  # Triton's own come last
        **numbers,
    }


def loaded_kernel(device: Device, code: bytes, about: Mapping[str, Any]) -> LoadedKernel:
    """A kernel with this code on a GPU.

    Raises:
        GpuCodeError: the GPU does not run it.
    """
    return LoadedKernel(
        device,
        code,
        about["name"],
        warps=about["warps"],
        shared_bytes=about["shared_bytes"],
        pointers=about["pointers"],
        numbers=len(about.get("numbers", ())),
        scratch_bytes=about["scratch_bytes"],
    )


def loaded_kernels(device: Device, built: Mapping[str, BuiltKernel]) -> dict[str, LoadedKernel]:
    """All kernels of a program on a GPU, by their names in its plan. Raises like `loaded_kernel`."""
    return {name: loaded_kernel(device, kernel.code, about_kernel(kernel)) for name, kernel in built.items()}

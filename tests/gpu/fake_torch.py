"""As much of torch, over memory of NumPy's, as exported files for GPUs use: where Triton's interpreter runs kernels."""

import contextlib
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from gpu.triton_interpreter import Memory

NAMES = [
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
"""The dtypes with the same name in both."""

HERE = "here"
"""The only device."""


class Tensor(Memory):
    """An array with the methods of a tensor."""

    is_cuda = False
    device = HERE
    is_whole = True

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getattribute__(self, name: str) -> Any:
        if name in ("dtype", "shape"):
            return getattr(self.array, name)
        return super().__getattribute__(name)

    def untyped_storage(self) -> Memory:
        return Memory(self.array)

    def dim(self) -> int:
        return int(self.array.ndim)

    def is_complex(self) -> bool:
        return bool(self.array.dtype.kind == "c")

    def to(self, device: str) -> "Tensor":
        assert device == HERE
        return self

    def contiguous(self) -> "Tensor":
        return self if self.array.flags.carray else Tensor(self.array.copy())

    def view(self, how: Any) -> "Tensor":
        return Tensor(self.array.reshape(-1) if how == -1 else self.array.view(how))

    def __getitem__(self, index: slice) -> "Tensor":
        return Tensor(self.array[index])

    def __setitem__(self, index: Any, other: "Tensor") -> None:
        self.array[index] = other.array

    def copy_(self, other: Memory) -> "Tensor":
        self.array[...] = other.array
        return self

    def item(self) -> Any:
        return self.array.item()


def fake_torch() -> ModuleType:
    """What ``import torch`` gives."""
    module = ModuleType("torch")
    torch: Any = module
    for name in NAMES:
        setattr(torch, name, np.dtype(name))
    torch.bool = np.dtype(np.bool_)
    torch.Tensor = Tensor
    torch.device = lambda name: HERE
    torch.empty = lambda shape, dtype, device: Tensor(np.full(shape, 77, dtype))
    torch.tensor = lambda number, dtype: Tensor(np.array(number, dtype))
    torch.from_numpy = Tensor
    torch.frombuffer = lambda content, dtype: Tensor(np.frombuffer(content, dtype))
    torch.view_as_real = lambda x: Tensor(x.array.view(x.array.real.dtype).reshape(*x.array.shape, 2))
    torch.cuda = SimpleNamespace(device_of=lambda x: contextlib.nullcontext())
    return module

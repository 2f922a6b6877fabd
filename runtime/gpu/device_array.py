"""`DeviceArray`: an array in the memory of a GPU."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...compiler.dtypes import Array, DType
from ...compiler.errors import ArgumentTypeError, ArgumentValueError, WrongDeviceError
from ...compiler.ir import ArrayType
from ...compiler.tracing.outside.foreign_array import ForeignArray, trace_of_a_function

if TYPE_CHECKING:
    from .device import Device, HasMemory

_SHOWN: Final = 1 << 16
"""An array with up to this many bytes shows its values."""

_WITHOUT_ORDER: Final = -1
"""The stream with which a consumer of DLPack says that it orders work itself."""


class DeviceArray(ForeignArray):
    """An array in the memory of a GPU, in C order. `device_put` makes one, and compiled programs return them.

    Programs compiled for a GPU compute with it, as an argument or as a closed-over array: then it is used by
    reference, like a NumPy array. ``numpy()`` copies it to the host, and NumPy's functions do so, too. Through DLPack
    and ``__cuda_array_interface__`` it is passed to torch, CuPy, JAX and Numba without a copy:
    ``torch.from_dlpack(x)``. They may write to it.

    Attributes:
        shape: the lengths of the axes.
        dtype: NumPy's, or that of ``ml_dtypes.bfloat16``.
        device: the GPU.
        pointer: the address of the first element.

    >>> import numpy as np, tracemill as tm
    >>> x = tm.device_put(np.array([1.0, 2.0, 3.0]))
    >>> x
    DeviceArray([1., 2., 3.], f64[3] on cuda:0)
    >>> x.numpy()
    array([1., 2., 3.])
    """

    __slots__ = ("__weakref__", "dtype", "memory", "pointer", "shape")

    def __init__(self, memory: "HasMemory", shape: tuple[int, ...], dtype: DType, offset: int = 0) -> None:
        if not isinstance(getattr(memory, "pointer", None), int):
            raise ArgumentTypeError(
                f"DeviceArray: memory must be memory of a GPU, not {type(memory).__name__}: "
                "tracemill.device_put(x) copies an array there"
            )
        self.memory = memory
        self.shape = shape
        self.dtype = dtype
        self.pointer = memory.pointer + offset

    @property
    def device(self) -> "Device":
        return self.memory.device

    @property
    def type(self) -> ArrayType:
        """Dtype and shape, as in the graph."""
        return ArrayType(self.dtype, self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.type.size

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def numpy(self) -> Array:
        """A copy on the host, after all queued work."""
        return self.device.copy_out(self.pointer, self.shape, self.dtype)

    def tobytes(self) -> bytes:
        """The bytes of such a copy, in C order."""
        return self.numpy().tobytes()

    def copy(self) -> Any:
        """A copy on the same GPU; in a traced function, a copy in each call."""
        if trace_of_a_function() is not None:
            return self.inside("copy").copy()
        return DeviceArray(self.device.copied(self.pointer, self.nbytes), self.shape, self.dtype)

    def overwrite(self, new: "DeviceArray | Array") -> None:
        """Copy an array of this shape and dtype, on the same GPU or on the host, into this one's memory.

        Raises:
            ArgumentValueError: it belongs to another library, and is read-only.
        """
        if self.memory.is_read_only:
            raise ArgumentValueError(
                f"the function writes to {self.type} on {self.device.name}, which its library has as read-only: pass a"
                " copy"
            )
        if isinstance(new, DeviceArray):
            self.device.copy(self.pointer, new.pointer, self.nbytes)
        else:
            self.device.write(self.pointer, np.require(new, self.dtype, ("C", "A")))
        self.device.show(self.memory.readers)

    def overlaps(self, other: object) -> bool:
        """Whether it shares memory with another array."""
        return (
            isinstance(other, DeviceArray)
            and other.device is self.device
            and self.pointer < other.pointer + other.nbytes
            and other.pointer < self.pointer + self.nbytes
        )

    def item(self) -> Any:
        """The only element, as a Python number.

        Raises:
            ArgumentValueError: there is not exactly one.
        """
        if self.size != 1:
            raise ArgumentValueError(f"item() of {self.type}: only an array of one element is a number")
        self.refuse_to_look("a number")
        return self.numpy().item()

    def __repr__(self) -> str:
        kind = f"{self.type} on {self.device.name}"
        if self.nbytes > _SHOWN:
            return f"DeviceArray({kind})"
        return f"DeviceArray({np.array2string(self.numpy(), separator=', ', prefix='DeviceArray(')}, {kind})"

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentTypeError(f"len() of {self.type}: an array without axes has no length")
        return self.shape[0]

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __reduce__(self) -> tuple[Any, ...]:
        return on_device, (self.numpy(), self.device.ordinal)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ArgumentValueError(
                f"{self.type} on {self.device.name}: NumPy cannot have it without a copy"
            )
        self.refuse_to_look("an array of NumPy's")
        found = self.numpy()
        return found if dtype is None else found.astype(dtype, copy=False)

    # ---- to other libraries ----------------------------------------------------------------------------

    def __dlpack_device__(self) -> tuple[int, int]:
        from . import dlpack

        return dlpack.CUDA, self.device.ordinal

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The array for a library that works on `stream`, which waits for the work queued so far.

        Raises:
            ArgumentValueError: ``copy=False``, but the library wants it on the host.
            WrongDeviceError: the library wants it on another GPU.
        """
        from . import dlpack
        from .device import LEGACY_STREAM

        del max_version  # a producer may answer in version 0 of the standard
        if dl_device is not None and dl_device[0] == dlpack.HOST:
            if copy is False:
                raise ArgumentValueError(
                    f"{self.type} on {self.device.name}: the host cannot have it without a copy"
                )
            return self.numpy().__dlpack__()
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise WrongDeviceError(
                f"{self.type} is on {self.device.name}, not on DLPack's device {dl_device}: copy it by device_put"
            )
        given = self.copy() if copy else self
        if stream != _WITHOUT_ORDER:
            self.device.let_wait(LEGACY_STREAM if stream is None else stream)
        _shared(given.memory, None if stream == _WITHOUT_ORDER else stream or LEGACY_STREAM)
        return dlpack.capsule(given.pointer, self.shape, self.dtype, self.device.ordinal, given.memory)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        _shared(self.memory, None)
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer, False),
            "strides": None,
            "stream": self.device.stream,
            "version": 3,
        }


def on_device(array: Array, ordinal: int) -> DeviceArray:
    """A host array, copied to a GPU."""
    from .device import gpu

    return DeviceArray(gpu(ordinal).copy_in(np.ascontiguousarray(array)), array.shape, array.dtype)


def _shared(memory: "HasMemory", stream: int | None) -> None:
    """Record who may still use the memory when Tracemill is done with it."""
    from .device import Memory

    if isinstance(memory, Memory):
        memory.readers.add(stream)

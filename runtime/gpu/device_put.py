"""`device_put`: copies arrays to a GPU."""

from typing import Any

import numpy as np

from ...compiler.dtypes import is_supported
from ...compiler.errors import ArgumentTypeError, DTypeError
from ...compiler.tracing.traced_memory import is_traced
from ..int_options import int_option
from ..trees import changed_leaves
from .device import Device, gpu
from .device_array import DeviceArray, on_device
from .foreign import foreign


def device_put(tree: Any, device: int = 0) -> Any:
    """Copy the arrays and numbers of a pytree to a GPU.

    NumPy arrays, and objects that NumPy converts to arrays, are copied. Arrays of torch, CuPy, JAX and Numba that are
    already on that GPU share their memory with the result; those on another one are copied from GPU to GPU.

    Args:
        tree: an array or a number, or a container of them, of any shapes and dtypes that programs have.
        device: the number of the GPU, as CUDA counts them.

    Returns:
        The same containers with a `DeviceArray` for each array and number. Traced arrays stay as they are: they lie
        where the program runs.

    Raises:
        MissingPackageError, NoDriverError, NoGpuError: there is no GPU of this number, or nothing to reach it by.
        GpuMemoryError: (a MemoryError) the arrays do not fit into its memory.
        ForeignArrayError: (a ValueError) an array of another library does not lie in C order.
        ArgumentTypeError, DTypeError: (TypeErrors) a leaf is not an array of numbers.

    >>> import numpy as np, tracemill as tm
    >>> tm.device_put({"w": np.ones(2, np.float32), "b": 0.5})
    {'w': DeviceArray([1., 1.], f32[2] on cuda:0), 'b': DeviceArray(0.5, f64[] on cuda:0)}
    """
    target = gpu(int_option("device_put", "device", device, minimum=None))
    return changed_leaves("the argument of device_put", lambda leaf: _put(leaf, target), tree)


def _put(leaf: Any, target: Device) -> Any:
    if is_traced(leaf):  # it is on the GPU on which the program runs
        return leaf
    found = foreign(leaf)
    if found is not None:
        if found.device is target:
            return found
        return DeviceArray(target.copy_from(found), found.shape, found.dtype)
    array = np.asarray(leaf)
    if array.dtype.kind == "O":
        raise ArgumentTypeError(f"device_put: {type(leaf).__name__} is not an array or a number")
    if not is_supported(array.dtype):
        raise DTypeError(f"device_put: dtype {array.dtype} is not supported: convert it first")
    return on_device(array, target.ordinal)

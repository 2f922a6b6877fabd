"""Errors about GPUs, their drivers, and lock files."""

from .compiling import BackendError
from .tracemill_error import TracemillError


class NoDriverError(BackendError):
    """A program needs a GPU, and NVIDIA's driver is missing or does not start.

    >>> import tracemill as tm
    >>> from unittest.mock import patch
    >>> from tracemill.runtime.gpu.driver import started
    >>> with patch("cuda.bindings.driver.cuInit", side_effect=RuntimeError("libcuda.so.1 cannot be opened")):
    ...     started()
    Traceback (most recent call last):
    tracemill.compiler.errors.gpus.NoDriverError: NVIDIA's driver cannot be used: libcuda.so.1 cannot be opened...

    Fix: run ``nvidia-smi``, which shows whether the driver works. The driver of a container comes from its host: start
    the container with ``--gpus all``. ``backend="auto"`` works without a GPU.
    """

    code = "E0612"


class NoGpuError(BackendError):
    """There is no GPU, or none with the requested number.

    >>> import numpy as np, tracemill as tm
    >>> tm.device_put(np.ones(3), device=1000)
    Traceback (most recent call last):
    tracemill.compiler.errors.gpus.NoGpuError: there is no GPU 1000: they are numbered from 0, and there ...

    Fix: GPUs are numbered from 0, so pass a number below the number of GPUs. If ``CUDA_VISIBLE_DEVICES`` is set, it
    hides all GPUs that it does not name.
    """

    code = "E0613"


class GpuMemoryError(BackendError, MemoryError):
    """The memory of the GPU is full.

    >>> from tracemill.runtime.gpu.device import gpu
    >>> gpu().allocate(1 << 50)
    Traceback (most recent call last):
    tracemill.compiler.errors.gpus.GpuMemoryError: 1125899906842624 bytes do not fit on cuda:0: ...

    Fix: delete arrays that you no longer need, compute in chunks with ``vmap(chunk_size=...)``, or keep less for the
    backward pass with `checkpoint`. Other processes, and other libraries in this one, use the same memory:
    ``nvidia-smi`` shows how much.
    """

    code = "E0614"


class GpuCodeError(BackendError):
    """The GPU or its driver cannot run the machine code of a kernel, which was compiled for another GPU or driver.

    >>> from tracemill.runtime.gpu.device import gpu
    >>> from tracemill.runtime.gpu.kernel import LoadedKernel
    >>> LoadedKernel(gpu(), b"no machine code", "softmax", warps=4, shared_bytes=0, pointers=2)
    Traceback (most recent call last):
    tracemill.compiler.errors.gpus.GpuCodeError: cuda:0 cannot run softmax: CUDA_ERROR_INVALID_IMAGE...

    Fix: compile for the target that the message names. If the driver is older than the code, update the driver or
    compile with an older Triton. A program exported for ``cuda:sm_80`` runs on all newer GPUs.
    """

    code = "E0615"


class ForeignArrayError(TracemillError, ValueError):
    """An array of another library on a GPU cannot be used in place, because it is not contiguous.

    >>> import numpy as np, tracemill as tm
    >>> class Columns:
    ...     def __init__(self, x):
    ...         self.__cuda_array_interface__ = {**x.__cuda_array_interface__, "strides": (8, 16)}
    >>> tm.device_put(Columns(tm.device_put(np.ones((2, 2)))))
    Traceback (most recent call last):
    tracemill.compiler.errors.gpus.ForeignArrayError: Columns of shape (2, 2) and strides (8, 16) bytes is not...

    Fix: copy it first: ``x.contiguous()`` in torch, or ``cupy.ascontiguousarray(x)`` in CuPy.
    """

    code = "E0616"


class WrongDeviceError(TracemillError, ValueError):
    """An array is on the wrong GPU: all arrays of a call must be on the same one.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.add)(tm.device_put(np.ones(3), device=0), tm.device_put(np.ones(3), device=1))
    Traceback (most recent call last):
    tracemill.compiler.errors.gpus.WrongDeviceError: arrays of one call are on different GPUs: args[0] on...

    Fix: copy the array to the right GPU with ``tm.device_put(x, device=1)``.
    """

    code = "E0617"


class GpuError(BackendError):
    """NVIDIA's driver reports a failure. The message gives its name, its description, and what was being done.

    A GPU runs kernels some time after they are launched, so a later call may report the failure of an earlier kernel.

    >>> from tracemill.runtime.gpu.driver import checked
    >>> from cuda.bindings.driver import CUresult
    >>> checked((CUresult.CUDA_ERROR_ECC_UNCORRECTABLE,), "copying from cuda:0")
    Traceback (most recent call last):
    tracemill.compiler.errors.gpus.GpuError: copying from cuda:0: CUDA_ERROR_ECC_UNCORRECTABLE (214)...

    Fix: restart the process: after a kernel has failed, the GPU runs nothing more for it. If it fails again, please
    report the program. With ``CUDA_LAUNCH_BLOCKING=1``, the call that caused the failure reports it.
    """

    code = "E0618"


class LockFileError(TracemillError, ValueError):
    """A lock file, which stores choices for GPU kernels, is damaged or holds a choice that a kernel cannot use.

    >>> from pathlib import Path
    >>> from tracemill.runtime.gpu_choices.lock_reader import entries_in
    >>> entries_in(b"format = 1\\n<<<<<<< HEAD", Path("tracemill.lock"))
    Traceback (most recent call last):
    tracemill.compiler.errors.gpus.LockFileError: tracemill.lock:2: this is not TOML: ...

    Fix: delete the entry at the line that the message names; its kernel is then tuned again on a machine with a GPU. Or
    restore the file from version control. ``tracemill lock check`` finds further mistakes.
    """

    code = "E0619"

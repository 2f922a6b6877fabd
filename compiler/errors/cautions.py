"""Warnings: results are right, but slower or less accurate than they could be."""


class CallbackLoopWarning(UserWarning):
    """A Python callback under `vmap` runs once per example, in a loop.

    `vmap` cannot batch opaque code. The printed graph shows the loop as ``loops=``.

    >>> import math, numpy as np, tracemill as tm
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = tm.vmap(lambda x: tm.pure_callback(math.gamma, np.float64, x))(np.ones(2))
    >>> caught[0].category.__name__
    'CallbackLoopWarning'

    Fix: write the function with NumPy, so that it can be traced, or call it outside `vmap` on the whole batch.
    """

    code = "W0001"


class LowPrecisionWarning(UserWarning):
    """`gradcheck` got inputs below double precision, which leave few digits to compare.

    >>> import numpy as np, tracemill as tm
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = tm.gradcheck(np.sin, np.float32(1.0))
    >>> caught[0].category.__name__
    'LowPrecisionWarning'

    Fix: check in double precision, or widen `rtol` and `atol` and silence the warning.
    """

    code = "W0002"


class MaskedNaNWarning(RuntimeWarning):
    """A derivative is NaN because of a branch that `np.where` did not choose.

    That branch contributes 0, which the chain rule multiplies by the slope of the branch. If the slope is infinite,
    like that of a square root at 0, the product is NaN.

    >>> import numpy as np, tracemill as tm
    >>> import warnings
    >>> def f(x):
    ...     return np.where(x > 0, np.sqrt(x), 0.0)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = tm.grad(f)(0.0)
    >>> caught[0].category.__name__
    'MaskedNaNWarning'
    >>> tm.grad(f, safe_where=True)(0.0)
    np.float64(0.0)

    Fix: pass ``safe_where=True``, or choose a safe argument first: ``np.sqrt(np.where(x > 0, x, 1.0))``. Compiled
    programs do not warn.
    """

    code = "W0003"


class CompilerWarning(RuntimeWarning):
    """No installed C compiler works, or the one in ``TRACEMILL_CC`` does not, so NumPy computes instead.

    >>> import os, numpy as np, tracemill as tm
    >>> import warnings
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, {"TRACEMILL_CC": "/no/such/cc", "TRACEMILL_BACKEND": "auto"}):
    ...     with warnings.catch_warnings(record=True) as caught:
    ...         warnings.simplefilter("always")
    ...         _ = tm.compile(np.sin)(np.ones(3))
    >>> caught[0].category.__name__
    'CompilerWarning'

    The machine can be at fault, too: no room for temporary files, or a limit on memory. Results are still right. A
    process warns once for each value of ``TRACEMILL_CC``.

    Fix: set ``TRACEMILL_CC`` to a compiler that works, or unset it to try the usual ones. If the machine is at fault,
    free some space or set ``TMPDIR`` to another folder. ``tracemill doctor`` shows what works. ``backend="c"`` raises
    an error instead of warning, and ``backend="numpy"`` needs no compiler.
    """

    code = "W0004"


class HostFallbackWarning(RuntimeWarning):
    """The arrays are on a GPU that cannot run the function, so ``backend="auto"`` computes on the host.

    Triton is not installed, it cannot compile a kernel of the function, or the GPU cannot run that kernel. This is
    known before anything runs. Each call copies the arrays to the host and the results back.

    >>> import os, numpy as np, tracemill as tm
    >>> import warnings
    >>> from unittest.mock import patch
    >>> x, missing = tm.device_put(np.zeros(3)), tm.errors.MissingPackageError("compiling for GPUs needs Triton")
    >>> with patch.dict(os.environ, {"TRACEMILL_CACHE": "0"}), warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     with patch("tracemill.runtime.gpu_programs.gpu_strategy.build_program", side_effect=missing):
    ...         y = tm.compile(np.cos)(x)
    >>> y, caught[0].category.__name__
    (DeviceArray([1., 1., 1.], f64[3] on cuda:0), 'HostFallbackWarning')

    Fix: install what the message names, usually with ``pip install "tracemill[gpu]"``, or report the kernel. Each
    program warns once. ``backend="triton"`` raises the error instead.
    """

    code = "W0005"


class SettingWarning(UserWarning):
    """An environment variable has a value that cannot be used. Results are still right.

    ``TRACEMILL_LOG`` names an unknown log, or ``TRACEMILL_DUMP`` a place that cannot be written to.

    >>> import os, numpy as np, tracemill as tm
    >>> import warnings
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, {"TRACEMILL_LOG": "fusoin"}), warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     y = tm.compile(np.sin)(np.zeros(3))
    >>> y, caught[0].category.__name__
    (array([0., 0., 0.]), 'SettingWarning')

    Fix: use one of the values that the message lists. The warning appears once.
    """

    code = "W0006"


class RecompileWarning(UserWarning):
    """A function is compiled again and again, or discards programs to make room.

    The calls differ only in sizes, or in which objects of your classes they pass.

    >>> import numpy as np, tracemill as tm
    >>> import warnings
    >>> f = tm.compile(np.sin, dynamic=False)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     for size in range(20):
    ...         y = f(np.ones(size))
    >>> caught[0].category.__name__, len(caught)
    ('RecompileWarning', 1)

    Fix: the message says what changed, which line of your program depends on it, and what to do. Each function warns
    once. ``on_recompile="ignore"`` silences the warning, ``on_recompile="error"`` raises an error instead, and
    ``max_variants`` keeps more programs. ``f.explain_recompile()`` says why a function was last compiled.
    """

    code = "W0007"


class InternalWarning(RuntimeWarning):
    """Tracemill has a bug that made a program slower, but not wrong.

    A program for many sizes raised an error that a program for one size does not, and that is not about a known limit
    of such programs. So each size gets a program.

    >>> import os, warnings, numpy as np, tracemill as tm
    >>> from unittest.mock import patch
    >>> f = tm.compile(lambda x: x * (3 * x.shape[0] + 1), dynamic=True)
    >>> broken = patch("tracemill.compiler.shapes.dim.add", None)
    >>> with patch.dict("os.environ"), broken, warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = os.environ.pop("TRACEMILL_CHECK", None)
    ...     y = f(np.ones(2))
    >>> y, caught[0].category.__name__
    (array([7., 7.]), 'InternalWarning')

    Fix: please report the message with the traceback that ``TRACEMILL_CHECK=1`` shows. Each function warns once,
    whatever its ``on_recompile``.
    """

    code = "W0008"


class SideEffectWarning(UserWarning):
    """A compiled function changes something outside of it, such as a global, which does not happen in each call.

    It happens when the function is traced, such as in its first call, and when a call runs uncompiled. Results do not
    depend on it: if they did, the function would be traced in each call.

    >>> import warnings, numpy as np, tracemill as tm
    >>> calls = []
    >>> def function(x):
    ...     calls.append("called")
    ...     return 2 * x
    >>> f = tm.compile(function)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     y = f(1.0), f(2.0)
    >>> len(calls), caught[0].category.__name__
    (1, 'SideEffectWarning')

    Fix: make the change outside of the function, or in an array, whose writes happen in each call. Each function warns
    once; ``on_recompile="ignore"`` silences the warning, as for counters that count how often a function is traced.
    """

    code = "W0009"

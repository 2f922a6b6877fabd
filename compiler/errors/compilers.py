"""Errors about optional packages and compilers."""

from .compiling import BackendError
from .tracemill_error import TracemillError


class MissingPackageError(TracemillError, ImportError):
    """A feature needs an optional package that is not installed.

    >>> import sys, numpy as np, tracemill as tm
    >>> from unittest.mock import patch
    >>> slopes = tm.jacobian(np.sin, sparse=True)
    >>> with patch.dict(sys.modules, {"scipy.sparse": None}):
    ...     slopes(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.compilers.MissingPackageError: jacobian(sin) needs SciPy, which is not installed...

    Fix: install the package with the command in the message.
    """

    code = "E0607"


class MissingCompilerError(BackendError):
    """``backend="c"`` needs a C compiler, and none was found.

    >>> import os, numpy as np, tracemill as tm
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, {"TRACEMILL_CC": "/nowhere/cc"}):
    ...     tm.compile(np.sin, backend="c")(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.compilers.MissingCompilerError: TRACEMILL_CC=/nowhere/cc does not name a program...

    Fix: install gcc or clang, or set ``TRACEMILL_CC`` to a C compiler. ``backend="auto"`` works without one.
    """

    code = "E0608"


class CompilerError(BackendError):
    """The C compiler failed, or its output cannot be loaded. The message shows the command and what it printed.

    The C file is kept for at least a day, so that you can look at it. The machine can be at fault, too: no room for
    temporary files, a limit on memory or processes, or a compiler that took too long and was stopped.

    >>> import os, numpy as np, tracemill as tm
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, {"TRACEMILL_CC": "false"}):
    ...     tm.compile(np.sin, backend="c")(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.compilers.CompilerError: the C compiler failed (exit status 1) on ...

    Fix: run ``tracemill doctor``, which shows the compiler and whether it works. If it does not, set ``TRACEMILL_CC``
    to another one. If it fails for one program only, please report that with the C file; meanwhile,
    ``backend="numpy"`` works without C.
    """

    code = "E0609"


class KernelError(BackendError):
    """Triton cannot compile a kernel, or compiles it to a form that Tracemill cannot launch.

    >>> from tracemill.compiler.backends.triton.kernels.kernel import Launch, TritonKernel
    >>> from tracemill.runtime.machine.triton_compiler import build, target_named
    >>> text = "@triton.jit\\ndef f():\\n    tl.no()\\n"
    >>> broken = TritonKernel((text,), frozenset(), (Launch("f", 1, 4, ()),), (), 0)
    >>> build(broken, target_named("cuda:sm_90"))
    Traceback (most recent call last):
    tracemill.compiler.errors.compilers.KernelError: Triton cannot compile f: ...

    Fix: this is a bug in Tracemill or in this version of Triton. Please report it with the text of the kernel.
    Meanwhile, ``backend="auto"`` works without Triton.
    """

    code = "E0610"


class CubinError(TracemillError, ValueError):
    """Bytes that should be a cubin, the machine code of a GPU kernel, cannot be read as one.

    >>> from tracemill.runtime.machine.cubin import kernels_in
    >>> kernels_in(b"MZ")
    Traceback (most recent call last):
    tracemill.compiler.errors.compilers.CubinError: these 2 bytes cannot be read as a cubin: they do not begin as ...

    Fix: export the artifact again, or run ``tracemill cache clear`` if the bytes came from the cache.
    """

    code = "E0611"

"""Errors about `compile`, its options, and Python callbacks."""

from .tracemill_error import TracemillError


class StaticArgumentError(TracemillError, TypeError):
    """A static argument cannot be hashed, or ``static_argnums`` or ``static_argnames`` is wrong.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x, code: x, static_argnums=1)(np.ones(3), bytearray(2))
    Traceback (most recent call last):
    tracemill.compiler.errors.compiling.StaticArgumentError: args[1] is bytearray, which cannot be hashed...

    Fix: pass numbers, texts, and tuples, lists, sets or dicts of them. An array cannot be static: pass it as an
    ordinary argument.
    """

    code = "E0401"


class BackendError(TracemillError, RuntimeError):
    """A backend is unknown, or cannot run the program.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.sin, backend="fortran")
    Traceback (most recent call last):
    tracemill.compiler.errors.compiling.BackendError: backend 'fortran' is unknown: choose one of 'auto', 'c',...

    Fix: choose one of the backends that the message lists.
    """

    code = "E0402"


class CallbackError(TracemillError, TypeError, ValueError):
    """A Python callback returned something other than ``result_spec`` declares.

    The shapes and dtypes of its outputs are part of the program, so the function must match them exactly. Only a Python
    number is converted to the declared dtype.

    >>> import numpy as np, tracemill as tm
    >>> tm.pure_callback(np.sin, np.float32, np.float64(1.0))
    Traceback (most recent call last):
    tracemill.compiler.errors.compiling.CallbackError: callback of sin: output 0 must be f32[], the function...

    Fix: convert the output in the function, or correct ``result_spec``. The message names the function and the output.
    """

    code = "E0403"


class DonationError(TracemillError, TypeError):
    """An argument cannot be donated: there is no such parameter, or it is static and so has no memory to reuse.

    >>> import tracemill as tm
    >>> tm.compile(lambda x: x + 1, donate_argnums=1)
    Traceback (most recent call last):
    tracemill.compiler.errors.compiling.DonationError: donate_argnums has 1, but ... has no such parameter: it has x...

    Fix: pass the positions, counted from 0, of arguments that are arrays or containers of arrays.
    """

    code = "E0404"


class RecompileError(TracemillError, RuntimeError):
    """A function compiled with ``on_recompile="error"`` would have to be compiled again for this call.

    >>> import numpy as np, tracemill as tm
    >>> f = tm.compile(np.sin, on_recompile="error")
    >>> y = f(np.ones(3))
    >>> f(np.ones(3, np.float32))
    Traceback (most recent call last):
    tracemill.compiler.errors.compiling.RecompileError: sin would be compiled again because
      args[0]: f64[3] became f32[3]
    fix: convert arguments to one dtype before the call, x.astype(...)...

    Fix: the message says what changed since the last call, and how to avoid it.
    """

    code = "E0405"

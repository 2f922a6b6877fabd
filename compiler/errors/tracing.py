"""Errors about what a function does while it is traced."""

from collections.abc import Mapping
from types import MappingProxyType

from .tracemill_error import TracemillError


class ConcretizationError(TracemillError, TypeError):
    """Python needs the value of a traced array, which is not known while tracing.

    Under `compile` and `vmap` this happens at ``x.item()``, ``x.tolist()`` and ``[0.0] * n``, and where a value is the
    key of a dict. It also happens at ``if x > 0`` and ``while`` if the branch or the loop cannot be traced, because it
    changes a list or because the source of its function is not available.

    >>> import numpy as np, tracemill as tm
    >>> tm.vmap(lambda n: [0.0] * n)(np.arange(2))
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.ConcretizationError: an index or a size needs the value of a traced i64[]...

    Fix: write ``np.where(condition, a, b)`` instead of ``if``, and write to an array instead of a list. If the argument
    is a setting rather than data, mark it static (``static_argnums``). Without `compile`, `grad`, `vjp` and `jvp` know
    the values, so all of Python works.
    """

    code = "E0201"

    wants_values: bool = False
    """The branch cannot be traced, so the program is made again for the values of these numbers."""

    wants_following: bool = False
    """The program must go the way of the call at hand, in which a branch raises an exception that is handled."""

    is_recursion: bool = False
    """A function calls itself in each of many branches, one inside the other."""

    is_of_text: bool = False
    """The function makes a text of a number whose value is not known: in a compiled call, it runs uncompiled."""

    act: str = "makes a text of a number"
    """What the function does then."""

    numbers: frozenset[int] = frozenset()
    """The Python numbers among the leaves of the arguments whose values would be enough."""


class DataDependentShapeError(ConcretizationError):
    """The shape of a result depends on values, as for ``np.nonzero``, ``np.unique`` and ``x[mask]``.

    >>> import numpy as np, tracemill as tm
    >>> tm.vmap(lambda x: x[x > 0])(np.ones((2, 3)))
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.DataDependentShapeError: under vmap each example would have an array of another...

    Fix: keep the shape with ``np.where(mask, x, fill)``, or use the functions of ``tracemill.numpy``, which take
    ``size=`` and ``fill_value=``.
    """

    code = "E0202"


class EscapedTracerError(TracemillError, RuntimeError):
    """A traced array is used after its trace has ended, or in another thread.

    The function stored it in a global, an attribute or a list that outlives the call. Compiled functions that do so run
    uncompiled; `vmap` leaves the array there. What derivatives without `compile` leave there is a value, and no error.

    >>> import numpy as np, tracemill as tm
    >>> kept = []
    >>> _ = tm.vmap(lambda x: kept.append(x))(np.ones(3))
    >>> kept[0] + 1
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.EscapedTracerError: a traced array is used outside of the trace that made it...

    Fix: return the array from the function instead of storing it.
    """

    code = "E0203"


class UnsupportedFunctionError(TracemillError, NotImplementedError, TypeError):
    """A NumPy function cannot be traced. The message says why.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.isnat)(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.UnsupportedFunctionError: np.isnat cannot be traced: dates and times...

    Fix: use what the message suggests, call the function outside the traced one, or wrap it in `tm.pure_callback`.
    """

    code = "E0204"


class ArgumentTypeError(TracemillError, TypeError):
    """An argument is not an array, a number, or a container of these. The message names its path.

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(lambda x: x)("one")
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.ArgumentTypeError: grad(<lambda>): args[0] is str, not an array or a number...

    Fix: pass arrays and numbers, and make every other argument static with ``static_argnums``.
    """

    code = "E0205"


class RandomStateError(TracemillError, RuntimeError):
    """A traced function drew random numbers from a generator of NumPy or Python.

    The program would contain the number that was drawn, so every later call would use the same one. This covers
    `np.random`, Python's `random`, the generators of both, `secrets`, `uuid.uuid4`, `os.urandom` and
    ``ssl.RAND_bytes``.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x + np.random.normal())(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.RandomStateError: np.random.normal was called while tracing...

    Fix: draw from ``tm.random.default_rng(seed)``, whose state is part of the program, or draw outside the function
    and pass the result as an argument. If every call may draw the same numbers, seed in the function:
    ``rng = np.random.default_rng(seed)``.
    """

    code = "E0206"


class ImmutableScalarError(TracemillError, TypeError):
    """A function assigns into a NumPy scalar, such as ``x[0]`` or ``x.sum()``. As in NumPy, scalars cannot change.

    >>> import numpy as np, tracemill as tm
    >>> def f(x):
    ...     total = x.sum()
    ...     total[...] = 0
    >>> tm.compile(f)(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.ImmutableScalarError: a NumPy scalar does not support item assignment...

    Fix: assign to the name, ``total = 0``, or into the array, ``x[0] = 0``.
    """

    code = "E0207"


class ReadOnlyError(TracemillError, ValueError):
    """A function writes to a read-only view, such as the result of ``np.broadcast_to`` or ``np.diagonal``.

    >>> import numpy as np, tracemill as tm
    >>> def f(x):
    ...     np.diagonal(x)[0] = 1
    >>> tm.compile(f)(np.ones((2, 2)))
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.ReadOnlyError: this array is read-only (np.diagonal, windows...

    Fix: copy the view first, as in NumPy. To write to a diagonal, use ``np.fill_diagonal``.
    """

    code = "E0208"


class ArgumentValueError(TracemillError, ValueError):
    """An argument has a value that the function does not accept, such as a quantile of 2 or an unknown method.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: np.quantile(x, 2.0))(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.ArgumentValueError: Quantiles must be in the range [0, 1]...

    Fix: pass one of the values that the message names.
    """

    code = "E0209"


class UnsupportedAttributeError(UnsupportedFunctionError, AttributeError):
    """An attribute gives access to the memory of an array, and a traced array has none.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x.ctypes)(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.UnsupportedAttributeError: x.ctypes cannot be traced...

    Fix: use ``shape``, ``dtype``, ``strides`` and ``flags`` instead, which are known while tracing.
    """

    code = "E0210"


class IndexTypeError(ArgumentTypeError, IndexError):
    """An index is not an integer, a slice, Ellipsis, None, or an array of integers or bools.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x[1.5])(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.IndexTypeError: only integers, slices (`:`), ellipsis (`...`), None and...

    Fix: convert the index with ``int(i)`` or ``i.astype(int)``.
    """

    code = "E0211"


class RandomnessError(TracemillError, RuntimeError):
    """A function under `vmap` draws random numbers, and ``randomness=`` does not say how.

    It could mean one draw that all examples share, or a separate draw for each.

    >>> import numpy as np, tracemill as tm
    >>> rng = tm.random.default_rng(0)
    >>> tm.vmap(lambda x: x + rng.normal())(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.RandomnessError: normal: a random draw inside vmap(<lambda>)...

    Fix: pass ``vmap(f, randomness="different")`` for separate draws or ``randomness="same"`` for a shared one, or draw
    outside the function and pass the result as an argument.
    """

    code = "E0212"


class SharedMemoryError(TracemillError, ValueError):
    """A function writes to an array that may or may not share its memory with another array, depending on values.

    This happens in a batch after a branch or a loop on values has assigned one variable's array to another variable, if
    the program cannot tell the arrays apart: they differ in dtype or strides, or a loop computes where a view begins.
    Without a batch, a compiled function is then compiled for the values of the call.

    >>> import numpy as np, tracemill as tm
    >>> def f(x):
    ...     y = np.zeros(2)
    ...     if x[0] > 0:
    ...         y = x[::2]
    ...     y += 1  # NumPy writes to x here, or not
    ...     return y
    >>> tm.compile(tm.vmap(f))(np.ones((2, 4)))
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.SharedMemoryError: an array is written to that may be an argument...

    Fix: assign a copy (``y = x.copy()``), or make a new array (``y = y + 1``).
    """

    code = "E0213"


class SideEffectError(ConcretizationError):
    """A branch or a loop on values changes a list, a dict, an object, or an array from outside the function.

    Or a function under a transform changes a list, a dict or an object of its caller, whose own would stay as it is.

    Tracing runs the body of a loop once, for any number of iterations, and runs every branch, taken or not. So a change
    made there would happen at the wrong time. Tracemill has undone it.

    >>> import numpy as np, tracemill as tm
    >>> def halve(x):
    ...     found = []
    ...     while x > 1:
    ...         found.append(x)
    ...         x = x / 2
    ...     return found
    >>> tm.vmap(halve)(np.array([8.0, 3.0]))
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.SideEffectError: one trace of `while` at ...

    Fix: write to an array that the function makes (``np.zeros(…)``), or assign to a variable. A compiled function that
    changes its own lists, dicts and objects so, or those among its arguments, is compiled for the values of the call.

    A compiled function runs uncompiled if it writes files, or if it returns an object of your own class that no program
    can make anew in each call. If that is impossible, because what it has done while it was traced cannot be undone,
    this is the error.
    """

    code = "E0214"
    lists: tuple[str, ...] = ()
    """The lists that are longer or shorter afterwards, if nothing else is in the way."""

    holder: object = None
    """The object that a branch or a loop changes, if it is from outside."""

    runs_uncompiled: bool = False
    """The function changes an object among its arguments, makes objects, keeps arrays outside, writes files, or makes a
    text of a number. No program can do this."""

    may_fill_cache: bool = False
    """What the function keeps outside may be all that it computes only once, so that later calls can be compiled."""

    made: Mapping[int, type] = MappingProxyType({})
    """The classes of objects that the function has made, by id: while they exist, not all that it did is undone."""


class ClockError(TracemillError, RuntimeError):
    """A function that is traced once and runs many times reads the time.

    The program would contain the time of tracing, and a duration would measure the tracing. In compiled and exported
    functions, and in the bodies of loops such as `scan`, the error is raised for

    - the clocks of `time`, such as ``time.time`` and ``time.perf_counter``, and ``os.times``;
    - ``time.localtime``, ``gmtime``, ``strftime``, ``ctime`` and ``asctime`` when they are not given a time;
    - ``datetime.now``, ``utcnow`` and ``today``, ``np.datetime64("now")`` and ``("today")``;
    - ``uuid.uuid1``, which contains the time.

    A function that `grad` or `vmap` transforms without `compile` runs at each call and may read the time. Logging is
    fine: the standard library and installed packages may read clocks for themselves.

    >>> import time
    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x * time.time())(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.ClockError: time.time was called while tracing...

    Fix: pass the time as an argument. To measure a duration, read the clock before and after the compiled function is
    called.
    """

    code = "E0215"


class ErrorStateError(TracemillError, RuntimeError):
    """A function in a batch or an export sets `np.errstate` to raise, call, print or log floating-point errors.

    The operations run later, after the function has returned, in a program that ignores floating-point errors.
    `np.errstate` around the call does work: such a call runs one operation at a time. A compiled function that sets it
    runs uncompiled, with a warning.

    >>> import numpy as np, tracemill as tm
    >>> def log(x):
    ...     with np.errstate(divide="raise"):
    ...         return np.log(x)
    >>> tm.vmap(log)(np.zeros(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.tracing.ErrorStateError: log sets np.errstate(divide='raise'), which a traced...

    Fix: move ``with np.errstate(divide="raise"):`` out of the function and put it around the call. Settings that ignore
    errors may stay inside.
    """

    code = "E0216"

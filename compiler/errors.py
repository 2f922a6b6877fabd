"""Every error that a user can see. The docstring of a class is its manual page: when it is raised, an example, the fix.

Each error is also the Python error that a careful user would expect (`ValueError`, `TypeError`, …),
so that code written against NumPy catches it. The examples have ``import numpy as np, tracemill as tm``.
"""

from typing import Any

import numpy as np


class TracemillError(Exception):
    """The base class of all errors that Tracemill raises.

    >>> import numpy as np, tracemill as tm
    >>> try:
    ...     tm.grad(np.sin)(np.zeros(2))
    ... except tm.TracemillError as error:
    ...     print(error.code)
    E0302

    Fix: catch this class to catch all of them. ``error.location`` is the line of your program, if it is known.
    """

    code = "E0000"

    def __init__(self, message: str, location: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        """The line of the user's program, once it is known."""

    def __str__(self) -> str:
        return self.message if self.location is None else f"{self.message}\n    at {self.location}"

    def locate(self, location: Any) -> None:
        """Say where in the user's program this happened, if that is not known yet."""
        self.location = self.location or location


# ---- Tracemill itself, and its text ------------------------------------------------------------------


class InternalError(TracemillError, RuntimeError):
    """Tracemill has a bug, or your program called its internal functions in the wrong way.

    >>> from tracemill.compiler.builder import bind
    >>> bind("sin")
    Traceback (most recent call last):
    tracemill.compiler.errors.InternalError: bind('sin') outside of any trace. This is a bug in Tracemill...

    Fix: run again with ``TRACEMILL_CHECK=1``, which verifies the graph after every pass and names the pass that broke
    it. Report that with the graph that ``tracemill inspect`` prints.
    """

    code = "E0001"

    def __init__(self, message: str, location: Any = None) -> None:
        super().__init__(
            f"{message}. This is a bug in Tracemill, not in your program. Please run again with TRACEMILL_CHECK=1 and "
            "report the message with the graph that `tracemill inspect` prints",
            location,
        )


class InvalidGraphError(InternalError):
    """A graph is malformed: a value is used before it is defined, defined twice, or has the wrong type.

    Raised by ``graph.lint()``, and after each pass when ``TRACEMILL_CHECK=1``.

    >>> from tracemill.compiler.dtypes import FLOAT64
    >>> from tracemill.compiler.ir import ArrayType, Graph, Value
    >>> Graph("f", (), (), (Value(ArrayType(FLOAT64, ())),)).lint()
    Traceback (most recent call last):
    tracemill.compiler.errors.InvalidGraphError: graph f, return: value 0 of its inputs (f64[]) is not defined...

    Fix: the message names the call, and the pass if one made it. Correct the code that built the graph.
    """

    code = "E0002"


class ParseError(TracemillError, ValueError):
    """A text cannot be read as a graph.

    >>> import tracemill as tm
    >>> tm.parse("def f(x: f64[]) -> f64[]:")
    Traceback (most recent call last):
    tracemill.compiler.errors.ParseError: line 1: expected '# tracemill ir 1', found 'def f(x:...

    Fix: correct the line that the message names. ``print(graph)`` shows the format.
    """

    code = "E0003"


# ---- arrays and their types --------------------------------------------------------------------------


class ShapeError(TracemillError, ValueError):
    """Shapes do not fit together: they do not broadcast, or a reshape changes the number of elements.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x, w: x * w)(np.ones((2, 3)), np.ones(2))
    Traceback (most recent call last):
    tracemill.compiler.errors.ShapeError: multiply of f64[2, 3] and f64[2]: shapes do not broadcast...

    Fix: change a shape so that the axes match, for example with ``w[:, None]``.
    """

    code = "E0101"


class AxisError(ShapeError, np.exceptions.AxisError):
    """An axis does not exist. This is NumPy's ``AxisError`` with the line of your program.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: np.sum(x, axis=2))(np.ones((2, 3)))
    Traceback (most recent call last):
    tracemill.compiler.errors.AxisError: axis 2 is out of bounds for an array of dimension 2...

    Fix: pass an axis from 0 to ``x.ndim - 1``, or from −1 downwards to count from the end.
    """

    code = "E0102"


class DTypeError(TracemillError, TypeError):
    """An operation does not exist for these dtypes, or a cast is not allowed by ``casting=``.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.bitwise_and)(np.ones(2), np.ones(2))
    Traceback (most recent call last):
    tracemill.compiler.errors.DTypeError: bitwise_and is not defined for (float64, float64)...

    Fix: convert the argument first, with ``x.astype(...)``.
    """

    code = "E0103"


class OutOfBoundsError(TracemillError, IndexError):
    """An index is outside its axis. It was known while tracing, or the program computed and checked it.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x[3])(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.OutOfBoundsError: index 3 is out of bounds for axis 0 with size 3...

    Fix: correct the index. ``compile(check_bounds=True)`` or ``TRACEMILL_CHECK=bounds`` also checks indices that are
    computed when the program runs. Without these checks, such an index reads the nearest entry, and a write is dropped.
    """

    code = "E0104"


class MatrixShapeError(ShapeError, np.linalg.LinAlgError):
    """Linear algebra needs matrices, or square matrices, and the array has another shape.

    This is also NumPy's ``LinAlgError``, with the line of your program.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.linalg.inv)(np.ones((2, 3)))
    Traceback (most recent call last):
    tracemill.compiler.errors.MatrixShapeError: inv of f64[2, 3]: the last two axes must be square...

    Fix: put the matrices in the last two axes. The axes before them form a stack of matrices.
    """

    code = "E0105"


# ---- tracing -----------------------------------------------------------------------------------------


class ConcretizationError(TracemillError, TypeError):
    """Python needs the value of a traced array, which is not known while tracing.

    Happens at ``x.item()``, ``x.tolist()``, ``[0.0] * n``, and where a value is the key of a dict, under `compile`
    and `vmap`. It also happens at ``if x > 0`` and ``while`` where the branch or the loop cannot
    be traced: it changes a list, or its function has no source.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: [0.0] * x[0])(np.ones(2, int))
    Traceback (most recent call last):
    tracemill.compiler.errors.ConcretizationError: an index or a size needs the value of a traced i64[]...

    Fix: ``np.where(condition, a, b)`` instead of ``if``, an array that is written to instead of a list; mark the
    argument static (``static_argnums``) if it is a setting rather than data. Uncompiled `grad`, `vjp` and `jvp` know
    the values, and all of Python works on them.
    """

    code = "E0201"

    numbers: frozenset[int] = frozenset()
    """The Python numbers among the leaves of the arguments whose values would do."""


class DataDependentShapeError(ConcretizationError):
    """The shape of a result depends on values, as for ``np.nonzero``, ``np.unique`` and ``x[mask]``.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x[x > 0])(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.DataDependentShapeError: reading through a boolean mask gives an array whose...

    Fix: keep the shape with ``np.where(mask, x, fill)``, or use the functions of ``tracemill.numpy``, which take
    ``size=`` and ``fill_value=``.
    """

    code = "E0202"


class EscapedTracerError(TracemillError, RuntimeError):
    """A traced array is used after its trace has ended, or in another thread.

    The function stored it in a global, an attribute or a list that outlives the call.

    >>> import numpy as np, tracemill as tm
    >>> kept = []
    >>> _ = tm.compile(lambda x: kept.append(x))(np.ones(3))
    >>> kept[0] + 1
    Traceback (most recent call last):
    tracemill.compiler.errors.EscapedTracerError: a traced array is used outside of the trace that made it...

    Fix: return the array from the function instead of storing it.
    """

    code = "E0203"


class UnsupportedFunctionError(TracemillError, NotImplementedError, TypeError):
    """A NumPy function cannot be traced. The message says why.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.array_str)(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.UnsupportedFunctionError: np.array_str cannot be traced: text, printing and files...

    Fix: use what the message suggests, call the function outside the traced one, or wrap it in `tm.pure_callback`.
    """

    code = "E0204"


class ArgumentTypeError(TracemillError, TypeError):
    """An argument is not an array, a number, or a container of these. The message names its path.

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(lambda x: x)("one")
    Traceback (most recent call last):
    tracemill.compiler.errors.ArgumentTypeError: grad(<lambda>): args[0] is str, not an array or a number

    Fix: pass arrays and numbers, and make every other argument static with ``static_argnums``.
    """

    code = "E0205"


class RandomStateError(TracemillError, RuntimeError):
    """A traced function drew random numbers from a generator of NumPy or Python.

    The number would be frozen into the program, so that every later call would use the same one. This concerns
    `np.random`, Python's `random`, the generators of both, `secrets`, `uuid.uuid4`, `os.urandom` and
    ``ssl.RAND_bytes``.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x + np.random.normal())(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.RandomStateError: np.random.normal was called while tracing...

    Fix: draw from ``tm.random.default_rng(seed)``, whose state is part of the program, or draw outside the function
    and pass the result as an argument. Where each call may draw the same, seed in the function:
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
    tracemill.compiler.errors.ImmutableScalarError: a NumPy scalar does not support item assignment...

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
    tracemill.compiler.errors.ReadOnlyError: this view (np.diagonal, sliding_window_view) is read-only...

    Fix: copy the view first, as in NumPy. To write to a diagonal, use ``np.fill_diagonal``.
    """

    code = "E0208"


class ArgumentValueError(TracemillError, ValueError):
    """An argument has a value that the function does not accept, such as a quantile of 2 or an unknown method.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: np.quantile(x, 2.0))(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.ArgumentValueError: Quantiles must be in the range [0, 1]...

    Fix: pass one of the values that the message names.
    """

    code = "E0209"


class UnsupportedAttributeError(UnsupportedFunctionError, AttributeError):
    """An attribute gives access to the memory of an array, and a traced array has none.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x.ctypes)(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.UnsupportedAttributeError: x.ctypes cannot be traced...

    Fix: use ``shape``, ``dtype``, ``strides`` and ``flags`` instead, which are known while tracing.
    """

    code = "E0210"


class IndexTypeError(ArgumentTypeError, IndexError):
    """An index is not an integer, a slice, Ellipsis, None, or an array of integers or bools.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x[1.5])(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.IndexTypeError: only integers, slices (`:`), ellipsis (`...`), None and...

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
    tracemill.compiler.errors.RandomnessError: normal: a random draw inside vmap(<lambda>)...

    Fix: pass ``vmap(f, randomness="different")`` for separate draws or ``randomness="same"`` for a shared one, or draw
    outside the function and pass the result as an argument.
    """

    code = "E0212"


class SharedMemoryError(TracemillError, ValueError):
    """An array is written to that is the same memory as another one for some values, and not for others.

    A branch or a loop on values has bound a variable to an array that another variable has, too.

    >>> import numpy as np, tracemill as tm
    >>> def f(x):
    ...     y = np.zeros(2)
    ...     if x[0] > 0:
    ...         y = x
    ...     y += 1  # NumPy writes to x here, or not
    ...     return y
    >>> tm.compile(f)(np.ones(2))
    Traceback (most recent call last):
    tracemill.compiler.errors.SharedMemoryError: an array is written to that may be an argument...

    Fix: bind a copy (``y = x.copy()``), or make a new array (``y = y + 1``).
    """

    code = "E0213"


class SideEffectError(ConcretizationError):
    """A branch or a loop on values changes a list, a dict, an object, or an array from outside of the function.

    It is traced once, for any number of turns, or although it may not run. What it changed has been undone.

    >>> import tracemill as tm
    >>> def halves(x):
    ...     found = []
    ...     while x > 1:
    ...         found.append(x)
    ...         x = x / 2
    ...     return found
    >>> tm.compile(halves)(8.0)
    Traceback (most recent call last):
    tracemill.compiler.errors.SideEffectError: `while` at ... depends on values...

    Fix: write to the entries of an array that the function makes (``np.zeros(…)``), or bind a variable.
    """

    code = "E0214"


class ClockError(TracemillError, RuntimeError):
    """A function that is traced once and runs many times reads the time.

    The time of tracing would be frozen into the program, and a duration would measure the tracing. In compiled and
    exported functions, and in the bodies of loops such as `scan`, the error is raised for

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
    tracemill.compiler.errors.ClockError: time.time was called while tracing...

    Fix: pass the time as an argument. To measure a duration, read the clock before and after the compiled function is
    called.
    """

    code = "E0215"


class ErrorStateError(TracemillError, RuntimeError):
    """A traced function sets `np.errstate` to raise, call, print or log floating-point errors.

    The operations run later, after the function has returned, in a program that ignores floating-point errors.
    `np.errstate` around the call does work: such a call runs one operation at a time.

    >>> import numpy as np, tracemill as tm
    >>> @tm.compile
    ... def log(x):
    ...     with np.errstate(divide="raise"):
    ...         return np.log(x)
    >>> log(np.zeros(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.ErrorStateError: log sets np.errstate(divide='raise'), which a traced function cannot...

    Fix: move ``with np.errstate(divide="raise"):`` out of the function and put it around the call. Settings that ignore
    errors may stay inside.
    """

    code = "E0216"


# ---- transforms --------------------------------------------------------------------------------------


class NotDifferentiableError(TracemillError, TypeError):
    """There is no derivative: the result is an integer or bool, or comes from opaque Python code.

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(lambda x: x > 0)(1.0)
    Traceback (most recent call last):
    tracemill.compiler.errors.NotDifferentiableError: grad(<lambda>): the result has dtype bool, which has...

    Fix: return a floating-point number, or wrap the part that has no derivative in `stop_gradient`. The message names
    the path of the result, or the operation and its line.
    """

    code = "E0301"


class NonScalarOutputError(TracemillError, TypeError):
    """`grad` needs a function that returns a single number, and this one returns something else.

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(np.sin)(np.zeros(2))
    Traceback (most recent call last):
    tracemill.compiler.errors.NonScalarOutputError: grad(sin): the function must return one number, not an array...

    Fix: sum the result, or use `vjp` or `jacrev`. To return other values with the number, pass ``has_aux=True``.
    """

    code = "E0302"


class TreeMismatchError(TracemillError, ValueError):
    """Two pytrees (nested dicts, lists and tuples) must have the same structure, and do not.

    >>> import numpy as np, tracemill as tm
    >>> tm.jvp(np.sin, (1.0,), (1.0, 2.0))
    Traceback (most recent call last):
    tracemill.compiler.errors.TreeMismatchError: jvp(sin): tangents: expected the structure (*,), found (*, *)...

    Fix: make the structures equal; the message shows both. A list and a tuple are different structures.
    """

    code = "E0303"


class TransformArgumentError(TracemillError, ValueError):
    """An option of a transform has a wrong value, such as ``argnums``, ``in_dims``, ``out_dims`` or ``axis_size``.

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(np.sin, argnums=1)(1.0)
    Traceback (most recent call last):
    tracemill.compiler.errors.TransformArgumentError: grad(sin): argnums=1 is out of range: the call has 1...

    Fix: pass one of the values that the message gives for this call.
    """

    code = "E0304"


class TransformTypeError(TracemillError, TypeError):
    """An argument or option of a transform has the wrong type.

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(np.square)(np.arange(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.TransformTypeError: grad(square): args[0] has dtype i64, which has no derivative...

    Fix: convert the argument that the message names to the type that it asks for.
    """

    code = "E0305"


class BranchMismatchError(TracemillError, TypeError, ValueError):
    """The branches of `cond` or `switch` return different structures, shapes or dtypes.

    The rest of the program must know what it gets, whichever branch runs. Only a Python number takes the dtype of the
    other branch.

    >>> import numpy as np, tracemill as tm
    >>> tm.vmap(lambda x: tm.cond(x > 0, lambda x: np.array([x, x]), lambda x: x, x))(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.BranchMismatchError: cond: the functions must return the same shapes and dtypes:...

    Fix: convert or broadcast one of the results. The message shows both branches with their lines.
    """

    code = "E0306"


class CarryMismatchError(TracemillError, TypeError, ValueError):
    """A step of a loop returns a carry whose structure, shape or dtype differs from the carry it received.

    The next step receives what this one returns, so the two must match. Only a Python number in the initial carry takes
    the dtype that the step returns.

    >>> import numpy as np, tracemill as tm
    >>> tm.scan(lambda total, x: (np.append(total, x), None), np.zeros(1), np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.CarryMismatchError: scan(<lambda>): <lambda> (...) must return a carry like the one it...

    Fix: convert what the step returns, or start with the dtype and shape that it returns. If an array grows, return it
    as a stacked result rather than as a carry. The message shows both sides and the line of the step.
    """

    code = "E0307"


class CustomRuleError(TracemillError, ValueError):
    """A custom rule returns the wrong number of results, or results of the wrong shape or dtype.

    >>> import numpy as np, tracemill as tm
    >>> @tm.custom_rule
    ... def f(x):
    ...     return np.sin(x)
    >>> _ = f.jvp(lambda primals, tangents: (f(*primals), np.zeros(3)))
    >>> tm.grad(f)(1.0)
    Traceback (most recent call last):
    tracemill.compiler.errors.CustomRuleError: the jvp rule of f returns tangent of type f64[3], where f64[] is...

    Fix: return what the message says is expected. The methods of the object that `custom_rule` returns describe what
    each rule must return.
    """

    code = "E0308"


class RuleCheckError(TracemillError, AssertionError):
    """`check_rule` found a rule that disagrees with its function, or two rules that disagree with each other.

    >>> import numpy as np, tracemill as tm
    >>> f = tm.custom_rule(np.sin).jvp(lambda primals, tangents: (np.sin(*primals), 2 * tangents[0]))
    >>> tm.check_rule(f, 0.0)
    Traceback (most recent call last):
    tracemill.compiler.errors.RuleCheckError: check_rule(sin): the derivative of output by the rule is...

    Fix: correct the rule. The message says which check failed and shows both sides. A rule that deliberately differs
    from the derivative, such as a clipped gradient, cannot be checked.
    """

    code = "E0309"


class UnboundAxisNameError(TracemillError, NameError):
    """A collective operation names an axis that no enclosing `vmap` maps.

    >>> import numpy as np, tracemill as tm
    >>> tm.vmap(lambda x: x / tm.psum(x, "rows"), axis_name="batch")(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.UnboundAxisNameError: psum: no axis is named 'rows' here; those that are...

    Fix: name the axis in the `vmap` around the function, ``vmap(f, axis_name="rows")``.
    """

    code = "E0310"


class CollectiveError(TracemillError, ValueError):
    """A collective operation needs all examples of a batch at once, and only some of them run.

    This happens when a batch runs in chunks, and inside a branch or loop that each example takes separately.

    >>> import numpy as np, tracemill as tm
    >>> tm.vmap(lambda x: x / tm.psum(x, "i"), axis_name="i", chunk_size=2)(np.ones(4))
    Traceback (most recent call last):
    tracemill.compiler.errors.CollectiveError: psum over the axis 'i' needs all 4 examples at once...

    Fix: call the collective outside the branch, the loop or the chunked `vmap`, and use its result inside.
    """

    code = "E0311"


# ---- compiling and running ---------------------------------------------------------------------------


class StaticArgumentError(TracemillError, TypeError):
    """A static argument cannot be hashed, or ``static_argnums`` or ``static_argnames`` is wrong.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x, sizes: x, static_argnums=1)(np.ones(3), [1, 2])
    Traceback (most recent call last):
    tracemill.compiler.errors.StaticArgumentError: args[1] is list, which cannot be hashed...

    Fix: pass a tuple instead of a list. An array cannot be static: pass it as an ordinary argument.
    """

    code = "E0401"


class BackendError(TracemillError, RuntimeError):
    """A backend is unknown, or cannot run the program.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.sin, backend="fortran")
    Traceback (most recent call last):
    tracemill.compiler.errors.BackendError: backend 'fortran' is unknown: choose one of 'auto', 'c', 'numpy', 'triton'

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
    tracemill.compiler.errors.CallbackError: callback of sin: output 0 must be f32[], the function returned...

    Fix: convert the output in the function, or correct ``result_spec``. The message names the function and the output.
    """

    code = "E0403"


class DonationError(TracemillError, TypeError):
    """An argument cannot be donated: there is no such parameter, or it is static and so has no memory to reuse.

    >>> import tracemill as tm
    >>> tm.compile(lambda x: x + 1, donate_argnums=1)
    Traceback (most recent call last):
    tracemill.compiler.errors.DonationError: donate_argnums has 1, but ... has no such parameter: it has x

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
    tracemill.compiler.errors.RecompileError: sin would be compiled again because
      args[0]: f64[3] became f32[3]
    fix: convert arguments to one dtype before the call, x.astype(...)

    Fix: the message says what changed since the last call, and how to avoid it.
    """

    code = "E0405"


# ---- recording with variables ---------------------------------------------------------------------------


class NotRecordedError(TracemillError, RuntimeError):
    """An operation needs a variable that requires a gradient, or would lose the derivative of one.

    >>> import numpy as np, tracemill as tm
    >>> tm.autograd.grad(np.ones(()), np.ones(()))
    Traceback (most recent call last):
    tracemill.compiler.errors.NotRecordedError: autograd.grad: inputs[0] is ndarray, which records nothing...

    Fix: create the array with ``tm.autograd.variable`` before it is used. Where you need no derivative,
    ``x.detach()`` returns the values of a variable.
    """

    code = "E0601"


class UnusedInputError(TracemillError, RuntimeError):
    """`autograd.grad` was asked for a gradient by an input that the outputs do not depend on.

    >>> import numpy as np, tracemill as tm
    >>> x, y = tm.autograd.variable(1.0), tm.autograd.variable(2.0)
    >>> tm.autograd.grad(x * x, [x, y])
    Traceback (most recent call last):
    tracemill.compiler.errors.UnusedInputError: autograd.grad: the outputs do not depend on inputs[1]...

    Fix: leave the input out, or pass ``allow_unused=True`` to get None for it, or ``materialize_grads=True`` for zeros.
    """

    code = "E0602"


class ReleasedGraphError(TracemillError, RuntimeError):
    """A recorded graph is differentiated a second time, and the first time released it to free memory.

    >>> import numpy as np, tracemill as tm
    >>> x = tm.autograd.variable(1.0)
    >>> y = np.sin(x)
    >>> y.backward()
    >>> y.backward()
    Traceback (most recent call last):
    tracemill.compiler.errors.ReleasedGraphError: the graph behind this sin was released by the first call...

    Fix: pass ``retain_graph=True`` to the first call.
    """

    code = "E0603"


class BackwardInTransformError(TracemillError, RuntimeError):
    """`backward` was called inside a function that is being transformed or compiled.

    >>> import numpy as np, tracemill as tm
    >>> tm.vmap(lambda x: tm.autograd.backward(x))(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.BackwardInTransformError: backward inside a traced function would store into .grad...

    Fix: call ``tm.autograd.grad(y, x)``, which returns the gradient, or use `tm.vjp` or `tm.grad` on a function.
    """

    code = "E0604"


class GradcheckError(TracemillError, AssertionError):
    """`gradcheck` found a derivative that differs from central differences, or from itself when mapped.

    >>> import numpy as np, tracemill as tm
    >>> tm.gradcheck(lambda x: x * tm.stop_gradient(x), np.array([1.0, 2.0]))
    Traceback (most recent call last):
    tracemill.compiler.errors.GradcheckError: gradcheck(<lambda>): the derivative of output 0 (output) with respect...

    Fix: correct the rule or the `stop_gradient` that causes it. Near a kink, a jump or a very steep slope, differences
    are inaccurate: check at another point, or change `eps`.
    """

    code = "E0605"


class AnomalyError(TracemillError, FloatingPointError):
    """Under `detect_anomaly`, an operation returned NaN for inputs that are not NaN.

    The message names the operation and its inputs, the line whose value or derivative it computes, and the example if
    the line is mapped over a batch.

    >>> import numpy as np, tracemill as tm
    >>> with tm.detect_anomaly():
    ...     tm.grad(lambda x: np.sqrt(x) * 0.0)(0.0)
    Traceback (most recent call last):
    tracemill.compiler.errors.AnomalyError: multiply(0.0, inf) is NaN: the derivative of this line...

    Fix: change the line so that it never gets such inputs. A branch of ``np.where`` that is not chosen still has a
    derivative, so choose the argument first: ``np.sqrt(np.where(x > 0, x, 1.0))``.
    """

    code = "E0606"


class MissingPackageError(TracemillError, ImportError):
    """A feature needs an optional package that is not installed.

    >>> import sys, numpy as np, tracemill as tm
    >>> from unittest.mock import patch
    >>> slopes = tm.jacobian(np.sin, sparse=True)
    >>> with patch.dict(sys.modules, {"scipy.sparse": None}):
    ...     slopes(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.MissingPackageError: jacobian(sin) needs SciPy, which is not installed...

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
    tracemill.compiler.errors.MissingCompilerError: TRACEMILL_CC=/nowhere/cc does not name a program...

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
    tracemill.compiler.errors.CompilerError: the C compiler failed (exit status 1) on ...

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
    tracemill.compiler.errors.KernelError: Triton cannot compile f: ...

    Fix: this is a bug in Tracemill or in this version of Triton. Please report it with the text of the kernel.
    Meanwhile, ``backend="auto"`` works without Triton.
    """

    code = "E0610"


class CubinError(TracemillError, ValueError):
    """Bytes that should be a cubin, the machine code of a GPU kernel, cannot be read as one.

    >>> from tracemill.runtime.machine.cubin import kernels_in
    >>> kernels_in(b"MZ")
    Traceback (most recent call last):
    tracemill.compiler.errors.CubinError: these 2 bytes cannot be read as a cubin: they do not begin as ...

    Fix: export the artifact again, or run ``tracemill cache clear`` if the bytes came from the cache.
    """

    code = "E0611"


class NoDriverError(BackendError):
    """A program needs a GPU, and NVIDIA's driver is missing or does not start.

    >>> import tracemill as tm
    >>> from unittest.mock import patch
    >>> from tracemill.runtime.gpu.driver import started
    >>> with patch("cuda.bindings.driver.cuInit", side_effect=RuntimeError("libcuda.so.1 cannot be opened")):
    ...     started()
    Traceback (most recent call last):
    tracemill.compiler.errors.NoDriverError: NVIDIA's driver cannot be used: libcuda.so.1 cannot be opened...

    Fix: run ``nvidia-smi``, which shows whether the driver works. The driver of a container comes from its host: start
    the container with ``--gpus all``. ``backend="auto"`` works without a GPU.
    """

    code = "E0612"


class NoGpuError(BackendError):
    """There is no GPU, or none with the requested number.

    >>> import numpy as np, tracemill as tm
    >>> tm.device_put(np.ones(3), device=1000)
    Traceback (most recent call last):
    tracemill.compiler.errors.NoGpuError: there is no GPU 1000: they are numbered from 0, and there ...

    Fix: pass a number from 0 up to the number of GPUs less one. If ``CUDA_VISIBLE_DEVICES`` is set, it hides all GPUs
    that it does not name.
    """

    code = "E0613"


class GpuMemoryError(BackendError, MemoryError):
    """The memory of the GPU is full.

    >>> from tracemill.runtime.gpu.device import gpu
    >>> gpu().allocate(1 << 50)
    Traceback (most recent call last):
    tracemill.compiler.errors.GpuMemoryError: 1125899906842624 bytes do not fit on cuda:0: ...

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
    tracemill.compiler.errors.GpuCodeError: cuda:0 cannot run softmax: CUDA_ERROR_INVALID_IMAGE...

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
    tracemill.compiler.errors.ForeignArrayError: Columns of shape (2, 2) and strides (8, 16) bytes is not contiguous...

    Fix: copy it first: ``x.contiguous()`` in torch, or ``cupy.ascontiguousarray(x)`` in CuPy.
    """

    code = "E0616"


class WrongDeviceError(TracemillError, ValueError):
    """An array is on the wrong GPU: all arrays of a call must be on the same one.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.add)(tm.device_put(np.ones(3), device=0), tm.device_put(np.ones(3), device=1))
    Traceback (most recent call last):
    tracemill.compiler.errors.WrongDeviceError: arrays of one call lie on different GPUs: args[0] on cuda:0, args[1]...

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
    tracemill.compiler.errors.GpuError: copying from cuda:0: CUDA_ERROR_ECC_UNCORRECTABLE (214)...

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
    tracemill.compiler.errors.LockFileError: tracemill.lock:2: this is not TOML: ...

    Fix: delete the entry at the line that the message names; its kernel is then tuned again on a machine with a GPU. Or
    restore the file from version control. ``tracemill lock check`` finds further mistakes.
    """

    code = "E0619"


class ArtifactError(TracemillError, ValueError):
    """A file is not a valid artifact: it is damaged, from another program, or from a newer version of Tracemill.

    All of an artifact is checked before it is used, and nothing in it is executed.

    >>> from pathlib import Path
    >>> import numpy as np, tracemill as tm
    >>> _ = Path("model.tmill").write_bytes(b"PK, but no more")
    >>> tm.load("model.tmill")
    Traceback (most recent call last):
    tracemill.compiler.errors.ArtifactError: model.tmill: this is not a bundle: it does not end as a zip file does...

    Fix: get the file again from its source, or export the function again. The message names the damaged part, and
    ``tracemill verify model.tmill`` checks all parts.
    """

    code = "E0701"


class ArgumentSpecError(TracemillError, ValueError):
    """The description of an argument cannot be read, or does not fit the function.

    >>> import numpy as np, tracemill as tm
    >>> tm.export(np.sin, "float32[3]")
    Traceback (most recent call last):
    tracemill.compiler.errors.ArgumentSpecError: in 'float32[3]': there is no dtype 'float32': write f32

    Fix: describe each argument of the function as ``"f32[4, 784]"``, ``"x: f32[4, 784]"``, ``"n: int"`` or
    ``"axis = -1"``, or pass an array as an example.
    """

    code = "E0702"


class ArgumentMismatchError(TracemillError, TypeError, ValueError):
    """A function from an artifact is called with arguments that it was not exported for.

    The shapes and dtypes were fixed at export: there is no Python code that could be traced again.

    >>> import numpy as np, tracemill as tm
    >>> f = tm.export(np.sin, "f32[3]").function()
    >>> f(np.zeros(4, np.float32))
    Traceback (most recent call last):
    tracemill.compiler.errors.ArgumentMismatchError: sin: x is f32[4], but it was exported for f32[3]...

    Fix: pass the arguments that ``print(f)`` shows, or export the function again for these. ``tm.vmap(f)`` takes a
    batch.
    """

    code = "E0703"


class InputFileError(TracemillError, OSError):
    """A file to be read is not a regular file, or is too large.

    Devices and pipes are not opened, because reading them may never end.

    >>> from pathlib import Path
    >>> import numpy as np, tracemill as tm
    >>> tm.load("/dev/zero")
    Traceback (most recent call last):
    tracemill.compiler.errors.InputFileError: /dev/zero is a device, and only regular files are read: name a file

    Fix: save the contents of the pipe or device to a file first, and name that file.
    """

    code = "E0704"


class StepLimitError(TracemillError, RuntimeError):
    """A loop of a loaded function takes more steps than `load` allows with ``max_steps``.

    >>> import numpy as np, tracemill as tm
    >>> def forever(x):
    ...     return tm.while_loop(lambda x: x > 0, lambda x: x + 1, x)
    >>> path = tm.export(forever, "x: i64[]").save("forever.tmill")
    >>> tm.load(path, max_steps=1000)(np.int64(1))
    Traceback (most recent call last):
    tracemill.compiler.errors.StepLimitError: forever: a while loop exceeds max_steps=1000 steps

    Fix: if the function needs more steps, allow them with ``tm.load(path, max_steps=10**6)``.
    """

    code = "E0705"


class ExportError(TracemillError, ValueError):
    """A program cannot be exported, or not in this format. The message says which part, and what to do instead.

    No format can hold a program that calls Python when it runs, or that updates an array that is not an argument.

    >>> import numpy as np
    >>> from tracemill.compiler.frontend.traced_program import flatten_arguments, trace
    >>> from tracemill.runtime.artifact.c_export import as_c
    >>> from tracemill.runtime.variants.signature import arguments_for, sign
    >>> signature = sign(*flatten_arguments((np.eye(3),), {}))
    >>> as_c(trace(np.linalg.eigvalsh, signature.tree, arguments_for(signature)))
    Traceback (most recent call last):
    tracemill.compiler.errors.ExportError: C cannot compute eigvalsh(f64[3, 3]): it needs LAPACK; export as a bundle...

    Fix: follow the message. A bundle can hold any other program, a Python file any that NumPy can compute, and C any
    that needs only loops.
    """

    code = "E0710"


class OutputFileError(TracemillError, OSError):
    """A path for output is a folder, a device, a pipe or a socket. These are never replaced.

    >>> from pathlib import Path
    >>> import numpy as np, tracemill as tm
    >>> Path("models").mkdir()
    >>> tm.export(np.sin, "f32[3]").save("models")
    Traceback (most recent call last):
    tracemill.compiler.errors.OutputFileError: models is a folder, which is never replaced: name a file

    Fix: name a file, such as ``models/sin.tmill``.
    """

    code = "E0711"


class OutputExistsError(OutputFileError, FileExistsError):
    """A file already exists and would be overwritten.

    >>> import numpy as np, tracemill as tm
    >>> artifact = tm.export(np.sin, "f32[3]")
    >>> path = artifact.save("sin.tmill")
    >>> artifact.save("sin.tmill")
    Traceback (most recent call last):
    tracemill.compiler.errors.OutputExistsError: sin.tmill exists: pass overwrite=True (on the command line, --force)...
    >>> path = artifact.save("sin.tmill", overwrite=True)

    Fix: pass ``overwrite=True``, or ``--force`` on the command line, to overwrite the file, or choose another name.
    """

    code = "E0712"


# ---- symbolic sizes ----------------------------------------------------------------------------------


class ContradictoryConstraintsError(TracemillError, ValueError):
    """No sizes satisfy the constraints on dims, or two dims with different limits share a name.

    >>> import tracemill as tm
    >>> from tracemill.compiler.shapes.assumptions import Assumptions
    >>> A, B = tm.Dim("A", min=5), tm.Dim("B", max=8)
    >>> Assumptions([B >= 2 * A])
    Traceback (most recent call last):
    tracemill.compiler.errors.ContradictoryConstraintsError: the constraints hold for no sizes: A in 5.., B in...

    Fix: remove one of the constraints in the message, or widen the limits of a dim.
    """

    code = "E0801"


class UndecidedDimError(TracemillError, ValueError):
    """Python needs the value of a dim, or of a comparison of dims that is true for some sizes and false for others.

    >>> import tracemill as tm
    >>> A, B = tm.Dim("A"), tm.Dim("B")
    >>> "short" if A <= B else "long"
    Traceback (most recent call last):
    tracemill.compiler.errors.UndecidedDimError: whether A <= B is not known for all sizes: nothing is declared...

    Fix: add the constraint that the message names, or narrow the limits of a dim. `Dim.minimum` and `Dim.maximum`
    compute with dims without comparing them first.
    """

    code = "E0802"


class DimSpecError(TracemillError, ValueError):
    """A text cannot be read as a dim or a constraint, no size is within a dim's limits, or an expression is too long.

    >>> import tracemill as tm
    >>> tm.Dim("B", min=1, max=15, multiple_of=16)
    Traceback (most recent call last):
    tracemill.compiler.errors.DimSpecError: dim B: there is no size from 1 to 15 that is a multiple of 16

    Fix: write a dim as ``"2*K + 1"``, and a constraint as ``"B in 1..4096"``, ``"B % 16 == 0"`` or ``"A <= B"``.
    """

    code = "E0803"


class DimMismatchError(ShapeError):
    """The shapes of a call do not fit the declared dims: a size is impossible, outside its limits, or inconsistent.

    >>> import tracemill as tm
    >>> from tracemill.compiler.shapes.solving import SizeReader
    >>> SizeReader(["x"], [(2 * tm.Dim("K") + 1,)]).read([(784,)])
    Traceback (most recent call last):
    tracemill.compiler.errors.DimMismatchError: axis 0 of x is 784, which is not of the form 2*K + 1

    Fix: pass arrays of the declared shapes, or declare the dim so that it includes these sizes.
    """

    code = "E0804"


class UndeterminedDimError(TracemillError, ValueError):
    """The shapes of the arguments do not determine a dim.

    >>> import tracemill as tm
    >>> from tracemill.compiler.shapes.solving import SizeReader
    >>> A, B = tm.Dim("A"), tm.Dim("B")
    >>> SizeReader(["x"], [(A + B,)])
    Traceback (most recent call last):
    tracemill.compiler.errors.UndeterminedDimError: dim A cannot be determined from the shapes of the arguments...

    Fix: give an argument an axis of that size, or express the dim by dims that the arguments determine.
    """

    code = "E0805"


class DimArithmeticError(TracemillError, TypeError):
    """A dim is combined with a float or an array outside a traced function, where it has no value yet.

    >>> import tracemill as tm
    >>> tm.Dim("B") / 2
    Traceback (most recent call last):
    tracemill.compiler.errors.DimArithmeticError: B has no value outside a traced function

    Fix: compute only with ints and ``+ - * // %``, which give dims, or compute inside the function with the
    ``x.shape`` of its arguments.
    """

    code = "E0806"


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
    ...     with patch("tracemill.runtime.gpu_programs.build.build_program", side_effect=missing):
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
    """A function is compiled again and again for calls that differ only in sizes, or discards programs to make room.

    The warning also appears if a program for many sizes raised an error that a program for one size does not. That is a
    bug in Tracemill; please report it.

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

"""Every error that a user can meet. The docstring of a class is its manual page: when, an example, the fix.

Each error is also the Python error that a careful user would expect (`ValueError`, `TypeError`, …),
so that code written against NumPy catches it. The examples have ``import numpy as np, tracemill as tm``.
"""

from typing import Any

import numpy as np


class TracemillError(Exception):
    """Base of all errors of Tracemill.

    >>> import numpy as np, tracemill as tm
    >>> try:
    ...     tm.grad(np.sin)(np.zeros(2))
    ... except tm.TracemillError as error:
    ...     print(error.code)
    E0302

    Fix: catch it to catch them all; ``error.location`` is the line of your program, once it is known.
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
    """Tracemill is at fault, not your program, unless you have called its inner functions.

    >>> from tracemill.compiler.builder import bind
    >>> bind("sin")
    Traceback (most recent call last):
    tracemill.compiler.errors.InternalError: bind('sin') outside of any trace. This is a fault in Tracemill...

    Fix: set ``TRACEMILL_CHECK=1`` to verify the graph after every pass and find the pass that broke it,
    print the graph with ``tracemill inspect``, and report both.
    """

    code = "E0001"

    def __init__(self, message: str, location: Any = None) -> None:
        super().__init__(
            f"{message}. This is a fault in Tracemill, not in your program: run again with TRACEMILL_CHECK=1 "
            "and report the graph that `tracemill inspect` prints",
            location,
        )


class InvalidGraphError(InternalError):
    """A graph is not well formed: a value is used before it is made, made twice, or has the wrong type.

    Raised by ``graph.lint()``, and after each pass when ``TRACEMILL_CHECK=1``.

    >>> from tracemill.compiler.dtypes import FLOAT64
    >>> from tracemill.compiler.ir import ArrayType, Graph, Value
    >>> Graph("f", (), (), (Value(ArrayType(FLOAT64, ())),)).lint()
    Traceback (most recent call last):
    tracemill.compiler.errors.InvalidGraphError: graph f, return: value 0 of those it takes (f64[]) is not made...

    Fix: the message names the pass, if there is one, and the call; correct the code that made it.
    """

    code = "E0002"


class ParseError(TracemillError, ValueError):
    """A text is not a graph.

    >>> import tracemill as tm
    >>> tm.parse("def f(x: f64[]) -> f64[]:")
    Traceback (most recent call last):
    tracemill.compiler.errors.ParseError: line 1: expected '# tracemill ir 1', found 'def f(x:...

    Fix: the message gives the line and what was expected there; ``str(graph)`` shows the form.
    """

    code = "E0003"


# ---- arrays and their types --------------------------------------------------------------------------


class ShapeError(TracemillError, ValueError):
    """Shapes do not fit: they do not broadcast, a reshape changes the size.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x, w: x * w)(np.ones((2, 3)), np.ones(2))
    Traceback (most recent call last):
    tracemill.compiler.errors.ShapeError: multiply of f64[2, 3] and f64[2]: shapes do not broadcast...

    Fix: give the arrays axes that fit, such as ``w[:, None]``.
    """

    code = "E0101"


class AxisError(ShapeError, np.exceptions.AxisError):
    """An axis does not exist: NumPy's ``AxisError``, with the line of your program.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: np.sum(x, axis=2))(np.ones((2, 3)))
    Traceback (most recent call last):
    tracemill.compiler.errors.AxisError: axis 2 is out of bounds for an array of dimension 2...

    Fix: axes count from 0, or back from −1.
    """

    code = "E0102"


class DTypeError(TracemillError, TypeError):
    """An operation does not exist for these dtypes, or a cast is not allowed by ``casting=``.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.bitwise_and)(np.ones(2), np.ones(2))
    Traceback (most recent call last):
    tracemill.compiler.errors.DTypeError: bitwise_and is not defined for (float64, float64)...

    Fix: convert first, with ``x.astype``.
    """

    code = "E0103"


class OutOfBoundsError(TracemillError, IndexError):
    """An index lies outside its axis: one that is known while tracing, or that the program computes and checks.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x[3])(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.OutOfBoundsError: index 3 is out of bounds for axis 0 with size 3...

    Fix: correct the index. One that is known only when a compiled function runs is checked with
    ``compile(check_bounds=True)`` or ``TRACEMILL_CHECK=bounds``; else it reads the nearest entry and writes nothing.
    """

    code = "E0104"


class MatrixShapeError(ShapeError, np.linalg.LinAlgError):
    """An array is no stack of matrices, or of square ones, where linear algebra needs them.

    It is NumPy's ``LinAlgError``, too, with the line of your program.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.linalg.inv)(np.ones((2, 3)))
    Traceback (most recent call last):
    tracemill.compiler.errors.MatrixShapeError: inv of f64[2, 3]: the last two axes must be square...

    Fix: the matrices are the last two axes; those before count the matrices of a stack.
    """

    code = "E0105"


# ---- tracing -----------------------------------------------------------------------------------------


class ConcretizationError(TracemillError, TypeError):
    """Python needs the value of a traced array, which is not known while tracing.

    Happens at ``if x > 0``, ``while``, ``float(x)``, ``int(x)``, ``x.item()``, ``range(x)``, and at
    ``table[x]`` of a list or of a NumPy array from outside, under `compile` and `vmap`.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x if x > 0 else -x)(1.0)
    Traceback (most recent call last):
    tracemill.compiler.errors.ConcretizationError: bool(x), as in `if` or `while`, needs the value of...

    Fix: ``np.where(condition, a, b)`` instead of ``if``; mark the argument static (``static_argnums``) if
    it is a setting rather than data; ``np.take(table, x)`` or ``np.asarray(table)[x]`` instead of
    ``table[x]``. Uncompiled `grad`, `vjp` and `jvp` know the values, and Python control
    flow on them works.
    """

    code = "E0201"


class DataDependentShapeError(ConcretizationError):
    """The shape of the result depends on values: ``np.nonzero``, ``np.unique``, ``x[mask]`` …

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x[x > 0])(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.DataDependentShapeError: reading through a boolean mask gives an array whose...

    Fix: ``np.where(mask, x, fill)`` keeps the shape; the functions in ``tracemill.numpy`` take
    ``size=`` and ``fill_value=``.
    """

    code = "E0202"


class EscapedTracerError(TracemillError, RuntimeError):
    """A traced array is used after its trace has ended, or in another thread.

    It was stored in a global, an attribute or a list that outlives the function.

    >>> import numpy as np, tracemill as tm
    >>> kept = []
    >>> _ = tm.compile(lambda x: kept.append(x))(np.ones(3))
    >>> kept[0] + 1
    Traceback (most recent call last):
    tracemill.compiler.errors.EscapedTracerError: a traced array is used outside of the trace that made it...

    Fix: return it.
    """

    code = "E0203"


class UnsupportedFunctionError(TracemillError, NotImplementedError, TypeError):
    """This NumPy function cannot be traced, for the reason that the message gives.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.array_str)(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.UnsupportedFunctionError: np.array_str cannot be traced: text, printing and files...

    Fix: the message says what to do instead; or call it outside, or through `tracemill.pure_callback`.
    """

    code = "E0204"


class ArgumentTypeError(TracemillError, TypeError):
    """An argument is not an array, a number or a container of them. The message names its path.

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(lambda x: x)("one")
    Traceback (most recent call last):
    tracemill.compiler.errors.ArgumentTypeError: grad(<lambda>): args[0] is str, not an array or a number

    Fix: pass arrays and numbers; make what is none of these a static argument.
    """

    code = "E0205"


class RandomStateError(TracemillError, RuntimeError):
    """Random numbers of NumPy's or Python's own were drawn inside a traced function.

    The number would be frozen into the graph: every later call would get the same one. This holds for `np.random` and
    its generators, and for Python's `random` module and its generators, `secrets`, `uuid.uuid4` and `os.urandom`.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x + np.random.normal())(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.RandomStateError: np.random.normal was called while tracing...

    Fix: draw from a generator of ``tm.random.default_rng(seed)``, whose state the program carries along; or draw
    outside and pass the result as an argument.
    """

    code = "E0206"


class ImmutableScalarError(TracemillError, TypeError):
    """A NumPy scalar (``x[0]``, ``x.sum()``) was assigned into; as in NumPy, only arrays can be.

    >>> import numpy as np, tracemill as tm
    >>> def f(x):
    ...     total = x.sum()
    ...     total[...] = 0
    >>> tm.compile(f)(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.ImmutableScalarError: a NumPy scalar does not support item assignment...

    Fix: assign to the name (``total = 0``), or into the array (``x[0] = 0``).
    """

    code = "E0207"


class ReadOnlyError(TracemillError, ValueError):
    """A read-only view (``np.broadcast_to``, ``np.diagonal``) was written to.

    >>> import numpy as np, tracemill as tm
    >>> def f(x):
    ...     np.diagonal(x)[0] = 1
    >>> tm.compile(f)(np.ones((2, 2)))
    Traceback (most recent call last):
    tracemill.compiler.errors.ReadOnlyError: this view (np.diagonal, sliding_window_view) is read-only...

    Fix: as in NumPy, copy it first; ``np.fill_diagonal`` writes to a diagonal.
    """

    code = "E0208"


class ArgumentValueError(TracemillError, ValueError):
    """An argument has a value that the function does not take: a quantile of 2, an unknown method, no bins.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: np.quantile(x, 2.0))(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.ArgumentValueError: Quantiles must be in the range [0, 1]...

    Fix: the message says which values it takes.
    """

    code = "E0209"


class UnsupportedAttributeError(UnsupportedFunctionError, AttributeError):
    """An attribute of arrays that gives access to their memory: a traced array has none.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x.ctypes)(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.UnsupportedAttributeError: x.ctypes cannot be traced...

    Fix: write the function in terms of ``shape``, ``dtype``, ``strides`` and ``flags``, which are known.
    """

    code = "E0210"


class IndexTypeError(ArgumentTypeError, IndexError):
    """An index is no integer, slice, Ellipsis, None, or array of integers or bools.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x[1.5])(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.IndexTypeError: only integers, slices (`:`), ellipsis (`...`), None and...

    Fix: convert it, with ``int(i)`` or ``i.astype(int)``.
    """

    code = "E0211"


class RandomnessError(TracemillError, RuntimeError):
    """A function that `vmap` maps draws random numbers, and `vmap` was not told what that means.

    It could be one draw for all examples, or one for each.

    >>> import numpy as np, tracemill as tm
    >>> rng = tm.random.default_rng(0)
    >>> tm.vmap(lambda x: x + rng.normal())(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.RandomnessError: normal: a random draw inside vmap(<lambda>)...

    Fix: ``vmap(f, randomness="different")`` for random numbers of its own per example, ``"same"`` for one draw; or draw
    outside and pass the result as an argument.
    """

    code = "E0212"


class ClockError(TracemillError, RuntimeError):
    """The time was read inside a function that is traced once and runs many times.

    The time at which it was traced would be frozen into the program, and a duration would be that of tracing. This
    holds for the clocks of `time` (``time.time``, ``time.perf_counter``, …) and for ``datetime.now``, ``utcnow`` and
    ``today``, in compiled and exported functions and in the bodies of loops (`scan`, `fori_loop`, …). A function that
    `grad` or `vmap` transforms without `compile` runs at each call, so there the time may be read. Logging is fine:
    what the standard library and installed packages read does not count.

    >>> import time
    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x: x * time.time())(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.ClockError: time.time was called while tracing...

    Fix: pass the time as an argument; to measure, read the clock before and after the call of the compiled function.
    """

    code = "E0215"


class ErrorStateError(TracemillError, RuntimeError):
    """A traced function asks NumPy to raise, call, print or log floating-point errors by `np.errstate` of its own.

    Its operations run after it has returned, as a program that ignores floating-point errors. `np.errstate` around the
    call is obeyed: that call runs one operation at a time.

    >>> import numpy as np, tracemill as tm
    >>> @tm.compile
    ... def log(x):
    ...     with np.errstate(divide="raise"):
    ...         return np.log(x)
    >>> log(np.zeros(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.ErrorStateError: log sets np.errstate(divide='raise'), which a traced function cannot...

    Fix: put ``with np.errstate(divide="raise"):`` around the call of the function. Ignoring errors inside is fine.
    """

    code = "E0216"


# ---- transforms --------------------------------------------------------------------------------------


class NotDifferentiableError(TracemillError, TypeError):
    """A derivative was asked for where there is none: integer results, opaque Python code.

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(lambda x: x > 0)(1.0)
    Traceback (most recent call last):
    tracemill.compiler.errors.NotDifferentiableError: grad(<lambda>): the result has dtype bool, which has...

    Fix: the message names the path of the result, or the op and the line; return a floating number, or
    wrap what has no derivative in `stop_gradient`.
    """

    code = "E0301"


class NonScalarOutputError(TracemillError, TypeError):
    """`grad` needs a function that returns one number.

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(np.sin)(np.zeros(2))
    Traceback (most recent call last):
    tracemill.compiler.errors.NonScalarOutputError: grad(sin): the function must return one number, not an array...

    Fix: sum the result, or use `vjp` or `jacrev`; ``has_aux=True`` returns more beside the number.
    """

    code = "E0302"


class TreeMismatchError(TracemillError, ValueError):
    """Two pytrees (nested dicts, lists, tuples …) that must have the same structure differ.

    >>> import numpy as np, tracemill as tm
    >>> tm.jvp(np.sin, (1.0,), (1.0, 2.0))
    Traceback (most recent call last):
    tracemill.compiler.errors.TreeMismatchError: jvp(sin): tangents: expected the structure (*,), found (*, *)...

    Fix: the message shows both; a list is not a tuple.
    """

    code = "E0303"


class TransformArgumentError(TracemillError, ValueError):
    """An argument of a transform itself is wrong: ``argnums``, ``in_dims``, ``out_dims``, ``axis_size`` …

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(np.sin, argnums=1)(1.0)
    Traceback (most recent call last):
    tracemill.compiler.errors.TransformArgumentError: grad(sin): argnums=1 is out of range: the call has 1...

    Fix: the message says which values fit the call.
    """

    code = "E0304"


class TransformTypeError(TracemillError, TypeError):
    """An argument of a transform has a wrong type.

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(np.square)(np.arange(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.TransformTypeError: grad(square): args[0] has dtype i64, which has no derivative...

    Fix: the message says which argument, what it is, and what it must be.
    """

    code = "E0305"


class BranchMismatchError(TracemillError, TypeError, ValueError):
    """Functions of which one is chosen when the program runs return different structures, shapes or dtypes.

    What comes after must know what it gets, whichever runs. Only Python numbers take the dtype of the other side.

    >>> import numpy as np, tracemill as tm
    >>> tm.vmap(lambda x: tm.cond(x > 0, lambda x: np.array([x, x]), lambda x: x, x))(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.BranchMismatchError: cond: the functions must return the same shapes and dtypes:...

    Fix: the message shows both sides with their lines; convert, or broadcast, one of them.
    """

    code = "E0306"


class CarryMismatchError(TracemillError, TypeError, ValueError):
    """A step of a loop returns another structure, shape or dtype than it gets.

    What one step returns is what the next one gets, so both must be the same. Only Python numbers in the first carry
    take the dtype that the step gives them.

    >>> import numpy as np, tracemill as tm
    >>> tm.scan(lambda total, x: (np.append(total, x), None), np.zeros(1), np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.CarryMismatchError: scan(<lambda>): <lambda> (...) must return as carry what it gets:...

    Fix: the message shows both sides and the line of the step. Convert what it returns, or begin with the dtype and
    shape that it returns; an array that grows is a result to be stacked, not a carry.
    """

    code = "E0307"


class CustomRuleError(TracemillError, ValueError):
    """A rule that was written for a function does not give what it must: another number, shape or dtype of things.

    >>> import numpy as np, tracemill as tm
    >>> @tm.custom_rule
    ... def f(x):
    ...     return np.sin(x)
    >>> _ = f.jvp(lambda primals, tangents: (f(*primals), np.zeros(3)))
    >>> tm.grad(f)(1.0)
    Traceback (most recent call last):
    tracemill.compiler.errors.CustomRuleError: the jvp rule of f returns tangent of type f64[3], where f64[] is...

    Fix: the message names the rule, the function, what it returned and what is expected; the rules are described
    at the methods of `custom_rule`'s result.
    """

    code = "E0308"


class RuleCheckError(TracemillError, AssertionError):
    """`check_rule` has found a rule that does not agree with its function, or two that do not agree with each other.

    >>> import numpy as np, tracemill as tm
    >>> f = tm.custom_rule(np.sin).jvp(lambda primals, tangents: (np.sin(*primals), 2 * tangents[0]))
    >>> tm.check_rule(f, 0.0)
    Traceback (most recent call last):
    tracemill.compiler.errors.RuleCheckError: check_rule(sin): the derivative of output by the rule is...

    Fix: the message says which check failed and shows both sides. A derivative that is meant to differ, such as a
    clipped gradient, cannot be checked.
    """

    code = "E0309"


class UnboundAxisNameError(TracemillError, NameError):
    """A collective names an axis that no `vmap` around it maps.

    >>> import numpy as np, tracemill as tm
    >>> tm.vmap(lambda x: x / tm.psum(x, "rows"), axis_name="batch")(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.UnboundAxisNameError: psum: no axis is called 'rows' here; those that are...

    Fix: name the axis where it is mapped, ``vmap(f, axis_name="rows")``, and call the function inside.
    """

    code = "E0310"


class CollectiveError(TracemillError, ValueError):
    """Examples of a batch compute something together, but not all of them take part at the same time.

    That is so where a batch runs in chunks, and in a branch or a loop that each example chooses for itself.

    >>> import numpy as np, tracemill as tm
    >>> tm.vmap(lambda x: x / tm.psum(x, "i"), axis_name="i", chunk_size=2)(np.ones(4))
    Traceback (most recent call last):
    tracemill.compiler.errors.CollectiveError: psum over the axis 'i' needs all 4 examples at once...

    Fix: compute it outside of the branch, the loop or the chunked `vmap`, and use the result inside.
    """

    code = "E0311"


# ---- compiling and running ---------------------------------------------------------------------------


class StaticArgumentError(TracemillError, TypeError):
    """A static argument cannot be hashed, or the options that name static arguments are wrong.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x, sizes: x, static_argnums=1)(np.ones(3), [1, 2])
    Traceback (most recent call last):
    tracemill.compiler.errors.StaticArgumentError: args[1] is list, which cannot be hashed...

    Fix: pass a tuple instead of a list; arrays are no settings.
    """

    code = "E0401"


class BackendError(TracemillError, RuntimeError):
    """A backend is unknown, or lacks what the program needs.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.sin, backend="fortran")
    Traceback (most recent call last):
    tracemill.compiler.errors.BackendError: backend 'fortran' is unknown: choose one of 'auto', 'c', 'numpy', 'triton'

    Fix: the message lists those that are there.
    """

    code = "E0402"


class CallbackError(TracemillError, TypeError, ValueError):
    """A Python function that a program calls gave something else than was promised.

    The shapes and dtypes of its outputs are part of the program, so the function must keep to them
    exactly; only Python numbers take the dtype that is asked for.

    >>> import numpy as np, tracemill as tm
    >>> tm.pure_callback(np.sin, np.float32, np.float64(1.0))
    Traceback (most recent call last):
    tracemill.compiler.errors.CallbackError: callback of sin: output 0 must be f32[], the function gave float64[]...

    Fix: the message names the function and the output; convert it there, or correct ``result_spec``.
    """

    code = "E0403"


class DonationError(TracemillError, TypeError):
    """An argument cannot be donated: there is no such parameter, or it is static and has no memory to give.

    >>> import tracemill as tm
    >>> tm.compile(lambda x: x + 1, donate_argnums=1)
    Traceback (most recent call last):
    tracemill.compiler.errors.DonationError: donate_argnums has 1, but ... has no such parameter: it has x

    Fix: give positions of arguments that are arrays, or containers of arrays, from 0.
    """

    code = "E0404"


class RecompileError(TracemillError, RuntimeError):
    """A function that was compiled with ``on_recompile="error"`` is called in a way that needs another program.

    >>> import numpy as np, tracemill as tm
    >>> f = tm.compile(np.sin, on_recompile="error")
    >>> y = f(np.ones(3))
    >>> f(np.ones(3, np.float32))
    Traceback (most recent call last):
    tracemill.compiler.errors.RecompileError: sin would be compiled again because
      args[0]: f64[3] became f32[3]
    fix: convert arguments to one dtype before the call, x.astype(...)

    Fix: the message names what changed, and what to do about that.
    """

    code = "E0405"


# ---- what variables record ---------------------------------------------------------------------------


class NotRecordedError(TracemillError, RuntimeError):
    """An array records nothing where a variable that requires a gradient is needed, or would lose its derivative.

    >>> import numpy as np, tracemill as tm
    >>> tm.autograd.grad(np.ones(()), np.ones(()))
    Traceback (most recent call last):
    tracemill.compiler.errors.NotRecordedError: autograd.grad: inputs[0] is ndarray, which records nothing...

    Fix: make the array with ``tm.autograd.variable`` before it is used; ``x.detach()`` gives the values of a
    variable where no derivative is wanted.
    """

    code = "E0601"


class UnusedInputError(TracemillError, RuntimeError):
    """`autograd.grad` was asked for the gradient with respect to an input that the outputs do not depend on.

    >>> import numpy as np, tracemill as tm
    >>> x, y = tm.autograd.variable(1.0), tm.autograd.variable(2.0)
    >>> tm.autograd.grad(x * x, [x, y])
    Traceback (most recent call last):
    tracemill.compiler.errors.UnusedInputError: autograd.grad: the outputs do not depend on inputs[1]...

    Fix: ``allow_unused=True`` gives None for it, ``materialize_grads=True`` zeros.
    """

    code = "E0602"


class ReleasedGraphError(TracemillError, RuntimeError):
    """What was recorded is differentiated a second time, after the first has let go of it to free memory.

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
    """`backward` was called inside of a function that is being transformed or compiled.

    >>> import numpy as np, tracemill as tm
    >>> tm.vmap(lambda x: tm.autograd.backward(x))(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.BackwardInTransformError: backward inside of a traced function would store into .grad...

    Fix: ``tm.autograd.grad(y, x)`` returns the gradient there; or use `vjp` or `grad` on a function.
    """

    code = "E0604"


class GradcheckError(TracemillError, AssertionError):
    """`gradcheck` found a derivative that differs from central differences, or from itself when mapped.

    >>> import numpy as np, tracemill as tm
    >>> tm.gradcheck(lambda x: x * tm.stop_gradient(x), np.array([1.0, 2.0]))
    Traceback (most recent call last):
    tracemill.compiler.errors.GradcheckError: gradcheck(<lambda>): the derivative of output 0 (output) with respect...

    Fix: correct the rule or the `stop_gradient` behind it. Near points where the function has a kink or a jump, or
    where it is very steep, differences are no measure: move the point, or `eps`.
    """

    code = "E0605"


class AnomalyError(TracemillError, FloatingPointError):
    """Under `detect_anomaly` an operation made NaN of numbers.

    The message names the operation and what it was given, the line whose value or derivative it computes, and the
    example if the line is mapped over a batch.

    >>> import numpy as np, tracemill as tm
    >>> with tm.detect_anomaly():
    ...     tm.grad(lambda x: np.sqrt(x) * 0.0)(0.0)
    Traceback (most recent call last):
    tracemill.compiler.errors.AnomalyError: multiply(0.0, inf) is NaN: the derivative of this line...

    Fix: keep the line away from such numbers. A branch of ``np.where`` that is not taken still has a derivative:
    choose the argument first, ``np.sqrt(np.where(x > 0, x, 1.0))``.
    """

    code = "E0606"


class MissingPackageError(TracemillError, ImportError):
    """What you asked for needs a package that is optional and not installed.

    >>> import sys, numpy as np, tracemill as tm
    >>> from unittest.mock import patch
    >>> slopes = tm.jacobian(np.sin, sparse=True)
    >>> with patch.dict(sys.modules, {"scipy.sparse": None}):
    ...     slopes(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.MissingPackageError: jacobian(sin) needs SciPy, which is not installed...

    Fix: install the package that the message names.
    """

    code = "E0607"


class MissingCompilerError(BackendError):
    """``backend="c"`` needs a C compiler, and there is none.

    >>> import os, numpy as np, tracemill as tm
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, {"TRACEMILL_CC": "/nowhere/cc"}):
    ...     tm.compile(np.sin, backend="c")(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.MissingCompilerError: TRACEMILL_CC=/nowhere/cc names no program...

    Fix: install gcc or clang, or set ``TRACEMILL_CC`` to a C compiler. ``backend="auto"`` does without.
    """

    code = "E0608"


class CompilerError(BackendError):
    """The C compiler fails, or what it makes cannot be loaded: the message shows what it says, and the command.

    The file on which it fails is kept for a day at least, so that you can look into it. It can also be that there is no
    room for temporary files, that memory or processes are limited, or that the compiler did not end in time and was
    stopped.

    >>> import os, numpy as np, tracemill as tm
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, {"TRACEMILL_CC": "false"}):
    ...     tm.compile(np.sin, backend="c")(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.CompilerError: the C compiler fails (exit status 1) on ...

    Fix: ``tracemill doctor`` shows which compiler is used, and whether it works at all: if not, name another one in
    ``TRACEMILL_CC``. If it fails on one program only, report that with the file; ``backend="numpy"`` does without C.
    """

    code = "E0609"


class KernelError(BackendError):
    """Triton does not compile a kernel, or compiles it in a form that Tracemill cannot launch.

    >>> from tracemill.compiler.backends.triton.kernels.kernel import Launch, TritonKernel
    >>> from tracemill.runtime.machine.triton_compiler import build, target_named
    >>> text = "@triton.jit\\ndef f():\\n    tl.no()\\n"
    >>> broken = TritonKernel((text,), frozenset(), (Launch("f", 1, 4, ()),), (), 0)
    >>> build(broken, target_named("cuda:sm_90"))
    Traceback (most recent call last):
    tracemill.compiler.errors.KernelError: Triton does not compile f: ...

    Fix: this is a fault of Tracemill, or of this version of Triton. Report it with the text of the kernel;
    ``backend="auto"`` does without Triton.
    """

    code = "E0610"


class CubinError(TracemillError, ValueError):
    """Bytes that should be a cubin, the machine code of a kernel, are none.

    >>> from tracemill.runtime.machine.cubin import kernels_in
    >>> kernels_in(b"MZ")
    Traceback (most recent call last):
    tracemill.compiler.errors.CubinError: these 2 bytes are no cubin that can be read: they do not begin as ...

    Fix: make the artifact or the cache entry that holds them anew.
    """

    code = "E0611"


class NoDriverError(BackendError):
    """Something is to run on a GPU, and NVIDIA's driver is not there, or does not start.

    >>> import tracemill as tm
    >>> from unittest.mock import patch
    >>> from tracemill.runtime.gpu.driver import started
    >>> with patch("cuda.bindings.driver.cuInit", side_effect=RuntimeError("libcuda.so.1 cannot be opened")):
    ...     started()
    Traceback (most recent call last):
    tracemill.compiler.errors.NoDriverError: NVIDIA's driver is not there: libcuda.so.1 cannot be opened...

    Fix: ``nvidia-smi`` shows whether the driver works. In a container, start it with its GPUs (``--gpus all``), since
    the driver comes from outside. ``backend="auto"`` does without a GPU.
    """

    code = "E0612"


class NoGpuError(BackendError):
    """There is no GPU, or none of the number that is asked for.

    >>> import numpy as np, tracemill as tm
    >>> tm.device_put(np.ones(3), device=1000)
    Traceback (most recent call last):
    tracemill.compiler.errors.NoGpuError: there is no GPU 1000: they are numbered from 0, and there ...

    Fix: GPUs are numbered from 0. ``CUDA_VISIBLE_DEVICES`` hides those that it does not name.
    """

    code = "E0613"


class GpuMemoryError(BackendError, MemoryError):
    """The memory of the GPU is full.

    >>> from tracemill.runtime.gpu.device import gpu
    >>> gpu().allocate(1 << 50)
    Traceback (most recent call last):
    tracemill.compiler.errors.GpuMemoryError: 1125899906842624 bytes are wanted on cuda:0, of whose ...

    Fix: delete arrays that are not needed any more, compute in chunks (``vmap(chunk_size=...)``), or keep less for
    the backward pass (`checkpoint`). Other processes, and other libraries in this one, use the same memory:
    ``nvidia-smi`` shows how much.
    """

    code = "E0614"


class GpuCodeError(BackendError):
    """The GPU, or its driver, does not run the machine code of a kernel: it was compiled for another one.

    >>> from tracemill.runtime.gpu.device import gpu
    >>> from tracemill.runtime.gpu.kernel import LoadedKernel
    >>> LoadedKernel(gpu(), b"no machine code", "softmax", warps=4, shared_bytes=0, pointers=2)
    Traceback (most recent call last):
    tracemill.compiler.errors.GpuCodeError: cuda:0 does not run softmax: CUDA_ERROR_INVALID_IMAGE...

    Fix: compile for the target that the message names. If the driver is older than the compiler of the code, update the
    driver, or compile with an older Triton. What was exported for ``cuda:sm_80`` runs on all newer GPUs, too.
    """

    code = "E0615"


class ForeignArrayError(TracemillError, ValueError):
    """An array of another library on a GPU cannot be used where it lies: its elements do not lie one behind the other.

    >>> import numpy as np, tracemill as tm
    >>> class Columns:
    ...     def __init__(self, x):
    ...         self.__cuda_array_interface__ = {**x.__cuda_array_interface__, "strides": (8, 16)}
    >>> tm.device_put(Columns(tm.device_put(np.ones((2, 2)))))
    Traceback (most recent call last):
    tracemill.compiler.errors.ForeignArrayError: Columns of shape (2, 2) and strides (8, 16) bytes is not contiguous...

    Fix: let its library copy it first: ``x.contiguous()`` in torch, ``cupy.ascontiguousarray(x)`` in CuPy.
    """

    code = "E0616"


class WrongDeviceError(TracemillError, ValueError):
    """An array lies on another GPU than it should: those of one call must lie on one.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(np.add)(tm.device_put(np.ones(3), device=0), tm.device_put(np.ones(3), device=1))
    Traceback (most recent call last):
    tracemill.compiler.errors.WrongDeviceError: arrays of one call lie on different GPUs: args[0] on cuda:0, args[1]...

    Fix: copy it there, ``tm.device_put(x, device=1)``.
    """

    code = "E0617"


class GpuError(BackendError):
    """NVIDIA's driver reports a failure. The message has its name, what it says of itself, and what was being done.

    What a GPU computes runs later than it is asked for, so a failure of a kernel may be reported by a later call.

    >>> from tracemill.runtime.gpu.driver import checked
    >>> from cuda.bindings.driver import CUresult
    >>> checked((CUresult.CUDA_ERROR_ECC_UNCORRECTABLE,), "copying from cuda:0")
    Traceback (most recent call last):
    tracemill.compiler.errors.GpuError: copying from cuda:0: CUDA_ERROR_ECC_UNCORRECTABLE (214)...

    Fix: after a kernel has failed, the GPU does nothing more for this process: start it again. If it fails again,
    report the program; ``CUDA_LAUNCH_BLOCKING=1`` makes the call report it that caused it.
    """

    code = "E0618"


class LockFileError(TracemillError, ValueError):
    """A lock file, in which choices for GPU kernels are kept, is damaged, or has what a kernel cannot have.

    >>> from pathlib import Path
    >>> from tracemill.runtime.gpu_choices.lock_reader import entries_in
    >>> entries_in(b"format = 1\\n<<<<<<< HEAD", Path("tracemill.lock"))
    Traceback (most recent call last):
    tracemill.compiler.errors.LockFileError: tracemill.lock:2: this is not TOML: ...

    Fix: the message names the line. Delete that entry, and its kernel is measured anew where a GPU is; or take the file
    from your version control. ``tracemill lock check`` finds the next mistake.
    """

    code = "E0619"


class ArtifactError(TracemillError, ValueError):
    """A file is no artifact that can be trusted: it is damaged, not Tracemill's, or made by a newer version.

    Everything in it is checked before it is used, and nothing in it is executed.

    >>> from pathlib import Path
    >>> import numpy as np, tracemill as tm
    >>> _ = Path("model.tmill").write_bytes(b"PK, but no more")
    >>> tm.load("model.tmill")
    Traceback (most recent call last):
    tracemill.compiler.errors.ArtifactError: model.tmill: this is no bundle: it does not end as a zip file does...

    Fix: the message names the member of the file and what is wrong with it: get the file again from where it came, or
    export the function again. ``tracemill verify model.tmill`` checks all of it.
    """

    code = "E0701"


class ArgumentSpecError(TracemillError, ValueError):
    """What describes an argument cannot be read, or the function does not take such arguments.

    >>> import numpy as np, tracemill as tm
    >>> tm.export(np.sin, "float32[3]")
    Traceback (most recent call last):
    tracemill.compiler.errors.ArgumentSpecError: in 'float32[3]': there is no dtype 'float32': write f32

    Fix: describe an argument in the words of the IR, ``"f32[4, 784]"``, ``"x: f32[4, 784]"``, ``"n: int"``,
    ``"axis = -1"``, or give an array as an example. Describe as many as the function takes.
    """

    code = "E0702"


class ArgumentMismatchError(TracemillError, TypeError, ValueError):
    """A function from an artifact is called with other arguments than it was exported for.

    Its shapes and dtypes were fixed then: there is no Python code that could be traced again.

    >>> import numpy as np, tracemill as tm
    >>> f = tm.export(np.sin, "f32[3]").function()
    >>> f(np.zeros(4, np.float32))
    Traceback (most recent call last):
    tracemill.compiler.errors.ArgumentMismatchError: sin: x is f32[4], and it was exported for f32[3]...

    Fix: pass what it was exported for, which ``print(f)`` shows, or export it again for these arguments.
    ``tm.vmap(f)`` takes a batch.
    """

    code = "E0703"


class InputFileError(TracemillError, OSError):
    """A file that is to be read is no regular file, or larger than what is read.

    A device may never end, and a pipe may never deliver: neither is opened.

    >>> from pathlib import Path
    >>> import numpy as np, tracemill as tm
    >>> tm.load("/dev/zero")
    Traceback (most recent call last):
    tracemill.compiler.errors.InputFileError: /dev/zero is a device, and only regular files are read: name a file

    Fix: save what the pipe or device delivers to a file first, and name that file.
    """

    code = "E0704"


class StepLimitError(TracemillError, RuntimeError):
    """A loop of a loaded function takes more steps than ``max_steps`` of `load` allows.

    >>> import numpy as np, tracemill as tm
    >>> def forever(x):
    ...     return tm.while_loop(lambda x: x > 0, lambda x: x + 1, x)
    >>> path = tm.export(forever, "x: i64[]").save("forever.tmill")
    >>> tm.load(path, max_steps=1000)(np.int64(1))
    Traceback (most recent call last):
    tracemill.compiler.errors.StepLimitError: forever: a while loop goes on after max_steps=1000 steps

    Fix: allow more steps, ``tm.load(path, max_steps=10**6)``, if the function needs them.
    """

    code = "E0705"


class ExportError(TracemillError, ValueError):
    """A program cannot be exported, or not in a format: the message says which part of it, and what to do instead.

    No file holds what needs Python when it runs, or updates an array that is no argument.

    >>> import numpy as np
    >>> from tracemill.compiler.frontend.traced_program import flatten_arguments, trace
    >>> from tracemill.runtime.artifact.c_export import as_c
    >>> from tracemill.runtime.variants.signature import arguments_for, sign
    >>> signature = sign(*flatten_arguments((np.eye(3),), {}))
    >>> as_c(trace(np.linalg.eigvalsh, signature.tree, arguments_for(signature)))
    Traceback (most recent call last):
    tracemill.compiler.errors.ExportError: C cannot compute eigvalsh(f64[3, 3]): LAPACK does; export as a bundle...

    Fix: as the message says. A bundle holds every program; a Python file what NumPy computes; C what loops compute.
    """

    code = "E0710"


class OutputFileError(TracemillError, OSError):
    """A file cannot be written where a folder, a device, a pipe or a socket is: these are never replaced.

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
    """A file exists, and would be replaced.

    >>> import numpy as np, tracemill as tm
    >>> artifact = tm.export(np.sin, "f32[3]")
    >>> path = artifact.save("sin.tmill")
    >>> artifact.save("sin.tmill")
    Traceback (most recent call last):
    tracemill.compiler.errors.OutputExistsError: sin.tmill exists: pass overwrite=True (on the command line, --force)...
    >>> path = artifact.save("sin.tmill", overwrite=True)

    Fix: pass ``overwrite=True``, or ``--force`` on the command line, if the file may be replaced; else name another.
    """

    code = "E0712"


# ---- symbolic sizes ----------------------------------------------------------------------------------


class ContradictoryConstraintsError(TracemillError, ValueError):
    """Constraints of dims hold for no sizes, or two dims with different limits share a name.

    >>> import tracemill as tm
    >>> from tracemill.compiler.shapes.assumptions import Assumptions
    >>> A, B = tm.Dim("A", min=5), tm.Dim("B", max=8)
    >>> Assumptions([B >= 2 * A])
    Traceback (most recent call last):
    tracemill.compiler.errors.ContradictoryConstraintsError: the constraints hold for no sizes: A in 5.., B in...

    Fix: take back one of the constraints in the message, or widen the limits of a dim.
    """

    code = "E0801"


class UndecidedDimError(TracemillError, ValueError):
    """Python needs the truth of a comparison of dims that holds for some sizes only, or the int that a dim is not.

    >>> import tracemill as tm
    >>> A, B = tm.Dim("A"), tm.Dim("B")
    >>> "short" if A <= B else "long"
    Traceback (most recent call last):
    tracemill.compiler.errors.UndecidedDimError: whether A <= B is not known for all sizes: nothing is declared...

    Fix: add the constraint that the message names, narrow the limits of a dim, or compute with the dim instead of
    asking: `Dim.minimum` and `Dim.maximum` need no answer.
    """

    code = "E0802"


class DimSpecError(TracemillError, ValueError):
    """A text is no dim or constraint, a dim has limits that no size meets, or an expression is too long.

    >>> import tracemill as tm
    >>> tm.Dim("B", min=1, max=15, multiple_of=16)
    Traceback (most recent call last):
    tracemill.compiler.errors.DimSpecError: dim B: there is no size from 1 to 15 that is a multiple of 16

    Fix: write a dim as ``"2*K + 1"``, and a constraint as ``"B in 1..4096"``, ``"B % 16 == 0"`` or ``"A <= B"``.
    """

    code = "E0803"


class DimMismatchError(ShapeError):
    """The shapes of a call do not fit the declared dims: a size cannot be, is outside its limits, or differs.

    >>> import tracemill as tm
    >>> from tracemill.compiler.shapes.solving import SizeReader
    >>> SizeReader(["x"], [(2 * tm.Dim("K") + 1,)]).read([(784,)])
    Traceback (most recent call last):
    tracemill.compiler.errors.DimMismatchError: axis 0 of x is 784, which is no 2*K + 1

    Fix: pass arrays of the declared shapes, or declare the dim for these sizes, too.
    """

    code = "E0804"


class UndeterminedDimError(TracemillError, ValueError):
    """The shapes of the arguments do not say what a dim is.

    >>> import tracemill as tm
    >>> from tracemill.compiler.shapes.solving import SizeReader
    >>> A, B = tm.Dim("A"), tm.Dim("B")
    >>> SizeReader(["x"], [(A + B,)])
    Traceback (most recent call last):
    tracemill.compiler.errors.UndeterminedDimError: dim A cannot be read off the shapes of the arguments: axis 0...

    Fix: let an argument have an axis of that size, or declare the dim by others.
    """

    code = "E0805"


class DimArithmeticError(TracemillError, TypeError):
    """A dim meets a float or an array outside of a traced function: the result is no dim, and there is no number yet.

    >>> import tracemill as tm
    >>> tm.Dim("B") / 2
    Traceback (most recent call last):
    tracemill.compiler.errors.DimArithmeticError: B has no value to compute with, except inside of a traced function

    Fix: compute with ``+ - * // %`` and ints, which give dims, or inside of the function, with the ``x.shape`` of its
    arguments.
    """

    code = "E0806"


class CallbackLoopWarning(UserWarning):
    """A Python function that a mapped program calls runs once per example, in a loop.

    Opaque code has no batch, so `vmap` has no other way; the printed graph shows the loop as ``loops=``.

    >>> import math, numpy as np, tracemill as tm
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = tm.vmap(lambda x: tm.pure_callback(math.gamma, np.float64, x))(np.ones(2))
    >>> caught[0].category.__name__
    'CallbackLoopWarning'

    Fix: write the function with NumPy, so that it can be traced, or call it outside of `vmap` on the whole batch.
    """

    code = "W0001"


class LowPrecisionWarning(UserWarning):
    """`gradcheck` got inputs of less than double precision, whose derivatives have few digits to compare.

    >>> import numpy as np, tracemill as tm
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = tm.gradcheck(np.sin, np.float32(1.0))
    >>> caught[0].category.__name__
    'LowPrecisionWarning'

    Fix: check in double precision; or widen `rtol` and `atol`, and silence the warning.
    """

    code = "W0002"


class MaskedNaNWarning(RuntimeWarning):
    """A derivative is NaN because of what a `where` did not choose.

    The branch that is not chosen has the derivative 0 there, which the chain rule multiplies by the slope of what
    was computed in that branch. If that slope is infinite, as that of a square root at 0, the product is NaN.

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

    Fix: ``safe_where=True``, or compute on what is safe: ``np.sqrt(np.where(x > 0, x, 1.0))``. Compiled programs do
    not warn.
    """

    code = "W0003"


class CompilerWarning(RuntimeWarning):
    """C compilers are installed, or ``TRACEMILL_CC`` names one, but they do not work, so NumPy computes instead.

    >>> import os, numpy as np, tracemill as tm
    >>> import warnings
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, {"TRACEMILL_CC": "/no/such/cc", "TRACEMILL_BACKEND": "auto"}):
    ...     with warnings.catch_warnings(record=True) as caught:
    ...         warnings.simplefilter("always")
    ...         _ = tm.compile(np.sin)(np.ones(3))
    >>> caught[0].category.__name__
    'CompilerWarning'

    It can also be the machine that fails: no room for temporary files, or a limit on memory. Results are right all the
    same. A process warns once for each value of ``TRACEMILL_CC``.

    Fix: name a compiler that works, or unset ``TRACEMILL_CC``: then the usual ones are tried. If the machine is at
    fault, free some space or set ``TMPDIR`` to another folder. ``tracemill doctor`` shows what works.
    ``backend="c"`` raises an error; ``backend="numpy"`` asks for no compiler.
    """

    code = "W0004"


class HostFallbackWarning(RuntimeWarning):
    """There is no program for the GPU on which the arrays lie, so that ``backend="auto"`` computes on the host.

    Triton is not installed, or it does not compile a kernel of the function, or the GPU does not run that. This is
    found out before anything runs. Each call copies the arrays to the host, and the results back.

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

    Fix: install what the message names, ``pip install "tracemill[gpu]"``, or report the kernel. It is said once for
    each program. ``backend="triton"`` raises the error instead.
    """

    code = "W0005"


class SettingWarning(UserWarning):
    """A variable of the environment asks to see something that cannot be shown. Results are right all the same.

    ``TRACEMILL_LOG`` names what there is no log of, or ``TRACEMILL_DUMP`` a place that cannot be written to.

    >>> import os, numpy as np, tracemill as tm
    >>> import warnings
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, {"TRACEMILL_LOG": "fusoin"}), warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     y = tm.compile(np.sin)(np.zeros(3))
    >>> y, caught[0].category.__name__
    (array([0., 0., 0.]), 'SettingWarning')

    Fix: the message names what can be asked for. It is said once.
    """

    code = "W0006"


class RecompileWarning(UserWarning):
    """A function is compiled again and again for calls that differ in sizes alone, or forgets programs to make room.

    Or making a program for many sizes raised an error that a program for one size does not: that is for us to mend.

    >>> import numpy as np, tracemill as tm
    >>> import warnings
    >>> f = tm.compile(np.sin, dynamic=False)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     for size in range(20):
    ...         y = f(np.ones(size))
    >>> caught[0].category.__name__, len(caught)
    ('RecompileWarning', 1)

    Fix: the message says what changed, which line of yours asked for it, and what to do. It is said once for each
    function. ``on_recompile="ignore"`` silences it, ``max_variants`` keeps more programs, ``on_recompile="error"``
    raises, and ``f.explain_recompile()`` says why a function was compiled last.
    """

    code = "W0007"

"""Every error that a user can meet. The docstring of a class is its manual page: when, an example, the fix.

Each error is also the Python error that a careful user would expect (`ValueError`, `TypeError`, …),
so that code written against NumPy catches it.
"""

from typing import Any


class TracemillError(Exception):
    """Base of all errors of Tracemill. Catch it to catch them all."""

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


class InternalError(TracemillError, RuntimeError):
    """Tracemill is at fault, not your program.

    Set ``TRACEMILL_CHECK=1`` to verify the graph after every pass and find the pass that broke it,
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

    Raised by ``graph.lint()``, and after each pass when ``TRACEMILL_CHECK=1``. The message names the pass.
    """

    code = "E0002"


class ParseError(TracemillError, ValueError):
    """A text is not a graph. The message gives the line and what was expected there."""

    code = "E0003"


class ShapeError(TracemillError, ValueError):
    """Shapes do not fit: they do not broadcast, an axis is out of range, a reshape changes the size.

    >>> import numpy as np, tracemill as tm
    >>> tm.compile(lambda x, w: x * w)(np.ones((2, 3)), np.ones(2))
    Traceback (most recent call last):
    tracemill.compiler.errors.ShapeError: ...
    """

    code = "E0101"


class AxisError(ShapeError, IndexError):
    """An axis does not exist: NumPy's ``AxisError``, with the line of your program."""

    code = "E0102"


class DTypeError(TracemillError, TypeError):
    """An operation does not exist for these dtypes, or a cast is not allowed by ``casting=``."""

    code = "E0103"


class OutOfBoundsError(TracemillError, IndexError):
    """An index that is known while tracing lies outside its axis."""

    code = "E0104"


class ConcretizationError(TracemillError, TypeError):
    """Python needs the value of a traced array, which is not known while tracing.

    Happens at ``if x > 0``, ``while``, ``float(x)``, ``int(x)``, ``x.item()``, ``range(x)`` under
    `compile` and `vmap`. Fixes: ``np.where(condition, a, b)`` instead of ``if``; mark the argument
    static (``static_argnums``) if it is a setting rather than data. Uncompiled `grad`, `vjp` and
    `jvp` know the values, and Python control flow on them works.
    """

    code = "E0201"


class DataDependentShapeError(ConcretizationError):
    """The shape of the result depends on values: ``np.nonzero``, ``np.unique``, ``x[mask]`` …

    Fix: ``np.where(mask, x, fill)`` keeps the shape; the functions in ``tracemill.numpy`` take
    ``size=`` and ``fill_value=``.
    """

    code = "E0202"


class EscapedTracerError(TracemillError, RuntimeError):
    """A traced array is used after its trace has ended, or in another thread.

    It was stored in a global, an attribute or a list that outlives the function. Fix: return it.
    """

    code = "E0203"


class UnsupportedFunctionError(TracemillError, NotImplementedError, TypeError):
    """This NumPy function cannot be traced, for the reason that the message gives.

    ``tracemill coverage`` lists what can.
    """

    code = "E0204"


class UnsupportedAttributeError(UnsupportedFunctionError, AttributeError):
    """An attribute of arrays that says where their memory is (``x.strides``, ``x.flags``): a traced array has none."""

    code = "E0210"


class ArgumentTypeError(TracemillError, TypeError):
    """An argument is not an array, a number or a container of them. The message names its path."""

    code = "E0205"


class ArgumentValueError(TracemillError, ValueError):
    """An argument has a value that the function does not take: a quantile of 2, an unknown method, no bins.

    Fix: the message says which values it takes.
    """

    code = "E0209"


class RandomStateError(TracemillError, RuntimeError):
    """NumPy's global random state was used inside a traced function.

    The number would be frozen into the graph: every later call would get the same one. Fix: draw
    outside and pass the result as an argument.
    """

    code = "E0206"


class ImmutableScalarError(TracemillError, TypeError):
    """A NumPy scalar (``x[0]``, ``x.sum()``) was assigned into; as in NumPy, only arrays can be."""

    code = "E0207"


class ReadOnlyError(TracemillError, ValueError):
    """A read-only view (``np.broadcast_to``, ``np.diagonal``) was written to; as in NumPy, copy it first."""

    code = "E0208"


class IndexTypeError(ArgumentTypeError, IndexError):
    """An index is no integer, slice, Ellipsis, None, or array of integers or bools: ``x[1.5]``."""

    code = "E0211"


class NotDifferentiableError(TracemillError, TypeError):
    """A derivative was asked for where there is none: integer inputs or outputs, opaque Python code.

    The message names the path of the argument, or the op and the line.
    """

    code = "E0301"


class NonScalarOutputError(TracemillError, TypeError):
    """`grad` needs a function that returns one number. For arrays use `vjp` or `jacrev`."""

    code = "E0302"


class TreeMismatchError(TracemillError, ValueError):
    """Two pytrees (nested dicts, lists, tuples …) that must have the same structure differ. Shows both."""

    code = "E0303"


class TransformArgumentError(TracemillError, ValueError):
    """An argument of a transform itself is wrong: ``argnums``, ``in_dims``, ``out_dims``, ``chunk_size`` …"""

    code = "E0304"


class TransformTypeError(TracemillError, TypeError):
    """An argument of a transform has a wrong type. The message says which, what it is, what it must be."""

    code = "E0305"


class StaticArgumentError(TracemillError, TypeError):
    """A static argument cannot be hashed, or `static_argnums`/`static_argnames` name no parameter."""

    code = "E0401"


class BackendError(TracemillError, RuntimeError):
    """A backend is unknown, not installed, or failed. The message says how to get it."""

    code = "E0402"


class CallbackError(TracemillError, TypeError, ValueError):
    """A Python function that a program calls gave something else than was promised.

    The shapes and dtypes of its outputs are part of the program, so the function must keep to them
    exactly; only Python numbers take the dtype that is asked for. The message names the function and
    the output.
    """

    code = "E0404"


class CallbackLoopWarning(UserWarning):
    """A Python function that a mapped program calls runs once per example, in a loop.

    Opaque code has no batch, so `vmap` has no other way; the printed graph shows the loop as ``loops=``. Fix:
    write the function with NumPy, so that it can be traced, or call it outside of `vmap` on the whole batch.
    """

    code = "W0001"

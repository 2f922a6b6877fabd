"""Errors about recording with variables, and about checking derivatives."""

from .tracemill_error import TracemillError


class NotRecordedError(TracemillError, RuntimeError):
    """An operation needs a variable that requires a gradient, or would lose the derivative of one.

    >>> import numpy as np, tracemill as tm
    >>> tm.autograd.grad(np.ones(()), np.ones(()))
    Traceback (most recent call last):
    tracemill.compiler.errors.recording.NotRecordedError: autograd.grad: inputs[0] is ndarray, which records...

    Fix: create the array with ``tm.autograd.variable`` before it is used. Where you need no derivative,
    ``x.detach()`` returns the values of a variable.
    """

    code = "E0601"


class UnusedInputError(TracemillError, RuntimeError):
    """`autograd.grad` was asked for the gradient of outputs that do not depend on an input.

    >>> import numpy as np, tracemill as tm
    >>> x, y = tm.autograd.variable(1.0), tm.autograd.variable(2.0)
    >>> tm.autograd.grad(x * x, [x, y])
    Traceback (most recent call last):
    tracemill.compiler.errors.recording.UnusedInputError: autograd.grad: the outputs do not depend on inputs[1]...

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
    tracemill.compiler.errors.recording.ReleasedGraphError: the graph behind this sin was released by the first...

    Fix: pass ``retain_graph=True`` to the first call.
    """

    code = "E0603"


class BackwardInTransformError(TracemillError, RuntimeError):
    """`backward` was called inside a function that is being transformed or compiled.

    >>> import numpy as np, tracemill as tm
    >>> tm.vmap(lambda x: tm.autograd.backward(x))(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.recording.BackwardInTransformError: backward inside a traced function would store...

    Fix: call ``tm.autograd.grad(y, x)``, which returns the gradient, or use `tm.vjp` or `tm.grad` on a function.
    """

    code = "E0604"


class GradcheckError(TracemillError, AssertionError):
    """`gradcheck` found a derivative that differs from central differences, or from itself when mapped.

    >>> import numpy as np, tracemill as tm
    >>> tm.gradcheck(lambda x: x * tm.stop_gradient(x), np.array([1.0, 2.0]))
    Traceback (most recent call last):
    tracemill.compiler.errors.recording.GradcheckError: gradcheck(<lambda>): the derivative of output 0...

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
    tracemill.compiler.errors.recording.AnomalyError: multiply(0.0, inf) is NaN: the derivative of this line...

    Fix: change the line so that it never gets such inputs. A branch of ``np.where`` that is not chosen still has a
    derivative, so choose the argument first: ``np.sqrt(np.where(x > 0, x, 1.0))``.
    """

    code = "E0606"

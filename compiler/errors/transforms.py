"""Errors about derivatives, batching, control flow and custom rules."""

from .tracemill_error import TracemillError


class NotDifferentiableError(TracemillError, TypeError):
    """There is no derivative: the result is an integer or bool, or comes from opaque Python code.

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(lambda x: x > 0)(1.0)
    Traceback (most recent call last):
    tracemill.compiler.errors.transforms.NotDifferentiableError: grad(<lambda>): the result has dtype bool,...

    Fix: return a floating-point number, or wrap the part that has no derivative in `stop_gradient`. The message names
    the path of the result, or the operation and its line.
    """

    code = "E0301"


class NonScalarOutputError(TracemillError, TypeError):
    """`grad` needs a function that returns a single number, and this one returns something else.

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(np.sin)(np.zeros(2))
    Traceback (most recent call last):
    tracemill.compiler.errors.transforms.NonScalarOutputError: grad(sin): the function must return one number,...

    Fix: sum the result, or use `vjp` or `jacrev`. To return other values with the number, pass ``has_aux=True``.
    """

    code = "E0302"


class TreeMismatchError(TracemillError, ValueError):
    """Two pytrees (nested dicts, lists and tuples) must have the same structure, and do not.

    >>> import numpy as np, tracemill as tm
    >>> tm.jvp(np.sin, (1.0,), (1.0, 2.0))
    Traceback (most recent call last):
    tracemill.compiler.errors.transforms.TreeMismatchError: jvp(sin): tangents: expected the structure (*,),...

    Fix: make the structures equal; the message shows both. A list and a tuple are different structures.
    """

    code = "E0303"


class TransformArgumentError(TracemillError, ValueError):
    """An option of a transform has a wrong value, such as ``argnums``, ``in_dims``, ``out_dims`` or ``axis_size``.

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(np.sin, argnums=1)(1.0)
    Traceback (most recent call last):
    tracemill.compiler.errors.transforms.TransformArgumentError: grad(sin): argnums=1 is out of range: the call...

    Fix: pass one of the values that the message gives for this call.
    """

    code = "E0304"


class TransformTypeError(TracemillError, TypeError):
    """An argument or option of a transform has the wrong type.

    >>> import numpy as np, tracemill as tm
    >>> tm.grad(np.square)(np.arange(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.transforms.TransformTypeError: grad(square): args[0] has dtype i64, which has no...

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
    tracemill.compiler.errors.transforms.BranchMismatchError: cond: the functions must return the same shapes...

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
    tracemill.compiler.errors.transforms.CarryMismatchError: scan(<lambda>): <lambda> (...) must return a carry...

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
    tracemill.compiler.errors.transforms.CustomRuleError: the jvp rule of f returns tangent of type f64[3],...

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
    tracemill.compiler.errors.transforms.RuleCheckError: check_rule(sin): the derivative of output by the rule is...

    Fix: correct the rule. The message says which check failed and shows both sides. A rule that deliberately differs
    from the derivative, such as a clipped gradient, cannot be checked.
    """

    code = "E0309"


class UnboundAxisNameError(TracemillError, NameError):
    """A collective operation names an axis that no enclosing `vmap` maps.

    >>> import numpy as np, tracemill as tm
    >>> tm.vmap(lambda x: x / tm.psum(x, "rows"), axis_name="batch")(np.ones(3))
    Traceback (most recent call last):
    tracemill.compiler.errors.transforms.UnboundAxisNameError: psum: no axis is named 'rows' here; those that are...

    Fix: name the axis in the `vmap` around the function, ``vmap(f, axis_name="rows")``.
    """

    code = "E0310"


class CollectiveError(TracemillError, ValueError):
    """A collective operation needs all examples of a batch at once, and only some of them run.

    This happens when a batch runs in chunks, and inside a branch or loop that each example takes separately.

    >>> import numpy as np, tracemill as tm
    >>> tm.vmap(lambda x: x / tm.psum(x, "i"), axis_name="i", chunk_size=2)(np.ones(4))
    Traceback (most recent call last):
    tracemill.compiler.errors.transforms.CollectiveError: psum over the axis 'i' needs all 4 examples at once...

    Fix: call the collective outside the branch, the loop or the chunked `vmap`, and use its result inside.
    """

    code = "E0311"


class DerivativeMemoryError(TracemillError, MemoryError):
    """There is no memory left while a function is differentiated without `compile`: it keeps what its derivative needs.

    >>> import numpy as np, tracemill as tm
    >>> def loss(x):
    ...     for _ in range(1000):
    ...         x = np.sin(x)
    ...     return np.sum(x * np.ones(1 << 58))
    >>> tm.grad(loss)(0.5)
    Traceback (most recent call last):
    tracemill.compiler.errors.transforms.DerivativeMemoryError: there is no memory left for ...

    Fix: wrap parts of the function in `tm.checkpoint`, which keeps their arguments and computes the rest again. Or
    compile the derivative, ``tm.compile(tm.grad(loss))``: a loop then keeps one array per iteration.
    """

    code = "E0312"


class BatchedHandlerError(TracemillError, RuntimeError):
    """Some examples of a batch raise an exception for which the mapped function has a handler.

    The function runs once for all examples, so its handler cannot run for only some of them.

    >>> import numpy as np, tracemill as tm
    >>> def inverse(a):
    ...     try:
    ...         return np.linalg.inv(a)
    ...     except np.linalg.LinAlgError:
    ...         return np.zeros_like(a)
    >>> tm.vmap(inverse)(np.stack([np.eye(2), np.ones((2, 2))]))
    Traceback (most recent call last):
    tracemill.compiler.errors.transforms.BatchedHandlerError: an example of the batch raises LinAlgError: Singular ...

    Fix: test for the case with ``if`` or `np.where` before the call that raises, or call the function in a loop. The
    ``__cause__`` of the error is that of the example.
    """

    code = "E0313"

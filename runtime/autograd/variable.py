"""`variable`: a NumPy array that records operations on it."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from ...compiler.builder import bind
from ...compiler.callers.user_code import user_location
from ...compiler.dtypes import Array, dtype_name, is_inexact
from ...compiler.errors import NotRecordedError, ShapeError, TransformTypeError
from ...compiler.ir import ArrayType, Value
from ...compiler.memory_layout.layout import layout_of
from ...compiler.nesting import shown
from ...compiler.tracing.array_values import as_value
from ...compiler.tracing.trace import Storage, Trace, array_type, current_trace, next_number
from ...compiler.tracing.traced_array import TracedArray, located, wrap
from ...compiler.tracing.traced_memory import is_numpy_array, is_traced
from ...compiler.tracing.views import View
from ..derivatives.stop_gradient import stop_gradient
from ..eager.current_tape import joined, on_tape, tape_of_this_thread
from ..eager.grad_mode import is_grad_enabled
from ..evaluation.evaluated_array import UNWRITTEN, EvaluatedArray
from ..evaluation.evaluated_memory import Evaluated
from .backward import backward
from .operations import record_on_tape
from .tape import Gradient, Tape, VariableMemory, leaf_of, op_of


class Variable(EvaluatedArray):
    """An array with values that records operations on it. Made by `variable`, and by NumPy operations on variables.

    >>> x = variable(2.0)
    >>> type(x * 3) is Variable, x.is_leaf, (x * 3).is_leaf
    (True, True, False)
    """

    __slots__ = ()

    def __init__(
        self,
        storage: Storage,
        type: ArrayType,
        views: tuple[View, ...] = (),
        *,
        is_scalar: bool = False,
        weak: Any = None,
    ) -> None:
        """A variable has its own dtype, even if it represents a Python number."""
        super().__init__(storage, type, views, is_scalar=is_scalar)

    @property
    def _trace(self) -> Trace:
        return current_trace() or tape_of_this_thread()

    def _located(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        with joined():
            return located(function, *args, **kwargs)

    # ---- recording -----------------------------------------------------------------------------------

    @property
    def value(self) -> Value:
        with joined():
            found = super().value
        if self._views and not is_grad_enabled() and getattr(found, "node", None) is None:
            self._version = -1  # a view is read again when that is recorded
        return found

    def _refresh(self) -> bool:
        is_readable = super()._refresh()
        if is_readable and self._version == -1:
            self._seen = -1
        return is_readable

    def write(self, new: Value) -> None:
        with joined():
            super().write(new)

    def through(self, *views: View, is_scalar: bool = False) -> TracedArray:
        with joined():
            return super().through(*views, is_scalar=is_scalar)

    @property
    def _leaf(self) -> Evaluated | None:
        """The initial value, if the user has made the variable."""
        if self._clock is UNWRITTEN or self._views:
            return None
        return cast(VariableMemory, self._storage).leaf

    @property
    def place(self) -> Value:
        """What the variable stands for as an input of `grad`: its initial value, or the computed value."""
        return self._leaf or self.value if on_tape() else self.value

    @property
    def requires_grad(self) -> bool:
        """Whether you can ask for derivatives with respect to this variable.

        >>> import numpy as np, tracemill as tm
        >>> x = tm.autograd.variable(np.ones(3))
        >>> x.requires_grad, (2 * x).requires_grad, x.detach() is x
        (True, True, False)
        """
        return self._node_now() is not None if on_tape() else True

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if wanted == self.requires_grad:
            return
        if not wanted and self._leaf is None:
            raise NotRecordedError(
                "requires_grad=False of a variable that was computed: x.detach() gives its values",
                user_location(),
            )
        if self._views:
            raise NotRecordedError(
                "requires_grad=True of a view: make the array that it is a view of require it",
                user_location(),
            )
        array = self._elements()
        _require_inexact(array)
        memory = cast(VariableMemory, self._storage)
        memory.leaf = leaf_of(array, Gradient()) if wanted else None
        memory.restore(memory.leaf or Evaluated(array), next_number())

    @property
    def is_leaf(self) -> bool:
        """Whether the user created the variable, instead of computing it from others that require gradients.

        >>> import numpy as np, tracemill as tm
        >>> x = tm.autograd.variable(np.ones(3))
        >>> x.is_leaf, (2 * x).is_leaf
        (True, False)
        """
        return self._leaf is not None or not self.requires_grad

    @property
    def grad(self) -> Any:
        """The sum of the gradients from `backward`; None before, and for variables that are not leaves.

        >>> import numpy as np, tracemill as tm
        >>> x = tm.autograd.variable(np.ones(3))
        >>> for _ in range(2):
        ...     np.sum(x**2).backward()
        >>> x.grad
        array([4., 4., 4.])
        """
        return None if self._leaf is None else self._leaf.node.gradient.array

    @grad.setter
    def grad(self, new: Any) -> None:
        if self._leaf is None:
            raise NotRecordedError(".grad belongs to variables that require gradients", user_location())
        if new is not None and not isinstance(new, (np.ndarray, np.generic, TracedArray)):
            raise TransformTypeError(
                f".grad of a {self.type} must be an array of its shape or None, not {type(new).__name__}: {shown(new)}"
            )
        if new is not None and np.shape(new) != self.shape:
            raise ShapeError(
                f".grad of a {self.type} must have its shape, not {np.shape(new)}", user_location()
            )
        self._leaf.node.gradient.array = new

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
        *,
        safe_where: bool = False,
    ) -> None:
        """`tracemill.autograd.backward` of this variable.

        >>> import numpy as np, tracemill as tm
        >>> x = tm.autograd.variable(np.array([1.0, 2.0]))
        >>> (x**2).backward(np.array([1.0, 10.0]))  # one weight for each entry; none for a single number
        >>> x.grad
        array([ 2., 40.])
        """
        backward(self, gradient, retain_graph, create_graph, inputs, safe_where=safe_where)

    def detach(self) -> Any:
        """The values, as a NumPy array that records nothing.

        >>> import numpy as np, tracemill as tm
        >>> (2 * tm.autograd.variable(np.ones(3))).detach()
        array([2., 2., 2.])
        """
        return detach(self)

    # ---- Python's questions --------------------------------------------------------------------------

    def _elements(self) -> Array:
        """The current values, read-only."""
        known: Array = self.evaluated()[0] if on_tape() else self._need("looking at it")
        return known

    def _node_now(self) -> Any:
        """The node that the derivative of the current values comes from."""
        return self.evaluated()[1]

    def __bool__(self) -> bool:
        return super().__bool__() if on_tape() else TracedArray.__bool__(self)

    def _refuse_to_detach(self, what: str, hint: str = "") -> None:
        if not on_tape():
            super()._refuse_to_detach(what, hint)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if on_tape() and self._node_now() is not None:
            raise NotRecordedError(
                f"turning a variable {self.type} into a NumPy array would lose its derivative: x.detach() gives its "
                "values, np.stack([x, y]) stands for np.array([x, y]), np.broadcast_to(x, shape).copy() for "
                "np.full(shape, x), and an array to store it in must be a variable, too",
                user_location(),
            )
        return np.array(self._elements(), dtype) if on_tape() else super().__array__(dtype, copy)

    def __str__(self) -> str:
        return str(self._shown())

    def __format__(self, spec: str) -> str:
        return format(self._shown(), spec)

    def __repr__(self) -> str:
        if not on_tape():
            return TracedArray.__repr__(self)
        inside = repr(self._elements()).removeprefix("array(").removesuffix(")").replace("\n", "\n   ")
        return f"variable({inside}{'' if self._leaf is not None else self._origin()})"

    def _origin(self) -> str:
        node = self._node_now()
        return ", requires_grad=False" if node is None else f", made_by={op_of(node)!r}"

    def _shown(self) -> Any:
        return self._elements()[()] if self.is_scalar else self._elements()

    def __copy__(self) -> TracedArray:
        with joined():
            return super().__copy__()

    def __deepcopy__(self, memo: Any) -> "Variable":
        return _started(self._shown(), self.requires_grad)

    def __reduce__(self) -> Any:
        return variable, (self._shown(), self.requires_grad)


Tape.array_class = Variable
record_on_tape(Variable)


def variable(array: Any, requires_grad: bool = True) -> Any:
    """An array that records operations on it, so that `grad` and `backward` can differentiate them.

    It behaves like a NumPy array: it prints, and supports ``float(x)``, ``if x > 0``, NumPy's functions, views and
    in-place updates. Results computed from it are variables, too.

    Args:
        array: an array, a number, or nested lists of numbers; it is copied.
        requires_grad: derivatives with respect to it can be asked for. Without, only what is computed from it
            and from variables with `requires_grad` is recorded.

    Returns:
        A variable with the values, shape and dtype of `array`; for a number, a 0-d one. Inside of a traced function,
        a traced array.

    Raises:
        TransformTypeError: (a TypeError) for integers and bools with ``requires_grad=True``.

    >>> import numpy as np
    >>> x = variable(np.array([1.0, 2.0]))
    >>> y = np.sum(x**2)
    >>> float(y)
    5.0
    >>> y.backward()
    >>> x.grad
    array([2., 4.])
    """
    if not on_tape():
        return _in_a_trace(array)
    if isinstance(array, Variable):
        array = array._shown()
    return _started(array, requires_grad)


def _started(array: Any, requires_grad: bool) -> Variable:
    own = np.array(array)
    type_ = array_type(own)
    if requires_grad:
        _require_inexact(own)
    leaf = leaf_of(own, Gradient()) if requires_grad else None
    layout = layout_of(own)
    memory = VariableMemory(
        cast(Tape, tape_of_this_thread()),
        leaf or Evaluated(own),
        None if layout.is_row_major else layout,
        leaf,
    )
    return Variable(memory, type_, is_scalar=not own.ndim and not is_numpy_array(array))


def _in_a_trace(array: Any) -> TracedArray:
    """A separate array: later changes of `array` do not affect it."""
    value = as_value(array)
    is_scalar = array.is_scalar if is_traced(array) else not is_numpy_array(array)
    return wrap(bind("reshape", value, shape=value.shape), is_scalar=is_scalar and not value.ndim)


def _require_inexact(array: Array) -> None:
    if not is_inexact(array.dtype):
        raise TransformTypeError(
            f"a variable of dtype {dtype_name(array.dtype)} has no derivative: pass floating-point numbers, or "
            "requires_grad=False",
            user_location(),
        )


def detach(x: Any) -> Any:
    """The values of a variable, as a NumPy array (or scalar) that records nothing. Other objects do not change.

    Inside a traced function this is `stop_gradient`.

    >>> detach(variable(2.0) * 3)
    np.float64(6.0)
    """
    if not on_tape():
        return stop_gradient(x)
    if not isinstance(x, Variable):
        return x
    return x._shown() if x.is_scalar else x._elements().copy()

"""Whether operations on variables are recorded: `no_grad`, `enable_grad` and `set_grad_enabled`."""

from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from typing import Any, Self, TypeVar

import numpy as np

from ...compiler.errors import TransformTypeError
from ...compiler.nesting import shown

F = TypeVar("F", bound=Callable[..., Any])

_enabled: ContextVar[bool] = ContextVar("tracemill_grad_enabled", default=True)


def is_grad_enabled() -> bool:
    """Whether operations on variables are recorded now, in this thread or task.

    >>> is_grad_enabled()
    True
    """
    return _enabled.get()


class _Mode(ContextDecorator):
    """Sets the mode for a block or a decorated function; may be entered again."""

    def __init__(self, enabled: bool) -> None:
        self._inside = enabled
        self._outside: list[bool] = []

    def __enter__(self) -> Self:
        self._outside.append(_enabled.get())
        _enabled.set(self._inside)
        return self

    def __exit__(self, *exception: object) -> None:
        _enabled.set(self._outside.pop())


class no_grad(_Mode):  # noqa: N801  (used as a word: ``with no_grad():``)
    """Record nothing: results are variables that need no gradient. A context manager and a decorator.

    A write to a variable inside becomes its new initial value, as gradient descent needs it.

    >>> import numpy as np, tracemill as tm
    >>> w = tm.autograd.variable(np.ones(2))
    >>> tm.autograd.backward(np.sum(w**2))
    >>> with tm.autograd.no_grad():
    ...     w -= 0.25 * w.grad
    >>> w
    variable([0.5, 0.5])
    """

    def __init__(self) -> None:
        super().__init__(False)


class enable_grad(_Mode):  # noqa: N801
    """Record again, inside `no_grad`. A context manager and a decorator.

    >>> import numpy as np, tracemill as tm
    >>> x = tm.autograd.variable(2.0)
    >>> with tm.autograd.no_grad(), tm.autograd.enable_grad():
    ...     y = x * x
    >>> y.requires_grad
    True
    """

    def __init__(self) -> None:
        super().__init__(True)


class set_grad_enabled(_Mode):  # noqa: N801
    """Record or not from here on, according to `mode`; as a context manager or decorator, only inside.

    >>> import numpy as np, tracemill as tm
    >>> x = tm.autograd.variable(2.0)
    >>> with tm.autograd.set_grad_enabled(False):
    ...     (x * x).requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        given: Any = mode
        if not isinstance(given, (bool, np.bool_)):
            raise TransformTypeError(f"set_grad_enabled: mode must be True or False, not {shown(given)}")
        super().__init__(bool(mode))
        self._before = _enabled.get()
        _enabled.set(self._inside)

    def __enter__(self) -> Self:
        self._outside.append(self._before)
        _enabled.set(self._inside)
        return self

    def __call__(self, func: F) -> F:
        """As a decorator it does not change the mode outside the function."""
        _enabled.set(self._before)
        return _Mode(self._inside)(func)

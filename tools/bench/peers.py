"""A NumPy function in JAX and torch: the same code, with their namespace in place of NumPy's."""

from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import optree

from ...compiler.errors import UnsupportedFunctionError

Arguments = tuple[Sequence[Any], dict[str, Any]]


def in_namespace(function: Callable[..., Any], namespace: Any) -> Callable[..., Any]:
    """A copy of a function, and of those of its module that it calls, in which ``np`` is another namespace.

    Raises:
        UnsupportedFunctionError: it is not a plain Python function, whose code could be read.

    >>> import math
    >>> def power(x):
    ...     return np.sqrt(x)
    >>> in_namespace(power, math)(9.0)
    3.0
    """
    if not isinstance(function, FunctionType):
        raise UnsupportedFunctionError(
            f"{function!r:.60} is not a plain Python function, so np cannot be replaced in it"
        )
    scope: dict[str, Any] = {}
    for name, value in function.__globals__.items():
        scope[name] = _rebound(value, function, scope, namespace)
    copy = _copied(function, scope)
    scope[function.__name__] = copy
    return copy


def _rebound(value: Any, function: FunctionType, scope: dict[str, Any], namespace: Any) -> Any:
    if value is np:
        return namespace
    if isinstance(value, ModuleType) and value.__name__.startswith("numpy."):
        return getattr(namespace, value.__name__.removeprefix("numpy."), value)
    if isinstance(value, FunctionType) and value.__globals__ is function.__globals__:
        return _copied(value, scope)
    return value


def _copied(function: FunctionType, scope: dict[str, Any]) -> FunctionType:
    copy = FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def jax_program(function: Callable[..., Any], arguments: Arguments) -> Callable[[], Any]:
    """``jax.jit`` of the function on JAX's own arrays; a call waits for the result."""
    import jax

    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(in_namespace(function, jax.numpy))
    args, kwargs = _converted(arguments, jax.numpy.asarray)
    return lambda: jax.block_until_ready(compiled(*args, **kwargs))


def torch_program(function: Callable[..., Any], arguments: Arguments) -> Callable[[], Any]:
    """``torch.compile`` of the function on torch's own arrays, without a tape."""
    import torch

    compiled: Any = torch.compile(in_namespace(function, torch), dynamic=False)
    args, kwargs = _converted(arguments, torch.as_tensor)

    def program() -> Any:
        with torch.no_grad():
            return compiled(*args, **kwargs)

    return program


PEERS: dict[str, Callable[[Callable[..., Any], Arguments], Callable[[], Any]]] = {
    "jax": jax_program,
    "torch": torch_program,
}


def _converted(arguments: Any, convert: Callable[[Any], Any]) -> Any:
    """All arrays as those of a framework; settings and numbers do not change."""
    return optree.tree_map(lambda x: convert(x) if isinstance(x, (np.ndarray, np.generic)) else x, arguments)

"""How each contestant turns a row into a callable: NumPy, Tracemill with a backend, JAX, and torch."""

import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from ....runtime.batching.vmap import vmap
from ....runtime.compilation.compile import compile
from ....runtime.derivatives.grad import grad, value_and_grad
from ....runtime.derivatives.jacobians.jacobians import hessian
from .rows import Arrays, Row

Function = Callable[..., Any]
Program = Callable[[], Any]
"""Runs to completion and returns results of the framework's own type."""


class Framework(Protocol):
    """A contestant."""

    def program(self, row: Row, arrays: Arrays) -> Program:
        """The callable for a row. May compile now, at the first call, or never."""
        ...

    def to_numpy(self, result: Any) -> list[np.ndarray[Any, Any]]:
        """The arrays of a result."""
        ...


class NumPy:
    """The functions as written."""

    def program(self, row: Row, arrays: Arrays) -> Program:
        function = repeated(applied(row.function, np), row.repeat)
        return lambda: function(*arrays)

    def to_numpy(self, result: Any) -> list[np.ndarray[Any, Any]]:
        return list(map(np.asarray, as_tuple(result)))


class Tracemill(NumPy):
    """``tm.compile`` with one of its backends."""

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def program(self, row: Row, arrays: Arrays) -> Program:
        function, arguments = transformed(row, arrays)
        compiled = compile(function, backend=self.backend)
        return lambda: compiled(*arguments)

    def to_numpy(self, result: Any) -> list[np.ndarray[Any, Any]]:
        leaves = [leaf for part in as_tuple(result) for leaf in as_tuple(part)]
        return list(map(np.asarray, leaves))


def transformed(row: Row, arrays: Arrays) -> tuple[Function, Arrays]:
    """The NumPy function of a row, for `compile`, and its arguments."""
    plain = repeated(applied(row.function, np), row.repeat)
    match row.task:
        case "backward":
            return grad(weighted(np, plain), shifted(row.argnums)), (cotangent(row, arrays), *arrays)
        case "value and gradient":
            return value_and_grad(plain, row.argnums), arrays
        case "gradient per sample":
            return vmap(grad(plain, row.argnums), in_dims(row, arrays)), arrays
        case "hessian":
            return hessian(plain), arrays
        case _:
            return plain, arrays


class Jax:
    """``jax.jit`` on the CPU."""

    def program(self, row: Row, arrays: Arrays) -> Program:
        import jax
        from jax import numpy as jnp

        jax.config.update("jax_enable_x64", True)
        plain = once = applied(row.function, jnp)
        if row.repeat > 1:
            plain = lambda x: jax.lax.fori_loop(0, row.repeat, lambda _, y: once(y), x)  # noqa: E731
        function, arguments = plain, arrays
        match row.task:
            case "backward":
                function = jax.grad(weighted(jnp, plain), shifted(row.argnums))
                arguments = (cotangent(row, arrays), *arrays)
            case "value and gradient":
                function = jax.value_and_grad(plain, row.argnums)
            case "gradient per sample":
                function = jax.vmap(jax.grad(plain, row.argnums), in_dims(row, arrays))
            case "hessian":
                function = jax.hessian(plain)
            case _:
                pass
        compiled = jax.jit(function)
        own = [jnp.asarray(array) for array in arguments]
        return lambda: jax.block_until_ready(compiled(*own))

    def to_numpy(self, result: Any) -> list[np.ndarray[Any, Any]]:
        import jax

        return list(map(np.asarray, jax.tree.leaves(result)))


class Torch:
    """``torch.compile`` with its default backend on the CPU."""

    def program(self, row: Row, arrays: Arrays) -> Program:
        import torch

        torch._dynamo.reset()  # reset for each row, or the limit of recompilations is reached
        once = applied(row.function, torch)
        own = [torch.from_numpy(array.copy()) for array in arrays]
        if row.repeat > 1 or row.task == "value":  # unrolled, torch would compile a long loop for minutes
            function = repeated(_compiled(once), row.repeat)
            return (
                self._without_tape(function, own) if row.task == "value" else self._taped(function, row, own)
            )
        match row.task:
            case "backward":
                whole = _compiled(torch.func.grad(weighted(torch, once), shifted(row.argnums)))
                both = (
                    self._without_tape(whole, [torch.from_numpy(cotangent(row, arrays)), *own]),
                    self._taped(_compiled(once), row, own),
                )
                return min(both, key=_seconds_of_one)  # which is faster depends on the row
            case "value and gradient":
                function = value_first(torch.func.grad_and_value(once, row.argnums))
            case "gradient per sample":
                function = torch.func.vmap(torch.func.grad(once, row.argnums), in_dims(row, arrays))
            case _:
                function = torch.func.hessian(once)
        return self._without_tape(_compiled(function), own)

    def to_numpy(self, result: Any) -> list[np.ndarray[Any, Any]]:
        from torch.utils._pytree import tree_leaves

        return [leaf.numpy() for leaf in tree_leaves(result)]

    @staticmethod
    def _without_tape(function: Function, arguments: list[Any]) -> Program:
        import torch

        def program() -> Any:
            with torch.no_grad():
                return function(*arguments)

        return program

    @staticmethod
    def _taped(function: Function, row: Row, arguments: list[Any]) -> Program:
        """The gradient by autograd through a compiled function."""
        import torch

        weights = torch.from_numpy(cotangent(row, tuple(argument.numpy() for argument in arguments)))
        tracked = [
            argument.clone().requires_grad_() if number in row.argnums else argument
            for number, argument in enumerate(arguments)
        ]
        wanted = [tracked[number] for number in row.argnums]
        return lambda: torch.autograd.grad(function(*tracked), wanted, weights)


def _compiled(function: Function) -> Function:
    import torch

    compiled: Function = torch.compile(function, fullgraph=True, dynamic=False)
    return compiled


PEERS: dict[str, Callable[[], Framework]] = {"jax": Jax, "torch": Torch}
PLAIN: str = "as written"
OURS: str = "tracemill "
"""The prefix of the names of Tracemill's contestants; the backend follows."""


def framework(contestant: str) -> Framework:
    """The contestant of that name."""
    if contestant == PLAIN:
        return NumPy()
    if contestant.startswith(OURS):
        return Tracemill(contestant.removeprefix(OURS))
    return PEERS[contestant]()


def is_installed(contestant: str) -> bool:
    return contestant not in PEERS or find_spec(contestant) is not None


def version_of(contestant: str) -> str:
    """The versions to show beside a number."""
    distribution = contestant if contestant in PEERS else "numpy" if contestant == PLAIN else "tracemill"
    return version(distribution)


# ---- functions of functions, for every namespace ---------------------------------------------------------------


def applied(function: Function, xp: Any) -> Function:
    """The function of arrays alone."""

    def of_arrays(*arrays: Any) -> Any:
        return function(xp, *arrays)

    return of_arrays


def repeated(function: Function, times: int) -> Function:
    """The function applied to its own result, in a Python loop."""
    if times == 1:
        return function

    def loop(x: Any) -> Any:
        for _ in range(times):
            x = function(x)
        return x

    return loop


def weighted(xp: Any, function: Function) -> Function:
    """The sum of the results times weights, which come first."""

    def total(weights: Any, *arrays: Any) -> Any:
        return xp.sum(function(*arrays) * weights)

    return total


def value_first(function: Function) -> Function:
    """Converts a function that returns gradient and value into one that returns value and gradient."""

    def swapped(*arrays: Any) -> Any:
        gradient, value = function(*arrays)
        return value, gradient

    return swapped


def shifted(argnums: tuple[int, ...]) -> tuple[int, ...]:
    """The positions after one additional argument."""
    return tuple(number + 1 for number in argnums)


def in_dims(row: Row, arrays: Arrays) -> tuple[int | None, ...]:
    return tuple(0 if number in row.mapped else None for number in range(len(arrays)))


def cotangent(row: Row, arrays: Arrays) -> np.ndarray[Any, Any]:
    """Weights of the row's result, the same for every contestant."""
    result = np.asarray(row.function(np, *arrays))
    return np.asarray(np.random.default_rng(1).normal(size=result.shape), result.dtype)


def as_tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _seconds_of_one(program: Program) -> float:
    """The fastest of a few calls, the first of which compiles."""
    times: list[float] = []
    for _ in range(4):
        started = time.perf_counter()
        program()
        times.append(time.perf_counter() - started)
    return min(times[1:])

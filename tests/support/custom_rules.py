"""Functions with derivatives of their own, and transforms that use them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracemill as tm

# A function f(x, y) = sin(x) * y with rules for three times its derivative, so that one sees that they are used.


def wave(x: Any, y: Any) -> Any:
    return np.sin(x) * y


def with_jvp() -> Any:
    f = tm.custom_rule(wave)

    @f.jvp
    def _(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        return f(x, y), 3 * (np.cos(x) * y * dx + np.sin(x) * dy)

    return f


def with_vjp() -> Any:
    def forward(x: Any, y: Any) -> Any:
        return np.sin(x) * y, {
            "slope": np.cos(x) * y,
            "sine": np.sin(x),
            "none": None,
            "ndims": (np.ndim(x), np.ndim(y)),
        }

    def backward(residuals: Any, ct: Any) -> Any:
        assert residuals["none"] is None
        pulled = (3 * residuals["slope"] * ct, 3 * residuals["sine"] * ct)
        return tuple(x if ndim else np.sum(x) for x, ndim in zip(pulled, residuals["ndims"], strict=True))

    return tm.custom_rule(wave).vjp(forward, backward)


def with_both() -> Any:
    return with_vjp().jvp(lambda p, t: (wave(*p), 3 * (np.cos(p[0]) * p[1] * t[0] + np.sin(p[0]) * t[1])))


def stated(x: Any, y: Any) -> Any:
    """The same derivatives without a rule."""
    f = np.sin(x) * y
    return tm.stop_gradient(f - 3 * f) + 3 * f


MAKERS: dict[str, Callable[[], Any]] = {"jvp": with_jvp, "vjp": with_vjp, "both": with_both}
each_rule = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
X, Y = np.array([0.3, -1.2, 2.0]), np.array([1.5, 0.5, -2.0])

TRANSFORMS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "value": lambda f: f,
    "grad": lambda f: tm.grad(lambda x, y: np.sum(f(x, y)), (0, 1)),
    "grad of y": lambda f: tm.grad(lambda x, y: np.sum(f(x, y) * y), 1),
    "vjp": lambda f: lambda x, y: tm.vjp(f, x, y)[1](x),
    "jvp": lambda f: lambda x, y: tm.jvp(f, (x, y), (y, x)),
    "linearize": lambda f: lambda x, y: tm.linearize(f, x, y)[1](y, x),
    "jacfwd": tm.jacfwd,
    "jacrev": lambda f: tm.jacrev(f, argnums=1),
    "vmap": tm.vmap,
    "vmap, one mapped": lambda f: tm.vmap(f, (0, None)),
    "vmap of grad": lambda f: tm.vmap(tm.grad(f, (0, 1))),
    "vmap of jvp": lambda f: tm.vmap(lambda a, b: tm.jvp(f, (a, b), (b, a))),
    "vmap of jvp, one mapped": lambda f: (
        lambda x, y: tm.vmap(lambda a: tm.jvp(lambda b: f(a, b), (y,), (x,)))(x)
    ),
    "grad of vmap": lambda f: tm.grad(lambda x, y: np.sum(tm.vmap(f)(x, y) ** 2), (0, 1)),
    "grad of vmap, one mapped": lambda f: tm.grad(
        lambda x, y: np.sum(tm.vmap(f, (None, 0))(x, y) ** 2), (0, 1)
    ),
    "grad of vmap of vmap": lambda f: tm.grad(
        lambda x, y: np.sum(tm.vmap(tm.vmap(f, (None, 0)), (0, None))(x, y) ** 2), (0, 1)
    ),
    "jvp of vmap": lambda f: lambda x, y: tm.jvp(tm.vmap(f, (None, 0)), (x, y), (y, x)),
    "jacfwd of vmap": lambda f: tm.jacfwd(tm.vmap(f)),
    "checkpoint": lambda f: tm.grad(lambda x, y: np.sum(tm.checkpoint(lambda a: f(f(a, y), y))(x))),
    "inside compile": lambda f: tm.grad(lambda x, y: np.sum(tm.compile(lambda a: f(a, y))(x))),
}


@tm.custom_rule(nondiff=("matrix",))
def solve(matrix: Any, b: Any) -> Any:
    """By Jacobi's method: nothing that one would differentiate step by step."""
    diagonal = np.diagonal(matrix)
    x = b * 0
    for _ in range(60):
        x = (b - matrix @ x + diagonal * x) / diagonal
    return x


@solve.transpose
def _(ct: Any, matrix: Any) -> Any:
    return (solve(matrix.T, ct),)


MATRIX = np.array([[4.0, 1.0, 0.0], [2.0, 5.0, 1.0], [0.0, 0.5, 3.0]])

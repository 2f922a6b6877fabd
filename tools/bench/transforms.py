"""The cost of transforms: the graph of a gradient, the time of a gradient and of a map, and compiling a Hessian."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...runtime.batching.vmap import vmap
from ...runtime.compilation.compile import compile
from ...runtime.derivatives.grad import grad
from ...runtime.derivatives.jacobians.jacobians import hessian
from .compilation import chain, seconds_to_compile
from .timing import Measurement, seconds_in_turn

ABOUT: str = "Compiled gradients and maps beside plain NumPy and compiled NumPy of the same computation, f64"
SIZE = 100_000
"""Elements of the arrays for which gradients are computed."""
BATCH = 256
NODES = 30

# ---- straight-line programs of one array -------------------------------------------------------------------


def waves(x: Any) -> Any:
    """Elementary functions of every element."""
    y = np.sin(x) * np.exp(-x * x) + np.tanh(x)
    z = np.sqrt(1.0 + y * y) / (2.0 + np.cos(x))
    return np.sum(z * y - np.log1p(x * x))


def quadratic(x: Any) -> Any:
    """Only arithmetic: the cheapest operations."""
    y = 3.0 * x - 1.0
    return np.sum(y * y * x + x / (1.0 + y * y))


def rosenbrock(x: Any) -> Any:
    """Slices of neighbours."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def heat(x: Any) -> Any:
    """Ten steps of a stencil, updated in place."""
    u = x.copy()
    for _ in range(10):
        u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum(u * u)


def softmax_entropy(x: Any) -> Any:
    """Reductions over rows, and back."""
    rows = x.reshape(-1, 100)
    e = np.exp(rows - rows.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    return -np.sum(p * np.log(p))


STRAIGHT_LINE: tuple[Callable[[Any], Any], ...] = (waves, quadratic, rosenbrock, heat, softmax_entropy)

# ---- one example, and a batch by hand ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pair:
    """The same computation for one example and, written by hand, for a batch; which arguments are mapped."""

    one: Callable[..., Any]
    batch: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    mapped: tuple[bool, ...]

    def arguments(self) -> list[Any]:
        rng = np.random.default_rng(0)
        shapes = zip(self.shapes, self.mapped, strict=True)
        return [rng.normal(size=(BATCH, *shape) if mapped else shape) for shape, mapped in shapes]


def _normalise(x: Any) -> Any:
    return (x - x.mean()) / np.sqrt(x.var() + 1e-5)


def _normalise_batch(x: Any) -> Any:
    return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)


def _layer(w: Any, x: Any) -> Any:
    return np.tanh(w @ x)


def _layer_batch(w: Any, x: Any) -> Any:
    return np.tanh(x @ w.T)


def _distances(x: Any, y: Any) -> Any:
    return np.sqrt(np.sum((x - y) ** 2, axis=1)).min()


def _distances_batch(x: Any, y: Any) -> Any:
    return np.sqrt(np.sum((x[:, None] - y) ** 2, axis=2)).min(axis=1)


def _products(x: Any, y: Any) -> Any:
    return x @ y


def _form(a: Any, x: Any) -> Any:
    return x @ a @ x


def _form_batch(a: Any, x: Any) -> Any:
    return np.sum((x @ a) * x, axis=1)


PAIRS: dict[str, Pair] = {
    "normalise": Pair(_normalise, _normalise_batch, ((400,),), (True,)),
    "layer": Pair(_layer, _layer_batch, ((128, 200), (200,)), (False, True)),
    "distances": Pair(_distances, _distances_batch, ((16,), (64, 16)), (True, False)),
    "products": Pair(_products, _products, ((24, 24), (24, 24)), (True, True)),
    "form": Pair(_form, _form_batch, ((64, 64), (64,)), (False, True)),
}

# ---- measuring -------------------------------------------------------------------------------------------------


def measure(rounds: int) -> Iterator[Measurement]:
    """Ratios, medians of one run."""
    yield from _growth()
    yield from _gradients(rounds)
    yield from _maps(rounds)
    yield from _hessian(rounds)


def _growth() -> Iterator[Measurement]:
    """The number of calls in a gradient's graph after the passes, per call of the function's."""
    x = np.linspace(-2.0, 2.0, 1000)
    for function in STRAIGHT_LINE:
        before = len(compile(function).lower(x).optimised.calls)
        after = len(compile(grad(function)).lower(x).optimised.calls)
        yield Measurement(
            "transforms", f"grad of {function.__name__}, nodes", after / before, "×", f"{before} to {after}"
        )


def _gradients(rounds: int) -> Iterator[Measurement]:
    x = np.random.default_rng(0).normal(size=SIZE)
    for function in STRAIGHT_LINE:
        calls = [partial(f, x) for f in (compile(grad(function)), function, compile(function))]
        gradient, plain, compiled = seconds_in_turn(calls, rounds=rounds, calls=3)
        detail = f"{1e3 * gradient:.2f} ms; {gradient / compiled:.2f} × the compiled function"
        yield Measurement(
            "transforms", f"grad of {function.__name__} / NumPy's forward", gradient / plain, "×", detail
        )


def _maps(rounds: int) -> Iterator[Measurement]:
    for name, pair in PAIRS.items():
        arguments = pair.arguments()
        in_dims = tuple(0 if mapped else None for mapped in pair.mapped)
        functions = (compile(vmap(pair.one, in_dims)), pair.batch, compile(pair.batch))
        calls = [partial(function, *arguments) for function in functions]
        mapped, plain, compiled = seconds_in_turn(calls, rounds=rounds, calls=5)
        detail = f"{1e6 * mapped:.0f} µs; {mapped / compiled:.2f} × the compiled batch by hand"
        yield Measurement("transforms", f"vmap of {name} / NumPy by hand", mapped / plain, "×", detail)


def _hessian(rounds: int) -> Iterator[Measurement]:
    def total(x: Any) -> Any:
        return np.sum(chain(NODES - 1)(x))

    seconds = seconds_to_compile(lambda: hessian(total), np.ones(8), repeats=min(rounds, 7))
    yield Measurement("transforms", f"hessian of {NODES} nodes, compile", 1e3 * seconds, "ms")

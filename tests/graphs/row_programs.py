"""Programs of rows as people write them, and what the best kernels for them move: norms, losses, their gradients."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import tracemill as tm
from tracemill.compiler.ir import Graph
from tracemill.passes.optimizations.select_scattered import select_scattered
from tracemill.passes.pipeline import run
from tracemill.passes.simplification.remove_dead_code import remove_dead_code
from tracemill.passes.simplification.share_subexpressions import share_subexpressions
from tracemill.passes.simplification.simplify import simplify


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x: Any, gain: Any, bias: Any) -> Any:
    centred = x - x.mean(1, keepdims=True)
    variance = (centred * centred).mean(1, keepdims=True)
    return centred / np.sqrt(variance + np.float32(1e-5)) * gain + bias


def rms_norm(x: Any, gain: Any) -> Any:
    return x / np.sqrt((x * x).mean(1, keepdims=True) + np.float32(1e-5)) * gain


def gelu(x: Any) -> Any:
    inner = np.float32(0.7978845608) * (x + np.float32(0.044715) * x**3)
    return np.float32(0.5) * x * (1 + np.tanh(inner))


def adam(p: Any, g: Any, m: Any, v: Any, step: Any) -> Any:
    m = np.float32(0.9) * m + np.float32(0.1) * g
    v = np.float32(0.999) * v + np.float32(0.001) * g * g
    scale = np.sqrt(v / (1 - np.float32(0.999) ** step)) + np.float32(1e-8)
    return p - np.float32(1e-3) * (m / (1 - np.float32(0.9) ** step)) / scale, m, v


def log_sum_exp(x: Any) -> Any:
    top = x.max(1, keepdims=True)
    return np.log(np.exp(x - top).sum(1)) + top[:, 0]


def relu_gradient(x: Any, g: Any) -> Any:
    passed = g * (x > 0)
    return passed, passed.sum(0)


def cross_entropy(x: Any, labels: Any) -> Any:
    off = x - x.max(1, keepdims=True)
    own = np.take_along_axis(off, labels[:, None], 1)[:, 0]
    return (np.log(np.exp(off).sum(1)) - own).mean()


def pulled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients of a function by all its arguments, given that of its result last."""

    def gradients(*arguments: Any) -> Any:
        *primals, cotangent = arguments
        _, pull = tm.vjp(function, *primals)
        return pull(cotangent)

    return gradients


class Case(NamedTuple):
    function: Callable[..., Any]
    arguments: str
    """An array per letter: x of rows and columns, g of columns, l of a label per row, s of one number."""
    launches: int


CASES = {
    "softmax": Case(softmax, "x", 1),
    "softmax gradient": Case(pulled(softmax), "xx", 1),
    "layer norm": Case(layer_norm, "xgg", 1),
    "layer norm gradient": Case(pulled(layer_norm), "xggx", 2),
    "RMS norm": Case(rms_norm, "xg", 1),
    "RMS norm gradient": Case(pulled(rms_norm), "xgx", 2),
    "GELU": Case(gelu, "x", 1),
    "GELU gradient": Case(pulled(gelu), "xx", 1),
    "Adam": Case(adam, "xxxxs", 1),
    "logsumexp": Case(log_sum_exp, "x", 1),
    "cross entropy": Case(cross_entropy, "xl", 2),
    "cross entropy and its gradient": Case(tm.value_and_grad(cross_entropy), "xl", 2),
    "relu gradient": Case(relu_gradient, "xx", 2),
    "variance of rows": Case(partial(np.var, axis=1), "x", 1),
    "mean over axis 0": Case(partial(np.mean, axis=0), "x", 2),
    "mean over both axes": Case(np.mean, "x", 2),
    "mean of the norms of rows": Case(lambda x: np.sqrt((x * x).sum(1)).mean(), "x", 2),
}


def shapes(case: Case, rows: int, columns: int) -> list[tuple[int, ...]]:
    by_letter = {"x": (rows, columns), "g": (columns,), "l": (rows,), "s": ()}
    return [by_letter[letter] for letter in case.arguments]


def optimised(case: Case, rows: int, columns: int) -> Graph:
    """What the passes before fusion make of it."""
    arrays = (
        np.broadcast_to(np.int64(1) if letter == "l" else np.float32(1), shape)
        for letter, shape in zip(case.arguments, shapes(case, rows, columns), strict=True)
    )
    graph = tm.compile(case.function).lower(*arrays).after("remove_dead_code")
    return run(graph, (select_scattered, simplify, share_subexpressions, remove_dead_code))

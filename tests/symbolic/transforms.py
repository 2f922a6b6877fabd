"""Functions that differentiate, map and loop over arrays of any size, by name, as `programs` lists plain ones."""
# ruff: noqa: PLW0108  (a lambda names its arguments)

from typing import Any

import numpy as np

import tracemill as tm
from symbolic.programs import SymbolicProgram

P = SymbolicProgram
V, X = ("f64[N]",), ("f64[B, N]",)


def loss(x: Any) -> Any:
    """A number that depends on each entry in its own way."""
    return np.sum(np.sin(x) ** 2 * np.exp(-x * 0.5)) / x.shape[0]


def layered(w: Any, x: Any) -> Any:
    """Of weights [N, K] and a batch [B, N]."""
    return np.mean(np.tanh(x @ w) ** 2)


def rows_scaled(x: Any) -> Any:
    return x / np.sqrt(np.sum(x**2, axis=-1, keepdims=True) + 1.0)


def smoothing(x: Any) -> Any:
    """A signal, with its ends and inner entries treated apart."""
    return np.sum(np.sin(x[1:-1] * x[2:]) - x[:-2] ** 2) + x[0] * x[-1]


def logits(x: Any) -> Any:
    return x - np.log(np.sum(np.exp(x), axis=-1, keepdims=True))


def centred_products(x: Any) -> Any:
    y = x - np.mean(x, axis=0)
    return np.sum((y.T @ y) ** 2) / x.size


def recurrent(w: Any, xs: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = np.tanh(w @ h + x)
        return h, np.sum(h)

    last, sums = tm.scan(step, np.zeros(w.shape[0]), xs)
    return np.sum(last**2) + np.mean(sums)


def square_root(x: Any) -> Any:
    """Newton's method on each entry, until no entry moves."""

    def goes_on(state: Any) -> Any:
        _, moved = state
        return np.max(np.abs(moved)) > 1e-9

    def step(state: Any) -> Any:
        y, _ = state
        new = 0.5 * (y + (x * x + 1.0) / y)
        return new, new - y

    return tm.while_loop(goes_on, step, (np.ones_like(x), np.ones_like(x)), max_steps=60)[0]


@tm.custom_rule
def scaled_sine(x: Any) -> Any:
    return np.sin(x) / x.shape[0]


@scaled_sine.jvp
def scaled_sine_rule(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return scaled_sine(x), np.cos(x) * dx / x.shape[0]


@tm.custom_rule
def halved(x: Any) -> Any:
    return x * 0.5


halved.vjp(lambda x: (x * 0.5, x), lambda x, ct: (ct * 0.5 + 0 * x,))

GRADIENTS: dict[str, SymbolicProgram] = {
    "grad": P(tm.grad(loss), X),
    "grad-of-a-number": P(tm.grad(lambda s, x: np.sum(np.sin(s * x))), ("f64[]", "f64[B, N]")),
    "value-and-grad": P(tm.value_and_grad(loss), ("f32[B, N]",), rtol=1e-6),
    "grad-of-mean": P(tm.grad(lambda x: np.mean(x**3)), X),
    "grad-of-variance": P(tm.grad(lambda x: np.sum(np.var(x, axis=0) * np.std(x, axis=0))), X),
    "grad-of-slices": P(tm.grad(smoothing), V),
    "grad-of-logits": P(tm.grad(lambda x: np.sum(logits(x)[:, 0])), X),
    "grad-of-products": P(tm.grad(centred_products), X),
    "grad-of-broadcast": P(tm.grad(lambda b, x: np.sum(np.sin(x + b)), argnums=0), ("f64[N]", "f64[B, N]")),
    "grad-of-reshape": P(tm.grad(lambda x: np.sum(np.sin(x.reshape(-1)) * np.arange(x.size))), X),
    "grad-of-transposed": P(tm.grad(lambda x: np.sum(np.cumsum(x.T, axis=0) ** 2)), X),
    "grad-of-concatenated": P(
        tm.grad(lambda x, y: np.sum(np.concatenate([x, y]) ** 3), (0, 1)), ("f64[B]", "f64[N]")
    ),
    "grad-of-maximum": P(tm.grad(lambda x: np.sum(np.max(x, axis=1) * np.min(x, axis=1))), X),
    "grad-of-product": P(tm.grad(lambda x: np.prod(x)), V),
    "grad-of-gather": P(tm.grad(lambda x, i: np.sum(x[i] ** 2)), ("f64[B, N]", "i64[M]")),
    "grad-of-scatter": P(
        tm.grad(lambda x, i: np.sum(_added_at(np.zeros(5), i, x) ** 2)), ("f64[M]", "i64[M]")
    ),
    "grad-of-sorted": P(tm.grad(lambda x: np.sum(np.sort(x) * np.arange(x.shape[0]))), V),
    "grad-of-padded": P(tm.grad(lambda x: np.sum(np.pad(x, 2, mode="constant")[1:-1] ** 2)), V),
    "grad-of-strided": P(tm.grad(lambda x: np.sum(x[::2] ** 3) + np.sum(x[::-1] * x)), V),
    "grad-of-norm": P(tm.grad(lambda x: np.linalg.norm(x)), X),
    "grad-of-einsum": P(
        tm.grad(lambda x, y: np.sum(np.einsum("bn,nk->bk", x, y) ** 2), (0, 1)), ("f64[B, N]", "f64[N, K]")
    ),
    "grad-of-layers": P(tm.grad(layered), ("f64[N, K]", "f64[B, N]")),
    "grad-of-cumprod": P(tm.grad(lambda x: np.sum(np.cumprod(x))), V, "N >= 5 and N <= 8"),
    "grad-of-cummax": P(tm.grad(lambda x: np.sum(np.maximum.accumulate(x) ** 2)), V),
    "grad-of-rolled": P(tm.grad(lambda x: np.sum(np.roll(x, 1) * x)), V),
    "grad-of-where": P(tm.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x + 3), x * x))), X),
    "grad-with-aux": P(tm.grad(lambda x: (loss(x), x * x.shape[0]), has_aux=True), X),
    "grad-of-grad": P(tm.grad(lambda x: np.sum(tm.grad(loss)(x) ** 2)), X),
    "jvp": P(lambda x, dx: tm.jvp(loss, (x,), (dx,)), ("f64[B, N]", "f64[B, N]")),
    "jvp-of-grad": P(lambda x, dx: tm.jvp(tm.grad(loss), (x,), (dx,)), ("f64[B, N]", "f64[B, N]")),
    "jvp-of-rows": P(lambda x, dx: tm.jvp(rows_scaled, (x,), (dx,)), ("f64[B, N]", "f64[B, N]")),
    "linearized": P(lambda x: tm.linearize(rows_scaled, x)[1](np.ones_like(x)), X),
    "vjp": P(lambda x, ct: tm.vjp(rows_scaled, x)[1](ct), ("f64[B, N]", "f64[B, N]")),
    "vjp-of-a-batch": P(lambda x, cts: tm.vjp(np.sin, x)[1](cts, batched=True), ("f64[N]", "f64[B, N]")),
    "vjp-of-none": P(lambda x: tm.vjp(lambda y: (np.sin(y), y * 2), x)[1]((None, x)), X),
    "jacfwd": P(tm.jacfwd(rows_scaled), V),
    "jacrev": P(tm.jacrev(rows_scaled), V),
    "jacfwd-of-a-matrix": P(tm.jacfwd(lambda x: x.T @ x), X),
    "jacrev-of-sums": P(tm.jacrev(lambda x: np.sum(np.sin(x), axis=1)), X),
    "jacobian": P(tm.jacobian(rows_scaled), V),
    "jacobian-of-two": P(tm.jacobian(lambda x, y: np.sin(x) @ y, (0, 1)), ("f64[N]", "f64[N, K]")),
    "jacfwd-in-chunks": P(tm.jacfwd(rows_scaled, chunk_size=2), V),
    "hessian": P(tm.hessian(smoothing), V),
    "hessian-of-a-matrix": P(tm.hessian(lambda x: np.sum(np.sin(x) @ x.T)), X),
    "hvp": P(lambda x, v: tm.hvp(loss, (x,), (v,)), ("f64[B, N]", "f64[B, N]")),
    "hvp-of-a-batch": P(lambda x, v: tm.hvp(loss, (x,), (v,), batched=True), ("f64[N]", "f64[B, N]")),
    "hessian-diagonal": P(tm.hessian_diag(lambda x: np.sum(np.sin(x) * x**2)), V, "N == 8"),
    "laplacian": P(tm.laplacian(lambda x: np.sum(np.sin(x) * x**2)), V, "N == 8"),
    "checkpoint": P(tm.grad(lambda x: np.sum(tm.checkpoint(rows_scaled)(x) ** 2)), X),
    "custom-jvp": P(tm.grad(lambda x: np.sum(scaled_sine(x) ** 2)), X),
    "custom-vjp": P(tm.grad(lambda x: np.sum(halved(x) ** 2)), X),
    "stop-gradient": P(tm.grad(lambda x: np.sum(tm.stop_gradient(x) * x)), X),
}

BATCHES: dict[str, SymbolicProgram] = {
    "vmap": P(tm.vmap(rows_scaled), X),
    "vmap-of-sum": P(tm.vmap(lambda x: np.sum(x) / x.shape[0]), X),
    "vmap-over-columns": P(tm.vmap(lambda x: np.cumsum(x), 1, 1), X),
    "vmap-of-matrices": P(tm.vmap(lambda a, b: a @ b, (0, None)), ("f64[B, N, K]", "f64[K, M]")),
    "vmap-of-vmap": P(tm.vmap(tm.vmap(lambda x, y: x @ y, (None, 0)), (0, None)), ("f64[B, N]", "f64[M, N]")),
    "vmap-of-grad": P(tm.vmap(tm.grad(layered), (None, 0)), ("f64[N, K]", "f64[B, 3, N]")),
    "grad-of-vmap": P(tm.grad(lambda x: np.sum(tm.vmap(rows_scaled)(x))), X),
    "vmap-of-indexing": P(tm.vmap(lambda x, i: x[i]), ("f64[B, N]", "i64[B]")),
    "vmap-of-slices": P(tm.vmap(lambda x: x[1:] - x[:-1]), X),
    "vmap-of-sort": P(tm.vmap(lambda x: np.sort(x)[::-1]), X),
    "vmap-of-write": P(tm.vmap(lambda x, i: _written(x, i)), ("f64[B, N]", "i64[B]")),
    "vmap-of-jacobian": P(tm.vmap(tm.jacfwd(rows_scaled)), ("f64[B, K]",)),
    "vmap-of-solve": P(
        tm.vmap(lambda a, b: np.linalg.solve(a @ a.T + np.eye(3), b)), ("f64[B, 3, 3]", "f64[B, 3]")
    ),
    "vmap-with-axis-size": P(lambda x: tm.vmap(lambda: x * 2, axis_size=x.shape[1])(), X),
    "vmap-in-chunks": P(tm.vmap(rows_scaled, chunk_size=2), X),
    "vmap-in-chunks-of-columns": P(tm.vmap(lambda x: np.sum(x), 1, chunk_size=3), X),
    "vmap-of-unmapped": P(tm.vmap(lambda x, y: (x + y, y), (0, None), (0, None)), ("f64[B, N]", "f64[N]")),
    "psum": P(tm.vmap(lambda x: x - tm.psum(x, "i") / tm.axis_size("i"), axis_name="i"), X),
    "pmean": P(tm.vmap(lambda x: x / tm.pmean(x * x + 1, "i"), axis_name="i"), X),
    "all-gather": P(tm.vmap(lambda x: tm.all_gather(x, "i") @ x, axis_name="i"), X),
    "axis-index": P(tm.vmap(lambda x: x * tm.axis_index("i"), axis_name="i"), X),
    "guarded-sizes": P(tm.vmap(lambda x, y: x + y), ("f64[B]", "f64[N - M]"), "N == B + M"),
}

LOOPS: dict[str, SymbolicProgram] = {
    "scan": P(lambda x: tm.scan(lambda c, row: (c + row, c * row), np.zeros(x.shape[1]), x), X),
    "scan-reversed": P(
        lambda x: tm.scan(lambda c, row: (c * 0.5 + row, c), np.zeros(x.shape[1]), x, reverse=True), X
    ),
    "scan-of-length": P(lambda x: tm.scan(lambda c, _: (c * 0.5 + 1, None), x, length=x.shape[0])[0], V),
    "scan-unrolled": P(lambda x: tm.scan(lambda c, row: (c + row, c), 0.0, x, unroll=2), V),
    "scan-of-two": P(
        lambda x, y: tm.scan(lambda c, s: (c + s[0] * s[1], c), 0.0, (x, y)),
        ("f64[N]", "f64[2*K]"),
        "N == 2*K",
    ),
    "grad-of-scan": P(tm.grad(recurrent, (0, 1)), ("f64[N, N]", "f64[B, N]")),
    "jvp-of-scan": P(lambda w, x: tm.jvp(lambda w: recurrent(w, x), (w,), (w,)), ("f64[N, N]", "f64[B, N]")),
    "vmap-of-scan": P(tm.vmap(lambda x: tm.scan(lambda c, v: (c + v, c), 0.0, x)[1]), X),
    "grad-of-scan-in-blocks": P(
        tm.grad(lambda x: tm.scan(lambda c, v: (np.sin(c) + v, None), 0.0, x, checkpoint_every=3)[0]), V
    ),
    "grad-of-scan-in-square-root-blocks": P(
        tm.grad(lambda x: tm.scan(lambda c, v: (np.sin(c) + v, None), 0.0, x, checkpoint_every="sqrt")[0]), V
    ),
    "fori-loop": P(lambda x: tm.fori_loop(0, x.shape[0], lambda i, c: c * 0.5 + np.take(x, i), 0.0), V),
    "fori-loop-from": P(
        lambda x: tm.fori_loop(1, x.shape[0] - 1, lambda i, c: c + np.take(x, i) * np.take(x, i - 1), 0.0), V
    ),
    "grad-of-fori-loop": P(
        tm.grad(lambda x: tm.fori_loop(0, x.shape[0], lambda i, c: np.sin(c) + np.take(x, i), 0.0)), V
    ),
    "fori-loop-of-matrices": P(lambda x: tm.fori_loop(0, 3, lambda i, c: np.tanh(c @ c.T @ c) * 0.1, x), X),
    "while-loop": P(square_root, V),
    "while-loop-counted": P(
        lambda x: tm.while_loop(lambda s: s[0] < x.shape[0], lambda s: (s[0] + 2, s[1] * 0.5), (0, x))[1], V
    ),
    "grad-of-while-loop": P(tm.grad(lambda x: np.sum(square_root(x))), V),
    "vmap-of-while-loop": P(tm.vmap(square_root), X),
    "cond": P(lambda x: tm.cond(np.sum(x) > 0, lambda x: x / x.shape[0], lambda x: x * x, x), X),
    "grad-of-cond": P(
        tm.grad(lambda x: np.sum(tm.cond(np.sum(x) > 0, lambda x: x / x.shape[0], lambda x: x * x, x))), X
    ),
    "vmap-of-cond": P(tm.vmap(lambda x: tm.cond(np.sum(x) > 0, np.sin, lambda x: x * x, x)), X),
    "switch": P(lambda x: tm.switch(np.argmax(x) % 3, [np.sin, np.cos, lambda x: x[::-1]], x), V),
    "map": P(lambda x: tm.map(lambda row: np.sum(row) * row, x), X),
    "map-in-batches": P(lambda x: tm.map(lambda row: np.sum(row) * row, x, batch_size=2), X),
    "associative-scan": P(lambda x: tm.associative_scan(np.add, x), V, "N >= 5 and N <= 8"),
}


def _added_at(x: Any, index: Any, new: Any) -> Any:
    np.add.at(x, index, new)
    return x


def _written(x: Any, index: Any) -> Any:
    y = x.copy()
    y[index] = 0
    return y


NETWORKS: dict[str, SymbolicProgram] = {
    "convolution": P(lambda x, w: tm.nn.conv(x, w, padding=1), ("f64[B, 3, N, K]", "f64[2, 3, 3, 3]")),
    "convolution-valid": P(lambda x, w: tm.nn.conv(x, w), ("f64[B, 3, N, K]", "f64[2, 3, 2, 2]")),
    "convolution-same": P(
        lambda x, w: tm.nn.conv(x, w, padding="same"), ("f64[B, 3, N, K]", "f64[2, 3, 3, 3]")
    ),
    "convolution-strided": P(
        lambda x, w: tm.nn.conv(x, w, strides=2, padding=1), ("f64[B, 3, N, K]", "f64[2, 3, 3, 3]")
    ),
    "convolution-of-channels": P(lambda x, w: tm.nn.conv(x, w, padding=1), ("f64[B, M, N]", "f64[K, M, 3]")),
    "grad-of-convolution": P(
        tm.grad(lambda x, w: np.sum(tm.nn.conv(x, w, strides=2, padding=1) ** 2), (0, 1)),
        ("f64[B, 3, N, K]", "f64[2, 3, 3, 3]"),
    ),
    "vmap-of-convolution": P(
        tm.vmap(lambda x, w: tm.nn.conv(x, w, padding=1)), ("f64[B, 2, 3, N]", "f64[B, 2, 3, 3]")
    ),
    "softmax": P(lambda x: tm.nn.softmax(x), X),
    "grad-of-log-softmax": P(tm.grad(lambda x: np.sum(tm.nn.log_softmax(x, axis=0)[0])), X),
    "gelu": P(tm.grad(lambda x: np.sum(tm.nn.gelu(x))), X),
    "layer-norm": P(lambda x, w, b: tm.nn.layer_norm(x, x.shape[1], w, b), ("f64[B, N]", "f64[N]", "f64[N]")),
    "grad-of-layer-norm": P(
        tm.grad(lambda x, w, b: np.sum(tm.nn.layer_norm(x, (x.shape[1],), w, b) ** 3), (0, 1, 2)),
        ("f64[B, N]", "f64[N]", "f64[N]"),
    ),
    "rms-norm": P(tm.grad(lambda x: np.sum(tm.nn.rms_norm(x, x.shape[1]) ** 3)), X),
    "group-norm": P(lambda x: tm.nn.group_norm(x, 2), ("f64[B, 4, N]",)),
    "grad-of-group-norm": P(tm.grad(lambda x: np.sum(tm.nn.group_norm(x, 2) ** 3)), ("f64[B, 4, N]",)),
    "instance-norm": P(lambda x: tm.nn.instance_norm(x), ("f64[B, 3, N]",)),
    "batch-norm": P(
        lambda x, m, v: tm.nn.batch_norm(x, m, v, training=True), ("f64[B, 3, N]", "f64[3]", "f64[3]")
    ),
    "grad-of-batch-norm": P(
        tm.grad(lambda x: np.sum(tm.nn.batch_norm(x, training=True)[0] ** 3)), ("f64[B, 3, N]",)
    ),
    "attention": P(
        lambda q, k, v: tm.nn.attention(q, k, v), ("f64[B, N, 8]", "f64[B, M, 8]", "f64[B, M, K]")
    ),
    "causal-attention": P(
        lambda q, k, v: tm.nn.attention(q, k, v, causal=True),
        ("f64[B, N, 8]", "f64[B, N, 8]", "f64[B, N, 8]"),
    ),
    "grad-of-attention": P(
        tm.grad(lambda q, k, v: np.sum(tm.nn.attention(q, k, v, causal=True) ** 2), (0, 1, 2)),
        ("f64[B, 2, N, 4]", "f64[B, 2, N, 4]", "f64[B, 2, N, 4]"),
    ),
    "attention-of-any-width": P(lambda q: tm.nn.attention(q, q, q), ("f64[B, N, K]",)),
    "cross-entropy": P(lambda x, t: tm.nn.cross_entropy(x, np.abs(t)), ("f64[B, 5]", "i64[B]")),
    "grad-of-cross-entropy": P(
        tm.grad(lambda x, t: tm.nn.cross_entropy(x, np.abs(t), label_smoothing=0.1)), ("f64[B, 5]", "i64[B]")
    ),
    "cross-entropy-of-any-classes": P(
        tm.grad(lambda x, t: tm.nn.cross_entropy(x, tm.nn.softmax(t), label_smoothing=0.1)),
        ("f64[B, K]", "f64[B, K]"),
    ),
    "mse": P(tm.grad(lambda x, y: tm.nn.mse_loss(x, y)), ("f64[B, N]", "f64[B, N]")),
    "huber": P(tm.grad(lambda x, y: tm.nn.huber_loss(x, y)), ("f64[B, N]", "f64[B, N]")),
    "binary-cross-entropy": P(
        tm.grad(lambda x, y: tm.nn.binary_cross_entropy_with_logits(x, y)), ("f64[B, N]", "f64[B, N]")
    ),
}

LINALG: dict[str, SymbolicProgram] = {
    "solve": P(lambda a, b: np.linalg.solve(_definite(a), b), ("f64[B, N, N]", "f64[B, N, 2]"), rtol=1e-9),
    "solve-one": P(lambda a, b: np.linalg.solve(_definite(a), b), ("f64[N, N]", "f64[N]"), rtol=1e-9),
    "grad-of-solve": P(
        tm.grad(lambda a, b: np.sum(np.linalg.solve(_definite(a), b) ** 2), (0, 1)),
        ("f64[N, N]", "f64[N]"),
        rtol=1e-9,
    ),
    "cholesky": P(lambda a: np.linalg.cholesky(_definite(a)), ("f64[B, N, N]",), rtol=1e-9),
    "grad-of-cholesky": P(
        tm.grad(lambda a: np.sum(np.linalg.cholesky(_definite(a)) ** 3)), ("f64[N, N]",), rtol=1e-8
    ),
    "inverse": P(tm.grad(lambda a: np.sum(np.linalg.inv(_definite(a)))), ("f64[N, N]",), rtol=1e-8),
    "determinant": P(lambda a: np.linalg.det(_definite(a)), ("f64[N, N]",), rtol=1e-9),
    "grad-of-determinant": P(
        tm.grad(lambda a: np.linalg.det(_definite(a))), ("f64[N, N]",), "N != 2 and N != 3", rtol=1e-8
    ),
    "slogdet": P(tm.grad(lambda a: np.linalg.slogdet(_definite(a))[1]), ("f64[N, N]",), rtol=1e-8),
    "eigh": P(tm.grad(lambda a: np.sum(np.linalg.eigvalsh(_definite(a)) ** 2)), ("f64[N, N]",), rtol=1e-8),
    "qr": P(lambda a: np.linalg.qr(a), ("f64[B, 2*N, N]",), rtol=1e-8),
    "grad-of-qr": P(tm.grad(lambda a: np.sum(np.linalg.qr(a)[1] ** 2)), ("f64[2*N, N]",), rtol=1e-8),
    "svdvals": P(tm.grad(lambda a: np.sum(np.linalg.svdvals(a) ** 3)), ("f64[2*N, N]",), rtol=1e-8),
    "trace": P(tm.grad(lambda a: np.trace(a @ a.T)), X),
    "fft": P(lambda x: np.abs(np.fft.fft(x)), X, rtol=1e-9),
    "rfft": P(lambda x: np.fft.rfft(x), X, rtol=1e-9),
    "grad-of-rfft": P(tm.grad(lambda x: np.sum(np.abs(np.fft.rfft(x)) ** 3)), X, rtol=1e-9),
    "irfft": P(lambda x: np.fft.irfft(np.fft.rfft(x), x.shape[1]), X, rtol=1e-9),
    "grad-of-irfft": P(
        tm.grad(lambda x: np.sum(np.fft.irfft(np.fft.rfft(x) * 2, x.shape[1]) ** 3)), X, rtol=1e-9
    ),
    "top-k": P(lambda x: tm.top_k(x, 2), X),
    "sort": P(lambda x: (np.sort(x, axis=0), np.argsort(x, axis=1)), X),
}


def _definite(a: Any) -> Any:
    return a @ np.swapaxes(a, -1, -2) / a.shape[-1] + 2 * np.eye(a.shape[-1])


def _drawn(draw: Any) -> Any:
    return lambda x: draw(tm.random.default_rng(7), x)


RANDOM: dict[str, SymbolicProgram] = {
    "uniform": P(_drawn(lambda rng, x: x * rng.random(x.shape)), X),
    "normal": P(_drawn(lambda rng, x: x + rng.normal(size=x.shape)), X),
    "dropout": P(tm.grad(_drawn(lambda rng, x: np.sum(np.where(rng.random(x.shape) < 0.5, x, 0) ** 2))), X),
    "parameters": P(_drawn(lambda rng, x: rng.normal(x, 0.5)), V),
    "integers": P(_drawn(lambda rng, x: rng.integers(0, 10, x.shape[0])), V),
    "permuted": P(_drawn(lambda rng, x: rng.permutation(x)), V),
    "of-each-example": P(
        _drawn(
            lambda rng, x: tm.vmap(lambda row: row + rng.normal(size=row.shape), randomness="different")(x)
        ),
        X,
    ),
}


TRANSFORMS: dict[str, SymbolicProgram] = {
    f"{chapter}-{name}": program
    for chapter, programs in {
        "gradients": GRADIENTS,
        "batches": BATCHES,
        "loops": LOOPS,
        "networks": NETWORKS,
        "linalg": LINALG,
        "random": RANDOM,
    }.items()
    for name, program in programs.items()
}
